//! Keys as libcrypto stores, sends, compares and prints them (`EVP_PKEY_ASN1_METHOD`). Files are those of `fastkex.so`: the bit string's
//! and the octet string's bytes are the keys as they are.

use core::ffi::{c_int, c_long, c_uchar, c_void};
use core::marker::PhantomData;
use core::{ptr, slice};
use std::ffi::CString;

use keypool::Material;
use openssl_abi::guard;

use crate::key::Key;
use crate::libcrypto::Libcrypto;
use crate::operations::raise;
use crate::reason;
use crate::state::EngineKem;
use crate::types::{
    ASN1_UNDEFINED, Algorithm, Asn1Method, Bio, CTRL_GET_TLS_SHARE, CTRL_SET_TLS_SHARE, Pkey,
    PrivateKeyInfo, PublicKeyInfo, UNSUPPORTED,
};

/// The functions for `K`.
pub(crate) struct Encoding<K>(PhantomData<K>);

impl<K: EngineKem> Encoding<K> {
    /// A table of them, to be freed by libcrypto; `None` if there is no memory.
    pub(crate) fn table(libcrypto: &Libcrypto) -> Option<*mut Asn1Method> {
        let functions = &libcrypto.functions;
        let name = CString::new(K::GROUP.name).ok()?;
        let description = CString::new(K::GROUP.description).ok()?;
        // SAFETY: a table of libcrypto's is filled in with functions of the types that its header has; it copies the strings.
        unsafe {
            let (nid, name) = (libcrypto.nid::<K>(), name.as_ptr());
            let table = (functions.asn1_new)(nid, 0, name, description.as_ptr());
            if table.is_null() {
                return None;
            }
            (functions.asn1_set_public)(
                table,
                Self::decode_public,
                Self::encode_public,
                Self::compare,
                Self::print_public,
                Self::size,
                Self::bits,
            );
            (functions.asn1_set_private)(
                table,
                Self::decode_private,
                Self::encode_private,
                Self::print_private,
            );
            (functions.asn1_set_free)(table, Self::free);
            (functions.asn1_set_control)(table, Self::control);
            (functions.asn1_set_security_bits)(table, Self::security_bits);
            Some(table)
        }
    }

    unsafe extern "C" fn free(pkey: *mut Pkey) {
        guard((), || {
            let Some(libcrypto) = Libcrypto::get() else { return };
            // SAFETY: libcrypto frees a key of this type.
            unsafe { Key::<K>::free(libcrypto, pkey) };
        });
    }

    unsafe extern "C" fn size(_: *const Pkey) -> c_int {
        K::CIPHERTEXT_BYTES as c_int
    }

    unsafe extern "C" fn bits(_: *const Pkey) -> c_int {
        8 * K::PUBLIC_KEY_BYTES as c_int
    }

    unsafe extern "C" fn security_bits(_: *const Pkey) -> c_int {
        K::GROUP.security_bits as c_int
    }

