//! Upcalls: libcrypto's functions for providers.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use std::ffi::CString;

use crate::dispatch::Dispatch;
use crate::functions::{bio, upcall};
use crate::param::Param;
use crate::types::{CoreBio, CoreHandle, Passphrase};

/// The functions of the libcrypto that loaded the provider.
#[derive(Clone, Copy, Debug)]
pub struct Core {
    handle: *const CoreHandle,
    get_params: Option<unsafe extern "C" fn(*const CoreHandle, *mut Param) -> c_int>,
    new_error: Option<unsafe extern "C" fn(*const CoreHandle)>,
    set_error_debug:
        Option<unsafe extern "C" fn(*const CoreHandle, *const c_char, c_int, *const c_char)>,
    vset_error: Option<unsafe extern "C" fn(*const CoreHandle, u32, *const c_char, *mut c_void)>,
    read: Option<unsafe extern "C" fn(*mut CoreBio, *mut c_void, usize, *mut usize) -> c_int>,
    write: Option<unsafe extern "C" fn(*mut CoreBio, *const c_void, usize, *mut usize) -> c_int>,
}

// SAFETY: the handle stays valid while the provider is loaded, and the core's upcalls may be made
// from every thread.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

impl Core {
    /// Takes the first two arguments of `OSSL_provider_init`.
    ///
    /// # Safety
    /// The arguments come from libcrypto, and the result is not used after the provider's teardown.
    pub unsafe fn new(handle: *const CoreHandle, functions: *const Dispatch) -> Self {
        // SAFETY: libcrypto's own tables have the types that their numbers say.
        unsafe {
            Core {
                handle,
                get_params: upcall::GET_PARAMS.find(functions),
                new_error: upcall::NEW_ERROR.find(functions),
                set_error_debug: upcall::SET_ERROR_DEBUG.find(functions),
                vset_error: upcall::VSET_ERROR.find(functions),
                read: bio::READ_EX.find(functions),
                write: bio::WRITE_EX.find(functions),
            }
        }
    }

    /// The address of one of libcrypto's functions, in the object that libcrypto is part of.
    pub(crate) fn address(&self) -> Option<*const c_void> {
        self.get_params.map(|function| function as *const c_void)
    }

    /// Adds an error to OpenSSL's queue: the provider's reason number and a message.
    #[track_caller]
    pub fn raise(&self, reason: u32, message: &str) {
        /// Larger than the `va_list` of any platform, or the structure that it points to.
        const VA_LIST_WORDS: usize = 8;

        let (Some(new_error), Some(set_error_debug), Some(vset_error)) =
            (self.new_error, self.set_error_debug, self.vset_error)
        else {
            return;
        };
        let location = std::panic::Location::caller();
        let file = CString::new(location.file()).unwrap_or_default();
        // The message is the format string: percent signs are escaped.
        let format =
            CString::new(message.replace('%', "%%").replace('\0', " ")).unwrap_or_default();
        let mut no_arguments = [0usize; VA_LIST_WORDS];
        // SAFETY: the strings outlive the calls, which copy them. On every platform a `va_list` is
        // passed as a pointer or as a struct by reference; with no conversion in the format nothing
        // is taken from it.
        unsafe {
            new_error(self.handle);
            set_error_debug(self.handle, file.as_ptr(), location.line() as c_int, c"".as_ptr());
            vset_error(self.handle, reason, format.as_ptr(), no_arguments.as_mut_ptr().cast());
        }
    }

    /// The value of the core's parameter `key`: one of libcrypto's own, or a key of the provider's
    /// section of the configuration.
    pub fn parameter(&self, key: &CStr) -> Option<String> {
        let mut value: *const c_char = ptr::null();
        let mut params = [Param::utf8_pointer(key.as_ptr(), &raw mut value), Param::END];
        // SAFETY: the array is well-formed and outlives the call.
        let ok = unsafe { self.get_params?(self.handle, params.as_mut_ptr()) };
        if ok != 1 || value.is_null() {
            return None;
        }
        // SAFETY: the core points to a string of its own that lives as long as the provider.
        Some(unsafe { CStr::from_ptr(value) }.to_string_lossy().into_owned())
    }

    /// The stream `bio` as a reader and writer.
    ///
    /// # Safety
    /// `bio` is a stream from the core, and stays valid for the result's lifetime.
    pub unsafe fn bio<'a>(&'a self, bio: *mut CoreBio) -> Bio<'a> {
        Bio { core: self, bio }
    }
}

/// A stream of the core (`OSSL_CORE_BIO`).
#[derive(Debug)]
pub struct Bio<'a> {
    core: &'a Core,
    bio: *mut CoreBio,
}

impl std::io::Read for Bio<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.core.read.ok_or(std::io::ErrorKind::Unsupported)?;
        let mut count = 0;
        // SAFETY: the buffer has the length given; the stream is valid by the promise of
        // `Core::bio`.
        let ok =
            unsafe { read(self.bio, buffer.as_mut_ptr().cast(), buffer.len(), &raw mut count) };
        // The upcall does not distinguish the end from an error.
        Ok(if ok == 1 { count } else { 0 })
    }
}

impl std::io::Write for Bio<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let write = self.core.write.ok_or(std::io::ErrorKind::Unsupported)?;
        let mut count = 0;
        // SAFETY: as for reading.
        let ok = unsafe { write(self.bio, bytes.as_ptr().cast(), bytes.len(), &raw mut count) };
        if ok == 1 { Ok(count) } else { Err(std::io::ErrorKind::WriteZero.into()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A passphrase callback with its argument.
#[derive(Clone, Copy, Debug)]
pub struct PassphraseCallback {
    callback: Option<Passphrase>,
    argument: *mut c_void,
}

impl PassphraseCallback {
    /// Takes the last two arguments of an encoder or decoder.
    ///
    /// # Safety
    /// They come from libcrypto and stay valid while the result is used.
    pub unsafe fn new(callback: Option<Passphrase>, argument: *mut c_void) -> Self {
        PassphraseCallback { callback, argument }
    }

    /// Asks for the passphrase: fills `buffer` and returns its length in bytes; `None` if there is
    /// no passphrase.
    pub fn ask(&self, buffer: &mut [u8]) -> Option<usize> {
        let callback = self.callback?;
        let no_params = [Param::END];
        let mut length = 0;
        // SAFETY: the buffer has the size given, the parameters are an empty array, and the
        // callback is valid by the promise of `new`.
        let ok = unsafe {
            callback(
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                &raw mut length,
                no_params.as_ptr(),
                self.argument,
            )
        };
        (ok == 1 && length <= buffer.len()).then_some(length)
    }
}
