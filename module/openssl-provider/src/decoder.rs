//! Decoders of keys in DER. The default provider's decoders remove PEM and encryption first.

use core::ffi::{CStr, c_int, c_void};
use core::marker::PhantomData;
use core::ptr;
use std::ffi::CString;
use std::io::Read;
use std::sync::Arc;

use kex::TlsKem;
use openssl_abi::functions::decoder as function;
use openssl_abi::{
    Bio, Callback, CoreBio, Dispatch, OBJECT_PKEY, Param, Passphrase, guard, names, selection,
};
use secret::{NoMemory, Secret};

use crate::context::Provider;
use crate::formats::{Found, public_from_der, secret_from_der};
use crate::group_key::{GroupKey, Key, KeyMaterial};
use crate::keymgmt::KeyManagement;
use crate::memory;
use crate::reason;
use crate::seed_key::{SeedKey, SeedKeyError};

/// Longer objects are not keys of the module.
const MAX_DER_BYTES: usize = 16 * 1024;

/// The decoders of keys of `K`.
pub(crate) struct Decoder<K>(PhantomData<K>);

/// The decoder of secret keys or of public keys.
struct FromDer<K, const SECRET: bool>(PhantomData<K>);

impl<K: TlsKem> Decoder<K> {
    /// Property definition and functions of each decoder.
    pub(crate) const ALL: [(&'static CStr, &'static [Dispatch]); 2] = [
        (
            c"provider=fastkex,input=der,structure=SubjectPublicKeyInfo",
            FromDer::<K, false>::DISPATCH,
        ),
        (c"provider=fastkex,input=der,structure=PrivateKeyInfo", FromDer::<K, true>::DISPATCH),
    ];
}

impl<K: TlsKem, const SECRET: bool> FromDer<K, SECRET> {
    const DISPATCH: &'static [Dispatch] = &[
        function::NEWCTX.entry(new),
        function::FREECTX.entry(free),
        function::DOES_SELECTION.entry(Self::does_selection),
        function::DECODE.entry(Self::decode),
        function::EXPORT_OBJECT.entry(Self::export_object),
        Dispatch::END,
    ];

    unsafe extern "C" fn does_selection(_: *mut c_void, wanted: c_int) -> c_int {
        let fits = if SECRET {
            wanted & selection::PRIVATE_KEY != 0
        } else {
            wanted & selection::PRIVATE_KEY == 0 && wanted & selection::PUBLIC_KEY != 0
        };
        c_int::from(fits || wanted == 0)
    }

    /// Success without a call of `callback` means that the input is no such key; libcrypto then
    /// tries the next decoder.
    unsafe extern "C" fn decode(
        context: *mut c_void,
        input: *mut CoreBio,
        _: c_int,
        callback: Option<Callback>,
        argument: *mut c_void,
        _: Option<Passphrase>,
        _: *mut c_void,
    ) -> c_int {
        guard(0, || {
            // SAFETY: the decoder's context is the provider's.
            let provider = unsafe { Provider::from_context(context) };
            // SAFETY: libcrypto's stream, valid during this call.
            let der = match read_der(unsafe { provider.core.bio(input) }) {
                Ok(Some(der)) => der,
                Ok(None) => return 1,
                Err(NoMemory) => {
                    let message = format!("{}: no memory to read a key", K::GROUP.name);
                    provider.core.raise(reason::MEMORY, &message);
                    return 0;
                }
            };
            let refuse = |message: &str| {
                let message = format!("{}: {message}", K::GROUP.name);
                provider.core.raise(reason::INVALID_KEY, &message);
                0
            };
            let found = if SECRET {
                secret_from_der(K::GROUP, &der)
            } else {
                public_from_der(K::GROUP, &der)
            };
            let backend = provider.backend;
            let material = match found {
                Found::NotOurs => return 1,
                Found::Malformed(problem) => return refuse(problem),
                Found::Key(bytes) if SECRET && K::SEED_BYTES > 0 => {
                    match SeedKey::from_der(bytes) {
                        Some(parts) => parts.read::<K>(backend),
                        None => return refuse("expected a seed, an expanded key, or both"),
                    }
                }
                Found::Key(bytes) if SECRET => {
                    KeyMaterial::<K>::from_secret_bytes(backend, bytes).map_err(SeedKeyError::Key)
                }
                Found::Key(bytes) => {
                    KeyMaterial::from_public_bytes(backend, bytes).map_err(SeedKeyError::Key)
                }
            };
            match (material, callback) {
                (Ok(material), Some(callback)) => {
                    let key = Key::new(provider, Some(Arc::new(material)));
                    // SAFETY: callback and argument come from libcrypto together.
                    unsafe { pass_to_libcrypto(key, callback, argument) }
                }
                (Ok(_), None) => 0,
                (Err(error), _) => refuse(&error.to_string()),
            }
        })
    }

    unsafe extern "C" fn export_object(
        _: *mut c_void,
        reference: *const c_void,
        size: usize,
        callback: Option<Callback>,
        argument: *mut c_void,
    ) -> c_int {
        if reference.is_null() || size != size_of::<*mut c_void>() {
            return 0;
        }
        let wanted = if SECRET { selection::KEYPAIR } else { selection::PUBLIC_KEY };
        // SAFETY: `pass_to_libcrypto` made the reference from the place of a pointer to a key.
        unsafe {
            KeyManagement::<GroupKey<K>>::export(
                *reference.cast::<*mut c_void>(),
                wanted,
                callback,
                argument,
            )
        }
    }
}

