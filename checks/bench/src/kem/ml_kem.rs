//! ML-KEM-768 (FIPS 203).

use graviola::key_agreement::mlkem768;

use super::{Kem, SharedSecret, shared};
use crate::openssl::OpenSsl;

/// The KEM's name.
pub const NAME: &str = "ML-KEM-768";

/// The crate `graviola`.
pub struct Graviola;

impl Kem for Graviola {
    type SecretKey = mlkem768::DecapKey;

    fn name(&self) -> String {
        "graviola".into()
    }

    fn algorithm(&self) -> &'static str {
        NAME
    }

    fn backend(&self) -> Option<&'static str> {
        None
    }

    fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
        let secret = mlkem768::DecapKey::generate().unwrap();
        (secret.encapsulation_key().as_bytes().to_vec(), secret)
    }

    fn encapsulate(&self, public: &[u8]) -> (Vec<u8>, SharedSecret) {
        let key = mlkem768::EncapKey::from_bytes(public.try_into().unwrap()).unwrap();
        let (secret, ciphertext) = key.encaps().unwrap();
        (ciphertext.as_ref().to_vec(), shared(secret.as_ref()))
    }

    /// Calls the internal function of `decaps`, as `decaps` consumes its key and a key cannot be
    /// copied.
    fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> SharedSecret {
        let ciphertext: [u8; 1088] = ciphertext.try_into().unwrap();
        shared(secret.decaps_internal(&ciphertext.into()).as_ref())
    }
}

impl Kem for OpenSsl {
    type SecretKey = openssl_runtime::Key;

    fn name(&self) -> String {
        self.to_string()
    }

    fn algorithm(&self) -> &'static str {
        NAME
    }

    fn backend(&self) -> Option<&'static str> {
        None
    }

    fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
        self.generate(NAME).unwrap()
    }

    fn encapsulate(&self, public: &[u8]) -> (Vec<u8>, SharedSecret) {
        let (ciphertext, secret) = self.import(NAME, public).unwrap().encapsulate().unwrap();
        (ciphertext, shared(&secret))
    }

    fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> SharedSecret {
        shared(&secret.decapsulate(ciphertext).unwrap())
    }
}

#[cfg(feature = "peers")]
pub use aws::AwsLc;

#[cfg(feature = "peers")]
mod aws {
    use aws_lc_rs::kem::{DecapsulationKey, EncapsulationKey, ML_KEM_768};

    use super::{Kem, NAME, SharedSecret, shared};

    /// AWS-LC through the crate `aws-lc-rs`.
    pub struct AwsLc;

    impl Kem for AwsLc {
        type SecretKey = DecapsulationKey;

        fn name(&self) -> String {
            "aws-lc-rs".into()
        }

        fn algorithm(&self) -> &'static str {
            NAME
        }

        fn backend(&self) -> Option<&'static str> {
            None
        }

        fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
            let secret = DecapsulationKey::generate(&ML_KEM_768).unwrap();
            let public = secret.encapsulation_key().unwrap().key_bytes().unwrap();
            (public.as_ref().to_vec(), secret)
        }

        fn encapsulate(&self, public: &[u8]) -> (Vec<u8>, SharedSecret) {
            let key = EncapsulationKey::new(&ML_KEM_768, public).unwrap();
            let (ciphertext, secret) = key.encapsulate().unwrap();
            (ciphertext.as_ref().to_vec(), shared(secret.as_ref()))
        }

        fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> SharedSecret {
            shared(secret.decapsulate(ciphertext.into()).unwrap().as_ref())
        }
    }
}
