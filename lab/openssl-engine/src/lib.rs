//! `engntru.so`: an ENGINE for OpenSSL 1.1.1 with the patches of `lab/legacy/openssl-1.1.1`. It
//! adds sntrup761 and sntrup857 as TLS 1.3 groups and as keys in PEM and DER (OpenSSLNTRU, section
//! 4.2). libssl 1.1.1 has no KEMs: it encapsulates by `EVP_PKEY_encrypt` with null input and
//! decapsulates by `EVP_PKEY_decrypt` with null output. The shared secret then stays in the key
//! until `EVP_PKEY_derive`. On machines on which they are faster, X25519 and Ed25519 replace
//! libcrypto's own (ENG25519, section 4.1).
//!
//! The module links no libcrypto and refuses all except the one it is made for. The ENGINE is
//! shallow: `kex` and `curve25519` compute, and `keypool` makes keys in batches. No panic crosses
//! into C: every entry point runs under [`openssl_abi::guard`].

use core::ffi::{CStr, c_char, c_int, c_ulong};

use openssl_abi::guard;

mod asn1;
mod commands;
mod curves;
mod engine;
mod kem;
mod key;
mod key_type;
mod libcrypto;
mod output;
mod reason;
mod state;
mod tables;
mod types;

use types::{DynamicFunctions, Engine};

/// `OSSL_DYNAMIC_VERSION` of OpenSSL 1.1.1.
const DYNAMIC_VERSION: c_ulong = 0x0003_0000;

/// Returns a version if libcrypto is recent enough, else 0. (OpenSSL 3 passes the same number.
/// [`bind_engine`] checks the release.)
#[unsafe(no_mangle)]
pub extern "C" fn v_check(version: c_ulong) -> c_ulong {
    if version >= DYNAMIC_VERSION { DYNAMIC_VERSION } else { 0 }
}

/// Fills in `engine`. Returns 0, with a reason in the error queue, if the calling libcrypto is not
/// the one that the module is made for.
///
/// # Safety
/// Called by libcrypto's `dynamic` ENGINE: the arguments are its structure, an id or null, and
/// libcrypto's functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bind_engine(
    engine: *mut Engine,
    id: *const c_char,
    functions: *const DynamicFunctions,
) -> c_int {
    guard(0, || {
        if engine.is_null() || functions.is_null() {
            return 0;
        }
        // SAFETY: an id is a string.
        let id = (!id.is_null()).then(|| unsafe { CStr::from_ptr(id) });
        // SAFETY: by the caller's promise.
        c_int::from(unsafe { engine::bind(engine, id, (*functions).static_state) })
    })
}
