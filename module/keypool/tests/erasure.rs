//! Secrets that are gone are nowhere, and those in stock or in use are not in a core dump.

#![cfg(target_os = "linux")]

mod common;

use std::collections::HashSet;
use std::fs::{self, File};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use common::{in_child, status_of_child};
use kex::{Backend, Error, Kem, KeyPair, MlKem, Sntrup, Storable};
use keypool::{KeyPairs, Kind, Pool, Pools, Purpose, Settings};
use mlkem::{MlKem512, ParameterSet};
use secret::Secret;
use sntrup::Sntrup653;

/// A secret part of a stored key.
type Mark = [u8; 32];

/// Masks the marks, so that the search does not find the test's own notes.
const MASK: u8 = 0x5a;

static NOTES: Mutex<Vec<Mark>> = Mutex::new(Vec::new());

/// Keys of whose secrets there are notes: the part of each stored key that begins at `AT`.
struct Noted<K, const AT: usize>(PhantomData<K>);

impl<K: Kem, const AT: usize> Kind for Noted<K, AT> {
    type Item = KeyPair<K>;
    type Memory = K::BatchMemory;

    const PURPOSE: Purpose = Purpose::KeyPairs;
    const STORED_BYTES: usize = KeyPairs::<K>::STORED_BYTES;
    const LARGEST_BATCH: usize = KeyPairs::<K>::LARGEST_BATCH;

    fn generate(
        memory: &mut Self::Memory,
        backend: Backend,
        count: usize,
    ) -> Result<Vec<Self::Item>, Error> {
        let items = KeyPairs::<K>::generate(memory, backend, count)?;
        NOTES.lock().unwrap().extend(items.iter().map(masked::<K, AT>));
        Ok(items)
    }

    fn store(item: &Self::Item, out: &mut [u8]) {
        KeyPairs::<K>::store(item, out);
    }

    fn is_protected(item: &Self::Item) -> bool {
        KeyPairs::<K>::is_protected(item)
    }

    fn restore(backend: Backend, bytes: &[u8]) -> Result<Self::Item, Error> {
        KeyPairs::<K>::restore(backend, bytes)
    }
}

fn masked<K: Kem, const AT: usize>(pair: &KeyPair<K>) -> Mark {
    let mut stored = Secret::<[u8]>::slice(K::SecretKey::STORED_BYTES);
    pair.secret.store(&mut stored);
    core::array::from_fn(|i| stored[AT + i] ^ MASK)
}

/// Keys in use, and notes of them.
fn in_use<K: Kem, const AT: usize>(pool: &Pool<KeyPairs<K>>) -> (Vec<KeyPair<K>>, Vec<Mark>) {
    let keys: Vec<_> = (0..10).map(|_| pool.take().unwrap()).collect();
    let notes = keys.iter().map(masked::<K, AT>).collect();
    (keys, notes)
}

/// Memory is searched for what the other test may be using.
static TURN: Mutex<()> = Mutex::new(());

/// The number of marks, unmasked, in `bytes`.
fn found(marks: &[Mark], bytes: &[u8]) -> usize {
    let beginnings: HashSet<[u8; 8]> =
        marks.iter().map(|mark| core::array::from_fn(|i| mark[i] ^ MASK)).collect();
    let is_mark = |window: &[u8]| {
        marks
            .iter()
            .any(|mark| window.iter().zip(mark).all(|(&byte, &masked)| byte ^ MASK == masked))
    };
    bytes
        .windows(size_of::<Mark>())
        .filter(|window| beginnings.contains(&window[..8]) && is_mark(window))
        .count()
}

/// The number of marks in the writable memory of this process.
fn found_in_memory(marks: &[Mark]) -> usize {
    let memory = File::open("/proc/self/mem").unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut count = 0;
    for line in maps.lines().filter(|line| line.split(' ').nth(1).unwrap().starts_with("rw")) {
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap());
        let mut bytes = vec![0; (end - start) as usize];
        if memory.read_exact_at(&mut bytes, start).is_ok() {
            count += found(marks, &bytes);
        }
    }
    count
}

