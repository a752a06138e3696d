//! Buffers of callers.

use core::ffi::c_uchar;
use core::slice;

use crate::key::{KeyType, raise};
use crate::libcrypto::Libcrypto;
use crate::reason;

/// What a caller wants.
pub(crate) enum Output<'a> {
    /// To know the size.
    SizeOnly,
    /// What fills the buffer.
    Buffer(&'a mut [u8]),
}

impl<'a> Output<'a> {
    /// Checks a buffer against the `needed` bytes, and writes them to `size`; `None`, with an error, if it is too small.
    ///
    /// # Safety
    /// `buffer` is null or has `*size` bytes; `size` is null or may be written.
    pub(crate) unsafe fn new<T: KeyType>(
        libcrypto: &Libcrypto,
        what: &str,
        needed: usize,
        buffer: *mut c_uchar,
        size: *mut usize,
    ) -> Option<Self> {
        if size.is_null() {
            raise::<T>(libcrypto, reason::BUFFER, &format!("{what} buffer of unknown size"));
            return None;
        }
        if buffer.is_null() {
            // SAFETY: not null, so a place for the size; there may be none in it yet.
            unsafe { size.write(needed) };
            return Some(Output::SizeOnly);
        }
        // SAFETY: not null, so the buffer's size.
        let there = unsafe { size.replace(needed) };
        if there < needed {
            let message = format!("{what} buffer of {there} bytes: expected {needed}");
            raise::<T>(libcrypto, reason::BUFFER, &message);
            return None;
        }
        // SAFETY: the buffer has at least `needed` bytes. They may not be initialised, so that is done first.
        Some(Output::Buffer(unsafe {
            core::ptr::write_bytes(buffer, 0, needed);
            slice::from_raw_parts_mut(buffer, needed)
        }))
    }
}

/// The caller's bytes.
///
/// # Safety
/// `bytes` is null or has `size` bytes that live as long as the result is used.
pub(crate) unsafe fn input<'a>(bytes: *const c_uchar, size: usize) -> &'a [u8] {
    if bytes.is_null() {
        return &[];
    }
    // SAFETY: by the caller's promise.
    unsafe { slice::from_raw_parts(bytes, size) }
}
