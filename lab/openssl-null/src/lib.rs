//! `libfastkex_insecure_null.so`: a provider for stock OpenSSL 3.0 to 4.x whose key exchange costs
//! nothing **and protects nothing**. All its keys, ciphertexts and secrets are constants. A
//! handshake with it costs only the parts that no key exchange can avoid, so its rate is the upper
//! limit for real groups.
//!
//! It is never installed, and refuses to load unless [`VARIABLE`] is `1`.

use core::ffi::{CStr, c_int, c_void};

use openssl_abi::{Core, CoreHandle, Dispatch, environment, guard};

mod context;
mod group;
mod kem;
mod keymgmt;
mod provider;
mod reason;

pub use group::{GROUPS, NullGroup};

/// The module's file, as cargo builds it.
pub const FILE: &str = "libfastkex_insecure_null.so";

/// The environment variable that must be `1` for the provider to load. It is read only then, as
/// some servers clear their environment later.
pub const VARIABLE: &str = "FASTKEX_INSECURE_NULL";
const VARIABLE_NAME: &CStr = c"FASTKEX_INSECURE_NULL";

/// The entry point that OpenSSL looks up in the module.
///
/// # Safety
/// Called by libcrypto as `core.h` says: the arguments are its handle, its functions, and places
/// for our functions and our context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    handle: *const CoreHandle,
    functions: *const Dispatch,
    out: *mut *const Dispatch,
    context: *mut *mut c_void,
) -> c_int {
    guard(0, || {
        // SAFETY: the arguments come from libcrypto. The provider, which keeps the result, is gone
        // after teardown.
        let core = unsafe { Core::new(handle, functions) };
        if environment(VARIABLE_NAME).is_none_or(|value| value != "1") {
            let message = format!(
                "this provider's key exchange protects nothing, and is for measurements only: expected {VARIABLE}=1 in the environment"
            );
            core.raise(reason::REFUSED, &message);
            return 0;
        }
        // SAFETY: libcrypto passes writable places.
        unsafe {
            *out = provider::DISPATCH.as_ptr();
            *context = Box::into_raw(Box::new(core)).cast();
        }
        1
    })
}
