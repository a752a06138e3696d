//! Support for OpenSSL 1.1.1: replaces the functions of 3.0 that connections need, by means of
//! older functions. A library context stands for the whole process.

use std::ffi::{c_char, c_int, c_uint, c_ulong};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use libloading::os::unix::Library;

use crate::absent::note;
use crate::constants::{ERR_TXT_STRING, TLSEXT_nid_unknown};
use crate::symbols::Symbols;
use crate::types::*;

/// Defines the table of functions that 1.1.1 has and later releases lack, or have only as macros.
macro_rules! legacy_table {
    ($( $library:ident fn $name:ident($($argument:ty),* $(,)?) $(-> $result:ty)?; )*) => {
        /// Function pointers. Each field has the name of its function.
        #[allow(non_snake_case)]
        struct Functions {
            $( $name: unsafe extern "C" fn($($argument),*) $(-> $result)?, )*
        }

        impl Functions {
            /// # Safety
            ///
            /// Both libraries are OpenSSL 1.1.1's, and stay loaded.
            unsafe fn load(libcrypto: &Library, libssl: &Library) -> Result<Self, &'static str> {
                let loaded = Loaded { libcrypto, libssl };
                Ok(Self {
                    $(
                        // SAFETY: the caller vouches for the library; the type is the one in its
                        // header, which the probe checks.
                        $name: *unsafe { loaded.$library.get(stringify!($name).as_bytes()) }
                            .map_err(|_| stringify!($name))?,
                    )*
                })
            }
        }

        /// Name, argument types and result type of every function, as written below.
        #[cfg(test)]
        pub(crate) const SIGNATURES: &[(&str, &[&str], &str)] = &[
            $( (stringify!($name), &[$(stringify!($argument)),*], stringify!($($result)?)), )*
        ];
    };
}

struct Loaded<'a> {
    libcrypto: &'a Library,
    libssl: &'a Library,
}

legacy_table! {
    libcrypto fn OpenSSL_version_num() -> c_ulong;
    libcrypto fn OPENSSL_load_builtin_modules();
    libcrypto fn ENGINE_load_builtin_engines();
    libcrypto fn CONF_modules_load_file(*const c_char, *const c_char, c_ulong) -> c_int;
    libcrypto fn ERR_get_error_line_data(*mut *const c_char, *mut c_int, *mut *const c_char, *mut c_int) -> c_ulong;
    libcrypto fn EVP_PKEY_bits(*const EVP_PKEY) -> c_int;
    libcrypto fn EVP_PKEY_get0_asn1(*const EVP_PKEY) -> *const EVP_PKEY_ASN1_METHOD;
    libcrypto fn EVP_PKEY_asn1_get0_info(*mut c_int, *mut c_int, *mut c_int, *mut *const c_char, *mut *const c_char, *const EVP_PKEY_ASN1_METHOD) -> c_int;
    libcrypto fn X509_new() -> *mut X509;
    libssl fn SSL_CTX_new(*const SSL_METHOD) -> *mut SSL_CTX;
    libssl fn SSL_get_peer_certificate(*const SSL) -> *mut X509;
}

/// The functions of OpenSSL 1.1.1. A process holds one library of a soname, so there is only one.
static FUNCTIONS: OnceLock<Functions> = OnceLock::new();

/// Replaces functions that 1.1.1 lacks.
///
/// # Safety
///
/// Both libraries are OpenSSL 1.1.1's, and stay loaded.
pub(crate) unsafe fn complete(
    symbols: &mut Symbols,
    libcrypto: &Library,
    libssl: &Library,
) -> Result<(), &'static str> {
    // SAFETY: the caller's promise.
    let functions = unsafe { Functions::load(libcrypto, libssl)? };
    let functions = FUNCTIONS.get_or_init(|| functions);
    symbols.EVP_PKEY_get_bits = functions.EVP_PKEY_bits;
    symbols.SSL_get1_peer_certificate = functions.SSL_get_peer_certificate;
    symbols.OPENSSL_version_major = version_major;
    symbols.OPENSSL_version_minor = version_minor;
    symbols.OPENSSL_version_patch = version_patch;
    symbols.OPENSSL_thread_stop_ex = leave;
    symbols.OSSL_LIB_CTX_new = process;
    symbols.OSSL_LIB_CTX_free = leave;
    symbols.OSSL_LIB_CTX_load_config = load_config;
    symbols.ERR_get_error_all = get_error;
    symbols.EVP_PKEY_get0_type_name = type_name;
    symbols.X509_new_ex = new_certificate;
    symbols.SSL_CTX_new_ex = new_tls_context;
    symbols.SSL_group_to_name = group_name;
    Ok(())
}

