//! Types of OpenSSL 1.1.1, written by hand from `engine.h` and `evp.h`.

use core::ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};
use core::marker::{PhantomData, PhantomPinned};

macro_rules! opaque {
    ($(#[$doc:meta] $visibility:vis $name:ident;)*) => {$(
        #[$doc]
        #[repr(C)]
        $visibility struct $name {
            data: [u8; 0],
            marker: PhantomData<(*mut u8, PhantomPinned)>,
        }
    )*};
}

opaque! {
    /// `ENGINE`.
    pub Engine;
    /// `EVP_PKEY`.
    pub(crate) Pkey;
    /// `EVP_PKEY_CTX`.
    pub(crate) PkeyContext;
    /// `EVP_PKEY_METHOD`.
    pub(crate) PkeyMethod;
    /// `EVP_PKEY_ASN1_METHOD`.
    pub(crate) Asn1Method;
    /// `ASN1_OBJECT`.
    pub(crate) Asn1Object;
    /// `X509_ALGOR`.
    pub(crate) Algorithm;
    /// `X509_PUBKEY`.
    pub(crate) PublicKeyInfo;
    /// `PKCS8_PRIV_KEY_INFO`.
    pub(crate) PrivateKeyInfo;
    /// `BIO`.
    pub(crate) Bio;
    /// `EVP_MD`.
    pub(crate) Digest;
    /// `EVP_MD_CTX`.
    pub(crate) DigestContext;
    /// `ASN1_ITEM`.
    pub(crate) Asn1Item;
    /// `ASN1_BIT_STRING`.
    pub(crate) BitString;
}

/// `dynamic_fns`: the functions that libcrypto passes to a module.
#[repr(C)]
pub struct DynamicFunctions {
    /// The address of an object in the calling libcrypto.
    pub static_state: *mut c_void,
    /// Its memory functions. They are not used here, as libcrypto's own are called.
    pub memory: [*mut c_void; 3],
}

/// `ENGINE_CMD_DEFN`: a control command. A table ends with zero and null.
#[repr(C)]
pub(crate) struct Command {
    pub(crate) number: c_uint,
    pub(crate) name: *const c_char,
    pub(crate) description: *const c_char,
    pub(crate) flags: c_uint,
}

// SAFETY: tables of commands point to immutable static strings.
unsafe impl Sync for Command {}

/// `ERR_STRING_DATA`: a reason's text. libcrypto adds its number for the library to `error`.
#[repr(C)]
pub(crate) struct ErrorString {
    pub(crate) error: c_ulong,
    pub(crate) text: *const c_char,
}

pub(crate) type EngineFunction = unsafe extern "C" fn(*mut Engine) -> c_int;
pub(crate) type EngineMethods<M> =
    unsafe extern "C" fn(*mut Engine, *mut *mut M, *mut *const c_int, c_int) -> c_int;
pub(crate) type EngineControl = unsafe extern "C" fn(
    *mut Engine,
    c_int,
    c_long,
    *mut c_void,
    Option<unsafe extern "C" fn()>,
) -> c_int;

pub(crate) type Init = unsafe extern "C" fn(*mut PkeyContext) -> c_int;
pub(crate) type Copy = unsafe extern "C" fn(*mut PkeyContext, *mut PkeyContext) -> c_int;
pub(crate) type Generate = unsafe extern "C" fn(*mut PkeyContext, *mut Pkey) -> c_int;
pub(crate) type Crypt = unsafe extern "C" fn(
    *mut PkeyContext,
    *mut c_uchar,
    *mut usize,
    *const c_uchar,
    usize,
) -> c_int;
pub(crate) type Derive = unsafe extern "C" fn(*mut PkeyContext, *mut c_uchar, *mut usize) -> c_int;
pub(crate) type Control =
    unsafe extern "C" fn(*mut PkeyContext, c_int, c_int, *mut c_void) -> c_int;
pub(crate) type ControlString =
    unsafe extern "C" fn(*mut PkeyContext, *const c_char, *const c_char) -> c_int;

