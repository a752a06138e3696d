use kex::{Error, Kem, KeyPair};
use zeroize::Zeroizing;

use crate::hand::InHand;
use crate::kind::KeyPairs;

/// A key's contents: immutable, so that operations in progress keep what they began with.
pub enum Material<K: Kem> {
    /// The public half alone.
    Public(K::PublicKey),
    /// A key from elsewhere.
    Pair(KeyPair<K>),
    /// One from a pool.
    InHand(InHand<KeyPairs<K>>),
}

impl<K: Kem> Material<K> {
    /// The public half.
    pub fn public(&self) -> &K::PublicKey {
        match self {
            Material::Public(public) => public,
            Material::Pair(pair) => &pair.public,
            Material::InHand(pair) => pair.public(),
        }
    }

    /// Whether there is a secret half.
    pub fn has_secret(&self) -> bool {
        !matches!(self, Material::Public(_))
    }

    /// Lets `work` have the secret half; `None` if there is none.
    pub fn with_secret<R>(
        &self,
        work: impl FnOnce(&K::SecretKey) -> Result<R, Error>,
    ) -> Option<Result<R, Error>> {
        match self {
            Material::Public(_) => None,
            Material::Pair(pair) => Some(work(&pair.secret)),
            Material::InHand(pair) => Some(pair.with_secret(work)),
        }
    }

    /// The encoded public half.
    pub fn public_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; K::PUBLIC_KEY_BYTES];
        K::write_public_key(self.public(), &mut bytes);
        bytes
    }

    /// The encoded secret half, if there is one.
    pub fn secret_bytes(&self) -> Option<Zeroizing<Vec<u8>>> {
        let mut bytes = Zeroizing::new(vec![0; K::SECRET_KEY_BYTES]);
        let written = self.with_secret(|secret| {
            K::write_secret_key(secret, &mut bytes);
            Ok(())
        });
        written?.ok().map(|()| bytes)
    }

    /// Reads a public key.
    ///
    /// # Errors
    /// As [`Kem::read_public_key`].
    pub fn from_public_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Ok(Material::Public(K::read_public_key(bytes)?))
    }

    /// Reads a secret key.
    ///
    /// # Errors
    /// As [`Kem::read_secret_key`].
    pub fn from_secret_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let secret = K::read_secret_key(bytes)?;
        Ok(Material::Pair(KeyPair { public: K::public_key(&secret), secret }))
    }
}
