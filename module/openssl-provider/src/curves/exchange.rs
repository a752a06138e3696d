//! Key exchange with X25519.

use core::ffi::{c_int, c_uchar, c_void};
use core::{ptr, slice};
use std::sync::Arc;

use curve25519::x25519;
use openssl_abi::functions::keyexch as function;
use openssl_abi::{Dispatch, Param, guard};

use crate::context::Provider;
use crate::curves::key::{Key, KeyMaterial};
use crate::curves::scheme::{Scheme, X25519};
use crate::reason;

/// The functions of the algorithm.
pub(crate) struct Exchange;

/// A key exchange operation (`EVP_PKEY_derive`).
struct Operation {
    provider: *const Provider,
    key: Option<Arc<KeyMaterial<X25519>>>,
    peer: Option<Arc<KeyMaterial<X25519>>>,
}

impl Exchange {
    pub(crate) const DISPATCH: &'static [Dispatch] = &[
        function::NEWCTX.entry(Self::create),
        function::FREECTX.entry(Self::free),
        function::DUPCTX.entry(Self::duplicate),
        function::INIT.entry(Self::init),
        function::SET_PEER.entry(Self::set_peer),
        function::DERIVE.entry(Self::derive),
        Dispatch::END,
    ];

    unsafe extern "C" fn create(context: *mut c_void) -> *mut c_void {
        guard(ptr::null_mut(), || {
            let operation = Operation { provider: context.cast(), key: None, peer: None };
            Box::into_raw(Box::new(operation)).cast()
        })
    }

    unsafe extern "C" fn free(operation: *mut c_void) {
        guard((), || {
            if !operation.is_null() {
                // SAFETY: made by `Box::into_raw` in `create` or `duplicate`; libcrypto frees once.
                drop(unsafe { Box::from_raw(operation.cast::<Operation>()) });
            }
        });
    }

    unsafe extern "C" fn duplicate(operation: *mut c_void) -> *mut c_void {
        guard(ptr::null_mut(), || {
            // SAFETY: libcrypto hands back an operation of ours.
            let Operation { provider, key, peer } = unsafe { &*operation.cast::<Operation>() };
            let copy = Operation { provider: *provider, key: key.clone(), peer: peer.clone() };
            Box::into_raw(Box::new(copy)).cast()
        })
    }

    unsafe extern "C" fn init(operation: *mut c_void, key: *mut c_void, _: *const Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back an operation, to one caller at a time, and a key of
            // ours.
            let (operation, key) =
                unsafe { (&mut *operation.cast::<Operation>(), Key::<X25519>::borrow(key)) };
            let Some(key) = key else { return 0 };
            operation.key = key.material();
            operation.peer = None;
            1
        })
    }

    unsafe extern "C" fn set_peer(operation: *mut c_void, key: *mut c_void) -> c_int {
        guard(0, || {
            // SAFETY: as in `init`.
            let (operation, key) =
                unsafe { (&mut *operation.cast::<Operation>(), Key::<X25519>::borrow(key)) };
            let Some(key) = key else { return 0 };
            operation.peer = key.material();
            1
        })
    }

    /// With a null `secret` only reports the size.
    unsafe extern "C" fn derive(
        operation: *mut c_void,
        secret: *mut c_uchar,
        written: *mut usize,
        room: usize,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back an operation of ours, whose provider is still there.
            let (operation, provider) = unsafe {
                let operation = &*operation.cast::<Operation>();
                (operation, &*operation.provider)
            };
            let raise = |reason, message: &str| {
                provider.core.raise(reason, &format!("X25519: {message}"));
                0
            };
            let Some(pair) = operation.key.as_ref().and_then(|key| key.pair()) else {
                return raise(reason::MISSING_KEY, "the key has no private half");
            };
            let Some(peer) = &operation.peer else {
                return raise(reason::MISSING_KEY, "no peer's key was set");
            };
            if written.is_null() {
                return raise(reason::MISSING_BUFFER, "no place for the secret's size");
            }
            if !secret.is_null() {
                if room < x25519::SHARED_SECRET_BYTES {
                    let expected = x25519::SHARED_SECRET_BYTES;
                    let message = format!("secret buffer of {room} bytes: expected {expected}");
                    return raise(reason::BUFFER, &message);
                }
                let peer = x25519::PublicKey(*peer.public());
                let shared = X25519::with_secret(pair, |secret| {
                    let secret = x25519::SecretKey::from_bytes(secret);
                    x25519::shared_secret(provider.backend, &secret, &peer)
                });
                let shared = match shared.map_err(kex::Error::from) {
                    Ok(shared) => shared,
                    Err(error) => {
                        provider.core.raise(reason::INVALID_KEY, &error.to_string());
                        return 0;
                    }
                };
                // SAFETY: libcrypto's buffer has at least this room.
                unsafe { slice::from_raw_parts_mut(secret, x25519::SHARED_SECRET_BYTES) }
                    .copy_from_slice(shared.as_bytes());
            }
            // SAFETY: libcrypto gives a place for the size.
            unsafe { *written = x25519::SHARED_SECRET_BYTES };
            1
        })
    }
}
