//! Encoding, comparison and printing of keys (`EVP_PKEY_ASN1_METHOD`).

use core::ffi::{c_int, c_long, c_uchar, c_void};
use core::marker::PhantomData;
use core::ptr;
use std::ffi::CString;

use openssl_abi::guard;
use secret::Secret;

use crate::curves;
use crate::key::{self, raise};
use crate::key_type::{Half, KeyType};
use crate::libcrypto::{Functions, Libcrypto};
use crate::output::{Output, input};
use crate::reason;
use crate::types::{
    ASN1_UNDEFINED, Algorithm, Asn1Method, Asn1Object, Bio, CTRL_DEFAULT_DIGEST,
    CTRL_GET_TLS_SHARE, CTRL_SET_TLS_SHARE, NID_UNDEFINED, Pkey, PrivateKeyInfo, PublicKeyInfo,
    UNSUPPORTED,
};

/// The functions for `T`.
pub(crate) struct Encoding<T>(PhantomData<T>);

impl<T: KeyType> Encoding<T> {
    /// Makes a table of the functions, which libcrypto frees. Returns `None` if there is no memory.
    pub(crate) fn table(libcrypto: &Libcrypto) -> Option<*mut Asn1Method> {
        let functions = &libcrypto.functions;
        let name = CString::new(T::NAME).ok()?;
        // SAFETY: fills in a table of libcrypto's with functions of the types in its header; it
        // copies the strings.
        unsafe {
            let (nid, name) = (libcrypto.nid::<T>(), name.as_ptr());
            let description = libcrypto.description::<T>().as_ptr();
            let table = (functions.asn1_new)(nid, 0, name, description);
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
            (functions.asn1_set_set_public)(table, Self::set_public);
            (functions.asn1_set_set_private)(table, Self::set_private);
            (functions.asn1_set_get_public)(table, Self::get_public);
            (functions.asn1_set_get_private)(table, Self::get_private);
            (functions.asn1_set_free)(table, Self::free);
            (functions.asn1_set_control)(table, Self::control);
            (functions.asn1_set_security_bits)(table, Self::security_bits);
            let none = ptr::null_mut();
            let same = same_parameters;
            (functions.asn1_set_parameters)(table, none, none, none, none, same, none);
            if T::SIGNS {
                (functions.asn1_set_item)(table, curves::verify_item, curves::sign_item);
            }
            Some(table)
        }
    }

    unsafe extern "C" fn free(pkey: *mut Pkey) {
        guard((), || {
            let Some(libcrypto) = Libcrypto::get() else { return };
            // SAFETY: libcrypto frees a key of this type.
            unsafe { key::free::<T>(libcrypto, pkey) };
        });
    }

    unsafe extern "C" fn size(_: *const Pkey) -> c_int {
        T::SIZE
    }

    unsafe extern "C" fn bits(_: *const Pkey) -> c_int {
        T::BITS
    }

    unsafe extern "C" fn security_bits(_: *const Pkey) -> c_int {
        T::SECURITY_BITS
    }

