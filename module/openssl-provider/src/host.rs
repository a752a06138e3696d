//! What we ask of the libcrypto that loaded us, beyond the provider ABI: which release it is, and which configuration
//! file it reads by default.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use openssl_abi::{Core, names};
use openssl_conf::Release;

type GetDefaultConfigFile = unsafe extern "C" fn() -> *mut c_char;
type Free = unsafe extern "C" fn(*mut c_void, *const c_char, c_int);

/// The release of the libcrypto that loaded us.
pub(crate) fn release(core: &Core) -> Option<Release> {
    core.parameter(names::OPENSSL_VERSION).and_then(|text| Release::parse(&text))
}

/// The configuration file that libcrypto reads unless told otherwise. `None` if it cannot be found out, as in programs that hold
/// libcrypto without exporting it.
pub(crate) fn default_config_file(core: &Core) -> Option<PathBuf> {
    let libcrypto = loader(core)?;
    let get = symbol(libcrypto, c"CONF_get1_default_config_file")?;
    let free = symbol(libcrypto, c"CRYPTO_free")?;
    // SAFETY: the symbols are libcrypto's public functions of these types since OpenSSL 1.1.1 and in all of 3.x and 4.x.
    let (get, free) = unsafe {
        (
            mem::transmute::<*mut c_void, GetDefaultConfigFile>(get),
            mem::transmute::<*mut c_void, Free>(free),
        )
    };
    // SAFETY: returns null or a string of ours to free; it only reads the environment and compiled-in paths.
    let text = unsafe { get() };
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, so a string.
    let path = PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(text) }.to_bytes()));
    // SAFETY: allocated by libcrypto, and not used again.
    unsafe { free(text.cast(), c"".as_ptr(), 0) };
    Some(path)
}

/// The loaded object that `core`'s functions belong to. It was loaded before us, so the handle need not be kept.
fn loader(core: &Core) -> Option<*mut c_void> {
    // SAFETY: all-zero is a valid `Dl_info`, which `dladdr` fills in.
    let mut info: libc::Dl_info = unsafe { mem::zeroed() };
    // SAFETY: any address may be asked about.
    if unsafe { libc::dladdr(core.address(), &raw mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: the name is a string of the loader's; nothing is loaded, so nothing runs.
    let mut handle = unsafe { libc::dlopen(info.dli_fname, flags) };
    if handle.is_null() {
        // The program itself, if libcrypto is linked into it.
        // SAFETY: as above.
        handle = unsafe { libc::dlopen(core::ptr::null(), flags) };
    }
    if handle.is_null() {
        return None;
    }
    // SAFETY: gives back the reference just taken; the object stays, as it is running.
    unsafe { libc::dlclose(handle) };
    Some(handle)
}

fn symbol(object: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the object is loaded, and the name is a string.
    let symbol = unsafe { libc::dlsym(object, name.as_ptr()) };
    (!symbol.is_null()).then_some(symbol)
}
