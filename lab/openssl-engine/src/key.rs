//! The contents of the ENGINE's `EVP_PKEY` structures.

use core::ffi::{c_int, c_void};
use core::fmt;

use kex::Error;

use crate::key_type::KeyType;
use crate::libcrypto::Libcrypto;
use crate::reason;
use crate::types::{Pkey, PkeyContext};

/// Returns the contents of `pkey`. Returns `None` if it is empty, like a key that libssl made for
/// its type, or if it is not the ENGINE's.
///
/// # Safety
/// `pkey` is null or an `EVP_PKEY`, and lives as long as the result is used.
pub(crate) unsafe fn find<'a, T: KeyType>(
    libcrypto: &Libcrypto,
    pkey: *const Pkey,
) -> Option<&'a T::Contents> {
    // SAFETY: by the caller's promise; `put` made the contents of our keys.
    unsafe {
        if pkey.is_null() || !libcrypto.is_ours::<T>(pkey) {
            return None;
        }
        (libcrypto.functions.key_data)(pkey).cast::<T::Contents>().as_ref()
    }
}

/// Returns the contents of `pkey`, or raises an error if there are none.
///
/// # Safety
/// The same as for [`find`].
pub(crate) unsafe fn expect<'a, T: KeyType>(
    libcrypto: &Libcrypto,
    pkey: *const Pkey,
) -> Option<&'a T::Contents> {
    // SAFETY: by the caller's promise.
    let found = unsafe { find::<T>(libcrypto, pkey) };
    if found.is_none() {
        // SAFETY: as above.
        let foreign = !pkey.is_null() && unsafe { !libcrypto.is_ours::<T>(pkey) };
        let what = if foreign { "the key is not the ENGINE's" } else { "the key is empty" };
        raise::<T>(libcrypto, reason::MISSING_KEY, &what);
    }
    found
}

/// Returns the contents of a context's key, or raises an error if there are none.
///
/// # Safety
/// `context` is libcrypto's, for this type of key, and holds it as long as the result is used.
pub(crate) unsafe fn of_context<'a, T: KeyType>(
    libcrypto: &Libcrypto,
    context: *mut PkeyContext,
) -> Option<&'a T::Contents> {
    // SAFETY: by the caller's promise.
    unsafe { expect::<T>(libcrypto, (libcrypto.functions.context_key)(context)) }
}

/// Puts contents into `pkey` in place of earlier contents, or raises their error. Returns the
/// result of the calling entry point.
///
/// # Safety
/// `pkey` is an `EVP_PKEY` that no other code uses meanwhile. libcrypto's own methods free their
/// earlier contents.
pub(crate) unsafe fn put<T: KeyType>(
    libcrypto: &Libcrypto,
    pkey: *mut Pkey,
    contents: Result<T::Contents, Error>,
) -> c_int {
    let contents = match contents {
        Ok(contents) => contents,
        Err(error) => {
            return raise::<T>(libcrypto, reason::of(&error, reason::INVALID_KEY), &error);
        }
    };
    // SAFETY: by the caller's promise. After a second assignment, libcrypto would forget the key's
    // ENGINE.
    unsafe {
        if find::<T>(libcrypto, pkey).is_some() {
            *(libcrypto.functions.key_data)(pkey).cast::<T::Contents>() = contents;
            return 1;
        }
        let nid = libcrypto.nid::<T>();
        if (libcrypto.functions.key_set_type)(pkey, nid) != 1 {
            return 0;
        }
        if !libcrypto.is_ours::<T>(pkey) {
            let what = "libcrypto has keys of its own: default_algorithms needs PKEY_ASN1 beside PKEY_CRYPTO";
            return raise::<T>(libcrypto, reason::INVALID_KEY, &what);
        }
        let data = Box::into_raw(Box::new(contents)).cast::<c_void>();
        let assigned = (libcrypto.functions.key_assign)(pkey, nid, data) == 1;
        if !assigned {
            drop(Box::from_raw(data.cast::<T::Contents>()));
        }
        c_int::from(assigned)
    }
}

/// Frees the contents that [`put`] put into `pkey`.
///
/// # Safety
/// `pkey` is an `EVP_PKEY` of the ENGINE's, and libcrypto drops its pointer.
pub(crate) unsafe fn free<T: KeyType>(libcrypto: &Libcrypto, pkey: *mut Pkey) {
    // SAFETY: by the caller's promise; comes from `put`, and is freed once.
    unsafe {
        let data = (libcrypto.functions.key_data)(pkey);
        if !data.is_null() {
            drop(Box::from_raw(data.cast::<T::Contents>()));
        }
    }
}

/// Raises an error about `T`. Returns the result of a failed entry point.
pub(crate) fn raise<T: KeyType>(
    libcrypto: &Libcrypto,
    reason: c_int,
    what: &dyn fmt::Display,
) -> c_int {
    libcrypto.raise(reason, &format!("{}: {what}", T::NAME));
    0
}
