//! Ed25519 signatures of whole messages. No message is hashed beforehand, so there is no digest to
//! copy or clear (ENG25519, appendix C).

use core::ffi::{c_int, c_uchar, c_void};
use core::ptr;

use curve25519::ed25519::{self, SIGNATURE_BYTES, SigningKey, VerifyingKey};
use kex::Error;
use openssl_abi::guard;
use random::OperationRandom;
use secret::Secret;

use crate::curves::{Curve, KEY_BYTES, Scheme, raw};
use crate::key::{find, raise};
use crate::libcrypto::Libcrypto;
use crate::output::{Output, input};
use crate::reason;
use crate::state::State;
use crate::types::{
    ASN1_UNDEFINED, Algorithm, Asn1Item, BitString, CTRL_DIGEST, CTRL_DIGEST_INIT, DigestContext,
    FLAG_NO_DIGEST, Pkey, PkeyContext, PkeyMethod, UNSUPPORTED,
};

pub(crate) struct Ed25519;

type Type = Curve<Ed25519>;

impl Scheme for Ed25519 {
    const PLACE: usize = 3;
    const SIZE: usize = SIGNATURE_BYTES;
    /// The number that libcrypto reports, though a public key has more bits.
    const BITS: c_int = 253;
    const SIGNS: bool = true;
    const FLAGS: c_int = FLAG_NO_DIGEST;

    type Pair = SigningKey;

    fn generate() -> Result<SigningKey, Error> {
        let backend = State::current().choice.backend;
        let keys = ed25519::generate_batch(backend, &mut OperationRandom::new(), 1);
        keys?.pop().ok_or(Error::RandomSource)
    }

    fn pair(private: &[u8; KEY_BYTES]) -> Result<SigningKey, Error> {
        Ok(SigningKey::from_seed(State::current().choice.backend, private))
    }

    fn public(pair: &SigningKey) -> [u8; KEY_BYTES] {
        pair.verifying_key().0
    }

    fn private(pair: &SigningKey) -> Secret<[u8; KEY_BYTES]> {
        Secret::<[u8; KEY_BYTES]>::copy_of(pair.seed())
    }

    unsafe fn complete(libcrypto: &Libcrypto, table: *mut PkeyMethod) {
        // SAFETY: by the caller's promise.
        unsafe {
            (libcrypto.functions.method_set_digest_sign)(table, sign);
            (libcrypto.functions.method_set_digest_verify)(table, verify);
            (libcrypto.functions.method_set_control)(table, control, None);
        }
    }
}

unsafe extern "C" fn sign(
    context: *mut DigestContext,
    signature: *mut c_uchar,
    size: *mut usize,
    message: *const c_uchar,
    message_size: usize,
) -> c_int {
    guard(0, || {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        // SAFETY: buffer and size are the caller's, as `EVP_DigestSign(3)` says.
        let place =
            unsafe { Output::new::<Type>(libcrypto, "signature", Ed25519::SIZE, signature, size) };
        let signature = match place {
            None => return 0,
            Some(Output::SizeOnly) => return 1,
            Some(Output::Buffer(signature)) => signature,
        };
        let backend = State::current().choice.backend;
        // SAFETY: the context is libcrypto's and holds its key; the message has the size that the
        // caller gives.
        let signed = unsafe {
            let message = input(message, message_size);
            with_pair(libcrypto, key(libcrypto, context), |pair| {
                ed25519::sign(backend, pair, message)
            })
        };
        match signed {
            Some(bytes) => {
                signature.copy_from_slice(&bytes);
                1
            }
            None => raise::<Type>(libcrypto, reason::MISSING_KEY, &"the key has no private half"),
        }
    })
}

/// Returns 1 for a valid signature. An invalid one raises no error, as with libcrypto's own.
unsafe extern "C" fn verify(
    context: *mut DigestContext,
    signature: *const c_uchar,
    size: usize,
    message: *const c_uchar,
    message_size: usize,
) -> c_int {
    guard(0, || {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        // SAFETY: the context is libcrypto's and holds its key; buffers have the sizes that the
        // caller gives.
        let (public, signature, message) = unsafe {
            let public = public(libcrypto, key(libcrypto, context));
            (public, input(signature, size), input(message, message_size))
        };
        let Some(public) = public else {
            return raise::<Type>(libcrypto, reason::MISSING_KEY, &"the key is empty");
        };
        let Ok(signature) = signature.try_into() else { return 0 };
        let backend = State::current().choice.backend;
        c_int::from(ed25519::verify(backend, &public, signature, message).is_ok())
    })
}

