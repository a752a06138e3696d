//! Other implementations of ML-KEM.

use std::marker::PhantomData;

use generator::Random;
use graviola::key_agreement::mlkem768;
use mlkem::{Backend, MlKem512, MlKem768, MlKem1024, ParameterSet};

use super::MlKem;
use crate::kem::{SharedSecret, shared};
use crate::openssl::OpenSsl;

/// Returns the backend of implementations that choose between portable and AVX2 code at run time.
fn avx2_or_portable() -> Option<&'static str> {
    Some(Backend::named("avx2").map_or("portable", Backend::name))
}

fn random<const BYTES: usize>() -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    generator::fill(&mut bytes).unwrap();
    bytes
}

/// The crate `graviola`, which has ML-KEM-768 only.
pub struct Graviola;

impl MlKem for Graviola {
    const READS_SECRET_KEYS: bool = false;

    type SecretKey = mlkem768::DecapKey;

    fn name(&self) -> String {
        "graviola".into()
    }

    fn algorithm(&self) -> &'static str {
        MlKem768::NAME
    }

    fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
        let secret = mlkem768::DecapKey::generate().unwrap();
        (secret.encapsulation_key().as_bytes().to_vec(), secret)
    }

    fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
        secret.as_bytes().to_vec()
    }

    fn secret_key(&self, _: &[u8]) -> Option<Self::SecretKey> {
        None
    }

    fn encapsulate(&self, public: &[u8]) -> Option<(Vec<u8>, SharedSecret)> {
        let key = mlkem768::EncapKey::from_bytes(public.try_into().ok()?).ok()?;
        let (secret, ciphertext) = key.encaps().unwrap();
        Some((ciphertext.as_ref().to_vec(), shared(secret.as_ref())))
    }

    /// Calls the internal function of `decaps`, as `decaps` consumes its key and a key cannot be
    /// copied.
    fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> Option<SharedSecret> {
        let ciphertext: [u8; MlKem768::CIPHERTEXT_BYTES] = ciphertext.try_into().ok()?;
        Some(shared(secret.decaps_internal(&ciphertext.into()).as_ref()))
    }
}

/// Implements the peers that have a type for each parameter set.
macro_rules! peers {
    ($($set:ident $libcrux_type:ident $libcrux:ident::$libcrux_secret:ident $rust_crypto_type:ident;)*) => {$(
        #[doc = concat!("The crate `libcrux-ml-kem`, ", stringify!($set), ".")]
        pub struct $libcrux_type;

        impl MlKem for $libcrux_type {
            type SecretKey = libcrux_ml_kem::$libcrux::$libcrux_secret;

            fn name(&self) -> String {
                "libcrux-ml-kem".into()
            }

            fn algorithm(&self) -> &'static str {
                $set::NAME
            }

            fn backend(&self) -> Option<&'static str> {
                avx2_or_portable()
            }

            fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
                let pair = libcrux_ml_kem::$libcrux::generate_key_pair(random());
                let (secret, public) = pair.into_parts();
                (public.as_slice().to_vec(), secret)
            }

            fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
                secret.as_slice().to_vec()
            }

            fn secret_key(&self, bytes: &[u8]) -> Option<Self::SecretKey> {
                let key = Self::SecretKey::try_from(bytes).ok()?;
                // The ciphertext has only a length to check.
                let ciphertext = Default::default();
                let valid = libcrux_ml_kem::$libcrux::validate_private_key(&key, &ciphertext);
                valid.then_some(key)
            }

            fn encapsulate(&self, public: &[u8]) -> Option<(Vec<u8>, SharedSecret)> {
                use libcrux_ml_kem::$libcrux::{encapsulate, validate_public_key};
                let key = public.try_into().ok()?;
                if !validate_public_key(&key) {
                    return None;
                }
                let (ciphertext, secret) = encapsulate(&key, random());
                Some((ciphertext.as_slice().to_vec(), secret))
            }

            fn decapsulate(
                &self,
                secret: &Self::SecretKey,
                ciphertext: &[u8],
            ) -> Option<SharedSecret> {
                let ciphertext = ciphertext.try_into().ok()?;
                Some(libcrux_ml_kem::$libcrux::decapsulate(secret, &ciphertext))
            }
        }

        #[doc = concat!("The crate `ml-kem` of RustCrypto, ", stringify!($set), ".")]
        pub struct $rust_crypto_type;

        impl MlKem for $rust_crypto_type {
            type SecretKey = ml_kem::DecapsulationKey<ml_kem::$set>;

            fn name(&self) -> String {
                "ml-kem".into()
            }

            fn algorithm(&self) -> &'static str {
                $set::NAME
            }

            fn backend(&self) -> Option<&'static str> {
                Some("portable")
            }

            fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
                use ml_kem::{Kem, KeyExport};
                let (secret, public) = ml_kem::$set::generate_keypair_from_rng(&mut Random);
                (public.to_bytes().to_vec(), secret)
            }

            #[expect(deprecated, reason = "other implementations read this form")]
            fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
                use ml_kem::ExpandedKeyEncoding;
                secret.to_expanded_bytes().to_vec()
            }

            #[expect(deprecated, reason = "other implementations write this form")]
            fn secret_key(&self, bytes: &[u8]) -> Option<Self::SecretKey> {
                Self::SecretKey::from_expanded(bytes.try_into().ok()?).ok()
            }

            fn encapsulate(&self, public: &[u8]) -> Option<(Vec<u8>, SharedSecret)> {
                use ml_kem::Encapsulate;
                let key = ml_kem::EncapsulationKey::<ml_kem::$set>::new(public.try_into().ok()?);
                let (ciphertext, secret) = key.ok()?.encapsulate_with_rng(&mut Random);
                Some((ciphertext.to_vec(), shared(&secret)))
            }

            fn decapsulate(
                &self,
                secret: &Self::SecretKey,
                ciphertext: &[u8],
            ) -> Option<SharedSecret> {
                use ml_kem::Decapsulate;
                Some(shared(&secret.decapsulate_slice(ciphertext).ok()?))
            }
        }
    )*};
}

