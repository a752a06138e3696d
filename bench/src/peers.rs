//! One adapter for each implementation. Everything is bytes, so that keys and ciphertexts can cross.

use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;

/// Public key, secret key.
pub type KeyPair = (Vec<u8>, Vec<u8>);
/// Ciphertext, shared secret.
pub type Encapsulation = (Vec<u8>, Vec<u8>);

/// An implementation of one parameter set. It panics on input of the wrong size, which no test gives it.
pub trait Peer {
    /// The implementation's name.
    const NAME: &'static str;
    /// The parameter set's name.
    const PARAMETER_SET: &'static str;

    /// Generates a key pair.
    fn key_pair() -> KeyPair;
    /// Encapsulates for a public key.
    fn encapsulate(public: &[u8]) -> Encapsulation;
    /// Decapsulates.
    fn decapsulate(secret: &[u8], ciphertext: &[u8]) -> Vec<u8>;
}

/// Ours, with parameter set `P`.
pub struct Ours<P>(core::marker::PhantomData<P>);

impl<P: sntrup::ParameterSet> Peer for Ours<P> {
    const NAME: &'static str = "fastkex";
    const PARAMETER_SET: &'static str = P::NAME;

    fn key_pair() -> KeyPair {
        let pair = sntrup::KeyPair::<P>::generate(sntrup::Backend::best(), &mut SysRng).unwrap();
        let (public, secret) = pair.into_parts();
        (public.as_bytes().to_vec(), secret.as_bytes().to_vec())
    }

    fn encapsulate(public: &[u8]) -> Encapsulation {
        let key = sntrup::PublicKey::<P>::from_bytes(public).unwrap();
        let (ciphertext, shared) = key.encapsulate(sntrup::Backend::best(), &mut SysRng).unwrap();
        (ciphertext.as_bytes().to_vec(), shared.as_bytes().to_vec())
    }

    fn decapsulate(secret: &[u8], ciphertext: &[u8]) -> Vec<u8> {
        let key = sntrup::SecretKey::<P>::from_bytes(secret).unwrap();
        let ciphertext = sntrup::Ciphertext::<P>::from_bytes(ciphertext).unwrap();
        key.decapsulate(sntrup::Backend::best(), &ciphertext).as_bytes().to_vec()
    }
}

/// The crate `sntrup761`.
pub struct Sntrup761Crate;

impl Peer for Sntrup761Crate {
    const NAME: &'static str = "sntrup761";
    const PARAMETER_SET: &'static str = "sntrup761";

    fn key_pair() -> KeyPair {
        let (public, secret) = sntrup761::generate_key(UnwrapErr(SysRng));
        (public.as_ref().to_vec(), secret.as_ref().to_vec())
    }

    fn encapsulate(public: &[u8]) -> Encapsulation {
        let key = sntrup761::EncapsulationKey::try_from(public).unwrap();
        let (ciphertext, shared) = key.encapsulate(UnwrapErr(SysRng));
        (ciphertext.as_ref().to_vec(), shared.as_ref().to_vec())
    }

    fn decapsulate(secret: &[u8], ciphertext: &[u8]) -> Vec<u8> {
        let key = sntrup761::DecapsulationKey::try_from(secret).unwrap();
        let ciphertext = sntrup761::Ciphertext::try_from(ciphertext).unwrap();
        key.decapsulate(&ciphertext).as_ref().to_vec()
    }
}

macro_rules! peers {
    ($($set:ident $name:literal $of_sntrup:ident $of_pqclean:ident;)*) => {$(
        #[doc = concat!("The crate `sntrup`, ", $name, ".")]
        pub struct $of_sntrup;

        impl Peer for $of_sntrup {
            const NAME: &'static str = "sntrup";
            const PARAMETER_SET: &'static str = $name;

            fn key_pair() -> KeyPair {
                let (public, secret) = sntrup_crate::$set::generate_key(&mut UnwrapErr(SysRng));
                (public.as_ref().to_vec(), secret.as_ref().to_vec())
            }

            fn encapsulate(public: &[u8]) -> Encapsulation {
                let key = sntrup_crate::$set::EncapsulationKey::try_from(public).unwrap();
                let (ciphertext, shared) = key.encapsulate(&mut UnwrapErr(SysRng));
                (ciphertext.as_ref().to_vec(), shared.as_ref().to_vec())
            }

            fn decapsulate(secret: &[u8], ciphertext: &[u8]) -> Vec<u8> {
                let key = sntrup_crate::$set::DecapsulationKey::try_from(secret).unwrap();
                let ciphertext = sntrup_crate::$set::Ciphertext::try_from(ciphertext).unwrap();
                key.decapsulate(&ciphertext).as_ref().to_vec()
            }
        }

        #[doc = concat!("PQClean through the crate `pqcrypto-ntruprime`, ", $name, ".")]
        pub struct $of_pqclean;

        impl Peer for $of_pqclean {
            const NAME: &'static str = "pqcrypto-ntruprime";
            const PARAMETER_SET: &'static str = $name;

            fn key_pair() -> KeyPair {
                use pqcrypto_traits::kem::{PublicKey, SecretKey};
                let (public, secret) = pqcrypto_ntruprime::$set::keypair();
                (public.as_bytes().to_vec(), secret.as_bytes().to_vec())
            }

            fn encapsulate(public: &[u8]) -> Encapsulation {
                use pqcrypto_traits::kem::{Ciphertext, PublicKey, SharedSecret};
                let key = pqcrypto_ntruprime::$set::PublicKey::from_bytes(public).unwrap();
                let (shared, ciphertext) = pqcrypto_ntruprime::$set::encapsulate(&key);
                (ciphertext.as_bytes().to_vec(), shared.as_bytes().to_vec())
            }

            fn decapsulate(secret: &[u8], ciphertext: &[u8]) -> Vec<u8> {
                use pqcrypto_traits::kem::{Ciphertext, SecretKey, SharedSecret};
                let key = pqcrypto_ntruprime::$set::SecretKey::from_bytes(secret).unwrap();
                let ciphertext =
                    pqcrypto_ntruprime::$set::Ciphertext::from_bytes(ciphertext).unwrap();
                pqcrypto_ntruprime::$set::decapsulate(&ciphertext, &key).as_bytes().to_vec()
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
