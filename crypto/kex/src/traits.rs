//! The traits of key encapsulation and key exchange.

use lanes::Backend;
use rand_core::TryCryptoRng;

use crate::Error;

/// A secret that can be stored as plain bytes in protected memory until it is used.
pub trait Storable: Send + Sized {
    /// Bytes that [`Storable::store`] writes.
    const STORED_BYTES: usize;

    /// Writes [`Self::STORED_BYTES`] bytes.
    ///
    /// # Panics
    /// `out` has another length.
    fn store(&self, out: &mut [u8]);

    /// Whether the secret lies in protected memory. It does unless the system provided none.
    fn is_protected(&self) -> bool;

    /// Reads bytes that [`Storable::store`] wrote in the same process, from trusted memory: only
    /// the length is checked. `backend` is the one for which the value was made.
    ///
    /// # Errors
    /// The length is not [`Self::STORED_BYTES`].
    fn restore(backend: Backend, bytes: &[u8]) -> Result<Self, Error>;
}

/// A key encapsulation mechanism.
///
/// Output buffers have exactly the sizes of the constants, in bytes.
/// Inputs of a wrong size are errors.
pub trait Kem: Send + Sync + Sized + 'static {
    /// Bytes of an encoded public key.
    const PUBLIC_KEY_BYTES: usize;
    /// Bytes of an encoded secret key, which contains the public one.
    const SECRET_KEY_BYTES: usize;
    /// Bytes of a ciphertext.
    const CIPHERTEXT_BYTES: usize;
    /// Bytes of a shared secret.
    const SHARED_SECRET_BYTES: usize;
    /// Bytes of the seed that stands for a key pair; 0 if the KEM has none.
    const SEED_BYTES: usize = 0;
    /// The key exchange inside a hybrid, which is a TLS group of its own; `None` for other KEMs.
    const EXCHANGE: Option<ExchangePart> = None;

    /// A checked public key.
    type PublicKey: Clone + PartialEq + Send + Sync;
    /// A checked secret key, erased on drop.
    type SecretKey: Clone + Storable + Sync;
    /// The part of an encapsulation that does not depend on the peer's key. Erased on drop.
    type PreparedEncapsulation: Storable;
    /// Memory for batches of keys, which can be kept between batches. It holds no secret between
    /// batches.
    type BatchMemory: Default + Send;

    /// Makes `count` key pairs. A batch takes less time than single keys.
    ///
    /// # Errors
    /// The random source failed.
    fn generate_batch<R: TryCryptoRng + ?Sized>(
        memory: &mut Self::BatchMemory,
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<KeyPair<Self>>, Error>;

    /// Reads a public key.
    ///
    /// # Errors
    /// Its length is wrong, or it is not the canonical encoding of a key that may be used.
    fn read_public_key(backend: Backend, bytes: &[u8]) -> Result<Self::PublicKey, Error>;

    /// Writes a public key.
    fn write_public_key(key: &Self::PublicKey, out: &mut [u8]);

    /// Reads a secret key.
    ///
    /// # Errors
    /// Its length is wrong, or it is not an encoding of a key.
    fn read_secret_key(backend: Backend, bytes: &[u8]) -> Result<Self::SecretKey, Error>;

    /// Writes a secret key.
    fn write_secret_key(key: &Self::SecretKey, out: &mut [u8]);

    /// The secret key of a seed.
    ///
    /// # Errors
    /// The length is wrong, or the KEM has no seeds.
    fn read_seed(_backend: Backend, seed: &[u8]) -> Result<Self::SecretKey, Error> {
        Err(Error::Length { object: "seed", expected: 0, actual: seed.len() })
    }

    /// Writes the seed of a secret key, and returns true. Returns false if it is not known.
    fn write_seed(_key: &Self::SecretKey, _out: &mut [u8]) -> bool {
        false
    }

    /// The public half of a secret key.
    fn public_key(key: &Self::SecretKey) -> Self::PublicKey;

    /// Whether the parts of a secret key belong together.
    ///
    /// # Errors
    /// They do not.
    fn check(key: &Self::SecretKey, backend: Backend) -> Result<(), Error>;

    /// Makes a shared secret and the ciphertext that carries it.
    ///
    /// # Errors
    /// The random source failed.
    fn encapsulate<R: TryCryptoRng + ?Sized>(
        key: &Self::PublicKey,
        backend: Backend,
        random: &mut R,
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Error>;

    /// Prepares `count` encapsulations.
    ///
    /// # Errors
    /// The random source failed.
    fn prepare_batch<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<Self::PreparedEncapsulation>, Error>;

    /// [`Kem::encapsulate`] with a preparation, which is consumed.
    ///
    /// # Errors The key has small order: no honest peer sends it.
    fn encapsulate_prepared(
        prepared: Self::PreparedEncapsulation,
        key: &Self::PublicKey,
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Error>;

    /// The shared secret of a ciphertext.
    ///
    /// # Errors The ciphertext has the wrong length or a part that no peer could have made.
    /// (Streamlined NTRU Prime itself rejects implicitly: with a secret that the peer does not
    /// know.)
    fn decapsulate(
        key: &Self::SecretKey,
        backend: Backend,
        ciphertext: &[u8],
        secret: &mut [u8],
    ) -> Result<(), Error>;

    /// Writes the public value of the key exchange inside a hybrid, and returns true. Returns false
    /// if there is none. A client may send the value as a key share of its own beside the hybrid's
    /// (draft-ietf-tls-hybrid-design, section 3.2).
    fn write_exchange_public(_key: &Self::PublicKey, _out: &mut [u8]) -> bool {
        false
    }

    /// Completes the key exchange inside a hybrid alone, with the peer's public value.
    ///
    /// # Errors
    /// The value's length is wrong, it must not be used, or there is no key exchange inside.
    fn complete_exchange(
        _key: &Self::SecretKey,
        _backend: Backend,
        peer: &[u8],
        _secret: &mut [u8],
    ) -> Result<(), Error> {
        Err(Error::Length { object: "public value", expected: 0, actual: peer.len() })
    }
}

/// The key exchange inside a hybrid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangePart {
    /// Its code point as a TLS group of its own.
    pub code_point: u16,
    /// Bytes of its public value.
    pub public_bytes: usize,
    /// Bytes of its shared secret.
    pub shared_secret_bytes: usize,
}

/// A fresh key pair. For a single use there is [`KeyPair::decapsulate`], which
/// consumes it.
pub struct KeyPair<K: Kem> {
    /// The public half.
    pub public: K::PublicKey,
    /// The secret half.
    pub secret: K::SecretKey,
}

impl<K: Kem> KeyPair<K> {
    /// One key pair.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        random: &mut R,
    ) -> Result<Self, Error> {
        K::generate_batch(&mut Default::default(), backend, 1, random)?
            .pop()
            .ok_or(Error::RandomSource)
    }

    /// The shared secret of a ciphertext; the key pair is used up and erased.
    ///
    /// # Errors
    /// As [`Kem::decapsulate`].
    pub fn decapsulate(
        self,
        backend: Backend,
        ciphertext: &[u8],
        secret: &mut [u8],
    ) -> Result<(), Error> {
        K::decapsulate(&self.secret, backend, ciphertext, secret)
    }
}

