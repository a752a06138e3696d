//! The provider's context: the core that loaded it.

use core::ffi::c_void;

use openssl_abi::Core;

/// Returns the core behind a context. Keys and operations are this context, too.
///
/// # Safety
/// `context` comes from `OSSL_provider_init`, and teardown has not been called.
pub(crate) unsafe fn core<'a>(context: *const c_void) -> &'a Core {
    // SAFETY: by the caller's promise; it is never changed.
    unsafe { &*context.cast::<Core>() }
}
