//! Processes that may not do what a pool would like to: they get their keys nevertheless, each
//! once, and the counts say why they were slower.

#![cfg(target_os = "linux")]

mod common;

use std::collections::HashSet;
use std::sync::Arc;

use common::{Numbers, in_child};
use kex::{Backend, Kem, MlKem, Sntrup};
use keypool::{Counter, Counts, KeyPairs, Kind, Pool, Pools, Refill, Settings};
use mlkem::MlKem1024;
use sntrup::Sntrup1277;

fn pool<K: Kind>(settings: Settings) -> (Pools, Arc<Pool<K>>) {
    let mut builder = Pools::builder(Backend::best(), settings);
    let pool = builder.add::<K>("test");
    (builder.finish(), pool)
}

/// The counts of a pool in this process after `requests` requests, whose numbers all differ.
fn counts_after(settings: Settings, requests: usize) -> Counts {
    let (_pools, pool) = pool::<Numbers>(settings);
    let taken: HashSet<_> = (0..requests).map(|_| pool.take().unwrap()).collect();
    assert_eq!(taken.len(), requests);
    pool.counts()
}

/// Has system calls with these numbers fail in this process.
fn forbid(calls: &[libc::c_long], error: libc::c_int) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let instruction = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The number of the call is what the kernel's record begins with.
    let mut filter = vec![instruction(LOAD, 0, 0, 0)];
    for &call in calls {
        filter.push(instruction(JUMP, 0, 1, call as u32));
        filter.push(instruction(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | error as u32));
    }
    filter.push(instruction(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program and its instructions are there for the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}

fn limit(resource: libc::__rlimit_resource_t, to: u64) {
    let limit = libc::rlimit { rlim_cur: to, rlim_max: to };
    // SAFETY: the limit is there for the call.
    assert_eq!(unsafe { libc::setrlimit(resource, &raw const limit) }, 0);
}

/// Bytes of address space in use.
fn address_space() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: asks for a number.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

#[test]
fn nothing_is_kept_that_the_kernel_would_not_wipe() {
    in_child(|| {
        forbid(&[libc::SYS_madvise], libc::EPERM);
        for refill in [Refill::Inline, Refill::Background] {
            let counts = counts_after(Settings { refill, ..Settings::default() }, 100);
            assert_eq!(counts.get(Counter::Unprotected), 100);
            assert_eq!((counts.get(Counter::Generated), counts.stock()), (100, 0));
        }
        // And children do not get what their parent got.
        let (_pools, pool) = pool::<Numbers>(Settings::default());
        let mine = pool.take().unwrap();
        in_child(move || assert!((0..100).all(|_| pool.take().unwrap() != mine)));
    });
}

#[test]
fn memory_that_may_not_be_locked_is_used_and_counted() {
    in_child(|| {
        limit(libc::RLIMIT_MEMLOCK, 0);
        // Root may lock nevertheless.
        // SAFETY: changes this process only.
        unsafe {
            if libc::geteuid() == 0 {
                assert_eq!(libc::setresuid(65534, 65534, 65534), 0);
            }
        }
        let counts = counts_after(Settings::default(), 100);
        assert_eq!((counts.get(Counter::Unlocked), counts.get(Counter::Unprotected)), (1, 0));
        assert!(counts.get(Counter::FromPool) > 90);
    });
    in_child(|| assert_eq!(counts_after(Settings::default(), 10).get(Counter::Generated), 21));
}

#[test]
fn without_memory_for_a_batch_there_are_single_keys() {
    single_keys_without_memory::<Sntrup<Sntrup1277>>();
    single_keys_without_memory::<MlKem<MlKem1024>>();
}

fn single_keys_without_memory<K: Kem>() {
    in_child(|| {
        let (_pools, pool) = pool::<KeyPairs<K>>(Settings::default());
        // Memory for one key, and for the pool.
        pool.take().unwrap();
        limit(libc::RLIMIT_AS, address_space());
        // The memory that the allocator has reserved is used up as well, except for what single
        // keys need.
        let hoard = || {
            let mut piece = Vec::<u8>::new();
            piece.try_reserve_exact(1 << 20).is_ok().then_some(piece)
        };
        let hoarded: Vec<_> = std::iter::from_fn(hoard).collect();
        for _ in 0..100 {
            pool.take().unwrap();
        }
        drop(hoarded);
        let counts = pool.counts();
        assert!(counts.get(Counter::OutOfMemory) > 0, "{counts:?}");
        assert_eq!(counts.get(Counter::FromPool) + counts.get(Counter::Inline), 101);
    });
}

#[test]
fn without_memory_for_the_pool_nothing_is_kept() {
    in_child(|| {
        let (_pools, pool) = pool::<KeyPairs<Sntrup<Sntrup1277>>>(Settings {
            refill: Refill::Background,
            ..Settings::default()
        });
        limit(libc::RLIMIT_AS, address_space() + (1 << 20));
        for _ in 0..5 {
            pool.take().unwrap();
        }
        let counts = pool.counts();
        assert_eq!((counts.get(Counter::Unprotected), counts.get(Counter::Inline)), (5, 5));
    });
}

#[test]
fn without_a_thread_whoever_needs_a_batch_makes_it() {
    in_child(|| {
        forbid(&[libc::SYS_clone, libc::SYS_clone3], libc::EAGAIN);
        let settings = Settings { refill: Refill::Background, ..Settings::default() };
        let counts = counts_after(settings, 1000);
        assert!(counts.get(Counter::WithoutThread) > 0);
        assert!(counts.get(Counter::FromPool) > 900, "{counts:?}");
    });
}

#[test]
fn without_descriptors_there_are_no_statistics_but_keys() {
    in_child(|| {
        limit(libc::RLIMIT_NOFILE, 0);
        let counts = counts_after(Settings { statistics: true, ..Settings::default() }, 100);
        assert!(counts.get(Counter::FromPool) > 90);
    });
}
