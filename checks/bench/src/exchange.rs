//! Key exchange with X25519 (RFC 7748).

use curve25519::x25519::{self, KeyPair, PublicKey, SecretKey, SharedSecret};
use generator::Random;
use sntrup::Backend;
use x25519_dalek::StaticSecret;

use crate::openssl::OpenSsl;

/// The algorithm's name.
pub const NAME: &str = "X25519";

/// Bytes of a public value and of a shared secret.
pub const BYTES: usize = 32;

/// An implementation of X25519. It panics on input of the wrong size.
pub trait X25519 {
    /// A secret value.
    type Secret;

    /// The implementation's name.
    fn name(&self) -> String;
    /// The instruction set that it runs on, if it is known.
    fn backend(&self) -> Option<&'static str> {
        None
    }
    /// Generates a secret value and its public value.
    fn key_pair(&self) -> ([u8; BYTES], Self::Secret);
    /// Combines a secret value with the peer's public value.
    fn derive(&self, secret: &Self::Secret, peer: &[u8; BYTES]) -> [u8; BYTES];
}

/// fastkex on one backend.
#[derive(Clone, Copy)]
pub struct Ours(pub Backend);

impl Ours {
    /// Generates key pairs together.
    pub fn key_pairs(&self, count: usize) -> Vec<KeyPair> {
        x25519::generate_batch(self.0, &mut Random, count).unwrap()
    }

    /// Combines each secret value with the public value at the same index.
    pub fn derive_all(&self, secrets: &[SecretKey], peers: &[PublicKey]) -> Vec<SharedSecret> {
        x25519::shared_secrets(self.0, secrets, peers).into_iter().map(Result::unwrap).collect()
    }
}

impl X25519 for Ours {
    type Secret = SecretKey;

    fn name(&self) -> String {
        "fastkex".into()
    }

    fn backend(&self) -> Option<&'static str> {
        Some(self.0.name())
    }

    fn key_pair(&self) -> ([u8; BYTES], SecretKey) {
        let [pair] = <[KeyPair; 1]>::try_from(self.key_pairs(1)).ok().unwrap();
        (pair.public.0, pair.secret)
    }

    fn derive(&self, secret: &SecretKey, peer: &[u8; BYTES]) -> [u8; BYTES] {
        *x25519::shared_secret(self.0, secret, &PublicKey(*peer)).unwrap().as_bytes()
    }
}

/// The crate `x25519-dalek`.
pub struct Dalek;

impl X25519 for Dalek {
    type Secret = StaticSecret;

    fn name(&self) -> String {
        "x25519-dalek".into()
    }

    fn key_pair(&self) -> ([u8; BYTES], Self::Secret) {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).unwrap();
        let secret = StaticSecret::from(bytes);
        (x25519_dalek::PublicKey::from(&secret).to_bytes(), secret)
    }

    fn derive(&self, secret: &Self::Secret, peer: &[u8; BYTES]) -> [u8; BYTES] {
        let shared = secret.diffie_hellman(&x25519_dalek::PublicKey::from(*peer));
        assert!(shared.was_contributory());
        shared.to_bytes()
    }
}

/// The crate `graviola`.
pub struct Graviola;

impl X25519 for Graviola {
    type Secret = graviola::key_agreement::x25519::StaticPrivateKey;

    fn name(&self) -> String {
        "graviola".into()
    }

    fn key_pair(&self) -> ([u8; BYTES], Self::Secret) {
        let secret = Self::Secret::new_random().unwrap();
        (secret.public_key().as_bytes(), secret)
    }

    fn derive(&self, secret: &Self::Secret, peer: &[u8; BYTES]) -> [u8; BYTES] {
        let peer = graviola::key_agreement::x25519::PublicKey::from_array(peer);
        secret.diffie_hellman(&peer).unwrap().0
    }
}

impl X25519 for OpenSsl {
    type Secret = openssl_runtime::Key;

    fn name(&self) -> String {
        self.to_string()
    }

    fn key_pair(&self) -> ([u8; BYTES], Self::Secret) {
        let (public, secret) = self.generate(NAME).unwrap();
        (public.try_into().unwrap(), secret)
    }

    fn derive(&self, secret: &Self::Secret, peer: &[u8; BYTES]) -> [u8; BYTES] {
        let peer = self.import(NAME, peer).unwrap();
        (*secret.derive(&peer).unwrap()).try_into().unwrap()
    }
}

#[cfg(feature = "peers")]
pub use aws::AwsLc;

#[cfg(feature = "peers")]
mod aws {
    use aws_lc_rs::agreement;

    use super::{BYTES, X25519};

    /// AWS-LC through the crate `aws-lc-rs`.
    pub struct AwsLc;

    impl X25519 for AwsLc {
        type Secret = agreement::PrivateKey;

        fn name(&self) -> String {
            "aws-lc-rs".into()
        }

        fn key_pair(&self) -> ([u8; BYTES], Self::Secret) {
            let secret = agreement::PrivateKey::generate(&agreement::X25519).unwrap();
            let public = secret.compute_public_key().unwrap();
            (public.as_ref().try_into().unwrap(), secret)
        }

        fn derive(&self, secret: &Self::Secret, peer: &[u8; BYTES]) -> [u8; BYTES] {
            let peer = agreement::UnparsedPublicKey::new(&agreement::X25519, peer);
            let shared =
                agreement::agree(secret, peer, (), |shared| Ok(shared.try_into().unwrap()));
            shared.unwrap()
        }
    }
}
