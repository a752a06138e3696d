//! Items and counts of a pool.

mod common;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::Numbers;
use kex::{Backend, Hybrid, Kem, KeyExchange, MlKem, Sntrup, X25519};
use keypool::{
    Batch, Counter, Encapsulations, Exchanges, KeyPairs, Kind, Pool, Pools, Refill, Settings,
};
use mlkem::{MlKem512, MlKem768, MlKem1024};
use sntrup::Sntrup653;

fn pool<K: Kind>(settings: Settings) -> (Pools, Arc<Pool<K>>) {
    let mut builder = Pools::builder(Backend::best(), settings);
    let pool = builder.add::<K>("test");
    (builder.finish(), pool)
}

fn take_all(pool: &Pool<Numbers>, count: usize) -> HashSet<u128> {
    let taken: HashSet<_> = (0..count).map(|_| pool.take().unwrap()).collect();
    assert_eq!(taken.len(), count, "some number came twice");
    taken
}

/// Waits, but not for ever.
fn until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(10), "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_first_pays_for_one_and_demand_for_more() {
    let (_pools, pool) = pool::<Numbers>(Settings::default());
    let mut generated = Vec::new();
    let mut all = HashSet::new();
    for _ in 0..600 {
        assert!(all.insert(pool.take().unwrap()));
        generated.push(pool.counts().get(Counter::Generated));
    }
    generated.dedup();
    assert_eq!(generated, [1, 5, 21, 85, 341, 597, 853]);
    let counts = pool.counts();
    assert_eq!((counts.get(Counter::Inline), counts.get(Counter::FromPool)), (7, 593));
    assert_eq!((counts.stock(), pool.stock()), (253, 253));
    assert_eq!(counts.get(Counter::Refills), 6);
    assert!(counts.get(Counter::SlowestRefillNanoseconds) > 0);
}

#[test]
fn a_fixed_batch_is_that_of_the_paper() {
    let (_pools, pool) =
        pool::<Numbers>(Settings { batch: Batch::Fixed(32), ..Settings::default() });
    take_all(&pool, 1);
    assert_eq!(pool.stock(), 31);
    take_all(&pool, 31);
    assert_eq!(pool.counts().get(Counter::Generated), 32);
    take_all(&pool, 1);
    assert_eq!(pool.counts().get(Counter::Generated), 64);
}

#[test]
fn off_keeps_nothing() {
    let (_pools, pool) = pool::<Numbers>(Settings { enabled: false, ..Settings::default() });
    take_all(&pool, 100);
    let counts = pool.counts();
    assert_eq!((counts.get(Counter::Generated), counts.get(Counter::Inline)), (100, 100));
    assert_eq!(counts.get(Counter::Unprotected), 0);
}

#[test]
fn what_is_too_old_is_erased() {
    let settings =
        Settings { batch: Batch::Fixed(8), max_age: Duration::from_secs(1), ..Settings::default() };
    let (_pools, pool) = pool::<Numbers>(settings);
    take_all(&pool, 1);
    std::thread::sleep(Duration::from_millis(1100));
    take_all(&pool, 1);
    let counts = pool.counts();
    assert_eq!((counts.get(Counter::Expired), counts.get(Counter::FromPool)), (7, 0));
}

#[test]
fn a_flush_erases_what_there_is() {
    let (pools, pool) = pool::<Numbers>(Settings { batch: Batch::Fixed(8), ..Settings::default() });
    take_all(&pool, 1);
    pools.flush();
    assert_eq!(pool.stock(), 0);
    assert_eq!(pool.counts().get(Counter::Discarded), 7);
    std::thread::sleep(Duration::from_millis(2));
    take_all(&pool, 8);
    assert_eq!(pool.counts().get(Counter::FromPool), 7);
}

#[test]
fn the_background_refills_and_ends() {
    let settings = Settings { refill: Refill::Background, ..Settings::default() };
    let (pools, pool) = pool::<Numbers>(settings);
    take_all(&pool, 1);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(pool.counts().get(Counter::Generated), 1, "one request started the background");
    let mut all = HashSet::new();
    let started = Instant::now();
    while pool.stock() < 256 {
        assert!(all.insert(pool.take().unwrap()));
        assert!(started.elapsed() < Duration::from_secs(10));
    }
    all.extend(take_all(&pool, 200));
    until("the stock is full again", || pool.stock() >= 256);
    let counts = pool.counts();
    assert!(counts.get(Counter::FromPool) > 200);
    assert_eq!(counts.get(Counter::WithoutThread), 0);
    drop(pools);
    // No thread, and no stall without it.
    take_all(&pool, 2000);
}