/// A key exchange in which both sides perform the same operations, such as Diffie-Hellman.
///
/// ```
/// use kex::{Backend, KeyExchange, X25519};
///
/// let (backend, random) = (Backend::best(), &mut getrandom::SysRng);
/// let (alice, bob) = (X25519::start(backend, random)?, X25519::start(backend, random)?);
/// let (mut ours, mut theirs) = ([0; 32], [0; 32]);
/// X25519::complete(&alice, backend, &X25519::public(&bob), &mut ours)?;
/// X25519::complete(&bob, backend, &X25519::public(&alice), &mut theirs)?;
/// assert_eq!(ours, theirs);
///
/// // A value of small order is an error: the secret would be zero.
/// let zero = X25519::read_public(&[0; 32]).and_then(|peer| {
///     X25519::complete(&alice, backend, &peer, &mut ours)
/// });
/// assert_eq!(zero, Err(kex::Error::SmallOrder));
/// # Ok::<(), kex::Error>(())
/// ```
pub trait KeyExchange: Send + Sync + Sized + 'static {
    /// Its code point as a TLS group of its own.
    const CODE_POINT: u16;
    /// Bytes of a public value.
    const PUBLIC_BYTES: usize;
    /// Bytes of a secret value.
    const SECRET_BYTES: usize;
    /// Bytes of the result.
    const SHARED_SECRET_BYTES: usize;

    /// A checked public value.
    type Public: Clone + PartialEq + Send + Sync;
    /// A secret value, with its public one; erased on drop.
    type Secret: Clone + Storable + Sync;

    /// A fresh secret value.
    ///
    /// # Errors
    /// The random source failed.
    fn start<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        random: &mut R,
    ) -> Result<Self::Secret, Error> {
        Self::start_batch(backend, 1, random)?.pop().ok_or(Error::RandomSource)
    }

    /// Makes `count` fresh secret values. A batch takes less time than single values.
    ///
    /// # Errors
    /// The random source failed.
    fn start_batch<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<Self::Secret>, Error>;

    /// The public value of a secret one.
    fn public(secret: &Self::Secret) -> Self::Public;

    /// Reads a public value.
    ///
    /// # Errors
    /// Its length is wrong, or the value must not be used.
    fn read_public(bytes: &[u8]) -> Result<Self::Public, Error>;

    /// Writes a public value.
    fn write_public(public: &Self::Public, out: &mut [u8]);

    /// Reads a secret value.
    ///
    /// # Errors
    /// Its length is wrong.
    fn read_secret(backend: Backend, bytes: &[u8]) -> Result<Self::Secret, Error>;

    /// Writes a secret value.
    fn write_secret(secret: &Self::Secret, out: &mut [u8]);

    /// Combines a secret value with the peer's public one.
    ///
    /// # Errors
    /// The result would not depend on the secret.
    fn complete(
        secret: &Self::Secret,
        backend: Backend,
        peer: &Self::Public,
        out: &mut [u8],
    ) -> Result<(), Error>;
}
