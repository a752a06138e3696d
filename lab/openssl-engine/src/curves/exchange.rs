//! X25519 key exchange.

use core::ffi::{c_int, c_uchar, c_void};

use curve25519::x25519;
use kex::{Error, KeyExchange, X25519Secret};
use openssl_abi::guard;
use secret::Secret;

use crate::curves::{Curve, KEY_BYTES, Scheme, raw};
use crate::key::{find, raise};
use crate::libcrypto::Libcrypto;
use crate::output::Output;
use crate::reason;
use crate::state::State;
use crate::types::{CTRL_PEER_KEY, Pkey, PkeyContext, PkeyMethod, UNSUPPORTED};

pub(crate) struct X25519;

impl Scheme for X25519 {
    const PLACE: usize = 0;
    const SIZE: usize = x25519::SHARED_SECRET_BYTES;
    const BITS: c_int = 253;
    const SIGNS: bool = false;
    const FLAGS: c_int = 0;

    type Pair = X25519Secret;

    fn generate() -> Result<X25519Secret, Error> {
        State::current().exchanges.take()
    }

    fn pair(private: &[u8; KEY_BYTES]) -> Result<X25519Secret, Error> {
        kex::X25519::read_secret(State::current().choice.backend, private)
    }

    fn public(pair: &X25519Secret) -> [u8; KEY_BYTES] {
        pair.public().0
    }

    fn private(pair: &X25519Secret) -> Secret<[u8; KEY_BYTES]> {
        let mut bytes = Secret::<[u8; KEY_BYTES]>::zeroed();
        kex::X25519::write_secret(pair, &mut *bytes);
        bytes
    }

    unsafe fn complete(libcrypto: &Libcrypto, table: *mut PkeyMethod) {
        // SAFETY: by the caller's promise.
        unsafe {
            (libcrypto.functions.method_set_derive)(table, None, derive);
            (libcrypto.functions.method_set_control)(table, control, None);
        }
    }
}

/// Derives the shared secret of the context's key and its peer's key.
unsafe extern "C" fn derive(
    context: *mut PkeyContext,
    out: *mut c_uchar,
    out_size: *mut usize,
) -> c_int {
    guard(0, || {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        let missing = |what: &str| raise::<Curve<X25519>>(libcrypto, reason::MISSING_KEY, &what);
        // SAFETY: buffer and size are the caller's, as `EVP_PKEY_derive(3)` says; the context holds
        // its keys.
        let (out, own, peer) = unsafe {
            let out = match Output::new::<Curve<X25519>>(
                libcrypto,
                "secret",
                X25519::SIZE,
                out,
                out_size,
            ) {
                None => return 0,
                Some(Output::SizeOnly) => return 1,
                Some(Output::Buffer(out)) => out,
            };
            let functions = &libcrypto.functions;
            let (own, peer) = ((functions.context_key)(context), (functions.context_peer)(context));
            (out, own, peer)
        };
        if peer.is_null() {
            return missing("no peer's key was set");
        }
        // SAFETY: as above.
        let Some(peer) = (unsafe { public(libcrypto, peer) }) else {
            return missing("the peer's key is empty");
        };
        // SAFETY: as above.
        match unsafe { exchange(libcrypto, own, &peer, out) } {
            Some(Ok(())) => 1,
            Some(Err(error)) => {
                let reason = reason::of(&error, reason::INVALID_KEY);
                raise::<Curve<X25519>>(libcrypto, reason, &error)
            }
            None => missing("the key has no private half"),
        }
    })
}

/// # Safety
/// `pkey` is an X25519 key, the ENGINE's or libcrypto's.
unsafe fn public(libcrypto: &Libcrypto, pkey: *const Pkey) -> Option<x25519::PublicKey> {
    // SAFETY: by the caller's promise.
    unsafe {
        if libcrypto.is_ours::<Curve<X25519>>(pkey) {
            return find::<Curve<X25519>>(libcrypto, pkey).map(|key| x25519::PublicKey(key.public));
        }
        raw(libcrypto.functions.key_raw_public, pkey).map(|bytes| x25519::PublicKey(*bytes))
    }
}

/// Computes the shared secret into `out`. Returns `None` if `own` has no private half.
///
/// # Safety
/// `own` is null or an X25519 key, the ENGINE's or libcrypto's.
unsafe fn exchange(
    libcrypto: &Libcrypto,
    own: *const Pkey,
    peer: &x25519::PublicKey,
    out: &mut [u8],
) -> Option<Result<(), Error>> {
    let backend = State::current().choice.backend;
    // SAFETY: by the caller's promise.
    unsafe {
        if own.is_null() {
            return None;
        }
        if libcrypto.is_ours::<Curve<X25519>>(own) {
            let pair = find::<Curve<X25519>>(libcrypto, own)?.pair.as_ref()?;
            return Some(kex::X25519::complete(pair, backend, peer, out));
        }
        let private = raw(libcrypto.functions.key_raw_private, own)?;
        let secret = x25519::SecretKey::from_bytes(&private);
        let shared = x25519::shared_secret(backend, &secret, peer);
        Some(shared.map(|shared| out.copy_from_slice(shared.as_bytes())).map_err(Into::into))
    }
}

/// Accepts peer keys, which libcrypto stores.
unsafe extern "C" fn control(_: *mut PkeyContext, what: c_int, _: c_int, _: *mut c_void) -> c_int {
    if what == CTRL_PEER_KEY { 1 } else { UNSUPPORTED }
}