#[test]
fn the_background_erases_what_is_too_old() {
    let settings = Settings {
        refill: Refill::Background,
        max_age: Duration::from_secs(1),
        ..Settings::default()
    };
    let (_pools, pool) = pool::<Numbers>(settings);
    let started = Instant::now();
    while pool.stock() < 16 {
        pool.take().unwrap();
        assert!(started.elapsed() < Duration::from_secs(10));
    }
    until("nothing is left", || pool.stock() == 0);
    let expired = pool.counts().get(Counter::Expired);
    assert!(expired >= 16);
    // And nothing is made that nobody wants.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!((pool.stock(), pool.counts().get(Counter::Expired)), (0, expired));
}

/// Without a background thread, a request to one pool also erases expired items of the others.
#[test]
fn what_is_too_old_goes_when_any_pool_is_used() {
    let settings = Settings {
        batch: Batch::Fixed(16),
        max_age: Duration::from_secs(1),
        ..Settings::default()
    };
    let mut builder = Pools::builder(Backend::best(), settings);
    let (idle, busy) = (builder.add::<Numbers>("idle"), builder.add::<Numbers>("busy"));
    let _pools = builder.finish();
    take_all(&idle, 1);
    take_all(&busy, 1);
    assert_eq!(idle.stock(), 15);
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(idle.stock(), 15);
    take_all(&busy, 1);
    assert_eq!((idle.stock(), idle.counts().get(Counter::Expired)), (0, 15));
    // Young items stay.
    take_all(&idle, 1);
    std::thread::sleep(Duration::from_millis(400));
    take_all(&busy, 1);
    assert_eq!(idle.stock(), 15);
}

#[test]
fn threads_share_a_pool() {
    for refill in [Refill::Inline, Refill::Background] {
        let (_pools, pool) = pool::<Numbers>(Settings { refill, ..Settings::default() });
        let taken: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..256).map(|_| scope.spawn(|| take_all(&pool, 100))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(taken.len(), 25_600);
        assert_eq!(taken.into_iter().collect::<HashSet<_>>().len(), 25_600, "{refill:?}");
        let counts = pool.counts();
        let served = counts.get(Counter::FromPool) + counts.get(Counter::Inline);
        assert_eq!(served, 25_600, "{refill:?}");
    }
}

fn exchange<K: Kem>() {
    let settings = Settings { batch: Batch::Fixed(4), ..Settings::default() };
    let (_keys, keys) = pool::<KeyPairs<K>>(settings);
    let (_encapsulations, encapsulations) = pool::<Encapsulations<K>>(settings);
    let mut publics = HashSet::new();
    for _ in 0..9 {
        let pair = keys.take().unwrap();
        let mut public = vec![0; K::PUBLIC_KEY_BYTES];
        K::write_public_key(&pair.public, &mut public);
        assert!(publics.insert(public));
        let mut ciphertext = vec![0; K::CIPHERTEXT_BYTES];
        let mut secrets = vec![vec![0; K::SHARED_SECRET_BYTES]; 2];
        let prepared = encapsulations.take().unwrap();
        K::encapsulate_prepared(prepared, &pair.public, &mut ciphertext, &mut secrets[0]).unwrap();
        assert!(publics.insert(ciphertext.clone()));
        pair.decapsulate(Backend::best(), &ciphertext, &mut secrets[1]).unwrap();
        assert_eq!(secrets[0], secrets[1]);
    }
    for counts in [keys.counts(), encapsulations.counts()] {
        assert_eq!((counts.get(Counter::FromPool), counts.get(Counter::Inline)), (6, 3));
    }
}

#[test]
fn what_is_taken_works() {
    exchange::<Sntrup<Sntrup653>>();
    exchange::<Hybrid<Sntrup<Sntrup653>, X25519>>();
    exchange::<MlKem<MlKem512>>();
    exchange::<MlKem<MlKem768>>();
    exchange::<MlKem<MlKem1024>>();
    exchange::<Hybrid<MlKem<MlKem512>, X25519>>();
    exchange::<Hybrid<MlKem<MlKem768>, X25519>>();
    exchange::<Hybrid<MlKem<MlKem1024>, X25519>>();

    let (_pools, pool) =
        pool::<Exchanges<X25519>>(Settings { batch: Batch::Fixed(4), ..Settings::default() });
    let mut shared = [[0; X25519::SHARED_SECRET_BYTES]; 2];
    let secrets = [pool.take().unwrap(), pool.take().unwrap()];
    let publics = [X25519::public(&secrets[0]), X25519::public(&secrets[1])];
    assert!(publics[0] != publics[1]);
    X25519::complete(&secrets[0], Backend::best(), &publics[1], &mut shared[0]).unwrap();
    X25519::complete(&secrets[1], Backend::best(), &publics[0], &mut shared[1]).unwrap();
    assert_eq!(shared[0], shared[1]);
}