/// Reads a single object, as others may follow. `None` if the input is not DER, or too long for a
/// key.
fn read_der(mut input: Bio<'_>) -> Result<Option<Secret<[u8]>>, NoMemory> {
    const SEQUENCE: u8 = 0x30;
    const SHORT_PREFIX_BYTES: usize = 2;
    /// A prefix with a length of two bytes, which is enough.
    const LONGEST_PREFIX_BYTES: usize = 4;

    let mut prefix = [0; LONGEST_PREFIX_BYTES];
    let (header, more) = prefix.split_at_mut(SHORT_PREFIX_BYTES);
    if input.read_exact(header).is_err() || header[0] != SEQUENCE {
        return Ok(None);
    }
    let (prefix_bytes, length) = match header[1] {
        short @ 0..0x80 => (SHORT_PREFIX_BYTES, short.into()),
        long => {
            let count = usize::from(long & 0x7f);
            if count == 0 || count > more.len() || input.read_exact(&mut more[..count]).is_err() {
                return Ok(None);
            }
            let length =
                more[..count].iter().fold(0, |length, &byte| length << 8 | usize::from(byte));
            (SHORT_PREFIX_BYTES + count, length)
        }
    };
    if length > MAX_DER_BYTES {
        return Ok(None);
    }
    let mut der = memory::zeros(prefix_bytes + length)?;
    let (start, rest) = der.split_at_mut(prefix_bytes);
    start.copy_from_slice(&prefix[..prefix_bytes]);
    Ok(input.read_exact(rest).is_ok().then_some(der))
}

/// Passes a key to libcrypto by a reference, from which key management's `load` takes it.
///
/// # Safety
/// `callback` may be called with `argument`.
unsafe fn pass_to_libcrypto<K: TlsKem>(
    key: Key<K>,
    callback: Callback,
    argument: *mut c_void,
) -> c_int {
    let Ok(name) = CString::new(K::GROUP.algorithm()) else { return 0 };
    let mut place = key.into_raw();
    let reference = (&raw mut place).cast::<u8>();
    let params = [
        Param::integer(names::OBJECT_TYPE, &OBJECT_PKEY),
        Param::utf8(names::OBJECT_DATA_TYPE, &name),
        Param::octets_at(names::OBJECT_REFERENCE, reference, size_of::<*mut c_void>()),
        Param::END,
    ];
    // SAFETY: by the caller's promise; the parameters outlive the call.
    let taken = unsafe { callback(params.as_ptr(), argument) };
    // SAFETY: null if the key was taken, else still ours.
    unsafe { Key::<K>::free(ptr::read(&raw const place)) };
    taken
}

unsafe extern "C" fn new(context: *mut c_void) -> *mut c_void {
    context
}

unsafe extern "C" fn free(_: *mut c_void) {}
