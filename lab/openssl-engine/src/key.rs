//! What an `EVP_PKEY` of ours points to.

use core::ffi::{c_int, c_void};
use core::fmt;

use kex::Error;
use secret::Secret;

use crate::libcrypto::Libcrypto;
use crate::reason;
use crate::types::{Pkey, PkeyContext};

/// Types of keys by libcrypto's short names. Those that libcrypto has, too, and that may be left to it, are at the ends.
pub(crate) const TYPES: [&str; 4] = ["X25519", "sntrup761", "sntrup857", "ED25519"];

/// One of [`TYPES`].
pub(crate) trait KeyType: 'static {
    /// Its place among them.
    const PLACE: usize;
    /// Its name.
    const NAME: &'static str = TYPES[Self::PLACE];
    /// Of what is made with a key, in bytes.
    const SIZE: c_int;
    /// Of a key.
    const BITS: c_int;
    const SECURITY_BITS: c_int;
    /// Whether keys sign. If not, they are shares of a key exchange.
    const SIGNS: bool;
    /// What PKCS #8 has before the bytes of a private key.
    const PRIVATE_PREFIX: &'static [u8];

    /// What is in a key.
    type Contents: Send + Sync;

    /// Reads one half, or the private one with which comes the other.
    fn read(half: Half, bytes: &[u8]) -> Result<Self::Contents, Error>;

    /// One half; `None` if it is not there.
    fn write(contents: &Self::Contents, half: Half) -> Option<Secret<[u8]>>;
}

/// A half of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Public,
    Private,
}

impl Half {
    /// As in error messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Half::Public => "public",
            Half::Private => "private",
        }
    }
}

/// What is in `pkey`; `None` if it is empty, as one that libssl made for its type, or if it is not the ENGINE's.
///
/// # Safety
/// `pkey` is null or an `EVP_PKEY`, and lives as long as the result is used.
pub(crate) unsafe fn find<'a, T: KeyType>(
    libcrypto: &Libcrypto,
    pkey: *const Pkey,
) -> Option<&'a T::Contents> {
    // SAFETY: by the caller's promise; what is in keys of ours comes from `put`.
    unsafe {
        if pkey.is_null() || !libcrypto.is_ours::<T>(pkey) {
            return None;
        }
        (libcrypto.functions.key_data)(pkey).cast::<T::Contents>().as_ref()
    }
}

/// What is in `pkey`; with an error if there is nothing.
///
/// # Safety
/// As [`find`].
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

/// What is in the key of a context; with an error if there is nothing.
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

/// Puts contents into `pkey`, whatever it had before; what the function returns that was asked to.
///
/// # Safety
/// `pkey` is an `EVP_PKEY` that nobody else uses meanwhile: libcrypto's own methods free what was there before.
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
    // SAFETY: by the caller's promise. Were it assigned a second time, libcrypto would forget which ENGINE's it is.
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

/// Frees what [`put`] put into `pkey`.
///
/// # Safety
/// `pkey` is an `EVP_PKEY` of the ENGINE's; libcrypto forgets what it pointed to.
pub(crate) unsafe fn free<T: KeyType>(libcrypto: &Libcrypto, pkey: *mut Pkey) {
    // SAFETY: by the caller's promise; comes from `put`, and is freed once.
    unsafe {
        let data = (libcrypto.functions.key_data)(pkey);
        if !data.is_null() {
            drop(Box::from_raw(data.cast::<T::Contents>()));
        }
    }
}

/// Puts an error about `T` into the queue; what a function returns then.
pub(crate) fn raise<T: KeyType>(
    libcrypto: &Libcrypto,
    reason: c_int,
    what: &dyn fmt::Display,
) -> c_int {
    libcrypto.raise(reason, &format!("{}: {what}", T::NAME));
    0
}
