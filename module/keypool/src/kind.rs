//! The kinds of items: key pairs, encapsulations, key exchanges.

use core::fmt;
use core::marker::PhantomData;

use kex::{Backend, Error, Kem, KeyExchange, KeyPair, Storable};
use random::OperationRandom;

/// A kind of items that a pool holds.
pub trait Kind: Send + Sync + 'static {
    /// A single item.
    type Item: Send;
    /// Working memory of batches, reused from one to the next. It holds no secrets in between.
    type Memory: Default + Send;
    /// The use of the items.
    const PURPOSE: Purpose;
    /// Size of a stored item in bytes.
    const STORED_BYTES: usize;
    /// Largest batch in items. Larger ones are hardly cheaper per item.
    const LARGEST_BATCH: usize;

    /// Makes `count` items in `memory`.
    ///
    /// # Errors
    /// The random source failed.
    fn generate(
        memory: &mut Self::Memory,
        backend: Backend,
        count: usize,
    ) -> Result<Vec<Self::Item>, Error>;

    /// Writes the item to `out`, which has [`Self::STORED_BYTES`] bytes.
    fn store(item: &Self::Item, out: &mut [u8]);

    /// Whether an item's secrets lie in protected memory; if not, none was available.
    fn is_protected(item: &Self::Item) -> bool;

    /// Reads an item that [`Kind::store`] wrote.
    ///
    /// # Errors
    /// `bytes` has another length than [`Self::STORED_BYTES`].
    fn restore(backend: Backend, bytes: &[u8]) -> Result<Self::Item, Error>;
}

/// The use of the items of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Key pairs for key shares of the client.
    KeyPairs,
    /// Encapsulations for key shares of the server.
    Encapsulations,
}

impl Purpose {
    /// All uses.
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
    /// Only the hashes of encapsulations are computed together, eight at a time.
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

/// Key pairs of a key exchange.
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
