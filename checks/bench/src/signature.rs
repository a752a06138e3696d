//! Signatures with Ed25519 (RFC 8032).

use crate::openssl::OpenSsl;
use ed25519_dalek::{Signer, Verifier};
use sntrup::Backend;

/// The algorithm's name.
pub const NAME: &str = "Ed25519";

/// Bytes of a seed and of a public key.
pub const KEY_BYTES: usize = 32;
/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;
/// Bytes of the message that a TLS 1.3 server signs, if its cipher suite uses SHA-256 (RFC 8446,
/// section 4.4.3).
pub const MESSAGE_BYTES: usize = 64 + 33 + 1 + 32;

/// An implementation of Ed25519. It panics on invalid keys.
pub trait Ed25519 {
    /// A key that signs.
    type SigningKey;

    /// The implementation's name.
    fn name(&self) -> String;
    /// The instruction set that it runs on, if it is known.
    fn backend(&self) -> Option<&'static str> {
        None
    }

    /// Derives the signing key of a seed, and returns it with its public key.
    fn key_pair(&self, seed: &[u8; KEY_BYTES]) -> ([u8; KEY_BYTES], Self::SigningKey);
    /// Signs a message.
    fn sign(&self, key: &Self::SigningKey, message: &[u8]) -> [u8; SIGNATURE_BYTES];
    /// Returns true if a signature is valid. The public key is in the encoding that peers send.
    fn verify(
        &self,
        public: &[u8; KEY_BYTES],
        message: &[u8],
        signature: &[u8; SIGNATURE_BYTES],
    ) -> bool;
}

/// fastkex on one backend.
#[derive(Clone, Copy)]
pub struct Ours(pub Backend);

impl Ed25519 for Ours {
    type SigningKey = curve25519::ed25519::SigningKey;

    fn name(&self) -> String {
        "fastkex".into()
    }

    fn backend(&self) -> Option<&'static str> {
        Some(self.0.name())
    }

    fn key_pair(&self, seed: &[u8; KEY_BYTES]) -> ([u8; KEY_BYTES], Self::SigningKey) {
        let key = curve25519::ed25519::SigningKey::from_seed(self.0, seed);
        (key.verifying_key().0, key)
    }

    fn sign(&self, key: &Self::SigningKey, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        curve25519::ed25519::sign(self.0, key, message)
    }

    fn verify(
        &self,
        public: &[u8; KEY_BYTES],
        message: &[u8],
        signature: &[u8; SIGNATURE_BYTES],
    ) -> bool {
        let key = curve25519::ed25519::VerifyingKey(*public);
        curve25519::ed25519::verify(self.0, &key, signature, message).is_ok()
    }
}

/// The crate `ed25519-dalek`.
pub struct Dalek;

impl Ed25519 for Dalek {
    type SigningKey = ed25519_dalek::SigningKey;

    fn name(&self) -> String {
        "ed25519-dalek".into()
    }

    fn key_pair(&self, seed: &[u8; KEY_BYTES]) -> ([u8; KEY_BYTES], Self::SigningKey) {
        let key = Self::SigningKey::from_bytes(seed);
        (key.verifying_key().to_bytes(), key)
    }

    fn sign(&self, key: &Self::SigningKey, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        key.sign(message).to_bytes()
    }

    fn verify(
        &self,
        public: &[u8; KEY_BYTES],
        message: &[u8],
        signature: &[u8; SIGNATURE_BYTES],
    ) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature);
        ed25519_dalek::VerifyingKey::from_bytes(public)
            .is_ok_and(|key| key.verify(message, &signature).is_ok())
    }
}

/// The crate `graviola`.
pub struct Graviola;

impl Ed25519 for Graviola {
    type SigningKey = graviola::signing::eddsa::Ed25519SigningKey;

    fn name(&self) -> String {
        "graviola".into()
    }

    fn key_pair(&self, seed: &[u8; KEY_BYTES]) -> ([u8; KEY_BYTES], Self::SigningKey) {
        let key = Self::SigningKey::from_bytes(seed).unwrap();
        (key.public_key().as_bytes(), key)
    }

    fn sign(&self, key: &Self::SigningKey, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        key.sign(message)
    }

    fn verify(
        &self,
        public: &[u8; KEY_BYTES],
        message: &[u8],
        signature: &[u8; SIGNATURE_BYTES],
    ) -> bool {
        graviola::signing::eddsa::Ed25519VerifyingKey::from_bytes(public)
            .is_ok_and(|key| key.verify(signature, message).is_ok())
    }
}

impl Ed25519 for OpenSsl {
    type SigningKey = openssl_runtime::Key;

    fn name(&self) -> String {
        self.to_string()
    }

    fn key_pair(&self, seed: &[u8; KEY_BYTES]) -> ([u8; KEY_BYTES], Self::SigningKey) {
        let key = self.import_secret(NAME, seed).unwrap();
        (key.octets("pub").unwrap().try_into().unwrap(), key)
    }

    fn sign(&self, key: &Self::SigningKey, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
        key.sign(None, message).unwrap().try_into().unwrap()
    }

    fn verify(
        &self,
        public: &[u8; KEY_BYTES],
        message: &[u8],
        signature: &[u8; SIGNATURE_BYTES],
    ) -> bool {
        let key = self.import_public(NAME, public).unwrap();
        key.verify(None, message, signature).unwrap()
    }
}

#[cfg(feature = "peers")]
pub use aws::AwsLc;

#[cfg(feature = "peers")]
mod aws {
    use aws_lc_rs::signature::{self, Ed25519KeyPair, KeyPair};

    use super::{Ed25519, KEY_BYTES, SIGNATURE_BYTES};

    /// AWS-LC through the crate `aws-lc-rs`.
    pub struct AwsLc;

    impl Ed25519 for AwsLc {
        type SigningKey = Ed25519KeyPair;

        fn name(&self) -> String {
            "aws-lc-rs".into()
        }

        fn key_pair(&self, seed: &[u8; KEY_BYTES]) -> ([u8; KEY_BYTES], Self::SigningKey) {
            let key = Ed25519KeyPair::from_seed_unchecked(seed).unwrap();
            (key.public_key().as_ref().try_into().unwrap(), key)
        }

        fn sign(&self, key: &Self::SigningKey, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
            key.sign(message).as_ref().try_into().unwrap()
        }

        fn verify(
            &self,
            public: &[u8; KEY_BYTES],
            message: &[u8],
            signature: &[u8; SIGNATURE_BYTES],
        ) -> bool {
            let key = signature::UnparsedPublicKey::new(&signature::ED25519, public);
            key.verify(message, signature).is_ok()
        }
    }
}
