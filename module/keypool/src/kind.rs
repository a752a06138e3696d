use core::fmt;
use core::marker::PhantomData;

use kex::{Backend, Error, Kem, KeyExchange, KeyPair, Storable};
use random::OperationRandom;

/// What a pool holds.
pub trait Kind: Send + Sync + 'static {
    /// What it hands out.
    type Item: Send;
    /// What batches are made in, to be kept between them. Holds nothing secret then.
    type Memory: Default + Send;
    /// What that is for.
    const PURPOSE: Purpose;
    /// Bytes of a stored item.
    const STORED_BYTES: usize;
    /// More at once are hardly cheaper.
    const LARGEST_BATCH: usize;

    /// Makes `count` items.
    ///
    /// # Errors
    /// The random source failed.
    fn generate(
        memory: &mut Self::Memory,
        backend: Backend,
        count: usize,
    ) -> Result<Vec<Self::Item>, Error>;

    /// Writes [`Self::STORED_BYTES`] bytes.
    fn store(item: &Self::Item, out: &mut [u8]);

    /// Whether an item's secrets lie in protected memory, as they do unless there was none.
    fn is_protected(item: &Self::Item) -> bool;

    /// Reads what [`Kind::store`] wrote.
    ///
    /// # Errors
    /// The length is wrong.
    fn restore(backend: Backend, bytes: &[u8]) -> Result<Self::Item, Error>;
}

/// What the items of a pool are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Key shares of the side that generates.
    KeyPairs,
    /// Encapsulations for the other side.
    Encapsulations,
}

impl Purpose {
    /// Both.
    pub const ALL: [Purpose; 2] = [Purpose::KeyPairs, Purpose::Encapsulations];
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purpose::KeyPairs => "key pairs",
            Purpose::Encapsulations => "encapsulations",
        })
    }
}

/// Key pairs of a KEM.
pub struct KeyPairs<K>(PhantomData<K>);

impl<K: Kem> Kind for KeyPairs<K> {
    type Item = KeyPair<K>;
    type Memory = K::BatchMemory;

    const PURPOSE: Purpose = Purpose::KeyPairs;
    const STORED_BYTES: usize = K::SecretKey::STORED_BYTES;
    const LARGEST_BATCH: usize = 256;

    fn generate(
        memory: &mut K::BatchMemory,
        backend: Backend,
        count: usize,
    ) -> Result<Vec<KeyPair<K>>, Error> {
        K::generate_batch(memory, backend, count, &mut OperationRandom::new())
    }

    fn store(item: &KeyPair<K>, out: &mut [u8]) {
        item.secret.store(out);
    }

    fn is_protected(item: &KeyPair<K>) -> bool {
        item.secret.is_protected()
    }

    fn restore(backend: Backend, bytes: &[u8]) -> Result<KeyPair<K>, Error> {
        let secret = K::SecretKey::restore(backend, bytes)?;
        Ok(KeyPair { public: K::public_key(&secret), secret })
    }
}

/// Prepared encapsulations of a KEM.
pub struct Encapsulations<K>(PhantomData<K>);

impl<K: Kem> Kind for Encapsulations<K> {
    type Item = K::PreparedEncapsulation;
    type Memory = ();

    const PURPOSE: Purpose = Purpose::Encapsulations;
    const STORED_BYTES: usize = K::PreparedEncapsulation::STORED_BYTES;
    /// Only their hashes are computed together, eight at a time.
    const LARGEST_BATCH: usize = 16;

    fn generate((): &mut (), backend: Backend, count: usize) -> Result<Vec<Self::Item>, Error> {
        K::prepare_batch(backend, count, &mut OperationRandom::new())
    }

    fn store(item: &Self::Item, out: &mut [u8]) {
        item.store(out);
    }

    fn is_protected(item: &Self::Item) -> bool {
        item.is_protected()
    }

    fn restore(backend: Backend, bytes: &[u8]) -> Result<Self::Item, Error> {
        K::PreparedEncapsulation::restore(backend, bytes)
    }
}

/// Secret values of a key exchange, with their public ones.
pub struct Exchanges<X>(PhantomData<X>);

impl<X: KeyExchange> Kind for Exchanges<X> {
    type Item = X::Secret;
    type Memory = ();

    const PURPOSE: Purpose = Purpose::KeyPairs;
    const STORED_BYTES: usize = X::Secret::STORED_BYTES;
    const LARGEST_BATCH: usize = 256;

    fn generate((): &mut (), backend: Backend, count: usize) -> Result<Vec<X::Secret>, Error> {
        X::start_batch(backend, count, &mut OperationRandom::new())
    }

    fn store(item: &X::Secret, out: &mut [u8]) {
        item.store(out);
    }

    fn is_protected(item: &X::Secret) -> bool {
        item.is_protected()
    }

    fn restore(backend: Backend, bytes: &[u8]) -> Result<X::Secret, Error> {
        X::Secret::restore(backend, bytes)
    }
}
