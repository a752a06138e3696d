//! Streamlined NTRU Prime.

use std::marker::PhantomData;

use generator::Random;
use sntrup::{Backend, Operations};

use super::{Kem, SharedSecret, StoredKeys, shared};

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
    pub fn key_pairs(&self, count: usize) -> Vec<sntrup::KeyPair<P>> {
        sntrup::KeyPair::generate_batch(self.backend, count, &mut Random).unwrap()
    }

    /// Performs the part of an encapsulation that does not depend on the peer's key.
    pub fn prepare(&self) -> sntrup::PreparedEncapsulation<P> {
        sntrup::PreparedEncapsulation::generate(self.backend, &mut Random).unwrap()
    }

    /// Completes a prepared encapsulation.
    pub fn encapsulate_prepared(
        &self,
        prepared: sntrup::PreparedEncapsulation<P>,
        public: &[u8],
    ) -> (sntrup::Ciphertext<P>, sntrup::SharedSecret) {
        prepared.encapsulate(&sntrup::PublicKey::from_bytes(public).unwrap())
    }

    /// Prepares a key for many decapsulations.
    pub fn expand(&self, secret: &sntrup::SecretKey<P>) -> sntrup::ExpandedKey<P> {
        secret.expand(self.backend)
    }

    /// Decapsulates with a prepared key.
    pub fn decapsulate_expanded(
        &self,
        key: &sntrup::ExpandedKey<P>,
        ciphertext: &[u8],
    ) -> SharedSecret {
        *key.decapsulate(&sntrup::Ciphertext::from_bytes(ciphertext).unwrap()).as_bytes()
    }
}

impl<P: Operations> Kem for Ours<P> {
    type SecretKey = sntrup::SecretKey<P>;

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
        let pair = sntrup::KeyPair::<P>::generate(self.backend, &mut Random).unwrap();
        let (public, secret) = pair.into_parts();
        (public.as_bytes().to_vec(), secret)
    }

    fn encapsulate(&self, public: &[u8]) -> (Vec<u8>, SharedSecret) {
        let key = sntrup::PublicKey::<P>::from_bytes(public).unwrap();
        let (ciphertext, secret) = key.encapsulate(self.backend, &mut Random).unwrap();
        (ciphertext.as_bytes().to_vec(), *secret.as_bytes())
    }

    fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> SharedSecret {
        let ciphertext = sntrup::Ciphertext::<P>::from_bytes(ciphertext).unwrap();
        *secret.decapsulate(self.backend, &ciphertext).as_bytes()
    }
}

impl<P: Operations> StoredKeys for Ours<P> {
    fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
        secret.as_bytes().to_vec()
    }

    fn secret_key(&self, bytes: &[u8]) -> Self::SecretKey {
        sntrup::SecretKey::from_bytes(bytes).unwrap()
    }
}

/// Returns the backend of implementations that choose between portable and AVX2 code at run time.
fn avx2_or_portable() -> Option<&'static str> {
    Some(Backend::named("avx2").map_or("portable", Backend::name))
}

/// The crate `sntrup761`.
#[derive(Clone, Copy)]
pub struct Sntrup761Crate;

impl Kem for Sntrup761Crate {
    type SecretKey = sntrup761::DecapsulationKey;

    fn name(&self) -> String {
        "sntrup761".into()
    }

    fn algorithm(&self) -> &'static str {
        "sntrup761"
    }

    fn backend(&self) -> Option<&'static str> {
        Some("portable")
    }

    fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
        let (public, secret) = sntrup761::generate_key(Random);
        (public.as_ref().to_vec(), secret)
    }

    fn encapsulate(&self, public: &[u8]) -> (Vec<u8>, SharedSecret) {
        let key = sntrup761::EncapsulationKey::try_from(public).unwrap();
        let (ciphertext, secret) = key.encapsulate(Random);
        (ciphertext.as_ref().to_vec(), shared(secret.as_ref()))
    }

    fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> SharedSecret {
        let ciphertext = sntrup761::Ciphertext::try_from(ciphertext).unwrap();
        shared(secret.decapsulate(&ciphertext).as_ref())
    }
}

impl StoredKeys for Sntrup761Crate {
    fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
        secret.as_ref().to_vec()
    }

    fn secret_key(&self, bytes: &[u8]) -> Self::SecretKey {
        sntrup761::DecapsulationKey::try_from(bytes).unwrap()
    }
}