/// Returns the bits of the version number from `shift` on, as many as `mask` has. The number is
/// 0xMNNFFPPS.
fn version_part(shift: u32, mask: c_ulong) -> c_uint {
    // SAFETY: takes nothing and returns a constant.
    let number =
        FUNCTIONS.get().map_or(0, |functions| unsafe { (functions.OpenSSL_version_num)() });
    (number >> shift & mask) as c_uint
}

unsafe extern "C" fn version_major() -> c_uint {
    version_part(28, 0xF)
}

unsafe extern "C" fn version_minor() -> c_uint {
    version_part(20, 0xFF)
}

unsafe extern "C" fn version_patch() -> c_uint {
    version_part(12, 0xFF)
}

/// Returns a pointer that no function dereferences.
unsafe extern "C" fn process() -> *mut OSSL_LIB_CTX {
    NonNull::dangling().as_ptr()
}

/// Does nothing: a thread's state is freed when the thread ends, and the process's state is never
/// freed.
unsafe extern "C" fn leave(_: *mut OSSL_LIB_CTX) {}

unsafe extern "C" fn load_config(_: *mut OSSL_LIB_CTX, file: *const c_char) -> c_int {
    let Some(functions) = FUNCTIONS.get() else { return 0 };
    // SAFETY: the first two calls may be repeated, and libcrypto makes them before it reads its own
    // file. The caller's string is a C string, null is the default name of the first section, and
    // without flags every failure is an error.
    unsafe {
        (functions.OPENSSL_load_builtin_modules)();
        (functions.ENGINE_load_builtin_engines)();
        (functions.CONF_modules_load_file)(file, ptr::null(), 0)
    }
}

unsafe extern "C" fn get_error(
    file: *mut *const c_char,
    line: *mut c_int,
    function: *mut *const c_char,
    data: *mut *const c_char,
    flags: *mut c_int,
) -> c_ulong {
    let Some(functions) = FUNCTIONS.get() else { return 0 };
    if !function.is_null() {
        // SAFETY: the caller's pointer is valid unless it is null. The code contains a number for
        // the function, not its name.
        unsafe { *function = ptr::null() };
    }
    let mut known = 0;
    let flags = if flags.is_null() { &mut known } else { flags };
    // SAFETY: as before; null pointers are allowed for the others.
    unsafe {
        let code = (functions.ERR_get_error_line_data)(file, line, data, flags);
        if !data.is_null() && *flags & ERR_TXT_STRING == 0 {
            *data = ptr::null();
        }
        code
    }
}

/// Returns `RSA`, `EC`, `ED25519`: the name of the kind in PEM private keys, as later releases do.
unsafe extern "C" fn type_name(key: *const EVP_PKEY) -> *const c_char {
    let Some(functions) = FUNCTIONS.get() else { return ptr::null() };
    let mut name = ptr::null();
    let (unwanted, text) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the caller's key is alive; its method is null or a constant, and null pointers are
    // allowed for unused results.
    unsafe {
        let method = (functions.EVP_PKEY_get0_asn1)(key);
        (functions.EVP_PKEY_asn1_get0_info)(unwanted, unwanted, unwanted, text, &mut name, method);
    }
    name
}

unsafe extern "C" fn new_certificate(_: *mut OSSL_LIB_CTX, _: *const c_char) -> *mut X509 {
    // SAFETY: no arguments.
    FUNCTIONS.get().map_or(ptr::null_mut(), |functions| unsafe { (functions.X509_new)() })
}

unsafe extern "C" fn new_tls_context(
    _: *mut OSSL_LIB_CTX,
    properties: *const c_char,
    method: *const SSL_METHOD,
) -> *mut SSL_CTX {
    if !properties.is_null() {
        note("SSL_CTX_new_ex");
        return ptr::null_mut();
    }
    // SAFETY: the caller's method is a constant of the library.
    FUNCTIONS.get().map_or(ptr::null_mut(), |functions| unsafe { (functions.SSL_CTX_new)(method) })
}

/// Returns the names of OpenSSL 3.0 for the groups of 1.1.1, which has no such function.
unsafe extern "C" fn group_name(_: *mut SSL, number: c_int) -> *const c_char {
    let name = match number & !TLSEXT_nid_unknown {
        23 => c"secp256r1",
        24 => c"secp384r1",
        25 => c"secp521r1",
        29 => c"x25519",
        30 => c"x448",
        _ => return ptr::null(),
    };
    name.as_ptr()
}
