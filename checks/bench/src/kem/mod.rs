//! Key encapsulation. Public keys and ciphertexts are bytes, and a secret key is the
//! implementation's own object.

pub mod ml_kem;
pub mod streamlined;

/// A shared secret of any of the KEMs here.
pub type SharedSecret = [u8; 32];

/// An implementation of one KEM. It panics on input of the wrong size.
pub trait Kem {
    /// A secret key.
    type SecretKey;

    /// The implementation's name.
    fn name(&self) -> String;
    /// The KEM's name.
    fn algorithm(&self) -> &'static str;
    /// The instruction set that it runs on, if it is known.
    fn backend(&self) -> Option<&'static str>;

    /// Generates a key pair.
    fn key_pair(&self) -> (Vec<u8>, Self::SecretKey);
    /// Encapsulates for a public key and returns ciphertext and shared secret.
    fn encapsulate(&self, public: &[u8]) -> (Vec<u8>, SharedSecret);
    /// Decapsulates.
    fn decapsulate(&self, secret: &Self::SecretKey, ciphertext: &[u8]) -> SharedSecret;
}

/// A KEM whose secret keys can be transferred to another implementation.
pub trait StoredKeys: Kem {
    /// Encodes a secret key.
    fn secret_key_bytes(&self, secret: &Self::SecretKey) -> Vec<u8>;
    /// Reads a secret key.
    fn secret_key(&self, bytes: &[u8]) -> Self::SecretKey;
}

pub(crate) fn shared(bytes: &[u8]) -> SharedSecret {
    bytes.try_into().expect("a shared secret of 32 bytes")
}