pub(crate) type DecodePublic = unsafe extern "C" fn(*mut Pkey, *mut PublicKeyInfo) -> c_int;
pub(crate) type EncodePublic = unsafe extern "C" fn(*mut PublicKeyInfo, *const Pkey) -> c_int;
pub(crate) type Compare = unsafe extern "C" fn(*const Pkey, *const Pkey) -> c_int;
pub(crate) type Print = unsafe extern "C" fn(*mut Bio, *const Pkey, c_int, *mut c_void) -> c_int;
pub(crate) type Measure = unsafe extern "C" fn(*const Pkey) -> c_int;
pub(crate) type DecodePrivate = unsafe extern "C" fn(*mut Pkey, *const PrivateKeyInfo) -> c_int;
pub(crate) type EncodePrivate = unsafe extern "C" fn(*mut PrivateKeyInfo, *const Pkey) -> c_int;
pub(crate) type Free = unsafe extern "C" fn(*mut Pkey);
pub(crate) type SetRaw = unsafe extern "C" fn(*mut Pkey, *const c_uchar, usize) -> c_int;
pub(crate) type GetRaw = unsafe extern "C" fn(*const Pkey, *mut c_uchar, *mut usize) -> c_int;
pub(crate) type DigestSign = unsafe extern "C" fn(
    *mut DigestContext,
    *mut c_uchar,
    *mut usize,
    *const c_uchar,
    usize,
) -> c_int;
pub(crate) type DigestVerify =
    unsafe extern "C" fn(*mut DigestContext, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
pub(crate) type VerifyItem = unsafe extern "C" fn(
    *mut DigestContext,
    *const Asn1Item,
    *mut c_void,
    *mut Algorithm,
    *mut BitString,
    *mut Pkey,
) -> c_int;
pub(crate) type SignItem = unsafe extern "C" fn(
    *mut DigestContext,
    *const Asn1Item,
    *mut c_void,
    *mut Algorithm,
    *mut Algorithm,
    *mut BitString,
) -> c_int;
pub(crate) type Asn1Control = unsafe extern "C" fn(*mut Pkey, c_int, c_long, *mut c_void) -> c_int;

/// `EVP_PKEY_CTRL_MD`.
pub(crate) const CTRL_DIGEST: c_int = 1;
/// `EVP_PKEY_CTRL_DIGESTINIT`.
pub(crate) const CTRL_DIGEST_INIT: c_int = 7;
/// `EVP_PKEY_FLAG_SIGCTX_CUSTOM`.
pub(crate) const FLAG_NO_DIGEST: c_int = 4;
/// `EVP_PKEY_CTRL_PEER_KEY`.
pub(crate) const CTRL_PEER_KEY: c_int = 2;
/// `ASN1_PKEY_CTRL_DEFAULT_MD_NID`.
pub(crate) const CTRL_DEFAULT_DIGEST: c_int = 0x3;
/// `NID_undef`.
pub(crate) const NID_UNDEFINED: c_int = 0;
/// `ASN1_PKEY_CTRL_SET1_TLS_ENCPT`.
pub(crate) const CTRL_SET_TLS_SHARE: c_int = 0x9;
/// `ASN1_PKEY_CTRL_GET1_TLS_ENCPT`.
pub(crate) const CTRL_GET_TLS_SHARE: c_int = 0xa;
/// `V_ASN1_UNDEF`.
pub(crate) const ASN1_UNDEFINED: c_int = -1;
/// `ENGINE_CMD_BASE`.
pub(crate) const COMMAND_BASE: c_uint = 200;
/// `ENGINE_CMD_FLAG_STRING`.
pub(crate) const COMMAND_STRING: c_uint = 0x0002;
/// `CRYPTO_EX_INDEX_ENGINE`.
pub(crate) const EX_INDEX_ENGINE: c_int = 10;
/// A function's result for an unsupported request.
pub(crate) const UNSUPPORTED: c_int = -2;

#[cfg(test)]
mod tests {
    use core::mem::offset_of;
    use std::fmt::Write;
    use std::process::Command as Process;

    use super::*;

    /// Compares numbers and layouts with the headers of patched OpenSSL 1.1.1.
    #[test]
    fn numbers_and_layouts_are_those_of_the_headers() {
        let Some(prefix) = artifacts::legacy_openssl(true) else {
            artifacts::skipped("no patched OpenSSL 1.1.1 (lab/legacy/openssl-1.1.1/build)");
            return;
        };
        let mut source = String::from(
            "#include <stddef.h>\n#include <openssl/engine.h>\n#include <openssl/evp.h>\n#include <openssl/err.h>\n",
        );
        let mut is = |c: &str, rust: i64| {
            writeln!(source, "_Static_assert((long)({c}) == {rust}, \"{c} is not {rust}\");")
                .unwrap();
        };
        is("EVP_PKEY_CTRL_MD", CTRL_DIGEST.into());
        is("EVP_PKEY_CTRL_DIGESTINIT", CTRL_DIGEST_INIT.into());
        is("EVP_PKEY_FLAG_SIGCTX_CUSTOM", FLAG_NO_DIGEST.into());
        is("ASN1_PKEY_CTRL_DEFAULT_MD_NID", CTRL_DEFAULT_DIGEST.into());
        is("NID_undef", NID_UNDEFINED.into());
        is("EVP_PKEY_CTRL_PEER_KEY", CTRL_PEER_KEY.into());
        is("ASN1_PKEY_CTRL_SET1_TLS_ENCPT", CTRL_SET_TLS_SHARE.into());
        is("ASN1_PKEY_CTRL_GET1_TLS_ENCPT", CTRL_GET_TLS_SHARE.into());
        is("V_ASN1_UNDEF", ASN1_UNDEFINED.into());
        is("ENGINE_CMD_BASE", COMMAND_BASE.into());
        is("ENGINE_CMD_FLAG_STRING", COMMAND_STRING.into());
        is("CRYPTO_EX_INDEX_ENGINE", EX_INDEX_ENGINE.into());
        is("OSSL_DYNAMIC_VERSION", crate::DYNAMIC_VERSION as i64);
        is("OPENSSL_VERSION_NUMBER >> 12", 0x10101);
        let mut is = |c: &str, rust: usize| is(c, rust as i64);
        is("sizeof(dynamic_fns)", size_of::<DynamicFunctions>());
        is("offsetof(dynamic_fns, static_state)", offset_of!(DynamicFunctions, static_state));
        is("sizeof(ENGINE_CMD_DEFN)", size_of::<Command>());
        is("offsetof(ENGINE_CMD_DEFN, cmd_num)", offset_of!(Command, number));
        is("offsetof(ENGINE_CMD_DEFN, cmd_name)", offset_of!(Command, name));
        is("offsetof(ENGINE_CMD_DEFN, cmd_desc)", offset_of!(Command, description));
        is("offsetof(ENGINE_CMD_DEFN, cmd_flags)", offset_of!(Command, flags));
        is("sizeof(ERR_STRING_DATA)", size_of::<ErrorString>());
        is("offsetof(ERR_STRING_DATA, error)", offset_of!(ErrorString, error));
        is("offsetof(ERR_STRING_DATA, string)", offset_of!(ErrorString, text));
        for name in ["sntrup761", "sntrup857"] {
            let group = kex::group_named(name).unwrap();
            // Object identifiers in the header are lists of arcs.
            let arcs = group.identifier.unwrap().dotted().replace('.', "L,") + "L";
            writeln!(source, "#define TEXT(...) #__VA_ARGS__\n#define ARCS(...) TEXT(__VA_ARGS__)")
                .unwrap();
            writeln!(
                source,
                "_Static_assert(__builtin_strcmp(ARCS(OBJ_{name}), \"{arcs}\") == 0, \"OBJ_{name}\");"
            )
            .unwrap();
        }
        let folder = testbed::Stage::new().unwrap();
        folder.write("probe.c", &source).unwrap();
        let mut compiler = Process::new("cc");
        compiler.args(["-fsyntax-only", "probe.c"]).arg(format!("-I{}/include", prefix.display()));
        let compiled = folder.run(&mut compiler).unwrap();
        assert!(compiled.status.success(), "{}", compiled.errors);
    }
}
