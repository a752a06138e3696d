//! Reads C strings.

use std::ffi::{CStr, c_char};

/// Copies a C string; `None` for a null pointer or an empty string.
///
/// # Safety
///
/// `pointer` is null or a string that ends in NUL and stays unchanged during the call.
pub(crate) unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller vouches for the rest.
    let text = unsafe { CStr::from_ptr(pointer) }.to_string_lossy();
    (!text.is_empty()).then(|| text.into_owned())
}