peers! {
    MlKem512 Libcrux512 mlkem512::MlKem512PrivateKey RustCrypto512;
    MlKem768 Libcrux768 mlkem768::MlKem768PrivateKey RustCrypto768;
    MlKem1024 Libcrux1024 mlkem1024::MlKem1024PrivateKey RustCrypto1024;
}

/// Returns one of three values, by parameter set.
fn by_set<P: ParameterSet, T>(values: [T; 3]) -> T {
    let [small, middle, large] = values;
    match P::K {
        MlKem512::K => small,
        MlKem768::K => middle,
        _ => large,
    }
}

/// Returns OpenSSL's name of a parameter set.
pub fn name_in_openssl<P: ParameterSet>() -> &'static str {
    by_set::<P, _>(["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"])
}

/// An OpenSSL with parameter set `P`, which came with 3.5.
pub struct OpenSslMlKem<P>(OpenSsl, PhantomData<P>);

impl<P: ParameterSet> OpenSslMlKem<P> {
    /// Returns `None` if `openssl` has no ML-KEM.
    pub fn of(openssl: &OpenSsl) -> Option<Self> {
        openssl.has(name_in_openssl::<P>()).then(|| OpenSslMlKem(openssl.clone(), PhantomData))
    }
}

impl<P: ParameterSet> MlKem for OpenSslMlKem<P> {
    /// OpenSSL encapsulates and decapsulates once with each secret key that it reads.
    const REFUSES_WRONG_S: bool = true;

    type SecretKey = openssl_runtime::Key;

    fn name(&self) -> String {
        self.0.to_string()
    }

    fn algorithm(&self) -> &'static str {
        P::NAME
    }

    fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
        self.0.generate(name_in_openssl::<P>()).unwrap()
    }

    fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
        secret.private_octets("priv").unwrap().to_vec()
    }

    fn secret_key(&self, bytes: &[u8]) -> Option<Self::SecretKey> {
        self.0.import_secret(name_in_openssl::<P>(), bytes).ok()
    }

    fn encapsulate(&self, public: &[u8]) -> Option<(Vec<u8>, SharedSecret)> {
        let key = self.0.import(name_in_openssl::<P>(), public).ok()?;
        let (ciphertext, secret) = key.encapsulate().unwrap();
        Some((ciphertext, shared(&secret)))
    }

    fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> Option<SharedSecret> {
        Some(shared(&secret.decapsulate(ciphertext).ok()?))
    }
}

#[cfg(feature = "peers")]
pub use with_c::{AwsLc, Liboqs};

