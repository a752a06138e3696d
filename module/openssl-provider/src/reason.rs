//! The provider's reasons in OpenSSL's error queue.

use core::ffi::c_void;

use openssl_abi::Item;

/// An imported key or a peer's key is invalid.
pub(crate) const INVALID_KEY: u32 = 1;
/// The key lacks the part that is needed.
pub(crate) const MISSING_KEY: u32 = 2;
/// The ciphertext is invalid.
pub(crate) const INVALID_CIPHERTEXT: u32 = 3;
/// The caller's buffer is too small.
pub(crate) const BUFFER: u32 = 4;
/// The random source failed.
pub(crate) const RANDOM_SOURCE: u32 = 5;
/// A parameter is invalid.
pub(crate) const PARAMETER: u32 = 6;
/// The module's section of the configuration is invalid.
pub(crate) const CONFIGURATION: u32 = 7;
/// A key could not be encoded.
pub(crate) const ENCODING: u32 = 8;
/// Out of memory.
pub(crate) const MEMORY: u32 = 9;
/// The caller gives no buffer, or no size.
pub(crate) const MISSING_BUFFER: u32 = 10;

/// Longer names are truncated to this many bytes in messages.
const SHOWN_BYTES: usize = 64;

static REASONS: [Item; 11] = [
    Item::text(INVALID_KEY, c"invalid key"),
    Item::text(MISSING_KEY, c"missing key"),
    Item::text(INVALID_CIPHERTEXT, c"invalid ciphertext"),
    Item::text(BUFFER, c"buffer too small"),
    Item::text(RANDOM_SOURCE, c"random source failed"),
    Item::text(PARAMETER, c"invalid parameter"),
    Item::text(CONFIGURATION, c"invalid configuration"),
    Item::text(ENCODING, c"key cannot be encoded"),
    Item::text(MEMORY, c"out of memory"),
    Item::text(MISSING_BUFFER, c"missing buffer"),
    Item::END,
];

/// The texts of the reasons, for libcrypto.
pub(crate) unsafe extern "C" fn strings(_: *mut c_void) -> *const Item {
    REASONS.as_ptr()
}

/// The reason number of a `kex` error; `otherwise` unless it is that of the random source.
pub(crate) fn of(error: &kex::Error, otherwise: u32) -> u32 {
    match error {
        kex::Error::RandomSource => RANDOM_SOURCE,
        _ => otherwise,
    }
}

/// A name given by the caller, for a message; truncated if it is long.
pub(crate) fn shown(name: &[u8]) -> String {
    let mut shown = String::from_utf8_lossy(&name[..name.len().min(SHOWN_BYTES)]).into_owned();
    if name.len() > SHOWN_BYTES {
        shown.push_str("...");
    }
    shown
}
