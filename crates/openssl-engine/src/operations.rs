//! The operations of a KEM as those that OpenSSL 1.1.1 has (`EVP_PKEY_METHOD`; OpenSSLNTRU, section 4.1).

use core::ffi::{c_int, c_uchar, c_void};
use core::marker::PhantomData;
use core::slice;

use keypool::Material;
use openssl_abi::guard;
use zeroize::Zeroizing;

use crate::key::Key;
use crate::libcrypto::Libcrypto;
use crate::reason;
use crate::state::{EngineKem, State};
use crate::types::{CTRL_PEER_KEY, Pkey, PkeyContext, PkeyMethod, UNSUPPORTED};

/// The functions for `K`.
pub(crate) struct Operations<K>(PhantomData<K>);

impl<K: EngineKem> Operations<K> {
    /// A table of them, to be freed by libcrypto; `None` if there is no memory.
    pub(crate) fn table(libcrypto: &Libcrypto) -> Option<*mut PkeyMethod> {
        let functions = &libcrypto.functions;
        // SAFETY: a table of libcrypto's is filled in with functions of the types that its header has.
        unsafe {
            let table = (functions.method_new)(libcrypto.nid::<K>(), 0);
            if table.is_null() {
                return None;
            }
            (functions.method_set_copy)(table, copy);
            (functions.method_set_generate)(table, None, Self::generate);
            (functions.method_set_encrypt)(table, None, Self::encrypt);
            (functions.method_set_decrypt)(table, None, Self::decrypt);
            (functions.method_set_derive)(table, None, Self::derive);
            (functions.method_set_control)(table, control, None);
            Some(table)
        }
    }

    unsafe extern "C" fn generate(_: *mut PkeyContext, pkey: *mut Pkey) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            match K::pools(State::current()).key() {
                // SAFETY: libcrypto gives a new key to fill in.
                Ok(pair) => c_int::from(unsafe {
                    Key::<K>::put(libcrypto, pkey, Material::InHand(pair), true)
                }),
                Err(error) => {
                    raise::<K>(libcrypto, reason::of(&error, reason::INVALID_KEY), &error)
                }
            }
        })
    }

    /// Encapsulates to the context's key: without an input, as a KEM has none. The shared secret stays in the key.
    unsafe extern "C" fn encrypt(
        context: *mut PkeyContext,
        out: *mut c_uchar,
        out_size: *mut usize,
        input: *const c_uchar,
        _: usize,
    ) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            if !input.is_null() {
                let what = "EVP_PKEY_encrypt has an input: expected a null pointer";
                return raise::<K>(libcrypto, reason::NOT_A_KEM, &what);
            }
            // SAFETY: the context is libcrypto's, with a key of ours.
            let Some(key) = (unsafe { Self::key(libcrypto, context) }) else { return 0 };
            // SAFETY: buffer and size are the caller's, as `EVP_PKEY_encrypt(3)` says.
            let ciphertext = match unsafe {
                output::<K>(libcrypto, "ciphertext", K::CIPHERTEXT_BYTES, out, out_size)
            } {
                Some(Output::Buffer(ciphertext)) => ciphertext,
                Some(Output::SizeOnly) => return 1,
                None => return 0,
            };
            let mut secret = Zeroizing::new(vec![0; K::SHARED_SECRET_BYTES]);
            let pools = K::pools(State::current());
            match pools.encapsulate(key.material().public(), ciphertext, &mut secret) {
                Ok(()) => {
                    key.set_secret(secret);
                    1
                }
                Err(error) => {
                    raise::<K>(libcrypto, reason::of(&error, reason::INVALID_KEY), &error)
                }
            }
        })
    }

    /// Decapsulates with the context's key: without an output, as the shared secret stays in the key.
    unsafe extern "C" fn decrypt(
        context: *mut PkeyContext,
        out: *mut c_uchar,
        out_size: *mut usize,
        input: *const c_uchar,
        input_size: usize,
    ) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            if !out.is_null() {
                let what = "EVP_PKEY_decrypt has an output: expected a null pointer";
                return raise::<K>(libcrypto, reason::NOT_A_KEM, &what);
            }
            // SAFETY: the context is libcrypto's, with a key of ours.
            let Some(key) = (unsafe { Self::key(libcrypto, context) }) else { return 0 };
            let ciphertext = if input.is_null() {
                &[]
            } else {
                // SAFETY: the caller's buffer has the size it says.
                unsafe { slice::from_raw_parts(input, input_size) }
            };
            let mut secret = Zeroizing::new(vec![0; K::SHARED_SECRET_BYTES]);
            let backend = State::current().choice.backend;
            let done = key
                .material()
                .with_secret(|half| K::decapsulate(half, backend, ciphertext, &mut secret));
            match done {
                Some(Ok(())) => {
                    key.set_secret(secret);
                    if !out_size.is_null() {
                        // SAFETY: not null, so a place for the size.
                        unsafe { *out_size = K::SHARED_SECRET_BYTES };
                    }
                    1
                }
                Some(Err(error)) => {
                    let reason = reason::of(&error, reason::INVALID_CIPHERTEXT);
                    raise::<K>(libcrypto, reason, &error)
                }
                None => raise::<K>(libcrypto, reason::MISSING_KEY, &"the key has no private half"),
            }
        })
    }

    /// Hands out the shared secret that waits in the context's key, once.
    unsafe extern "C" fn derive(
        context: *mut PkeyContext,
        out: *mut c_uchar,
        out_size: *mut usize,
    ) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            // SAFETY: the context is libcrypto's, with a key of ours.
            let Some(key) = (unsafe { Self::key(libcrypto, context) }) else { return 0 };
            let none = "no shared secret: call EVP_PKEY_encrypt or EVP_PKEY_decrypt before EVP_PKEY_derive";
            if !key.has_secret() {
                return raise::<K>(libcrypto, reason::MISSING_SECRET, &none);
            }
            // SAFETY: buffer and size are the caller's, as `EVP_PKEY_derive(3)` says.
            let place =
                unsafe { output::<K>(libcrypto, "secret", K::SHARED_SECRET_BYTES, out, out_size) };
            match place {
                Some(Output::SizeOnly) => 1,
                None => 0,
                Some(Output::Buffer(out)) => match key.take_secret() {
                    Some(secret) => {
                        out.copy_from_slice(&secret);
                        1
                    }
                    None => raise::<K>(libcrypto, reason::MISSING_SECRET, &none),
                },
            }
        })
    }

    /// The key of a context; with an error if it has none.
    ///
    /// # Safety
    /// `context` is libcrypto's, for this type of key.
    unsafe fn key<'a>(libcrypto: &Libcrypto, context: *mut PkeyContext) -> Option<&'a Key<K>> {
        // SAFETY: by the caller's promise; the context holds its key during the call.
        let key = unsafe { Key::of(libcrypto, (libcrypto.functions.context_key)(context)) };
        if key.is_none() {
            raise::<K>(libcrypto, reason::MISSING_KEY, &"the key is empty");
        }
        key
    }
}

