use kex::{Backend, Error, Kem, KeyPair};
use secret::Secret;

/// A key's contents: immutable, so that operations in progress keep what they began with.
pub enum KeyMaterial<K: Kem> {
    /// The public half alone.
    Public(K::PublicKey),
    /// Both halves.
    Pair(KeyPair<K>),
}

impl<K: Kem> KeyMaterial<K> {
    /// The public half.
    pub fn public(&self) -> &K::PublicKey {
        match self {
            KeyMaterial::Public(public) => public,
            KeyMaterial::Pair(pair) => &pair.public,
        }
    }

    /// Whether there is a secret half.
    pub fn has_secret(&self) -> bool {
        !matches!(self, KeyMaterial::Public(_))
    }

    /// The secret half, if there is one.
    pub fn secret(&self) -> Option<&K::SecretKey> {
        match self {
            KeyMaterial::Public(_) => None,
            KeyMaterial::Pair(pair) => Some(&pair.secret),
        }
    }

    /// Lets `work` have the secret half; `None` if there is none.
    pub fn with_secret<R>(&self, work: impl FnOnce(&K::SecretKey) -> R) -> Option<R> {
        self.secret().map(work)
    }

    /// The encoded public half.
    pub fn public_bytes(&self) -> Vec<u8> {
        // Public: that half.
        let mut bytes = vec![0; K::PUBLIC_KEY_BYTES]; // Public: as above.
        K::write_public_key(self.public(), &mut bytes);
        bytes
    }

    /// The encoded secret half, if there is one.
    pub fn secret_bytes(&self) -> Option<Secret<[u8]>> {
        let mut bytes = Secret::<[u8]>::slice(K::SECRET_KEY_BYTES);
        K::write_secret_key(self.secret()?, &mut bytes);
        Some(bytes)
    }

    /// Reads a public key.
    ///
    /// # Errors
    /// As [`Kem::read_public_key`].
    pub fn from_public_bytes(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        Ok(KeyMaterial::Public(K::read_public_key(backend, bytes)?))
    }

    /// Reads a secret key.
    ///
    /// # Errors
    /// As [`Kem::read_secret_key`].
    pub fn from_secret_bytes(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let secret = K::read_secret_key(backend, bytes)?;
        Ok(KeyMaterial::Pair(KeyPair { public: K::public_key(&secret), secret }))
    }
}
