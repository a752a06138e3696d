//! The provider's reasons in OpenSSL's error queue.

use core::ffi::c_void;

use openssl_abi::Item;

/// The provider does not load.
pub(crate) const REFUSED: u32 = 1;
/// A key share or ciphertext is not the expected constant.
pub(crate) const INVALID_SHARE: u32 = 2;
/// The caller's buffer is too small.
pub(crate) const BUFFER: u32 = 3;
/// A parameter was refused.
pub(crate) const PARAMETER: u32 = 4;

static REASONS: [Item; 5] = [
    Item::text(REFUSED, c"insecure provider refused"),
    Item::text(INVALID_SHARE, c"invalid key share"),
    Item::text(BUFFER, c"buffer too small"),
    Item::text(PARAMETER, c"invalid parameter"),
    Item::END,
];

/// Returns the reasons' texts for libcrypto.
pub(crate) unsafe extern "C" fn strings(_: *mut c_void) -> *const Item {
    REASONS.as_ptr()
}
