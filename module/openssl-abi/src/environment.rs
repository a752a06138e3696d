//! Environment variables, read as libcrypto reads them.

use core::ffi::{CStr, c_char};

/// The environment variable `name`, read as libcrypto does: `None` in a program with more rights
/// than its caller, such as a setuid one. Takes no lock, which a child of fork could inherit held.
/// Bytes that are not UTF-8 are replaced.
pub fn environment(name: &CStr) -> Option<String> {
    // SAFETY: the name is a string.
    let value = unsafe { secure_getenv(name) };
    if value.is_null() {
        return None;
    }
    // SAFETY: not null, so a string, which stays while nobody changes the environment; a program
    // that does so while it loads providers is at fault for libcrypto as well.
    Some(unsafe { CStr::from_ptr(value) }.to_string_lossy().into_owned())
}

/// # Safety
/// No thread changes the environment meanwhile.
#[cfg(target_os = "linux")]
unsafe fn secure_getenv(name: &CStr) -> *const c_char {
    mod libc {
        // The crate `libc` declares it for other systems only.
        unsafe extern "C" {
            pub(super) fn secure_getenv(name: *const core::ffi::c_char) -> *mut core::ffi::c_char;
        }
    }
    // SAFETY: the name is a string.
    unsafe { libc::secure_getenv(name.as_ptr()) }
}

/// # Safety
/// No thread changes the environment meanwhile.
#[cfg(not(target_os = "linux"))]
unsafe fn secure_getenv(name: &CStr) -> *const c_char {
    // SAFETY: no arguments, and no memory of ours.
    let (users, groups) =
        unsafe { (libc::getuid() == libc::geteuid(), libc::getgid() == libc::getegid()) };
    if !users || !groups {
        return core::ptr::null();
    }
    // SAFETY: the name is a string.
    unsafe { libc::getenv(name.as_ptr()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read() {
        assert_eq!(environment(c"CARGO_PKG_NAME").as_deref(), Some("openssl-abi"));
        assert_eq!(environment(c"FASTKEX_NOT_THERE"), None);
    }
}
