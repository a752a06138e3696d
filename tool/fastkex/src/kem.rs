//! The KEMs that commands measure and check, behind one interface.

use core::marker::PhantomData;

use rand_core::TryCryptoRng;
use sntrup::{Backend, Error, SharedSecret};

/// A KEM with one parameter set. A family of parameter sets is one implementation.
pub trait Kem: 'static {
    /// The parameter set's name.
    const NAME: &'static str;
    /// Bytes of a public key.
    const PUBLIC_KEY_BYTES: usize;
    /// Bytes of a secret key.
    const SECRET_KEY_BYTES: usize;
    /// Bytes of a ciphertext.
    const CIPHERTEXT_BYTES: usize;

    /// A key pair.
    type KeyPair: Send;
    /// A public key, checked.
    type PublicKey;
    /// A secret key.
    type SecretKey;
    /// A secret key that is prepared for many decapsulations.
    type ExpandedKey;
    /// A ciphertext.
    type Ciphertext;

    /// Makes `count` key pairs together.
    ///
    /// # Errors
    /// The random source failed.
    fn generate_batch<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<Self::KeyPair>, Error>;

    /// Makes one key pair.
    ///
    /// # Errors
    /// The random source failed.
    fn generate<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        random: &mut R,
    ) -> Result<Self::KeyPair, Error>;

    /// Returns both halves of a key pair.
    fn into_parts(pair: Self::KeyPair) -> (Self::PublicKey, Self::SecretKey);

    /// Reads a public key with its checks.
    ///
    /// # Errors
    /// The bytes are not the canonical encoding of a key.
    fn read_public_key(backend: Backend, bytes: &[u8]) -> Result<Self::PublicKey, Error>;

    /// Returns the encoding of a public key.
    fn public_key_bytes(key: &Self::PublicKey) -> &[u8];

    /// Reads a secret key with its checks.
    ///
    /// # Errors
    /// The bytes are not the encoding of a key.
    fn read_secret_key(backend: Backend, bytes: &[u8]) -> Result<Self::SecretKey, Error>;

    /// Returns the encoding of a secret key.
    fn secret_key_bytes(key: &Self::SecretKey) -> &[u8];

    /// Reads a ciphertext.
    ///
    /// # Errors
    /// The length is wrong.
    fn read_ciphertext(bytes: &[u8]) -> Result<Self::Ciphertext, Error>;

    /// Returns the bytes of a ciphertext.
    fn ciphertext_bytes(ciphertext: &Self::Ciphertext) -> &[u8];

    /// Makes a shared secret and its ciphertext.
    ///
    /// # Errors
    /// The random source failed.
    fn encapsulate<R: TryCryptoRng + ?Sized>(
        key: &Self::PublicKey,
        backend: Backend,
        random: &mut R,
    ) -> Result<(Self::Ciphertext, SharedSecret), Error>;

    /// Returns the shared secret of a ciphertext.
    fn decapsulate(
        key: &Self::SecretKey,
        backend: Backend,
        ciphertext: &Self::Ciphertext,
    ) -> SharedSecret;

    /// Prepares a secret key for many decapsulations.
    fn expand(key: &Self::SecretKey, backend: Backend) -> Self::ExpandedKey;

    /// Returns the shared secret of a ciphertext.
    fn decapsulate_expanded(key: &Self::ExpandedKey, ciphertext: &Self::Ciphertext)
    -> SharedSecret;
}

/// Implements [`Kem`] with the functions of a library.
macro_rules! families {
    ($($title:literal $family:ident $library:ident $public:ident $public_bytes:ident $secret:ident $secret_bytes:ident;)*) => {$(
        #[doc = concat!($title, " with parameter set `P`.")]
        pub struct $family<P>(PhantomData<P>);

        impl<P: $library::Operations> Kem for $family<P> {
            const NAME: &'static str = P::NAME;
            const PUBLIC_KEY_BYTES: usize = P::$public_bytes;
            const SECRET_KEY_BYTES: usize = P::$secret_bytes;
            const CIPHERTEXT_BYTES: usize = P::CIPHERTEXT_BYTES;

            type KeyPair = $library::KeyPair<P>;
            type PublicKey = $library::$public<P>;
            type SecretKey = $library::$secret<P>;
            type ExpandedKey = $library::ExpandedKey<P>;
            type Ciphertext = $library::Ciphertext<P>;

            fn generate_batch<R: TryCryptoRng + ?Sized>(
                backend: Backend,
                count: usize,
                random: &mut R,
            ) -> Result<Vec<Self::KeyPair>, Error> {
                $library::KeyPair::generate_batch(backend, count, random)
            }

            fn generate<R: TryCryptoRng + ?Sized>(
                backend: Backend,
                random: &mut R,
            ) -> Result<Self::KeyPair, Error> {
                $library::KeyPair::generate(backend, random)
            }

            fn into_parts(pair: Self::KeyPair) -> (Self::PublicKey, Self::SecretKey) {
                pair.into_parts()
            }

            fn read_public_key(backend: Backend, bytes: &[u8]) -> Result<Self::PublicKey, Error> {
                $library::$public::from_bytes_on(backend, bytes)
            }

            fn public_key_bytes(key: &Self::PublicKey) -> &[u8] {
                key.as_bytes()
            }

            fn read_secret_key(backend: Backend, bytes: &[u8]) -> Result<Self::SecretKey, Error> {
                $library::$secret::from_bytes_on(backend, bytes)
            }

            fn secret_key_bytes(key: &Self::SecretKey) -> &[u8] {
                key.as_bytes()
            }

            fn read_ciphertext(bytes: &[u8]) -> Result<Self::Ciphertext, Error> {
                $library::Ciphertext::from_bytes(bytes)
            }

            fn ciphertext_bytes(ciphertext: &Self::Ciphertext) -> &[u8] {
                ciphertext.as_bytes()
            }

            fn encapsulate<R: TryCryptoRng + ?Sized>(
                key: &Self::PublicKey,
                backend: Backend,
                random: &mut R,
            ) -> Result<(Self::Ciphertext, SharedSecret), Error> {
                key.encapsulate(backend, random)
            }

            fn decapsulate(
                key: &Self::SecretKey,
                backend: Backend,
                ciphertext: &Self::Ciphertext,
            ) -> SharedSecret {
                key.decapsulate(backend, ciphertext)
            }

            fn expand(key: &Self::SecretKey, backend: Backend) -> Self::ExpandedKey {
                key.expand(backend)
            }

            fn decapsulate_expanded(
                key: &Self::ExpandedKey,
                ciphertext: &Self::Ciphertext,
            ) -> SharedSecret {
                key.decapsulate(ciphertext)
            }
        }
    )*};
}

families! {
    "Streamlined NTRU Prime" Streamlined sntrup PublicKey PUBLIC_KEY_BYTES SecretKey SECRET_KEY_BYTES;
    "ML-KEM" MlKem mlkem EncapsulationKey ENCAPSULATION_KEY_BYTES DecapsulationKey DECAPSULATION_KEY_BYTES;
}
