//! The objects behind OpenSSL's key data pointers.

use core::ffi::c_void;
use std::sync::Arc;

use fork::Latest;
use kex::Kem;
pub(crate) use keypool::KeyMaterial;
use secret::Secret;

use crate::memory::{self, NoMemory};
use crate::provider::Provider;

/// A key of a group.
pub(crate) type Key<K> = SharedKey<KeyMaterial<K>>;

/// A key that libcrypto shares between threads, with contents `M` or still empty. libcrypto fills
/// in keys that it created from parameters, and may replace the public key later; operations in
/// progress go on with the contents that they started with. There is no lock, which a child of fork
/// could inherit held.
pub(crate) struct SharedKey<M> {
    provider: *const Provider,
    material: Latest<Arc<M>>,
}

impl<M> SharedKey<M> {
    pub(crate) fn new(provider: &Provider, material: Option<Arc<M>>) -> Self {
        SharedKey { provider, material: Latest::new(material) }
    }

    pub(crate) fn provider(&self) -> &Provider {
        // SAFETY: libcrypto holds the provider as long as there are keys of it.
        unsafe { &*self.provider }
    }

    pub(crate) fn material(&self) -> Option<Arc<M>> {
        self.material.get()
    }

    pub(crate) fn set(&self, material: M) {
        self.material.set(Arc::new(material));
    }

    /// Passes the key to libcrypto as a pointer.
    pub(crate) fn into_raw(self) -> *mut c_void {
        Box::into_raw(Box::new(self)).cast()
    }

    /// The key behind a pointer from libcrypto; `None` for null.
    ///
    /// # Safety
    /// `key` is null or comes from [`SharedKey::into_raw`] for the same `M`, and has not been
    /// freed.
    pub(crate) unsafe fn borrow<'a>(key: *const c_void) -> Option<&'a Self> {
        // SAFETY: by the caller's promise.
        unsafe { key.cast::<Self>().as_ref() }
    }

    /// Frees a key from [`SharedKey::into_raw`]; null is ignored.
    ///
    /// # Safety
    /// As [`SharedKey::borrow`], and `key` is not used again.
    pub(crate) unsafe fn free(key: *mut c_void) {
        if !key.is_null() {
            // SAFETY: by the caller's promise.
            drop(unsafe { Box::from_raw(key.cast::<Self>()) });
        }
    }
}

/// The encoded public key, [`Kem::PUBLIC_KEY_BYTES`] bytes.
pub(crate) fn public_bytes<K: Kem>(material: &KeyMaterial<K>) -> Result<Secret<[u8]>, NoMemory> {
    let mut bytes = memory::zeros(K::PUBLIC_KEY_BYTES)?;
    K::write_public_key(material.public(), &mut bytes);
    Ok(bytes)
}

/// The encoded secret key, [`Kem::SECRET_KEY_BYTES`] bytes, if there is one.
pub(crate) fn secret_bytes<K: Kem>(
    material: &KeyMaterial<K>,
) -> Result<Option<Secret<[u8]>>, NoMemory> {
    let Some(secret) = material.secret() else { return Ok(None) };
    let mut bytes = memory::zeros(K::SECRET_KEY_BYTES)?;
    K::write_secret_key(secret, &mut bytes);
    Ok(Some(bytes))
}