macro_rules! peers {
    ($($set:ident $name:literal $of_sntrup:ident $of_pqclean:ident;)*) => {$(
        #[doc = concat!("The crate `sntrup`, ", $name, ".")]
        #[derive(Clone, Copy)]
        pub struct $of_sntrup;

        impl Kem for $of_sntrup {
            type SecretKey = sntrup_crate::$set::DecapsulationKey;

            fn name(&self) -> String {
                "sntrup".into()
            }

            fn algorithm(&self) -> &'static str {
                $name
            }

            fn backend(&self) -> Option<&'static str> {
                avx2_or_portable()
            }

            fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
                let (public, secret) = sntrup_crate::$set::generate_key(&mut Random);
                (public.as_ref().to_vec(), secret)
            }

            fn encapsulate(&self, public: &[u8]) -> (Vec<u8>, SharedSecret) {
                let key = sntrup_crate::$set::EncapsulationKey::try_from(public).unwrap();
                let (ciphertext, secret) = key.encapsulate(&mut Random);
                (ciphertext.as_ref().to_vec(), shared(secret.as_ref()))
            }

            fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> SharedSecret {
                let ciphertext = sntrup_crate::$set::Ciphertext::try_from(ciphertext).unwrap();
                shared(secret.decapsulate(&ciphertext).as_ref())
            }
        }

        impl StoredKeys for $of_sntrup {
            fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
                secret.as_ref().to_vec()
            }

            fn secret_key(&self, bytes: &[u8]) -> Self::SecretKey {
                sntrup_crate::$set::DecapsulationKey::try_from(bytes).unwrap()
            }
        }

        #[doc = concat!("PQClean through the crate `pqcrypto-ntruprime`, ", $name, ".")]
        #[derive(Clone, Copy)]
        pub struct $of_pqclean;

        impl Kem for $of_pqclean {
            type SecretKey = pqcrypto_ntruprime::$set::SecretKey;

            fn name(&self) -> String {
                "pqcrypto-ntruprime".into()
            }

            fn algorithm(&self) -> &'static str {
                $name
            }

            fn backend(&self) -> Option<&'static str> {
                avx2_or_portable()
            }

            fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
                use pqcrypto_traits::kem::PublicKey;
                let (public, secret) = pqcrypto_ntruprime::$set::keypair();
                (public.as_bytes().to_vec(), secret)
            }

            fn encapsulate(&self, public: &[u8]) -> (Vec<u8>, SharedSecret) {
                use pqcrypto_traits::kem::{Ciphertext, PublicKey, SharedSecret};
                let key = pqcrypto_ntruprime::$set::PublicKey::from_bytes(public).unwrap();
                let (secret, ciphertext) = pqcrypto_ntruprime::$set::encapsulate(&key);
                (ciphertext.as_bytes().to_vec(), shared(secret.as_bytes()))
            }

            fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> SharedSecret {
                use pqcrypto_traits::kem::{Ciphertext, SharedSecret};
                let ciphertext =
                    pqcrypto_ntruprime::$set::Ciphertext::from_bytes(ciphertext).unwrap();
                shared(pqcrypto_ntruprime::$set::decapsulate(&ciphertext, secret).as_bytes())
            }
        }

        impl StoredKeys for $of_pqclean {
            fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
                use pqcrypto_traits::kem::SecretKey;
                secret.as_bytes().to_vec()
            }

            fn secret_key(&self, bytes: &[u8]) -> Self::SecretKey {
                use pqcrypto_traits::kem::SecretKey;
                pqcrypto_ntruprime::$set::SecretKey::from_bytes(bytes).unwrap()
            }
        }
    )*};
}

peers! {
    sntrup653 "sntrup653" SntrupCrate653 PqClean653;
    sntrup761 "sntrup761" SntrupCrate761 PqClean761;
    sntrup857 "sntrup857" SntrupCrate857 PqClean857;
    sntrup953 "sntrup953" SntrupCrate953 PqClean953;
    sntrup1013 "sntrup1013" SntrupCrate1013 PqClean1013;
    sntrup1277 "sntrup1277" SntrupCrate1277 PqClean1277;
}

#[cfg(feature = "peers")]
pub use liboqs::Liboqs;

#[cfg(feature = "peers")]
mod liboqs {
    use oqs::kem;

    use super::{Kem, SharedSecret, StoredKeys, avx2_or_portable, shared};

    /// liboqs through the crate `oqs`, sntrup761. It draws its random bytes from OpenSSL.
    pub struct Liboqs(kem::Kem);

    impl Liboqs {
        /// Initialises liboqs, which detects the processor's features.
        pub fn new() -> Self {
            oqs::init();
            Liboqs(kem::Kem::new(kem::Algorithm::NtruPrimeSntrup761).unwrap())
        }
    }

    impl Default for Liboqs {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Kem for Liboqs {
        type SecretKey = kem::SecretKey;

        fn name(&self) -> String {
            "liboqs".into()
        }

        fn algorithm(&self) -> &'static str {
            "sntrup761"
        }

        fn backend(&self) -> Option<&'static str> {
            avx2_or_portable()
        }

        fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
            let (public, secret) = self.0.keypair().unwrap();
            (public.into_vec(), secret)
        }

        fn encapsulate(&self, public: &[u8]) -> (Vec<u8>, SharedSecret) {
            let key = self.0.public_key_from_bytes(public).unwrap();
            let (ciphertext, secret) = self.0.encapsulate(key).unwrap();
            (ciphertext.into_vec(), shared(secret.as_ref()))
        }

        fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> SharedSecret {
            let ciphertext = self.0.ciphertext_from_bytes(ciphertext).unwrap();
            shared(self.0.decapsulate(secret, ciphertext).unwrap().as_ref())
        }
    }

    impl StoredKeys for Liboqs {
        fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
            secret.as_ref().to_vec()
        }

        fn secret_key(&self, bytes: &[u8]) -> Self::SecretKey {
            self.0.secret_key_from_bytes(bytes).unwrap().to_owned()
        }
    }
}