/// Implementations that are built from C.
#[cfg(feature = "peers")]
mod with_c {
    use aws_lc_rs::kem::{
        Algorithm, DecapsulationKey, EncapsulationKey, ML_KEM_512, ML_KEM_768, ML_KEM_1024,
    };
    use oqs::kem;

    use super::{MlKem, ParameterSet, PhantomData, SharedSecret, by_set, shared};

    /// AWS-LC through the crate `aws-lc-rs`.
    pub struct AwsLc<P>(&'static Algorithm, PhantomData<P>);

    impl<P: ParameterSet> AwsLc<P> {
        /// AWS-LC with parameter set `P`.
        pub fn new() -> Self {
            AwsLc(by_set::<P, _>([&ML_KEM_512, &ML_KEM_768, &ML_KEM_1024]), PhantomData)
        }
    }

    impl<P: ParameterSet> Default for AwsLc<P> {
        fn default() -> Self {
            Self::new()
        }
    }

    impl<P: ParameterSet> MlKem for AwsLc<P> {
        type SecretKey = DecapsulationKey;

        fn name(&self) -> String {
            "aws-lc-rs".into()
        }

        fn algorithm(&self) -> &'static str {
            P::NAME
        }

        fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
            let secret = DecapsulationKey::generate(self.0).unwrap();
            let public = secret.encapsulation_key().unwrap().key_bytes().unwrap();
            (public.as_ref().to_vec(), secret)
        }

        fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
            secret.key_bytes().unwrap().as_ref().to_vec()
        }

        fn secret_key(&self, bytes: &[u8]) -> Option<Self::SecretKey> {
            DecapsulationKey::new(self.0, bytes).ok()
        }

        fn encapsulate(&self, public: &[u8]) -> Option<(Vec<u8>, SharedSecret)> {
            let key = EncapsulationKey::new(self.0, public).ok()?;
            let (ciphertext, secret) = key.encapsulate().ok()?;
            Some((ciphertext.as_ref().to_vec(), shared(secret.as_ref())))
        }

        fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> Option<SharedSecret> {
            Some(shared(secret.decapsulate(ciphertext.into()).ok()?.as_ref()))
        }
    }

    /// liboqs through the crate `oqs`. Its ML-KEM is mlkem-native.
    pub struct Liboqs<P>(kem::Kem, PhantomData<P>);

    impl<P: ParameterSet> Liboqs<P> {
        /// Initialises liboqs, which detects the processor's features.
        pub fn new() -> Self {
            use kem::Algorithm::{MlKem512, MlKem768, MlKem1024};
            oqs::init();
            let algorithm = by_set::<P, _>([MlKem512, MlKem768, MlKem1024]);
            Liboqs(kem::Kem::new(algorithm).unwrap(), PhantomData)
        }
    }

    impl<P: ParameterSet> Default for Liboqs<P> {
        fn default() -> Self {
            Self::new()
        }
    }

    impl<P: ParameterSet> MlKem for Liboqs<P> {
        type SecretKey = kem::SecretKey;

        fn name(&self) -> String {
            "liboqs (mlkem-native)".into()
        }

        fn algorithm(&self) -> &'static str {
            P::NAME
        }

        fn backend(&self) -> Option<&'static str> {
            super::avx2_or_portable()
        }

        fn key_pair(&self) -> (Vec<u8>, Self::SecretKey) {
            let (public, secret) = self.0.keypair().unwrap();
            (public.into_vec(), secret)
        }

        fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8> {
            secret.as_ref().to_vec()
        }

        fn secret_key(&self, bytes: &[u8]) -> Option<Self::SecretKey> {
            Some(self.0.secret_key_from_bytes(bytes)?.to_owned())
        }

        fn encapsulate(&self, public: &[u8]) -> Option<(Vec<u8>, SharedSecret)> {
            let key = self.0.public_key_from_bytes(public)?;
            let (ciphertext, secret) = self.0.encapsulate(key).ok()?;
            Some((ciphertext.into_vec(), shared(secret.as_ref())))
        }

        fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> Option<SharedSecret> {
            let ciphertext = self.0.ciphertext_from_bytes(ciphertext)?;
            Some(shared(self.0.decapsulate(secret, ciphertext).ok()?.as_ref()))
        }
    }
}