    unsafe extern "C" fn control(
        pkey: *mut Pkey,
        what: c_int,
        size: c_long,
        argument: *mut c_void,
    ) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            match what {
                // The client's key share.
                CTRL_SET_TLS_SHARE if !T::SIGNS => {
                    let size = usize::try_from(size).unwrap_or(0);
                    // SAFETY: libcrypto passes a key to fill in, and `size` bytes.
                    unsafe {
                        let contents = T::read(Half::Public, input(argument.cast(), size));
                        key::put::<T>(libcrypto, pkey, contents)
                    }
                }
                CTRL_GET_TLS_SHARE if !T::SIGNS => {
                    // SAFETY: libcrypto passes a key of this type, and a place for the pointer.
                    unsafe {
                        let Some(bytes) = Self::half(libcrypto, pkey, Half::Public) else {
                            return 0;
                        };
                        let copy = libcrypto.copy(&bytes);
                        if copy.is_null() {
                            return 0;
                        }
                        *argument.cast::<*mut c_uchar>() = copy;
                        bytes.len() as c_int
                    }
                }
                // There is no digest, and 2 says that no other is possible. 1 would leave the
                // choice (ENG25519, appendix C), and `openssl req` would then use its default
                // digest. libssl's signature algorithm has no digest either.
                CTRL_DEFAULT_DIGEST if T::SIGNS => {
                    // SAFETY: libcrypto passes a place for the number.
                    unsafe { *argument.cast::<c_int>() = NID_UNDEFINED };
                    2
                }
                _ => UNSUPPORTED,
            }
        })
    }

    unsafe extern "C" fn decode_public(pkey: *mut Pkey, info: *mut PublicKeyInfo) -> c_int {
        // SAFETY: libcrypto passes a key to fill in and its structure, and writes the structure's
        // fields to our places.
        guard(0, || unsafe {
            Self::decode(pkey, Half::Public, |libcrypto, bytes, size, algorithm| {
                let get = libcrypto.functions.public_info;
                get(ptr::null_mut(), bytes, size, ptr::from_mut(algorithm).cast(), info)
            })
        })
    }

    unsafe extern "C" fn decode_private(pkey: *mut Pkey, info: *const PrivateKeyInfo) -> c_int {
        // SAFETY: as above.
        guard(0, || unsafe {
            Self::decode(pkey, Half::Private, |libcrypto, bytes, size, algorithm| {
                (libcrypto.functions.private_info)(ptr::null_mut(), bytes, size, algorithm, info)
            })
        })
    }

    /// Fills in `pkey` with one half. `get` reads its bytes and its algorithm.
    ///
    /// # Safety
    /// `pkey` may be filled in. If `get` returns 1, the pointers that it wrote are libcrypto's.
    unsafe fn decode(
        pkey: *mut Pkey,
        half: Half,
        get: impl FnOnce(&Libcrypto, &mut *const c_uchar, &mut c_int, &mut *const Algorithm) -> c_int,
    ) -> c_int {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        let (mut bytes, mut size, mut algorithm) = (ptr::null(), 0, ptr::null());
        if get(libcrypto, &mut bytes, &mut size, &mut algorithm) != 1 {
            return 0;
        }
        let mut parameters = ASN1_UNDEFINED;
        // SAFETY: by the caller's promise; fields that are not needed are null.
        let bytes = unsafe {
            let get = libcrypto.functions.algorithm;
            get(ptr::null_mut(), &raw mut parameters, ptr::null_mut(), algorithm);
            input(bytes, usize::try_from(size).unwrap_or(0))
        };
        let refuse = |what: &str| raise::<T>(libcrypto, reason::INVALID_KEY, &what);
        if parameters != ASN1_UNDEFINED {
            return refuse("the algorithm has parameters: expected none");
        }
        let bytes = match half {
            Half::Public => Some(bytes),
            Half::Private => bytes.strip_prefix(T::PRIVATE_PREFIX),
        };
        let Some(bytes) = bytes else {
            return refuse("the private key is not encoded as one: expected an octet string");
        };
        // SAFETY: by the caller's promise.
        unsafe { key::put::<T>(libcrypto, pkey, T::read(half, bytes)) }
    }

    unsafe extern "C" fn encode_public(info: *mut PublicKeyInfo, pkey: *const Pkey) -> c_int {
        let none = ptr::null_mut();
        // SAFETY: libcrypto passes a key of this type and a structure, which owns the copy if the
        // call returns 1.
        guard(0, || unsafe {
            Self::encode(pkey, Half::Public, |functions, object, copy, size| {
                (functions.public_info_set)(info, object, ASN1_UNDEFINED, none, copy, size)
            })
        })
    }

    unsafe extern "C" fn encode_private(info: *mut PrivateKeyInfo, pkey: *const Pkey) -> c_int {
        let none = ptr::null_mut();
        // SAFETY: as above.
        guard(0, || unsafe {
            Self::encode(pkey, Half::Private, |functions, object, copy, size| {
                (functions.private_info_set)(info, object, 0, ASN1_UNDEFINED, none, copy, size)
            })
        })
    }

    /// Passes the object identifier and a copy of the half to `set`, which takes ownership of the
    /// copy.
    ///
    /// # Safety
    /// `pkey` is of this type. `set` returns 1 if it took the copy.
    unsafe fn encode(
        pkey: *const Pkey,
        half: Half,
        set: impl FnOnce(&Functions, *mut Asn1Object, *mut c_uchar, c_int) -> c_int,
    ) -> c_int {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        // SAFETY: by the caller's promise.
        unsafe {
            let Some(key) = Self::half(libcrypto, pkey, half) else { return 0 };
            let prefix = if half == Half::Private { T::PRIVATE_PREFIX } else { &[] };
            let mut bytes = Secret::<[u8]>::slice(prefix.len() + key.len());
            bytes[..prefix.len()].copy_from_slice(prefix);
            bytes[prefix.len()..].copy_from_slice(&key);
            let object = (libcrypto.functions.nid_to_object)(libcrypto.nid::<T>());
            let copy = libcrypto.copy(&bytes);
            if !copy.is_null() && set(&libcrypto.functions, object, copy, bytes.len() as c_int) == 1
            {
                return 1;
            }
            libcrypto.free(copy, bytes.len());
            let what = format!("the {} key cannot be encoded", half.name());
            raise::<T>(libcrypto, reason::ENCODING, &what)
        }
    }

    unsafe extern "C" fn set_public(pkey: *mut Pkey, bytes: *const c_uchar, size: usize) -> c_int {
        // SAFETY: libcrypto passes a key to fill in, and `size` bytes.
        guard(0, || unsafe { Self::set(pkey, Half::Public, input(bytes, size)) })
    }

    unsafe extern "C" fn set_private(pkey: *mut Pkey, bytes: *const c_uchar, size: usize) -> c_int {
        // SAFETY: as above.
        guard(0, || unsafe { Self::set(pkey, Half::Private, input(bytes, size)) })
    }

    /// # Safety
    /// `pkey` may be filled in.
    unsafe fn set(pkey: *mut Pkey, half: Half, bytes: &[u8]) -> c_int {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        // SAFETY: by the caller's promise.
        unsafe { key::put::<T>(libcrypto, pkey, T::read(half, bytes)) }
    }

    unsafe extern "C" fn get_public(
        pkey: *const Pkey,
        out: *mut c_uchar,
        size: *mut usize,
    ) -> c_int {
        // SAFETY: libcrypto passes a key of this type, and a buffer of the given size.
        guard(0, || unsafe { Self::get(pkey, Half::Public, out, size) })
    }

    unsafe extern "C" fn get_private(
        pkey: *const Pkey,
        out: *mut c_uchar,
        size: *mut usize,
    ) -> c_int {
        // SAFETY: as above.
        guard(0, || unsafe { Self::get(pkey, Half::Private, out, size) })
    }

    /// # Safety
    /// `pkey` is of this type. `out` is null or has `*size` bytes.
    unsafe fn get(pkey: *const Pkey, half: Half, out: *mut c_uchar, size: *mut usize) -> c_int {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        // SAFETY: by the caller's promise.
        unsafe {
            let Some(bytes) = Self::half(libcrypto, pkey, half) else { return 0 };
            match Output::new::<T>(libcrypto, "key", bytes.len(), out, size) {
                None => return 0,
                Some(Output::SizeOnly) => {}
                Some(Output::Buffer(out)) => out.copy_from_slice(&bytes),
            }
            1
        }
    }

    /// Returns the bytes of a half, or raises an error if the key does not have it.
    ///
    /// # Safety
    /// `pkey` is an `EVP_PKEY`.
    unsafe fn half(libcrypto: &Libcrypto, pkey: *const Pkey, half: Half) -> Option<Secret<[u8]>> {
        // SAFETY: by the caller's promise.
        let contents = unsafe { key::expect::<T>(libcrypto, pkey)? };
        let bytes = T::write(contents, half);
        if bytes.is_none() {
            let what = format!("the key has no {} half", half.name());
            raise::<T>(libcrypto, reason::MISSING_KEY, &what);
        }
        bytes
    }

    /// Compares public keys: 1 if they are equal, 0 if not.
    unsafe extern "C" fn compare(a: *const Pkey, b: *const Pkey) -> c_int {
        guard(UNSUPPORTED, || {
            let Some(libcrypto) = Libcrypto::get() else { return UNSUPPORTED };
            let public = |pkey| {
                let mut bytes = vec![0; (T::BITS as usize).div_ceil(8)]; // Public: that half.
                let mut size = bytes.len();
                // SAFETY: libcrypto passes keys of this type, of which one may be its own; the
                // buffer has the given size.
                let got = unsafe {
                    (libcrypto.functions.key_raw_public)(pkey, bytes.as_mut_ptr(), &raw mut size)
                };
                bytes.truncate(size);
                (got == 1).then_some(bytes)
            };
            match (public(a), public(b)) {
                (Some(a), Some(b)) => c_int::from(a == b),
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
        // SAFETY: libcrypto passes a key of this type and a stream.
        guard(0, || unsafe { Self::print(out, pkey, indent, false) })
    }

    unsafe extern "C" fn print_private(
        out: *mut Bio,
        pkey: *const Pkey,
        indent: c_int,
        _: *mut c_void,
    ) -> c_int {
        // SAFETY: libcrypto passes a key of this type and a stream.
        guard(0, || unsafe { Self::print(out, pkey, indent, true) })
    }

    /// # Safety
    /// `out` is a stream of libcrypto's, `pkey` a key of this type.
    unsafe fn print(out: *mut Bio, pkey: *const Pkey, indent: c_int, private: bool) -> c_int {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        // SAFETY: by the caller's promise.
        let half = |half| unsafe { Self::half(libcrypto, pkey, half) };
        let secret = if private { half(Half::Private) } else { None };
        if private && secret.is_none() {
            return 0;
        }
        let Some(public) = half(Half::Public) else { return 0 };
        let functions = &libcrypto.functions;
        let line = |text: &str| {
            // SAFETY: by the caller's promise; the text has the given size.
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
        let done = line(&format!("{} {kind}:\n", T::NAME))
            && secret.is_none_or(|secret| line("priv:\n") && hex(&secret))
            && line("pub:\n")
            && hex(&public);
        c_int::from(done)
    }
}

/// Reports equal parameters, as no key has any. libssl copies parameters from a key to the peer's
/// key.
unsafe extern "C" fn same_parameters(_: *const Pkey, _: *const Pkey) -> c_int {
    1
}
