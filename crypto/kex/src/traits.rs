use lanes::Backend;
use rand_core::TryCryptoRng;

use crate::Error;

/// Something secret that can be kept as plain bytes, in memory that is better protected than a program's, until it is used.
pub trait Storable: Send + Sized {
    /// Bytes that it takes.
    const STORED_BYTES: usize;

    /// Writes [`Self::STORED_BYTES`] bytes.
    ///
    /// # Panics
    /// `out` has another length.
    fn store(&self, out: &mut [u8]);

    /// Whether it lies in protected memory, as it does unless there was none.
    fn is_protected(&self) -> bool;

    /// Reads what [`Storable::store`] wrote in the same process and nobody else could have changed since. `backend` is the one that it
    /// was made for.
    ///
    /// # Errors
    /// The length is not [`Self::STORED_BYTES`].
    fn restore(backend: Backend, bytes: &[u8]) -> Result<Self, Error>;
}

/// A key encapsulation mechanism.
///
/// Buffers passed in have exactly the sizes that the constants say, in bytes.
pub trait Kem: Send + Sync + Sized + 'static {
    /// Bytes of an encoded public key.
    const PUBLIC_KEY_BYTES: usize;
    /// Bytes of an encoded secret key, which contains the public one.
    const SECRET_KEY_BYTES: usize;
    /// Bytes of a ciphertext.
    const CIPHERTEXT_BYTES: usize;
    /// Bytes of a shared secret.
    const SHARED_SECRET_BYTES: usize;

    /// A checked public key.
    type PublicKey: Clone + PartialEq + Send + Sync;
    /// A checked secret key, erased on drop.
    type SecretKey: Clone + Storable + Sync;
    /// What of an encapsulation does not depend on the peer's key; erased on drop.
    type PreparedEncapsulation: Storable;
    /// What batches of keys are made in, to be kept between them. Holds nothing secret then.
    type BatchMemory: Default + Send;

    /// `count` key pairs, together cheaper than one by one.
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

    /// [`Kem::encapsulate`] with what was prepared, which is used up.
    ///
    /// # Errors
    /// The key is one that no honest peer could have sent.
    fn encapsulate_prepared(
        prepared: Self::PreparedEncapsulation,
        key: &Self::PublicKey,
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Error>;

    /// The shared secret of a ciphertext.
    ///
    /// # Errors
    /// The ciphertext has the wrong length or a part that no peer could have made. (Streamlined NTRU Prime itself rejects
    /// implicitly: with a secret that nobody knows.)
    fn decapsulate(
        key: &Self::SecretKey,
        backend: Backend,
        ciphertext: &[u8],
        secret: &mut [u8],
    ) -> Result<(), Error>;
}

/// A fresh key pair. Whoever wants it for a single use calls [`KeyPair::decapsulate`], which consumes it.
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

/// A key exchange in which both sides do the same.
pub trait KeyExchange: Send + Sync + Sized + 'static {
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

    /// `count` fresh secret values, together cheaper than one by one.
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
