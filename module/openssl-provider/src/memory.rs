//! Fallible allocation for large values and for sizes that callers choose: if it fails, libcrypto
//! gets an error and the program goes on. All of these values may be secret; they are in protected
//! memory and erased on drop.
//!
//! All other allocations end the process if they fail, as is usual in Rust: contexts and keys of
//! fixed size, error messages, and everything that is made once while the module is loaded.

use core::ops::Deref;
use std::io;

use secret::{NoMemory, Secret};

/// Zeroed memory of `bytes` bytes.
pub(crate) fn zeros(bytes: usize) -> Result<Secret<[u8]>, NoMemory> {
    Secret::<[u8]>::try_slice(bytes)
}

/// A copy of `bytes`.
pub(crate) fn copy(bytes: &[u8]) -> Result<Secret<[u8]>, NoMemory> {
    let mut copy = zeros(bytes.len())?;
    copy.copy_from_slice(bytes);
    Ok(copy)
}

/// A byte buffer of fixed capacity: growing would leave copies behind.
pub(crate) struct Buffer {
    bytes: Secret<[u8]>,
    length: usize,
}

impl Buffer {
    /// An empty buffer with room for `bytes` bytes.
    pub(crate) fn with_room(bytes: usize) -> Result<Self, NoMemory> {
        Ok(Buffer { bytes: zeros(bytes)?, length: 0 })
    }
}

impl From<Secret<[u8]>> for Buffer {
    /// A full buffer.
    fn from(bytes: Secret<[u8]>) -> Self {
        Buffer { length: bytes.len(), bytes }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = (&mut self.bytes[self.length..]).write(bytes)?;
        self.length += count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_there_is_not_is_refused() {
        assert!(zeros(isize::MAX as usize).is_err());
        assert_eq!(zeros(3).unwrap()[..], [0; 3]);
        assert_eq!(copy(b"ab").unwrap()[..], *b"ab");
    }

    #[test]
    fn a_buffer_does_not_grow() {
        let mut buffer = Buffer::with_room(5).unwrap();
        buffer.write_all(b"abc").unwrap();
        assert_eq!(buffer[..], *b"abc");
        assert!(buffer.write_all(b"def").is_err());
        assert_eq!(buffer[..], *b"abcde");
    }
}
