//! Children of fork take nothing that their parent or a sibling has or had.

mod common;

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::Numbers;
use kex::{Backend, Hybrid, Kem, MlKem, Sntrup, X25519};
use keypool::{Counter, KeyPairs, Kind, Pool, Pools, Refill, Settings};
use mlkem::{MlKem512, MlKem768};
use sntrup::Sntrup653;

const CHILDREN: usize = 64;
const ITEMS: usize = 1000;
const BYTES: usize = 16;

/// Distinguishes items.
type Mark = [u8; BYTES];

fn mark_of_number(number: u128) -> Mark {
    number.to_ne_bytes()
}

fn mark_of_key<K: Kem>(pair: kex::KeyPair<K>) -> Mark {
    let mut public = vec![0; K::PUBLIC_KEY_BYTES];
    K::write_public_key(&pair.public, &mut public);
    *public.first_chunk().unwrap()
}

/// A child that sends the marks of what it takes.
struct Child {
    process: libc::pid_t,
    marks: File,
}

impl Child {
    /// Forks. The child calls `send`, and is gone.
    fn fork(send: impl FnOnce(&mut File)) -> Child {
        let mut ends = [0; 2];
        // SAFETY: two places for descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        // SAFETY: the child calls the pool, which is what is tested; and leaves by `_exit`.
        let process = unsafe { libc::fork() };
        assert!(process >= 0);
        // SAFETY: the descriptors are open and belong to nobody else.
        let (read, mut write) = unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
        if process == 0 {
            drop(read);
            send(&mut write);
            // SAFETY: no code of the parent's runs in the child.
            unsafe { libc::_exit(0) };
        }
        Child { process, marks: read }
    }

    /// All marks, as long as the child ends in time and well.
    fn marks(mut self) -> Vec<Mark> {
        let mut bytes = Vec::new();
        self.marks.read_to_end(&mut bytes).unwrap();
        let started = Instant::now();
        let mut status = 0;
        // SAFETY: a place for the status.
        while unsafe { libc::waitpid(self.process, &raw mut status, libc::WNOHANG) } == 0 {
            assert!(started.elapsed() < Duration::from_secs(20), "a child hangs");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(status, 0, "a child failed");
        bytes.as_chunks().0.to_vec()
    }
}

/// Takes `items` items in `threads` threads.
fn take<K: Kind>(
    pool: &Pool<K>,
    mark: fn(K::Item) -> Mark,
    items: usize,
    threads: usize,
) -> Vec<Mark> {
    let some = |count: usize| (0..count).map(|_| mark(pool.take().unwrap())).collect::<Vec<_>>();
    if threads == 1 {
        return some(items);
    }
    in_threads(threads, &|| some(items / threads)).into_iter().flatten().collect()
}

/// Threads of a child that are not std's: where a whole program is Rust's, those of std take a lock
/// of std's as they begin, for what tells of stacks that overflow, and a thread of the parent may
/// have held it when it forked.
fn in_threads<T>(count: usize, work: &dyn Fn() -> T) -> Vec<T> {
    struct Task<'a, T> {
        work: &'a dyn Fn() -> T,
        result: Option<T>,
    }
    extern "C" fn run<T>(task: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: the task is this thread's until it is joined.
        let task = unsafe { &mut *task.cast::<Task<'_, T>>() };
        task.result = Some((task.work)());
        std::ptr::null_mut()
    }
    let mut tasks: Vec<_> = (0..count).map(|_| Task { work, result: None }).collect();
    let start = |task: &mut Task<'_, T>| {
        let mut thread = 0;
        let task: *mut Task<'_, T> = task;
        // SAFETY: the task lives, untouched, until the thread is joined; what threads share are
        // pools, which allow that.
        let outcome = unsafe {
            libc::pthread_create(&raw mut thread, std::ptr::null(), run::<T>, task.cast())
        };
        assert_eq!(outcome, 0);
        thread
    };
    let threads: Vec<_> = tasks.iter_mut().map(start).collect();
    for thread in threads {
        // SAFETY: it is joined once.
        assert_eq!(unsafe { libc::pthread_join(thread, std::ptr::null_mut()) }, 0);
    }
    tasks.into_iter().map(|task| task.result.unwrap()).collect()
}

