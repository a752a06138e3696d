use core::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use crate::curves::{KEY_BYTES, Scheme};
use crate::provider::Provider;

/// A key's contents: immutable, so that operations in progress keep what they began with.
pub(super) enum Material<S: Scheme> {
    /// As it came: what is wrong with it shows when it is used, as with the default provider.
    Public([u8; KEY_BYTES]),
    Pair(S::Pair),
}

impl<S: Scheme> Material<S> {
    pub(super) fn public(&self) -> &[u8; KEY_BYTES] {
        match self {
            Material::Public(public) => public,
            Material::Pair(pair) => S::public(pair),
        }
    }

    pub(super) fn pair(&self) -> Option<&S::Pair> {
        match self {
            Material::Public(_) => None,
            Material::Pair(pair) => Some(pair),
        }
    }
}

/// A key, perhaps still empty: OpenSSL fills in keys that it made for their parameters.
pub(super) struct Key<S: Scheme> {
    provider: *const Provider,
    material: Mutex<Option<Arc<Material<S>>>>,
}

impl<S: Scheme> Key<S> {
    pub(super) fn new(provider: &Provider, material: Option<Arc<Material<S>>>) -> Self {
        Key { provider, material: Mutex::new(material) }
    }

    pub(super) fn provider(&self) -> &Provider {
        // SAFETY: libcrypto holds the provider as long as there are keys of it.
        unsafe { &*self.provider }
    }

    pub(super) fn material(&self) -> Option<Arc<Material<S>>> {
        self.material.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, material: Material<S>) {
        *self.material.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(material));
    }

    /// Puts an error about the key into OpenSSL's queue.
    #[track_caller]
    pub(super) fn raise(&self, reason: u32, message: &str) {
        self.provider().core.raise(reason, &format!("{}: {message}", S::NAME));
    }

    /// Gives the key to OpenSSL.
    pub(super) fn into_raw(self) -> *mut c_void {
        Box::into_raw(Box::new(self)).cast()
    }

    /// The key behind what OpenSSL hands back; `None` for null.
    ///
    /// # Safety
    /// `key` is null or comes from [`Key::into_raw`] for the same `S`, and has not been freed.
    pub(super) unsafe fn borrow<'a>(key: *const c_void) -> Option<&'a Key<S>> {
        // SAFETY: by the caller's promise.
        unsafe { key.cast::<Key<S>>().as_ref() }
    }

    /// Frees what [`Key::into_raw`] gave; null is no key.
    ///
    /// # Safety
    /// As [`Key::borrow`], and `key` is not used again.
    pub(super) unsafe fn free(key: *mut c_void) {
        if !key.is_null() {
            // SAFETY: by the caller's promise.
            drop(unsafe { Box::from_raw(key.cast::<Key<S>>()) });
        }
    }
}
