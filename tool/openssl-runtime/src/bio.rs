//! Memory BIOs: OpenSSL's byte queues.

use std::ffi::c_long;
use std::ptr;

use crate::constants::BIO_C_SET_BUF_MEM_EOF_RETURN;
use crate::error::Error;
use crate::failure::Failure;
use crate::inside::inside;
use crate::owned::Owned;
use crate::symbols::Symbols;
use crate::types::BIO;

/// A byte queue. It grows as needed. Reading from an empty queue means "try again later".
pub(crate) struct MemoryBio(Owned<BIO>);

impl MemoryBio {
    pub(crate) fn new(symbols: &Symbols) -> Result<Self, Error> {
        // SAFETY: a BIO of a built-in kind, freed by its own function.
        let bio = inside(|| unsafe {
            Owned::new((symbols.BIO_new)((symbols.BIO_s_mem)()), symbols.BIO_free_all)
        });
        bio.map(Self).ok_or_else(|| Failure::drain(symbols, "make a memory BIO").into())
    }

    pub(crate) fn with(symbols: &Symbols, bytes: &[u8]) -> Result<Self, Error> {
        let bio = Self::new(symbols)?;
        bio.end(symbols);
        bio.write(symbols, bytes)?;
        Ok(bio)
    }

    pub(crate) fn as_ptr(&self) -> *mut BIO {
        self.0.as_ptr()
    }

    /// Returns a second reference, which OpenSSL will own.
    pub(crate) fn share(&self, symbols: &Symbols) -> *mut BIO {
        // SAFETY: the BIO is alive.
        unsafe { (symbols.BIO_up_ref)(self.as_ptr()) };
        self.as_ptr()
    }

    pub(crate) fn write(&self, symbols: &Symbols, bytes: &[u8]) -> Result<(), Error> {
        let mut written = 0;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the BIO is alive; pointer and length describe the bytes.
        let status = inside(|| unsafe {
            (symbols.BIO_write_ex)(self.as_ptr(), bytes.as_ptr().cast(), bytes.len(), &mut written)
        });
        if status == 1 && written == bytes.len() {
            return Ok(());
        }
        Err(Failure::drain(symbols, "write to a memory BIO").into())
    }

    /// Appends all bytes in the queue to `bytes`.
    pub(crate) fn read_all(&self, symbols: &Symbols, bytes: &mut Vec<u8>) {
        // SAFETY: the BIO is alive.
        let pending = unsafe { (symbols.BIO_ctrl_pending)(self.as_ptr()) };
        let start = bytes.len();
        bytes.resize(start + pending, 0);
        let mut read = 0;
        // SAFETY: the BIO is alive; there is room for `pending` bytes from `start` on.
        inside(|| unsafe {
            let room = bytes[start..].as_mut_ptr().cast();
            (symbols.BIO_read_ex)(self.as_ptr(), room, pending, &mut read);
        });
        bytes.truncate(start + read);
    }

    /// Makes a read from the empty queue mean "end of file" from now on.
    pub(crate) fn end(&self, symbols: &Symbols) {
        const END_OF_FILE: c_long = 0;
        // SAFETY: the BIO is alive; this control takes no pointer.
        unsafe {
            (symbols.BIO_ctrl)(
                self.as_ptr(),
                BIO_C_SET_BUF_MEM_EOF_RETURN,
                END_OF_FILE,
                ptr::null_mut(),
            );
        }
    }
}