fn no_item_twice<K: Kind>(
    mark: fn(K::Item) -> Mark,
    refill: Refill,
    children: usize,
    items: usize,
) {
    let mut builder = Pools::builder(Backend::best(), Settings { refill, ..Settings::default() });
    let pool: Arc<Pool<K>> = builder.add("test");
    let pools = builder.finish();
    let mut all = HashSet::new();
    let mut note = |marks: Vec<Mark>| {
        for mark in marks {
            assert!(all.insert(mark), "{mark:02x?} came twice ({refill:?})");
        }
    };

    // While threads take and refill, so that some child finds each of these half done.
    let done = AtomicBool::new(false);
    let taken: Vec<_> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut taken = Vec::new();
                    while !done.load(Ordering::Relaxed) && taken.len() < 1 << 18 {
                        taken.push(mark(pool.take().unwrap()));
                    }
                    taken
                })
            })
            .collect();
        let forked: Vec<_> = (0..children)
            .map(|i| {
                let child = Child::fork(|to| {
                    let marks = take(&pool, mark, items, 1 + i % 2);
                    to.write_all(marks.as_flattened()).unwrap();
                    if i % 8 == 0 {
                        // Like a program that ends in order.
                        pools.flush();
                    }
                });
                std::thread::sleep(Duration::from_micros(100 * (i as u64 % 7)));
                child
            })
            .collect();
        for child in forked {
            let marks = child.marks();
            assert_eq!(marks.len(), items);
            note(marks);
        }
        done.store(true, Ordering::Relaxed);
        takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
    });
    assert!(!taken.is_empty());
    note(taken);
}

#[test]
fn numbers_inline() {
    no_item_twice::<Numbers>(mark_of_number, Refill::Inline, CHILDREN, ITEMS);
}

#[test]
fn numbers_in_the_background() {
    no_item_twice::<Numbers>(mark_of_number, Refill::Background, CHILDREN, ITEMS);
}

#[test]
fn keys() {
    fn of<K: Kem>() {
        for refill in [Refill::Inline, Refill::Background] {
            no_item_twice::<KeyPairs<K>>(mark_of_key, refill, CHILDREN / 4, ITEMS / 10);
        }
    }
    of::<Sntrup<Sntrup653>>();
    of::<MlKem<MlKem768>>();
    of::<Hybrid<MlKem<MlKem768>, X25519>>();
}

#[test]
fn a_child_counts_what_was_wiped_and_starts_with_one() {
    let mut builder = Pools::builder(Backend::best(), Settings::default());
    let pool = builder.add::<Numbers>("test");
    let _pools = builder.finish();
    take(&pool, mark_of_number, 7, 1);
    let stock = pool.stock() as u64;
    assert_eq!(stock, 14);
    let child = Child::fork(|to| {
        pool.take().unwrap();
        let counts = pool.counts();
        let seen =
            [Counter::WipedByFork, Counter::Generated, Counter::Inline].map(|c| counts.get(c));
        let mut mark = Mark::default();
        mark[..3].copy_from_slice(&seen.map(|count| count as u8));
        to.write_all(&mark).unwrap();
    });
    assert_eq!(child.marks()[0][..3], [stock as u8, 1, 1]);
    assert_eq!(pool.stock() as u64, stock);
}

/// A child of a child, and so on.
#[test]
fn generations() {
    let mut builder = Pools::builder(Backend::best(), Settings::default());
    let pool = builder.add::<Numbers>("test");
    let _pools = builder.finish();
    fn descend(pool: &Pool<Numbers>, depth: usize) -> Vec<Mark> {
        let mut marks = take(pool, mark_of_number, 10, 1);
        if depth > 0 {
            let child = Child::fork(|to| {
                to.write_all(descend(pool, depth - 1).as_flattened()).unwrap();
            });
            marks.extend(child.marks());
        }
        marks.extend(take(pool, mark_of_number, 50, 1));
        marks
    }
    let marks = descend(&pool, 8);
    assert_eq!(marks.len(), 9 * 60);
    assert_eq!(marks.iter().collect::<HashSet<_>>().len(), marks.len());
}

/// A handshake that the parent began may go on in the child.
#[test]
fn keys_in_use_are_inherited() {
    use_in_children::<Sntrup<Sntrup653>>();
    use_in_children::<MlKem<MlKem512>>();
}

fn use_in_children<K: Kem>() {
    let mut builder = Pools::builder(Backend::best(), Settings::default());
    let pool = builder.add::<KeyPairs<K>>("test");
    let _pools = builder.finish();
    // More than there is protected memory for: keys in ordinary memory work, too.
    let mut keys = Vec::new();
    while pool.counts().get(Counter::Exposed) < 10 {
        keys.push(pool.take().unwrap());
        assert!(keys.len() < 5000, "no end of protected memory");
    }
    assert!(keys.len() > 1000);
    let mut secrets = [[0; 32]; 2];
    let mut ciphertext = vec![0; K::CIPHERTEXT_BYTES];
    let random = &mut random::OperationRandom::new();
    for key in [&keys[0], &keys[255], &keys[keys.len() - 1]] {
        K::encapsulate(&key.public, Backend::best(), random, &mut ciphertext, &mut secrets[0])
            .unwrap();
        let child = Child::fork(|to| {
            K::decapsulate(&key.secret, Backend::best(), &ciphertext, &mut secrets[1]).unwrap();
            to.write_all(&secrets[1]).unwrap();
        });
        assert_eq!(child.marks().as_flattened(), secrets[0]);
    }
    drop(keys);
    let again: Vec<_> = (0..256).map(|_| pool.take().unwrap()).collect();
    assert_eq!(pool.counts().get(Counter::Exposed), 10);
    drop(again);
}
