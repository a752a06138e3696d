//! What an `EVP_PKEY` of ours points to.

use core::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kex::TlsKem;
use keypool::Material;
use zeroize::Zeroizing;

use crate::libcrypto::Libcrypto;
use crate::types::Pkey;

/// A key, and the shared secret that was last encapsulated to it or decapsulated with it and that nobody has taken yet.
pub(crate) struct Key<K: TlsKem>(Mutex<Contents<K>>);

struct Contents<K: TlsKem> {
    material: Arc<Material<K>>,
    secret: Option<Zeroizing<Vec<u8>>>,
}

impl<K: TlsKem> Key<K> {
    /// The key in `pkey`; `None` if it is empty, as one that libssl made for its type.
    ///
    /// # Safety
    /// `pkey` is null or an `EVP_PKEY` of the type that is `K`'s, and lives as long as the result is used.
    pub(crate) unsafe fn of<'a>(libcrypto: &Libcrypto, pkey: *const Pkey) -> Option<&'a Self> {
        if pkey.is_null() {
            return None;
        }
        // SAFETY: by the caller's promise; what is in keys of this type comes from `put`.
        unsafe { (libcrypto.functions.key_data)(pkey).cast::<Self>().as_ref() }
    }

    /// Puts contents into `pkey`, whatever it had before. `false` if libcrypto refuses.
    ///
    /// # Safety
    /// `pkey` is an `EVP_PKEY` that is new or of the type that is `K`'s.
    pub(crate) unsafe fn put(
        libcrypto: &Libcrypto,
        pkey: *mut Pkey,
        material: Material<K>,
        is_new: bool,
    ) -> bool {
        let contents = Contents { material: Arc::new(material), secret: None };
        if !is_new {
            // SAFETY: by the caller's promise.
            if let Some(key) = unsafe { Self::of(libcrypto, pkey) } {
                *key.lock() = contents;
                return true;
            }
        }
        let data = Box::into_raw(Box::new(Key(Mutex::new(contents)))).cast::<c_void>();
        // SAFETY: by the caller's promise; the data is freed by the type's method.
        let assigned =
            unsafe { (libcrypto.functions.key_assign)(pkey, libcrypto.nid::<K>(), data) } == 1;
        if !assigned {
            // SAFETY: just made, and nobody has it.
            drop(unsafe { Box::from_raw(data.cast::<Self>()) });
        }
        assigned
    }

    /// Frees what [`Key::put`] put into `pkey`.
    ///
    /// # Safety
    /// As [`Key::of`]; libcrypto forgets what it pointed to.
    pub(crate) unsafe fn free(libcrypto: &Libcrypto, pkey: *mut Pkey) {
        // SAFETY: by the caller's promise.
        let data = unsafe { (libcrypto.functions.key_data)(pkey) };
        if !data.is_null() {
            // SAFETY: comes from `put`, and is freed once.
            drop(unsafe { Box::from_raw(data.cast::<Self>()) });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn material(&self) -> Arc<Material<K>> {
        self.lock().material.clone()
    }

    /// Leaves a shared secret for [`Key::take_secret`].
    pub(crate) fn set_secret(&self, secret: Zeroizing<Vec<u8>>) {
        self.lock().secret = Some(secret);
    }

    pub(crate) fn has_secret(&self) -> bool {
        self.lock().secret.is_some()
    }

    /// The shared secret, for one who asks.
    pub(crate) fn take_secret(&self) -> Option<Zeroizing<Vec<u8>>> {
        self.lock().secret.take()
    }
}
