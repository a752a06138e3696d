//! Key encapsulation: copies of constants. The context of an operation, like a key, is the
//! provider's context.

use core::ffi::{c_int, c_uchar, c_void};
use core::marker::PhantomData;
use core::{ptr, slice};

use openssl_abi::functions::kem as function;
use openssl_abi::{Core, Dispatch, Param, guard};

use crate::context::core;
use crate::group::NullSize;
use crate::reason;

/// The functions for `S`.
pub(crate) struct KeyEncapsulation<S>(PhantomData<S>);

impl<S: NullSize> KeyEncapsulation<S> {
    pub(crate) const DISPATCH: &'static [Dispatch] = &[
        function::NEWCTX.entry(create),
        function::FREECTX.entry(free),
        function::DUPCTX.entry(create),
        function::ENCAPSULATE_INIT.entry(init),
        function::ENCAPSULATE.entry(Self::encapsulate),
        function::DECAPSULATE_INIT.entry(init),
        function::DECAPSULATE.entry(Self::decapsulate),
        Dispatch::END,
    ];

    /// Encapsulates. With a null `ciphertext` it only returns the sizes.
    unsafe extern "C" fn encapsulate(
        operation: *mut c_void,
        ciphertext: *mut c_uchar,
        ciphertext_size: *mut usize,
        secret: *mut c_uchar,
        secret_size: *mut usize,
    ) -> c_int {
        let share = S::GROUP.server_share();
        // SAFETY: libcrypto passes our context; buffers and sizes are as `provider-kem(7)` says.
        guard(0, || unsafe {
            let core = core(operation);
            // Without a buffer for the ciphertext no buffer is filled.
            let secret = if ciphertext.is_null() { ptr::null_mut() } else { secret };
            let done = give(core, "ciphertext", share, ciphertext, ciphertext_size)
                && give(core, "secret", S::GROUP.secret(), secret, secret_size);
            c_int::from(done)
        })
    }

    /// Decapsulates. With a null `secret` it only returns the size.
    unsafe extern "C" fn decapsulate(
        operation: *mut c_void,
        secret: *mut c_uchar,
        secret_size: *mut usize,
        ciphertext: *const c_uchar,
        ciphertext_size: usize,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto passes our context.
            let core = unsafe { core(operation) };
            if !secret.is_null() {
                let ciphertext = if ciphertext.is_null() {
                    &[]
                } else {
                    // SAFETY: libcrypto's buffer has the given size.
                    unsafe { slice::from_raw_parts(ciphertext, ciphertext_size) }
                };
                if ciphertext != S::GROUP.server_share() {
                    let message = format!("{:?}: not the server's constant", S::GROUP.name);
                    core.raise(reason::INVALID_SHARE, &message);
                    return 0;
                }
            }
            // SAFETY: buffer and size are libcrypto's, as `provider-kem(7)` says.
            c_int::from(unsafe { give(core, "secret", S::GROUP.secret(), secret, secret_size) })
        })
    }
}

unsafe extern "C" fn create(context: *mut c_void) -> *mut c_void {
    context
}

unsafe extern "C" fn free(_: *mut c_void) {}

unsafe extern "C" fn init(_: *mut c_void, _: *mut c_void, _: *const Param) -> c_int {
    1
}

/// Copies `bytes` to `buffer`, unless it is null, and writes their number to `size`. Returns false
/// if the buffer is too small.
///
/// # Safety
/// `buffer` is null or has `*size` bytes. If `size` is null, it has at least as many bytes as
/// `bytes`.
unsafe fn give(
    core: &Core,
    what: &str,
    bytes: &[u8],
    buffer: *mut c_uchar,
    size: *mut usize,
) -> bool {
    // SAFETY: `size` is null or writable.
    if let Some(size) = unsafe { size.as_mut() } {
        let (there, needed) = (*size, bytes.len());
        if !buffer.is_null() && there < needed {
            let message = format!("{what} buffer of {there} bytes: expected {needed}");
            core.raise(reason::BUFFER, &message);
            return false;
        }
        *size = needed;
    }
    if !buffer.is_null() {
        // SAFETY: the buffer is large enough, and it does not overlap our constant.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), buffer, bytes.len()) };
    }
    true
}
