//! Key encapsulation with the groups' KEMs.

use core::ffi::{c_int, c_uchar, c_void};
use core::marker::PhantomData;
use core::{ptr, slice};
use std::sync::Arc;

use kex::{Kem, TlsKem};
use openssl_abi::functions::kem as function;
use openssl_abi::{Dispatch, Param, guard};

use crate::context::Provider;
use crate::group_key::{Key, KeyMaterial};
use crate::reason;

/// The functions for keys of `K`.
pub(crate) struct KeyEncapsulation<K>(PhantomData<K>);

/// A key encapsulation operation.
struct Operation<K: TlsKem> {
    provider: *const Provider,
    key: Option<Arc<KeyMaterial<K>>>,
}

impl<K: TlsKem> KeyEncapsulation<K> {
    pub(crate) const DISPATCH: &'static [Dispatch] = &[
        function::NEWCTX.entry(Self::create),
        function::FREECTX.entry(Self::free),
        function::DUPCTX.entry(Self::duplicate),
        function::ENCAPSULATE_INIT.entry(Self::encapsulate_init),
        function::ENCAPSULATE.entry(Self::encapsulate),
        function::DECAPSULATE_INIT.entry(Self::decapsulate_init),
        function::DECAPSULATE.entry(Self::decapsulate),
        Dispatch::END,
    ];

    unsafe extern "C" fn create(context: *mut c_void) -> *mut c_void {
        guard(ptr::null_mut(), || {
            let operation = Operation::<K> { provider: context.cast(), key: None };
            Box::into_raw(Box::new(operation)).cast()
        })
    }

    unsafe extern "C" fn free(operation: *mut c_void) {
        guard((), || {
            if !operation.is_null() {
                // SAFETY: made by `Box::into_raw` in `create` or `duplicate`; libcrypto frees once.
                drop(unsafe { Box::from_raw(operation.cast::<Operation<K>>()) });
            }
        });
    }

    unsafe extern "C" fn duplicate(operation: *mut c_void) -> *mut c_void {
        guard(ptr::null_mut(), || {
            // SAFETY: libcrypto hands back an operation of ours.
            let Operation { provider, key } = unsafe { &*operation.cast::<Operation<K>>() };
            let copy = Operation::<K> { provider: *provider, key: key.clone() };
            Box::into_raw(Box::new(copy)).cast()
        })
    }

    unsafe extern "C" fn encapsulate_init(
        operation: *mut c_void,
        key: *mut c_void,
        _: *const Param,
    ) -> c_int {
        // SAFETY: libcrypto hands back an operation and a key of ours.
        guard(0, || unsafe { Self::init(operation, key, "public", |_| true) })
    }

    unsafe extern "C" fn decapsulate_init(
        operation: *mut c_void,
        key: *mut c_void,
        _: *const Param,
    ) -> c_int {
        // SAFETY: libcrypto hands back an operation and a key of ours.
        guard(0, || unsafe { Self::init(operation, key, "private", KeyMaterial::has_secret) })
    }

    /// # Safety
    /// `operation` and `key` are ours.
    unsafe fn init(
        operation: *mut c_void,
        key: *mut c_void,
        half: &str,
        fits: impl Fn(&KeyMaterial<K>) -> bool,
    ) -> c_int {
        // SAFETY: by the caller's promise; libcrypto runs one call at a time on an operation.
        let (operation, key) =
            unsafe { (&mut *operation.cast::<Operation<K>>(), Key::<K>::borrow(key)) };
        match key.and_then(Key::material).filter(|material| fits(material)) {
            Some(material) => {
                operation.key = Some(material);
                1
            }
            None => {
                // SAFETY: the provider outlives its operations.
                let provider = unsafe { &*operation.provider };
                refuse::<K>(provider, reason::MISSING_KEY, &format!("the key has no {half} half"))
            }
        }
    }

    /// With a null `ciphertext` only reports the sizes. Otherwise both buffers and both sizes are
    /// required, as for OpenSSL's ML-KEM. (`EVP_PKEY_encapsulate` itself rejects a ciphertext
    /// without a secret, without an error in the queue.)
    unsafe extern "C" fn encapsulate(
        operation: *mut c_void,
        ciphertext: *mut c_uchar,
        ciphertext_size: *mut usize,
        secret: *mut c_uchar,
        secret_size: *mut usize,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back an operation of ours, whose provider is still there.
            let (operation, provider) = unsafe {
                let operation = &*operation.cast::<Operation<K>>();
                (operation, &*operation.provider)
            };
            let Some(key) = &operation.key else {
                return refuse::<K>(provider, reason::MISSING_KEY, "no key was set");
            };
            // SAFETY: each size is null or a place, as `provider-kem(7)` says; they are different
            // ones.
            let (ciphertext_size, secret_size) =
                unsafe { (ciphertext_size.as_mut(), secret_size.as_mut()) };
            if ciphertext.is_null() {
                if ciphertext_size.is_none() && secret_size.is_none() {
                    let message = "neither buffers nor places for their sizes";
                    return refuse::<K>(provider, reason::MISSING_BUFFER, message);
                }
                ciphertext_size.into_iter().for_each(|size| *size = K::CIPHERTEXT_BYTES);
                secret_size.into_iter().for_each(|size| *size = K::SHARED_SECRET_BYTES);
                return 1;
            }
            if secret.is_null() {
                let message =
                    "no buffer for the secret: expected one beside that of the ciphertext";
                return refuse::<K>(provider, reason::MISSING_BUFFER, message);
            }
            let (Some(ciphertext_size), Some(secret_size)) = (ciphertext_size, secret_size) else {
                let message = "a buffer of unknown size: expected the sizes of both";
                return refuse::<K>(provider, reason::MISSING_BUFFER, message);
            };
            if !fits::<K>(provider, "ciphertext", *ciphertext_size, K::CIPHERTEXT_BYTES)
                || !fits::<K>(provider, "secret", *secret_size, K::SHARED_SECRET_BYTES)
            {
                return 0;
            }
            // SAFETY: both buffers have at least the sizes that were told.
            let (ciphertext, secret) = unsafe {
                (output(ciphertext, K::CIPHERTEXT_BYTES), output(secret, K::SHARED_SECRET_BYTES))
            };
            (*ciphertext_size, *secret_size) = (ciphertext.len(), secret.len());
            let done = provider.pools.encapsulations::<K>().take().and_then(|prepared| {
                K::encapsulate_prepared(prepared, key.public(), ciphertext, secret)
            });
            finish::<K>(provider, done, reason::INVALID_KEY, secret)
        })
    }

    /// With a null `secret` only reports the size. A null `secret_size` means that the buffer is
    /// large enough, as for OpenSSL's ML-KEM.
    unsafe extern "C" fn decapsulate(
        operation: *mut c_void,
        secret: *mut c_uchar,
        secret_size: *mut usize,
        ciphertext: *const c_uchar,
        ciphertext_size: usize,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back an operation of ours, whose provider is still there.
            let (operation, provider) = unsafe {
                let operation = &*operation.cast::<Operation<K>>();
                (operation, &*operation.provider)
            };
            let Some(key) = operation.key.as_ref().filter(|key| key.has_secret()) else {
                return refuse::<K>(provider, reason::MISSING_KEY, "the key has no private half");
            };
            // SAFETY: null, or a place.
            let secret_size = unsafe { secret_size.as_mut() };
            if secret.is_null() {
                let Some(size) = secret_size else {
                    let message = "neither a buffer nor a place for its size";
                    return refuse::<K>(provider, reason::MISSING_BUFFER, message);
                };
                *size = K::SHARED_SECRET_BYTES;
                return 1;
            }
            if let Some(size) = secret_size {
                if !fits::<K>(provider, "secret", *size, K::SHARED_SECRET_BYTES) {
                    return 0;
                }
                *size = K::SHARED_SECRET_BYTES;
            }
            // SAFETY: the buffer has at least this size.
            let secret = unsafe { output(secret, K::SHARED_SECRET_BYTES) };
            let ciphertext = if ciphertext.is_null() {
                &[]
            } else {
                // SAFETY: libcrypto's buffer has the size it says.
                unsafe { slice::from_raw_parts(ciphertext, ciphertext_size) }
            };
            let done =
                key.secret().map(|key| K::decapsulate(key, provider.backend, ciphertext, secret));
            let Some(done) = done else { return 0 };
            finish::<K>(provider, done, reason::INVALID_CIPHERTEXT, secret)
        })
    }
}

