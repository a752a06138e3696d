//! A key's contents: a public key or a key pair.

use kex::{Backend, Error, Kem, KeyPair};
use secret::Secret;

/// The contents of a key. They are immutable: operations in progress go on with the contents that
/// they started with.
pub enum KeyMaterial<K: Kem> {
    /// A public key only.
    Public(K::PublicKey),
    /// A key pair.
    Pair(KeyPair<K>),
}

impl<K: Kem> KeyMaterial<K> {
    /// The public key.
    pub fn public(&self) -> &K::PublicKey {
        match self {
            KeyMaterial::Public(public) => public,
            KeyMaterial::Pair(pair) => &pair.public,
        }
    }

    /// Whether there is a secret key.
    pub fn has_secret(&self) -> bool {
        !matches!(self, KeyMaterial::Public(_))
    }

    /// The secret key, if there is one.
    pub fn secret(&self) -> Option<&K::SecretKey> {
        match self {
            KeyMaterial::Public(_) => None,
            KeyMaterial::Pair(pair) => Some(&pair.secret),
        }
    }

    /// Calls `work` with the secret key; `None` if there is none.
    pub fn with_secret<R>(&self, work: impl FnOnce(&K::SecretKey) -> R) -> Option<R> {
        self.secret().map(work)
    }

    /// The encoded public key, [`Kem::PUBLIC_KEY_BYTES`] bytes.
    pub fn public_bytes(&self) -> Vec<u8> {
        // Public: that key.
        let mut bytes = vec![0; K::PUBLIC_KEY_BYTES]; // Public: as above.
        K::write_public_key(self.public(), &mut bytes);
        bytes
    }

    /// The encoded secret key, [`Kem::SECRET_KEY_BYTES`] bytes, if there is one.
    pub fn secret_bytes(&self) -> Option<Secret<[u8]>> {
        let mut bytes = Secret::<[u8]>::slice(K::SECRET_KEY_BYTES);
        K::write_secret_key(self.secret()?, &mut bytes);
        Some(bytes)
    }

    /// Reads a public key from its encoding.
    ///
    /// # Errors
    /// As [`Kem::read_public_key`].
    pub fn from_public_bytes(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        Ok(KeyMaterial::Public(K::read_public_key(backend, bytes)?))
    }

    /// Reads a secret key from its encoding.
    ///
    /// # Errors
    /// As [`Kem::read_secret_key`].
    pub fn from_secret_bytes(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let secret = K::read_secret_key(backend, bytes)?;
        Ok(KeyMaterial::Pair(KeyPair { public: K::public_key(&secret), secret }))
    }
}
