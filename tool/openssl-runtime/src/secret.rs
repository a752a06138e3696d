//! Bytes that are erased when dropped.

use std::ops::Deref;

use zeroize::Zeroizing;

/// Secret bytes: a shared secret or a private key. They can be read as a slice and are erased when
/// dropped.
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    pub(crate) fn zeroed(length: usize) -> Self {
        Self(Zeroizing::new(vec![0; length]))
    }

    pub(crate) fn copied(bytes: &[u8]) -> Self {
        Self(Zeroizing::new(bytes.to_vec()))
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    /// Cuts the bytes to the length that was actually written.
    pub(crate) fn shorten(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Returns the bytes as a plain vector, for bytes that are not secret.
    pub(crate) fn into_public(mut self) -> Vec<u8> {
        std::mem::take(&mut *self.0)
    }
}

impl Deref for Secret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