/// # Safety
/// `context` is libcrypto's.
unsafe fn key(libcrypto: &Libcrypto, context: *const DigestContext) -> *const Pkey {
    // SAFETY: by the caller's promise.
    unsafe { (libcrypto.functions.context_key)((libcrypto.functions.digest_context)(context)) }
}

/// # Safety
/// `pkey` is null or an Ed25519 key, the ENGINE's or libcrypto's.
unsafe fn public(libcrypto: &Libcrypto, pkey: *const Pkey) -> Option<VerifyingKey> {
    // SAFETY: by the caller's promise.
    unsafe {
        if pkey.is_null() {
            return None;
        }
        if libcrypto.is_ours::<Type>(pkey) {
            return find::<Type>(libcrypto, pkey).map(|key| VerifyingKey(key.public));
        }
        raw(libcrypto.functions.key_raw_public, pkey).map(|bytes| VerifyingKey(*bytes))
    }
}

/// Calls `work` with both halves. Returns `None` if the key does not have them.
///
/// # Safety
/// The same as for [`public`].
unsafe fn with_pair<R>(
    libcrypto: &Libcrypto,
    pkey: *const Pkey,
    work: impl FnOnce(&SigningKey) -> R,
) -> Option<R> {
    // SAFETY: by the caller's promise.
    unsafe {
        if pkey.is_null() {
            return None;
        }
        if libcrypto.is_ours::<Type>(pkey) {
            return find::<Type>(libcrypto, pkey)?.pair.as_ref().map(work);
        }
        let private = raw(libcrypto.functions.key_raw_private, pkey)?;
        Ed25519::pair(&private).ok().map(|pair| work(&pair))
    }
}

/// Refuses all digests except the null digest.
unsafe extern "C" fn control(
    _: *mut PkeyContext,
    what: c_int,
    _: c_int,
    argument: *mut c_void,
) -> c_int {
    guard(UNSUPPORTED, || {
        let Some(libcrypto) = Libcrypto::get() else { return UNSUPPORTED };
        match what {
            CTRL_DIGEST_INIT => 1,
            CTRL_DIGEST if argument.is_null() => 1,
            CTRL_DIGEST => {
                // SAFETY: a function without arguments.
                if ptr::eq(argument.cast(), unsafe { (libcrypto.functions.no_digest)() }) {
                    return 1;
                }
                let what = "messages are signed as they are: expected no digest";
                raise::<Type>(libcrypto, reason::DIGEST, &what)
            }
            _ => UNSUPPORTED,
        }
    })
}

/// Writes the algorithm into a structure to be signed, such as a certificate. 3 tells libcrypto to
/// do the rest as usual.
pub(crate) unsafe extern "C" fn sign_item(
    _: *mut DigestContext,
    _: *const Asn1Item,
    _: *mut c_void,
    one: *mut Algorithm,
    other: *mut Algorithm,
    _: *mut BitString,
) -> c_int {
    guard(0, || {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        let functions = &libcrypto.functions;
        for algorithm in [one, other].into_iter().filter(|algorithm| !algorithm.is_null()) {
            // SAFETY: libcrypto passes its structures, or null.
            let set = unsafe {
                let object = (functions.nid_to_object)(libcrypto.nid::<Type>());
                (functions.algorithm_set)(algorithm, object, ASN1_UNDEFINED, ptr::null_mut())
            };
            if set != 1 {
                return 0;
            }
        }
        3
    })
}

/// Checks the algorithm in a signed structure. 2 tells libcrypto to do the rest as usual.
pub(crate) unsafe extern "C" fn verify_item(
    context: *mut DigestContext,
    _: *const Asn1Item,
    _: *mut c_void,
    algorithm: *mut Algorithm,
    _: *mut BitString,
    pkey: *mut Pkey,
) -> c_int {
    guard(0, || {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        let functions = &libcrypto.functions;
        let (mut object, mut parameters) = (ptr::null(), ASN1_UNDEFINED);
        // SAFETY: libcrypto passes its structures, and writes fields to our places.
        unsafe {
            let get = functions.algorithm;
            get(&raw mut object, &raw mut parameters, ptr::null_mut(), algorithm);
            if (functions.object_nid)(object) != libcrypto.nid::<Type>()
                || parameters != ASN1_UNDEFINED
            {
                let what = "another algorithm, or parameters, in what was signed: expected none";
                return raise::<Type>(libcrypto, reason::DIGEST, &what);
            }
            let started = (functions.digest_verify_init)(
                context,
                ptr::null_mut(),
                ptr::null(),
                ptr::null_mut(),
                pkey,
            );
            if started == 1 { 2 } else { 0 }
        }
    })
}