    /// Reads and writes the client's key share.
    unsafe extern "C" fn control(
        pkey: *mut Pkey,
        what: c_int,
        size: c_long,
        argument: *mut c_void,
    ) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            match what {
                CTRL_SET_TLS_SHARE => {
                    let size = usize::try_from(size).unwrap_or(0);
                    // SAFETY: libcrypto gives a key of this type, and so many bytes.
                    unsafe {
                        let bytes = slice_of(argument.cast(), size);
                        Self::fill(libcrypto, pkey, Material::from_public_bytes(bytes))
                    }
                }
                CTRL_GET_TLS_SHARE => {
                    // SAFETY: libcrypto gives a key of this type.
                    let Some(key) = (unsafe { Self::key(libcrypto, pkey) }) else { return 0 };
                    let bytes = key.material().public_bytes();
                    let copy = libcrypto.copy(&bytes);
                    if copy.is_null() {
                        return 0;
                    }
                    // SAFETY: libcrypto gives a place for the pointer.
                    unsafe { *argument.cast::<*mut c_uchar>() = copy };
                    bytes.len() as c_int
                }
                _ => UNSUPPORTED,
            }
        })
    }

    unsafe extern "C" fn decode_public(pkey: *mut Pkey, info: *mut PublicKeyInfo) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            let (mut bytes, mut size, mut algorithm) = (ptr::null(), 0, ptr::null_mut());
            // SAFETY: libcrypto's structure and places for what it has.
            let found = unsafe {
                let get = libcrypto.functions.public_info;
                get(ptr::null_mut(), &raw mut bytes, &raw mut size, &raw mut algorithm, info) == 1
                    && Self::has_no_parameters(libcrypto, algorithm)
            };
            if !found {
                return 0;
            }
            // SAFETY: the bytes are the structure's, and the key is of this type.
            unsafe {
                let bytes = slice_of(bytes, usize::try_from(size).unwrap_or(0));
                Self::fill(libcrypto, pkey, Material::from_public_bytes(bytes))
            }
        })
    }

    unsafe extern "C" fn encode_public(info: *mut PublicKeyInfo, pkey: *const Pkey) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            // SAFETY: libcrypto gives a key of this type.
            let Some(key) = (unsafe { Self::key(libcrypto, pkey) }) else { return 0 };
            let bytes = key.material().public_bytes();
            let (none, size) = (ptr::null_mut(), bytes.len() as c_int);
            let copy = libcrypto.copy(&bytes);
            // SAFETY: the structure takes the copy if it says so, and has it freed.
            unsafe {
                let object = (libcrypto.functions.nid_to_object)(libcrypto.nid::<K>());
                let set = libcrypto.functions.public_info_set;
                if !copy.is_null() && set(info, object, ASN1_UNDEFINED, none, copy, size) == 1 {
                    return 1;
                }
                libcrypto.free(copy, bytes.len());
            }
            raise::<K>(libcrypto, reason::ENCODING, &"the public key cannot be encoded")
        })
    }

    unsafe extern "C" fn decode_private(pkey: *mut Pkey, info: *const PrivateKeyInfo) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            let (mut bytes, mut size, mut algorithm) = (ptr::null(), 0, ptr::null());
            // SAFETY: libcrypto's structure and places for what it has.
            let found = unsafe {
                let get = libcrypto.functions.private_info;
                get(ptr::null_mut(), &raw mut bytes, &raw mut size, &raw mut algorithm, info) == 1
                    && Self::has_no_parameters(libcrypto, algorithm)
            };
            if !found {
                return 0;
            }
            // SAFETY: the bytes are the structure's, and the key is of this type.
            unsafe {
                let bytes = slice_of(bytes, usize::try_from(size).unwrap_or(0));
                Self::fill(libcrypto, pkey, Material::from_secret_bytes(bytes))
            }
        })
    }

    unsafe extern "C" fn encode_private(info: *mut PrivateKeyInfo, pkey: *const Pkey) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            // SAFETY: libcrypto gives a key of this type.
            let Some(key) = (unsafe { Self::key(libcrypto, pkey) }) else { return 0 };
            let Some(bytes) = key.material().secret_bytes() else {
                return raise::<K>(libcrypto, reason::MISSING_KEY, &"the key has no private half");
            };
            let (none, size) = (ptr::null_mut(), bytes.len() as c_int);
            let copy = libcrypto.copy(&bytes);
            // SAFETY: the structure takes the copy if it says so, and has it erased.
            unsafe {
                let object = (libcrypto.functions.nid_to_object)(libcrypto.nid::<K>());
                let set = libcrypto.functions.private_info_set;
                if !copy.is_null() && set(info, object, 0, ASN1_UNDEFINED, none, copy, size) == 1 {
                    return 1;
                }
                libcrypto.free(copy, bytes.len());
            }
            raise::<K>(libcrypto, reason::ENCODING, &"the private key cannot be encoded")
        })
    }

    /// 1 for the same public key, 0 for another.
    unsafe extern "C" fn compare(a: *const Pkey, b: *const Pkey) -> c_int {
        guard(UNSUPPORTED, || {
            let Some(libcrypto) = Libcrypto::get() else { return UNSUPPORTED };
            // SAFETY: libcrypto gives keys of this type.
            match unsafe { (Key::<K>::of(libcrypto, a), Key::<K>::of(libcrypto, b)) } {
                (Some(a), Some(b)) => c_int::from(a.material().public() == b.material().public()),
                _ => UNSUPPORTED,
            }
        })
    }

    unsafe extern "C" fn print_public(
        out: *mut Bio,
        pkey: *const Pkey,
        indent: c_int,
        _: *mut c_void,
    ) -> c_int {
        // SAFETY: libcrypto gives a key of this type and a stream.
        guard(0, || unsafe { Self::print(out, pkey, indent, false) })
    }

    unsafe extern "C" fn print_private(
        out: *mut Bio,
        pkey: *const Pkey,
        indent: c_int,
        _: *mut c_void,
    ) -> c_int {
        // SAFETY: libcrypto gives a key of this type and a stream.
        guard(0, || unsafe { Self::print(out, pkey, indent, true) })
    }

    /// # Safety
    /// `out` is a stream of libcrypto's, `pkey` a key of this type.
    unsafe fn print(out: *mut Bio, pkey: *const Pkey, indent: c_int, private: bool) -> c_int {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        // SAFETY: by the caller's promise.
        let Some(key) = (unsafe { Self::key(libcrypto, pkey) }) else { return 0 };
        let material = key.material();
        let secret = if private { material.secret_bytes() } else { None };
        if private && secret.is_none() {
            return raise::<K>(libcrypto, reason::MISSING_KEY, &"the key has no private half");
        }
        let functions = &libcrypto.functions;
        let line = |text: &str| {
            // SAFETY: by the caller's promise; the text has so many bytes.
            unsafe {
                (functions.write_indent)(out, indent, 128) == 1
                    && (functions.write)(out, text.as_ptr().cast(), text.len() as c_int) > 0
            }
        };
        // SAFETY: as above.
        let hex = |bytes: &[u8]| unsafe {
            (functions.write_hex)(out, bytes.as_ptr(), bytes.len(), indent + 4) == 1
        };
        let kind = if private { "Private-Key" } else { "Public-Key" };
        let done = line(&format!("{} {kind}:\n", K::GROUP.name))
            && secret.is_none_or(|secret| line("priv:\n") && hex(&secret))
            && line("pub:\n")
            && hex(&material.public_bytes());
        c_int::from(done)
    }

    /// Fills `pkey`, unless what it is to have was refused.
    ///
    /// # Safety
    /// `pkey` is of this type.
    unsafe fn fill(
        libcrypto: &Libcrypto,
        pkey: *mut Pkey,
        material: Result<Material<K>, kex::Error>,
    ) -> c_int {
        match material {
            // SAFETY: by the caller's promise.
            Ok(material) => c_int::from(unsafe { Key::put(libcrypto, pkey, material, false) }),
            Err(error) => raise::<K>(libcrypto, reason::of(&error, reason::INVALID_KEY), &error),
        }
    }

    /// The key in `pkey`; with an error if it is empty.
    ///
    /// # Safety
    /// As [`Key::of`].
    unsafe fn key<'a>(libcrypto: &Libcrypto, pkey: *const Pkey) -> Option<&'a Key<K>> {
        // SAFETY: by the caller's promise.
        let key = unsafe { Key::of(libcrypto, pkey) };
        if key.is_none() {
            raise::<K>(libcrypto, reason::MISSING_KEY, &"the key is empty");
        }
        key
    }

    /// Whether an algorithm has no parameters, as ours; with an error if it has.
    ///
    /// # Safety
    /// `algorithm` is libcrypto's.
    unsafe fn has_no_parameters(libcrypto: &Libcrypto, algorithm: *const Algorithm) -> bool {
        let mut kind = ASN1_UNDEFINED;
        // SAFETY: by the caller's promise; what is not wanted is null.
        unsafe {
            (libcrypto.functions.algorithm)(
                ptr::null_mut(),
                &raw mut kind,
                ptr::null_mut(),
                algorithm,
            );
        }
        if kind != ASN1_UNDEFINED {
            let what = "the algorithm has parameters: expected none";
            raise::<K>(libcrypto, reason::INVALID_KEY, &what);
        }
        kind == ASN1_UNDEFINED
    }
}

/// # Safety
/// `bytes` is null or has `size` bytes.
unsafe fn slice_of<'a>(bytes: *const c_uchar, size: usize) -> &'a [u8] {
    if bytes.is_null() {
        return &[];
    }
    // SAFETY: by the caller's promise.
    unsafe { slice::from_raw_parts(bytes, size) }
}
