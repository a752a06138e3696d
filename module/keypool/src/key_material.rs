//! A key's contents: a public key or a key pair.

use kex::{Backend, Error, Kem, KeyPair};
use secret::{NoMemory, Secret};

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

    /// The encoded public key, [`Kem::PUBLIC_KEY_BYTES`] bytes.
    ///
    /// # Errors
    /// No memory for them.
    pub fn public_bytes(&self) -> Result<Secret<[u8]>, NoMemory> {
        let mut bytes = Secret::<[u8]>::try_slice(K::PUBLIC_KEY_BYTES)?;
        K::write_public_key(self.public(), &mut bytes);
        Ok(bytes)
    }

    /// The encoded secret key, [`Kem::SECRET_KEY_BYTES`] bytes, if there is one.
    ///
    /// # Errors
    /// No memory for them.
    pub fn secret_bytes(&self) -> Result<Option<Secret<[u8]>>, NoMemory> {
        let Some(secret) = self.secret() else { return Ok(None) };
        let mut bytes = Secret::<[u8]>::try_slice(K::SECRET_KEY_BYTES)?;
        K::write_secret_key(secret, &mut bytes);
        Ok(Some(bytes))
    }

    /// The seed of the key pair, [`Kem::SEED_BYTES`] bytes, if it is known.
    ///
    /// # Errors
    /// No memory for them.
    pub fn seed_bytes(&self) -> Result<Option<Secret<[u8]>>, NoMemory> {
        let Some(secret) = self.secret() else { return Ok(None) };
        let mut bytes = Secret::<[u8]>::try_slice(K::SEED_BYTES)?;
        Ok(K::write_seed(secret, &mut bytes).then_some(bytes))
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
        Ok(Self::of_secret(K::read_secret_key(backend, bytes)?))
    }

    /// The key pair of a seed.
    ///
    /// # Errors
    /// As [`Kem::read_seed`].
    pub fn from_seed(backend: Backend, seed: &[u8]) -> Result<Self, Error> {
        Ok(Self::of_secret(K::read_seed(backend, seed)?))
    }

    fn of_secret(secret: K::SecretKey) -> Self {
        KeyMaterial::Pair(KeyPair { public: K::public_key(&secret), secret })
    }
}
