//! The ENGINE's reasons in OpenSSL's error queue.

use core::ffi::{CStr, c_int};

/// An imported key was refused.
pub(crate) const INVALID_KEY: c_int = 100;
/// A key does not have the half that is needed.
pub(crate) const MISSING_KEY: c_int = 101;
/// A ciphertext was refused.
pub(crate) const INVALID_CIPHERTEXT: c_int = 102;
/// The caller's buffer is too small.
pub(crate) const BUFFER: c_int = 103;
/// The random source failed.
pub(crate) const RANDOM_SOURCE: c_int = 104;
/// The call does not fit a KEM.
pub(crate) const NOT_A_KEM: c_int = 105;
/// The key holds no shared secret.
pub(crate) const MISSING_SECRET: c_int = 106;
/// A control command was refused.
pub(crate) const COMMAND: c_int = 107;
/// A key could not be written.
pub(crate) const ENCODING: c_int = 108;
/// The libcrypto is not the one that the ENGINE is made for.
pub(crate) const WRONG_OPENSSL: c_int = 109;
/// A digest was set for Ed25519, or a signed structure names another algorithm.
pub(crate) const DIGEST: c_int = 110;

/// The reasons' texts.
pub(crate) const TEXTS: [(c_int, &CStr); 11] = [
    (INVALID_KEY, c"invalid key"),
    (MISSING_KEY, c"missing key"),
    (INVALID_CIPHERTEXT, c"invalid ciphertext"),
    (BUFFER, c"buffer too small"),
    (RANDOM_SOURCE, c"random source failed"),
    (NOT_A_KEM, c"not what a KEM does"),
    (MISSING_SECRET, c"no shared secret"),
    (COMMAND, c"invalid control command"),
    (ENCODING, c"key cannot be encoded"),
    (WRONG_OPENSSL, c"wrong OpenSSL"),
    (DIGEST, c"invalid digest"),
];

/// Returns the reason of a `kex` error.
pub(crate) fn of(error: &kex::Error, otherwise: c_int) -> c_int {
    match error {
        kex::Error::RandomSource => RANDOM_SOURCE,
        _ => otherwise,
    }
}
