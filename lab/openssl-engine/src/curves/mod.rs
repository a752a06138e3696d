//! X25519 and Ed25519 in the place of libcrypto's own (ENG25519, section 4.1).

mod exchange;
mod signature;

use core::ffi::c_int;
use core::marker::PhantomData;

use kex::Error;
use openssl_abi::guard;
use secret::Secret;

pub(crate) use exchange::X25519;
pub(crate) use signature::{Ed25519, sign_item, verify_item};

use crate::key;
use crate::key_type::{Half, KeyType};
use crate::libcrypto::Libcrypto;
use crate::types::{GetRaw, Pkey, PkeyContext, PkeyMethod};

/// Bytes of each half of a key.
const KEY_BYTES: usize = 32;

/// X25519 or Ed25519.
pub(crate) trait Scheme: Send + Sync + 'static {
    const PLACE: usize;
    const SIZE: usize;
    const BITS: c_int;
    const SIGNS: bool;

    /// Both halves of a key, erased on drop.
    type Pair: Send + Sync;

    fn generate() -> Result<Self::Pair, Error>;

    /// Computes both halves from the private half.
    fn pair(private: &[u8; KEY_BYTES]) -> Result<Self::Pair, Error>;

    fn public(pair: &Self::Pair) -> [u8; KEY_BYTES];

    fn private(pair: &Self::Pair) -> Secret<[u8; KEY_BYTES]>;

    /// Sets the scheme's operations other than key generation.
    ///
    /// # Safety
    /// `table` is a new table of libcrypto's.
    unsafe fn complete(libcrypto: &Libcrypto, table: *mut PkeyMethod);

    /// Flags of libcrypto's table of operations.
    const FLAGS: c_int;
}

/// A key. The public half comes first, as in libcrypto's own keys, as libcrypto's methods compare
/// its keys with ours.
#[repr(C)]
pub(crate) struct Key<S: Scheme> {
    /// The bytes as received. Invalid bytes are reported when the key is used, as for libcrypto's
    /// own keys.
    public: [u8; KEY_BYTES],
    pair: Option<S::Pair>,
}

impl<S: Scheme> Key<S> {
    fn new(pair: S::Pair) -> Self {
        Key { public: S::public(&pair), pair: Some(pair) }
    }
}

/// A scheme as a key type.
pub(crate) struct Curve<S>(PhantomData<S>);

impl<S: Scheme> KeyType for Curve<S> {
    const PLACE: usize = S::PLACE;
    const SIZE: c_int = S::SIZE as c_int;
    const BITS: c_int = S::BITS;
    const SECURITY_BITS: c_int = 128;
    const SIGNS: bool = S::SIGNS;
    /// An octet string inside the octet string (RFC 8410, section 7).
    const PRIVATE_PREFIX: &'static [u8] = &[0x04, KEY_BYTES as u8];

    type Contents = Key<S>;

    fn read(half: Half, bytes: &[u8]) -> Result<Key<S>, Error> {
        let object = if half == Half::Public { "public key" } else { "private key" };
        let actual = bytes.len();
        let bytes = <&[u8; KEY_BYTES]>::try_from(bytes);
        let bytes = bytes.map_err(|_| Error::Length { object, expected: KEY_BYTES, actual })?;
        match half {
            Half::Public => Ok(Key { public: *bytes, pair: None }),
            Half::Private => Ok(Key::new(S::pair(bytes)?)),
        }
    }

    fn write(key: &Key<S>, half: Half) -> Option<Secret<[u8]>> {
        Some(match half {
            Half::Public => Secret::<[u8]>::copy_of(&key.public),
            Half::Private => Secret::<[u8]>::copy_of(&*S::private(key.pair.as_ref()?)),
        })
    }
}

/// The operations of a scheme.
pub(crate) struct Operations<S>(PhantomData<S>);

impl<S: Scheme> Operations<S> {
    /// Makes a table of the operations, which libcrypto frees. Returns `None` if there is no
    /// memory.
    pub(crate) fn table(libcrypto: &Libcrypto) -> Option<*mut PkeyMethod> {
        let functions = &libcrypto.functions;
        // SAFETY: fills in a table of libcrypto's with functions of the types in its header.
        unsafe {
            let table = (functions.method_new)(libcrypto.nid::<Curve<S>>(), S::FLAGS);
            if table.is_null() {
                return None;
            }
            (functions.method_set_copy)(table, crate::kem::copy);
            (functions.method_set_generate)(table, None, Self::generate);
            S::complete(libcrypto, table);
            Some(table)
        }
    }

    unsafe extern "C" fn generate(_: *mut PkeyContext, pkey: *mut Pkey) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            // SAFETY: libcrypto passes a key to fill in.
            unsafe { key::put::<Curve<S>>(libcrypto, pkey, S::generate().map(Key::new)) }
        })
    }
}

/// Reads a half of a key of libcrypto's own, made before the ENGINE was loaded. Returns `None` if
/// the key does not have it.
///
/// # Safety
/// `pkey` is an `EVP_PKEY` of one of the two types, and `get` reads this half.
unsafe fn raw(get: GetRaw, pkey: *const Pkey) -> Option<Secret<[u8; KEY_BYTES]>> {
    let (mut bytes, mut size) = (Secret::<[u8; KEY_BYTES]>::zeroed(), KEY_BYTES);
    // SAFETY: by the caller's promise; the buffer has the given size.
    let got = unsafe { get(pkey, bytes.as_mut_ptr(), &raw mut size) };
    (got == 1 && size == KEY_BYTES).then_some(bytes)
}
