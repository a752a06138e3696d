//! The objects behind OpenSSL's key data pointers.

use core::ffi::{CStr, c_int, c_void};
use std::sync::Arc;

use fork::Latest;
use openssl_abi::{Param, ParamRef, ParamType, Params, ValueError, WrongType, names};

use crate::context::Provider;
use secret::NoMemory;

/// A type of keys: those of a TLS group, of X25519 or of Ed25519.
pub(crate) trait KeyType: Sized + 'static {
    /// Name of the algorithm in messages.
    const NAME: &'static str;
    /// Size of a key in bits, as OpenSSL reports it.
    const BITS: u32;
    /// Security strength in bits.
    const SECURITY_BITS: u32;
    /// Size of the longest output in bytes: a ciphertext, a shared secret or a signature.
    const MAX_SIZE: u32;
    /// Whether keys serve key exchange, and are sent as key shares.
    const EXCHANGES: bool;
    /// Whether the module's own decoders make keys, for `load` to take over.
    const IS_DECODED: bool;
    /// Whether an export of the private key has the public one as well, even if it is not selected.
    const EXPORTS_PUBLIC_KEY_ALWAYS: bool;

    /// Parameters of a generation, terminated by [`Param::END`] as the tables below.
    const GENERATION_SETTABLE: &'static [Param];
    /// Parameters of a key that can be read.
    const GETTABLE: &'static [Param];
    /// Parameters of a key that can be set.
    const SETTABLE: &'static [Param];
    /// Parameters that stand for the public key in imports and exports.
    const PUBLIC_TYPES: &'static [Param];
    /// Parameters that stand for a key pair in imports and exports.
    const KEY_PAIR_TYPES: &'static [Param] = KEY_PAIR_TYPES;

    /// The contents of a key: a public key or a key pair.
    type Material: Send + Sync;
    /// Parameters of a generation.
    type Options: Default;

    /// Reads the parameters of a generation; `false`, with an error raised, if one is invalid.
    fn set_options(options: &mut Self::Options, provider: &Provider, params: Params<'_>) -> bool;

    /// Generates a key pair. The error is a reason number and a message.
    fn generate(
        provider: &Provider,
        options: &Self::Options,
    ) -> Result<Self::Material, (u32, String)>;

    /// Whether there is a private key.
    fn has_secret(material: &Self::Material) -> bool;

    /// The public key of a key pair.
    fn public_only(material: &Self::Material) -> Self::Material;

    /// Whether the public keys are the same.
    fn is_same_public(first: &Self::Material, second: &Self::Material) -> bool;

    /// Whether a key pair is consistent, as far as `selection` asks for it. It includes the private
    /// key.
    fn check_pair(key: &SharedKey<Self>, material: &Self::Material, selection: c_int) -> bool;

    /// Calls `work` with the encoded public key.
    fn with_public<R>(
        material: &Self::Material,
        work: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, NoMemory>;

    /// Calls `work` with the encoded private key, `None` if there is none.
    fn with_secret<R>(
        material: &Self::Material,
        work: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, NoMemory>;

    /// Calls `work` with the seed of the key pair, `None` if it is not known.
    fn with_seed<R>(
        _material: &Self::Material,
        work: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, NoMemory> {
        Ok(work(None))
    }

    /// Fills in a parameter that is special to this type of keys; others stay as they are.
    fn get_special(_name: &CStr, _param: &mut ParamRef<'_>) -> Result<(), ValueError> {
        Ok(())
    }

    /// The message for a parameter that could not be filled in.
    fn parameter_message(name: &CStr, error: &ValueError) -> String;

    /// Reads the peer's key share, `None` if there is none.
    fn read_key_share(
        key: &SharedKey<Self>,
        share: Result<Option<&[u8]>, WrongType>,
    ) -> Result<Option<Self::Material>, Raised>;

    /// Reads a key from `pub` and `priv`. The private key is enough, and must match a public one
    /// beside it.
    fn from_params(
        key: &SharedKey<Self>,
        selection: c_int,
        params: Params<'_>,
    ) -> Result<Self::Material, Raised>;
}

/// The call failed; if there is a reason to tell, it is in OpenSSL's error queue.
pub(crate) struct Raised;

/// Descriptors of a public and a private key in imports and exports.
pub(crate) const KEY_PAIR_TYPES: &[Param] = &[
    Param::descriptor(names::PUBLIC_KEY, ParamType::Octets),
    Param::descriptor(names::PRIVATE_KEY, ParamType::Octets),
    Param::END,
];

/// Whether `selection` has a bit of `bits`.
pub(crate) fn selects(selection: c_int, bits: c_int) -> bool {
    selection & bits != 0
}

/// A key that libcrypto shares between threads, with contents or still empty. libcrypto fills
/// in keys that it created from parameters, and may replace the public key later; operations in
/// progress go on with the contents that they started with. There is no lock, which a child of fork
/// could inherit held.
pub(crate) struct SharedKey<T: KeyType> {
    provider: *const Provider,
    material: Latest<Arc<T::Material>>,
}

impl<T: KeyType> SharedKey<T> {
    pub(crate) fn new(provider: &Provider, material: Option<Arc<T::Material>>) -> Self {
        SharedKey { provider, material: Latest::new(material) }
    }

    pub(crate) fn provider(&self) -> &Provider {
        // SAFETY: libcrypto holds the provider as long as there are keys of it.
        unsafe { &*self.provider }
    }

    pub(crate) fn material(&self) -> Option<Arc<T::Material>> {
        self.material.get()
    }

    pub(crate) fn set(&self, material: T::Material) {
        self.material.set(Arc::new(material));
    }

    /// Adds an error about the key to OpenSSL's queue.
    #[track_caller]
    pub(crate) fn raise(&self, reason: u32, message: &str) {
        self.provider().core.raise(reason, &format!("{}: {message}", T::NAME));
    }

    /// Passes the key to libcrypto as a pointer.
    pub(crate) fn into_raw(self) -> *mut c_void {
        Box::into_raw(Box::new(self)).cast()
    }

    /// The key behind a pointer from libcrypto; `None` for null.
    ///
    /// # Safety
    /// `key` is null or comes from [`SharedKey::into_raw`] for the same `T`, and has not been
    /// freed.
    pub(crate) unsafe fn borrow<'a>(key: *const c_void) -> Option<&'a Self> {
        // SAFETY: by the caller's promise.
        unsafe { key.cast::<Self>().as_ref() }
    }

    /// Frees a key from [`SharedKey::into_raw`]; null is ignored.
    ///
    /// # Safety
    /// As [`SharedKey::borrow`], and `key` is not used again.
    pub(crate) unsafe fn free(key: *mut c_void) {
        if !key.is_null() {
            // SAFETY: by the caller's promise.
            drop(unsafe { Box::from_raw(key.cast::<Self>()) });
        }
    }
}