/// Adds an error to OpenSSL's queue.
#[track_caller]
fn refuse<K: TlsKem>(provider: &Provider, reason: u32, message: &str) -> c_int {
    provider.core.raise(reason, &format!("{}: {message}", K::GROUP.name));
    0
}

/// Whether a buffer is large enough; adds an error if not.
#[track_caller]
fn fits<K: TlsKem>(provider: &Provider, what: &str, there: usize, needed: usize) -> bool {
    if there < needed {
        let message = format!("{what} buffer of {there} bytes: expected {needed}");
        refuse::<K>(provider, reason::BUFFER, &message);
    }
    there >= needed
}

/// The caller's buffer as a slice. It may be uninitialised, so it is zeroed first.
///
/// # Safety
/// `buffer` has at least `size` bytes while the result is used.
unsafe fn output<'a>(buffer: *mut c_uchar, size: usize) -> &'a mut [u8] {
    // SAFETY: by the caller's promise.
    unsafe {
        ptr::write_bytes(buffer, 0, size);
        slice::from_raw_parts_mut(buffer, size)
    }
}

/// Turns the result into a return value; on failure adds an error and erases the shared secret.
fn finish<K: Kem + TlsKem>(
    provider: &Provider,
    done: Result<(), kex::Error>,
    otherwise: u32,
    secret: &mut [u8],
) -> c_int {
    match done {
        Ok(()) => 1,
        Err(error) => {
            zeroize::Zeroize::zeroize(secret);
            let message = format!("{}: {error}", K::GROUP.name);
            provider.core.raise(reason::of(&error, otherwise), &message);
            0
        }
    }
}