/// Nothing is in a context that is not in its key.
unsafe extern "C" fn copy(_: *mut PkeyContext, _: *mut PkeyContext) -> c_int {
    1
}

/// A peer's key has no part in a KEM; but who names the key itself asks for what is done anyway.
unsafe extern "C" fn control(
    context: *mut PkeyContext,
    what: c_int,
    _: c_int,
    argument: *mut c_void,
) -> c_int {
    guard(UNSUPPORTED, || {
        let Some(libcrypto) = Libcrypto::get() else { return UNSUPPORTED };
        // SAFETY: the context is libcrypto's.
        let own = unsafe { (libcrypto.functions.context_key)(context) };
        // Libcrypto takes 2 for: all is done.
        if what == CTRL_PEER_KEY && own.cast() == argument { 2 } else { UNSUPPORTED }
    })
}

enum Output<'a> {
    SizeOnly,
    Buffer(&'a mut [u8]),
}

/// Checks an output buffer against the `needed` bytes, and writes them to `size`; `None` if it is too small.
///
/// # Safety
/// `buffer` is null or has `*size` bytes; `size` is null or may be written.
unsafe fn output<'a, K: EngineKem>(
    libcrypto: &Libcrypto,
    what: &str,
    needed: usize,
    buffer: *mut c_uchar,
    size: *mut usize,
) -> Option<Output<'a>> {
    if size.is_null() {
        raise::<K>(libcrypto, reason::BUFFER, &format!("{what} buffer of unknown size"));
        return None;
    }
    // SAFETY: not null, so the buffer's size, or a place for it.
    let there = unsafe { size.replace(needed) };
    if buffer.is_null() {
        return Some(Output::SizeOnly);
    }
    if there < needed {
        let message = format!("{what} buffer of {there} bytes: expected {needed}");
        raise::<K>(libcrypto, reason::BUFFER, &message);
        return None;
    }
    // SAFETY: the buffer has at least `needed` bytes. They may not be initialised, so that is done first.
    Some(Output::Buffer(unsafe {
        core::ptr::write_bytes(buffer, 0, needed);
        slice::from_raw_parts_mut(buffer, needed)
    }))
}

/// Puts an error about `K` into the queue; what a function returns then.
pub(crate) fn raise<K: EngineKem>(
    libcrypto: &Libcrypto,
    reason: c_int,
    what: &dyn core::fmt::Display,
) -> c_int {
    libcrypto.raise(reason, &format!("{}: {what}", K::GROUP.name));
    0
}
