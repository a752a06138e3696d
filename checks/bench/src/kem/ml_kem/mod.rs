//! ML-KEM (FIPS 203).

mod agreement;
mod peers;

use std::marker::PhantomData;

use generator::Random;
use mlkem::{Backend, Operations};

use super::SharedSecret;

pub use agreement::assert_agreement;
#[cfg(feature = "peers")]
pub use peers::{AwsLc, Liboqs};
pub use peers::{
    Graviola, Libcrux512, Libcrux768, Libcrux1024, OpenSslMlKem, RustCrypto512, RustCrypto768,
    RustCrypto1024, name_in_openssl,
};

/// An implementation of ML-KEM with one parameter set. Wrong input of any kind is refused.
pub trait MlKem {
    /// True if the implementation reads secret keys of other implementations.
    const READS_SECRET_KEYS: bool = true;
    /// True if the implementation refuses secret keys with a wrong s. FIPS 203 accepts them, as
    /// their hash is right.
    const REFUSES_WRONG_S: bool = false;

    /// A secret key, in the form that the implementation keeps.
    type SecretKey;

    /// The implementation's name.
    fn name(&self) -> String;
    /// The parameter set's name.
    fn algorithm(&self) -> &'static str;
    /// The instruction set that it runs on, if it is known.
    fn backend(&self) -> Option<&'static str> {
        None
    }

    /// Generates a key pair.
    fn key_pair(&self) -> (Vec<u8>, Self::SecretKey);
    /// Encodes a secret key as FIPS 203 does.
    fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8>;
    /// Reads a secret key with the checks that the implementation has. `None` if it refuses the
    /// key, or reads none at all.
    fn secret_key(&self, bytes: &[u8]) -> Option<Self::SecretKey>;
    /// Reads a public key with its checks and encapsulates. `None` if the key is refused.
    fn encapsulate(&self, public: &[u8]) -> Option<(Vec<u8>, SharedSecret)>;
    /// Decapsulates. `None` if key or ciphertext are refused.
    fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> Option<SharedSecret>;
}

impl<M: MlKem> super::Kem for M {
    type SecretKey = M::SecretKey;

    fn name(&self) -> String {
        MlKem::name(self)
    }

    fn algorithm(&self) -> &'static str {
        MlKem::algorithm(self)
    }

    fn backend(&self) -> Option<&'static str> {
        MlKem::backend(self)
    }

    fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
        MlKem::key_pair(self)
    }

    fn encapsulate(&self, public: &[u8]) -> (Vec<u8>, SharedSecret) {
        MlKem::encapsulate(self, public).unwrap()
    }

    fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> SharedSecret {
        MlKem::decapsulate(self, secret, ciphertext).unwrap()
    }
}

/// fastkex with parameter set `P`, on one backend.
#[derive(Clone, Copy)]
pub struct Ours<P> {
    backend: Backend,
    parameter_set: PhantomData<P>,
}

impl<P: Operations> Ours<P> {
    /// Selects a backend.
    pub fn on(backend: Backend) -> Self {
        Ours { backend, parameter_set: PhantomData }
    }

    /// Generates `count` key pairs together.
    pub fn key_pairs(&self, count: usize) -> Vec<mlkem::KeyPair<P>> {
        mlkem::KeyPair::generate_batch(self.backend, count, &mut Random).unwrap()
    }

    /// Prepares a key for many decapsulations.
    pub fn expand(&self, secret: &mlkem::DecapsulationKey<P>) -> mlkem::ExpandedKey<P> {
        secret.expand(self.backend)
    }

    /// Decapsulates with a prepared key.
    pub fn decapsulate_expanded(
        &self,
        key: &mlkem::ExpandedKey<P>,
        ciphertext: &[u8],
    ) -> SharedSecret {
        *key.decapsulate(&mlkem::Ciphertext::from_bytes(ciphertext).unwrap()).as_bytes()
    }
}

impl<P: Operations> MlKem for Ours<P> {
    type SecretKey = mlkem::DecapsulationKey<P>;

    fn name(&self) -> String {
        "fastkex".into()
    }

    fn algorithm(&self) -> &'static str {
        P::NAME
    }

    fn backend(&self) -> Option<&'static str> {
        Some(self.backend.name())
    }

    fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
        let pair = mlkem::KeyPair::<P>::generate(self.backend, &mut Random).unwrap();
        let (public, secret) = pair.into_parts();
        (public.as_bytes().to_vec(), secret)
    }

    fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
        secret.as_bytes().to_vec()
    }

    fn secret_key(&self, bytes: &[u8]) -> Option<Self::SecretKey> {
        mlkem::DecapsulationKey::from_bytes_on(self.backend, bytes).ok()
    }

    fn encapsulate(&self, public: &[u8]) -> Option<(Vec<u8>, SharedSecret)> {
        let key = mlkem::EncapsulationKey::<P>::from_bytes_on(self.backend, public).ok()?;
        let (ciphertext, secret) = key.encapsulate(self.backend, &mut Random).unwrap();
        Some((ciphertext.as_bytes().to_vec(), *secret.as_bytes()))
    }

    fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> Option<SharedSecret> {
        let ciphertext = mlkem::Ciphertext::<P>::from_bytes(ciphertext).ok()?;
        Some(*secret.decapsulate(self.backend, &ciphertext).as_bytes())
    }
}
