//! Key encapsulation.

use core::ffi::{c_int, c_uchar, c_void};
use core::marker::PhantomData;
use core::{ptr, slice};
use std::sync::Arc;

use kex::{Kem, TlsKem};
use openssl_abi::functions::kem as function;
use openssl_abi::{Dispatch, Param, guard};

use crate::key::{Key, Material};
use crate::provider::Provider;
use crate::reason;

/// The functions for `K`.
pub(crate) struct KeyEncapsulation<K>(PhantomData<K>);

/// One operation in progress.
struct Operation<K: TlsKem> {
    provider: *const Provider,
    key: Option<Arc<Material<K>>>,
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
        guard(0, || unsafe { Self::init(operation, key, "private", Material::has_secret) })
    }

    /// # Safety
    /// `operation` and `key` are ours.
    unsafe fn init(
        operation: *mut c_void,
        key: *mut c_void,
        half: &str,
        fits: impl Fn(&Material<K>) -> bool,
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
                let message = format!("{}: the key has no {half} half", K::GROUP.name);
                // SAFETY: the provider outlives its operations.
                unsafe { &*operation.provider }.core.raise(reason::MISSING_KEY, &message);
                0
            }
        }
    }

    /// With a null `ciphertext` only tells the sizes.
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
            let Some(key) = &operation.key else { return 0 };
            // SAFETY: buffers and sizes are libcrypto's, as `provider-kem(7)` says.
            let buffers = unsafe {
                (
                    output(
                        provider,
                        "ciphertext",
                        K::CIPHERTEXT_BYTES,
                        ciphertext,
                        ciphertext_size,
                    ),
                    output(provider, "secret", K::SHARED_SECRET_BYTES, secret, secret_size),
                )
            };
            let (ciphertext, secret) = match buffers {
                (Some(Output::Buffer(ciphertext)), Some(Output::Buffer(secret))) => {
                    (ciphertext, secret)
                }
                (Some(Output::SizeOnly), Some(_)) => return 1,
                _ => return 0,
            };
            let done = provider.pools.encapsulations::<K>().take().and_then(|prepared| {
                K::encapsulate_prepared(prepared, key.public(), ciphertext, secret)
            });
            finish::<K>(provider, done, reason::INVALID_KEY, secret)
        })
    }

    /// With a null `secret` only tells the size.
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
            let Some(key) = operation.key.as_ref().filter(|key| key.has_secret()) else { return 0 };
            // SAFETY: buffer and size are libcrypto's, as `provider-kem(7)` says.
            let secret = match unsafe {
                output(provider, "secret", K::SHARED_SECRET_BYTES, secret, secret_size)
            } {
                Some(Output::Buffer(secret)) => secret,
                Some(Output::SizeOnly) => return 1,
                None => return 0,
            };
            let ciphertext = if ciphertext.is_null() {
                &[]
            } else {
                // SAFETY: libcrypto's buffer has the size it says.
                unsafe { slice::from_raw_parts(ciphertext, ciphertext_size) }
            };
            let done =
                key.with_secret(|key| K::decapsulate(key, provider.backend, ciphertext, secret));
            let Some(done) = done else { return 0 };
            finish::<K>(provider, done, reason::INVALID_CIPHERTEXT, secret)
        })
    }
}

enum Output<'a> {
    SizeOnly,
    Buffer(&'a mut [u8]),
}

/// Checks an output buffer against the `needed` bytes and writes them to `size`; `None` if it is too small.
///
/// # Safety
/// `buffer` is null or has `*size` bytes, or, if `size` is null, `needed` bytes.
unsafe fn output<'a>(
    provider: &Provider,
    what: &str,
    needed: usize,
    buffer: *mut c_uchar,
    size: *mut usize,
) -> Option<Output<'a>> {
    if buffer.is_null() {
        if !size.is_null() {
            // SAFETY: not null, so a place for the size.
            unsafe { *size = needed };
        }
        return Some(Output::SizeOnly);
    }
    if !size.is_null() {
        // SAFETY: not null, so the buffer's size.
        let there = unsafe { *size };
        if there < needed {
            let message = format!("{what} buffer of {there} bytes: expected {needed}");
            provider.core.raise(reason::BUFFER, &message);
            return None;
        }
        // SAFETY: as above.
        unsafe { *size = needed };
    }
    // SAFETY: the buffer has at least `needed` bytes. They may not be initialised; all of them are written before any is read.
    Some(Output::Buffer(unsafe {
        ptr::write_bytes(buffer, 0, needed);
        slice::from_raw_parts_mut(buffer, needed)
    }))
}

/// Reports an error; no part of a secret is left behind then.
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
