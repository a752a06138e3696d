//! What OpenSSL calls key data.

use core::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use kex::{Error, KeyPair, TlsKem};
use keypool::{InHand, KeyPairs};
use zeroize::Zeroizing;

use crate::provider::Provider;

/// A key's contents: immutable, so that operations in progress keep what they began with.
pub(crate) enum Material<K: TlsKem> {
    Public(K::PublicKey),
    /// A key from elsewhere.
    Pair(KeyPair<K>),
    /// One of ours.
    InHand(InHand<KeyPairs<K>>),
}

impl<K: TlsKem> Material<K> {
    pub(crate) fn public(&self) -> &K::PublicKey {
        match self {
            Material::Public(public) => public,
            Material::Pair(pair) => &pair.public,
            Material::InHand(pair) => pair.public(),
        }
    }

    pub(crate) fn has_secret(&self) -> bool {
        !matches!(self, Material::Public(_))
    }

    /// Lets `work` have the secret half; `None` if there is none.
    pub(crate) fn with_secret<R>(
        &self,
        work: impl FnOnce(&K::SecretKey) -> Result<R, Error>,
    ) -> Option<Result<R, Error>> {
        match self {
            Material::Public(_) => None,
            Material::Pair(pair) => Some(work(&pair.secret)),
            Material::InHand(pair) => Some(pair.with_secret(work)),
        }
    }

    pub(crate) fn public_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; K::PUBLIC_KEY_BYTES];
        K::write_public_key(self.public(), &mut bytes);
        bytes
    }

    pub(crate) fn secret_bytes(&self) -> Option<Zeroizing<Vec<u8>>> {
        let mut bytes = Zeroizing::new(vec![0; K::SECRET_KEY_BYTES]);
        let written = self.with_secret(|secret| {
            K::write_secret_key(secret, &mut bytes);
            Ok(())
        });
        written?.ok().map(|()| bytes)
    }

    pub(crate) fn from_public_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Ok(Material::Public(K::read_public_key(bytes)?))
    }

    pub(crate) fn from_secret_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let secret = K::read_secret_key(bytes)?;
        Ok(Material::Pair(KeyPair { public: K::public_key(&secret), secret }))
    }
}

/// A key of a group.
pub(crate) type Key<K> = Holder<Material<K>>;

/// A key with contents `M`, perhaps still empty: OpenSSL fills in keys that it made for their parameters.
pub(crate) struct Holder<M> {
    provider: *const Provider,
    material: Mutex<Option<Arc<M>>>,
}

impl<M> Holder<M> {
    pub(crate) fn new(provider: &Provider, material: Option<Arc<M>>) -> Self {
        Holder { provider, material: Mutex::new(material) }
    }

    pub(crate) fn provider(&self) -> &Provider {
        // SAFETY: libcrypto holds the provider as long as there are keys of it.
        unsafe { &*self.provider }
    }

    pub(crate) fn material(&self) -> Option<Arc<M>> {
        self.material.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set(&self, material: M) {
        let new = Some(Arc::new(material));
        let old = std::mem::replace(
            &mut *self.material.lock().unwrap_or_else(PoisonError::into_inner),
            new,
        );
        drop(old);
    }

    /// Gives the key to OpenSSL.
    pub(crate) fn into_raw(self) -> *mut c_void {
        Box::into_raw(Box::new(self)).cast()
    }

    /// The key behind what OpenSSL hands back; `None` for null.
    ///
    /// # Safety
    /// `key` is null or comes from [`Holder::into_raw`] for the same `M`, and has not been freed.
    pub(crate) unsafe fn borrow<'a>(key: *const c_void) -> Option<&'a Self> {
        // SAFETY: by the caller's promise.
        unsafe { key.cast::<Self>().as_ref() }
    }

    /// Frees what [`Holder::into_raw`] gave; null is no key.
    ///
    /// # Safety
    /// As [`Holder::borrow`], and `key` is not used again.
    pub(crate) unsafe fn free(key: *mut c_void) {
        if !key.is_null() {
            // SAFETY: by the caller's promise.
            drop(unsafe { Box::from_raw(key.cast::<Self>()) });
        }
    }
}