/// Takes some keys and uses them; some stay in stock.
fn traffic<K: Kem, const AT: usize>(pool: &Pool<Noted<K, AT>>) {
    let mut ciphertext = vec![0; K::CIPHERTEXT_BYTES];
    let mut secret = [0; 32];
    for _ in 0..30 {
        let pair = pool.take().unwrap();
        let random = &mut random::OperationRandom::new();
        let best = Backend::best();
        K::encapsulate(&pair.public, best, random, &mut ciphertext, &mut secret).unwrap();
        pair.decapsulate(best, &ciphertext, &mut secret).unwrap();
    }
}

/// The first bytes of the secret parts of a stored ML-KEM key: s, z and d.
const S: usize = 0;
const Z: usize = MlKem512::DECAPSULATION_KEY_BYTES - 32;
const D: usize = MlKem512::DECAPSULATION_KEY_BYTES;

#[test]
fn keys_that_were_used_are_nowhere() {
    are_nowhere::<Sntrup<Sntrup653>, 0>();
    are_nowhere::<MlKem<MlKem512>, S>();
    are_nowhere::<MlKem<MlKem512>, Z>();
    are_nowhere::<MlKem<MlKem512>, D>();
}

fn are_nowhere<K: Kem, const AT: usize>() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    in_child(|| {
        let mut builder = Pools::builder(Backend::best(), Settings::default());
        let pool = builder.add::<Noted<K, AT>>("test");
        let pools = builder.finish();
        traffic(&pool);
        let notes = std::mem::take(&mut *NOTES.lock().unwrap());
        assert_eq!(notes.len(), 85);
        // The search finds what there is.
        assert_eq!(found_in_memory(&notes), pool.stock());
        assert_eq!(pool.stock(), 55);
        pools.flush();
        assert_eq!(found_in_memory(&notes), 0);
    });
    in_child(|| {
        let mut builder = Pools::builder(Backend::best(), Settings::default());
        let pool = builder.add::<KeyPairs<K>>("test");
        let _pools = builder.finish();
        let (keys, notes) = in_use::<K, AT>(&pool);
        assert_eq!(found_in_memory(&notes), 10);
        drop(keys);
        assert_eq!(found_in_memory(&notes), 0);
    });
}

#[test]
fn keys_in_stock_and_in_use_are_not_in_a_core_dump() {
    are_not_in_a_core_dump::<Sntrup<Sntrup653>, 0>();
    are_not_in_a_core_dump::<MlKem<MlKem512>, S>();
    are_not_in_a_core_dump::<MlKem<MlKem512>, D>();
}

fn are_not_in_a_core_dump<K: Kem, const AT: usize>() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if pattern.trim_end().contains(['|', '/', '%']) {
        artifacts::skipped(&format!("core dumps go to {}", pattern.trim_end()));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let status = status_of_child(|| {
        let all = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: the limit is there for the call.
        if unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const all) } != 0 {
            return;
        }
        std::env::set_current_dir(folder.path()).unwrap();
        let mut builder = Pools::builder(Backend::best(), Settings::default());
        let (pool, used) =
            (builder.add::<Noted<K, AT>>("test"), builder.add::<KeyPairs<K>>("in use"));
        let _pools = builder.finish();
        traffic(&pool);
        assert_eq!(pool.stock(), 55);
        let (_keys, of_used) = in_use::<K, AT>(&used);
        let notes = [NOTES.lock().unwrap().clone(), of_used].concat();
        fs::write(file("notes"), notes.as_flattened()).unwrap();
        // SAFETY: ends the process.
        unsafe { libc::abort() };
    });
    if status == 0 {
        artifacts::skipped("no core dumps: their size is limited");
        return;
    }
    assert!(libc::WIFSIGNALED(status), "the child failed");
    let notes = fs::read(file("notes")).unwrap();
    let notes = notes.as_chunks().0;
    assert_eq!(notes.len(), 95);
    let is_core = |path: &std::path::PathBuf| path.to_string_lossy().contains("/core");
    let mut files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let core = fs::read(files.find(is_core).expect("no core dump")).unwrap();
    assert_eq!(found(notes, &core), 0);
    // The search finds what there is: the notes themselves.
    let hidden: Vec<Mark> = notes.iter().map(|note| note.map(|byte| byte ^ MASK)).collect();
    assert!(found(&hidden, &core) >= 95);
}
