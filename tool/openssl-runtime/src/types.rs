//! OpenSSL's types as they appear in the signatures of its functions. They have OpenSSL's names, so
//! that [`crate::symbols`] reads like the headers and the probe in its tests can compare the two.
#![allow(non_camel_case_types, clippy::upper_case_acronyms)]

use std::ffi::{c_char, c_int, c_uint, c_void};

/// Types that exist only behind pointers.
macro_rules! opaque {
    ($($name:ident)*) => { $( #[repr(C)] pub(crate) struct $name([u8; 0]); )* };
}

opaque! {
    ASN1_INTEGER ASN1_TIME BIO BIO_METHOD CONF EVP_KEM EVP_KEYEXCH EVP_KEYMGMT EVP_MD EVP_MD_CTX EVP_PKEY EVP_PKEY_ASN1_METHOD EVP_PKEY_CTX
    EVP_SIGNATURE OPENSSL_INIT_SETTINGS OSSL_DECODER_CTX OSSL_ENCODER_CTX OSSL_LIB_CTX OSSL_PROVIDER SSL SSL_CIPHER
    SSL_CTX SSL_METHOD X509 X509V3_CTX X509_EXTENSION X509_NAME X509_STORE X509_VERIFY_PARAM
}

/// One typed and named value, the unit of all parameter passing. An array ends at a null `key`.
#[repr(C)]
pub(crate) struct OSSL_PARAM {
    pub(crate) key: *const c_char,
    pub(crate) data_type: c_uint,
    pub(crate) data: *mut c_void,
    pub(crate) data_size: usize,
    pub(crate) return_size: usize,
}

pub(crate) type CapabilityCallback =
    unsafe extern "C" fn(parameters: *const OSSL_PARAM, state: *mut c_void) -> c_int;
pub(crate) type NameCallback = unsafe extern "C" fn(name: *const c_char, state: *mut c_void);
pub(crate) type ProviderCallback =
    unsafe extern "C" fn(provider: *mut OSSL_PROVIDER, state: *mut c_void) -> c_int;
pub(crate) type KemCallback = unsafe extern "C" fn(*mut EVP_KEM, *mut c_void);
pub(crate) type KeyExchangeCallback = unsafe extern "C" fn(*mut EVP_KEYEXCH, *mut c_void);
pub(crate) type KeyManagementCallback = unsafe extern "C" fn(*mut EVP_KEYMGMT, *mut c_void);
pub(crate) type SignatureCallback = unsafe extern "C" fn(*mut EVP_SIGNATURE, *mut c_void);
pub(crate) type PassphraseCallback = unsafe extern "C" fn(
    buffer: *mut c_char,
    size: c_int,
    write: c_int,
    state: *mut c_void,
) -> c_int;
pub(crate) type VerifyCallback = unsafe extern "C" fn(c_int, *mut c_void) -> c_int;
pub(crate) type MessageCallback = unsafe extern "C" fn(
    write: c_int,
    version: c_int,
    content_type: c_int,
    message: *const c_void,
    length: usize,
    ssl: *mut SSL,
    state: *mut c_void,
);
