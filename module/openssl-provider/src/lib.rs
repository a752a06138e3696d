//! `fastkex.so`: a provider for stock OpenSSL 3.0 to 4.x that adds Streamlined NTRU Prime, alone
//! and with X25519, as TLS 1.3 groups, as KEMs, and as keys in PEM and DER; and faster versions of
//! X25519 and Ed25519. It links no libcrypto and works with the one that loads it, in several
//! contexts at once.
//!
//! The code for groups is generic over `kex`'s table; `curves` has X25519 and Ed25519. All code
//! here belongs to the C boundary. No panic crosses it: every entry point runs under
//! [`openssl_abi::guard`].

use core::ffi::{c_int, c_void};

use openssl_abi::{Core, CoreHandle, Dispatch, guard};

mod config;
mod context;
mod curves;
mod decoder;
mod encoder;
mod formats;
mod group_key;
mod handshakes;
mod kem;
mod key;
mod keymgmt;
mod memory;
mod pools;
mod provider;
mod reason;
mod release;
mod seed_key;
mod table;
mod tls;

/// The entry point that OpenSSL looks up in the module.
///
/// # Safety
/// Called by libcrypto as `core.h` says, with its handle, its functions, and places for the
/// provider's functions and context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    handle: *const CoreHandle,
    functions: *const Dispatch,
    out: *mut *const Dispatch,
    context: *mut *mut c_void,
) -> c_int {
    guard(0, || {
        // SAFETY: the arguments come from libcrypto; the provider, which keeps the result, is gone
        // after teardown.
        let core = unsafe { Core::new(handle, functions) };
        match provider::load(core) {
            Ok(provider) => {
                // SAFETY: libcrypto gives places to write to.
                unsafe {
                    *out = provider::DISPATCH.as_ptr();
                    *context = Box::into_raw(Box::new(provider)).cast();
                }
                1
            }
            Err(error) => {
                core.raise(reason::CONFIGURATION, &error.to_string());
                0
            }
        }
    })
}
