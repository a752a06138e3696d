//! OpenSSL's own library context, and the lock over the tables that contexts share.

use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError, RwLock};

use crate::error::Error;
use crate::failure::Failure;
use crate::library::Libraries;
use crate::types::{OSSL_LIB_CTX, OSSL_PROVIDER};

/// Guards tables that OpenSSL changes while it reads a configuration: the list of configuration
/// modules and the `ssl_conf` section. Before OpenSSL 4.0, these tables belong to the whole
/// process, and the creation of an SSL_CTX reads them without a lock.
pub(crate) static CONFIGURATION: RwLock<()> = RwLock::new(());

/// The context that the handles and threads share. It is freed when none of them uses it.
pub(crate) struct RawContext {
    pointer: NonNull<OSSL_LIB_CTX>,
    libraries: Libraries,
    /// References to providers that stay active while the context lives.
    kept: Mutex<Vec<NonNull<OSSL_PROVIDER>>>,
}

// SAFETY: OpenSSL locks the contents of a library context; `CONFIGURATION` guards the parts that it
// does not lock.
unsafe impl Send for RawContext {}
// SAFETY: as above.
unsafe impl Sync for RawContext {}

impl RawContext {
    pub(crate) fn new(libraries: &Libraries) -> Result<Self, Error> {
        let symbols = libraries.symbols();
        // SAFETY: no arguments.
        let pointer = unsafe { (symbols.OSSL_LIB_CTX_new)() };
        let pointer = NonNull::new(pointer)
            .ok_or_else(|| Failure::drain(symbols, "make a library context"))?;
        Ok(Self { pointer, libraries: libraries.clone(), kept: Mutex::default() })
    }

    pub(crate) fn libraries(&self) -> &Libraries {
        &self.libraries
    }

    pub(crate) fn as_ptr(&self) -> *mut OSSL_LIB_CTX {
        self.pointer.as_ptr()
    }

    /// Takes ownership of a reference to a provider, and releases it when the context ends.
    pub(crate) fn keep(&self, provider: NonNull<OSSL_PROVIDER>) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(provider);
    }

    /// Frees this thread's state in the context.
    pub(crate) fn stop_thread(&self) {
        // SAFETY: the context is alive; the call only concerns the calling thread.
        unsafe { (self.libraries.symbols().OPENSSL_thread_stop_ex)(self.pointer.as_ptr()) }
    }
}

impl Drop for RawContext {
    fn drop(&mut self) {
        let symbols = self.libraries.symbols();
        for provider in self.kept.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: releases a reference that was given to the context to keep; the context is
            // still alive.
            unsafe { (symbols.OSSL_PROVIDER_unload)(provider.as_ptr()) };
        }
        // SAFETY: objects made from the context hold a handle, and every thread that used it has
        // ended its use.
        unsafe { (symbols.OSSL_LIB_CTX_free)(self.pointer.as_ptr()) }
    }
}
