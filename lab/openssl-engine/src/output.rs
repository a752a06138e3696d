//! Buffers of callers.

use core::ffi::c_uchar;
use core::slice;

use crate::key::raise;
use crate::key_type::KeyType;
use crate::libcrypto::Libcrypto;
use crate::reason;

/// A caller's request for output.
pub(crate) enum Output<'a> {
    /// The size only.
    SizeOnly,
    /// The output, in this buffer.
    Buffer(&'a mut [u8]),
}

impl<'a> Output<'a> {
    /// Checks that a buffer has `needed` bytes, and writes this number to `size`. Returns `None`,
    /// with an error, if the buffer is too small.
    ///
    /// # Safety
    /// `buffer` is null or has `*size` bytes. `size` is null or writable.
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
            // SAFETY: not null, so a place for the size, which may be uninitialised.
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
        // SAFETY: the buffer has at least `needed` bytes. They may not be initialised, so that is
        // done first.
        Some(Output::Buffer(unsafe {
            core::ptr::write_bytes(buffer, 0, needed);
            slice::from_raw_parts_mut(buffer, needed)
        }))
    }
}

/// Returns the caller's bytes.
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
