//! Ed25519 signatures, and the variants Ed25519ctx and Ed25519ph if parameters ask for them.

use core::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use core::{ptr, slice};
use std::sync::Arc;

use curve25519::ed25519::{
    Instance, MAX_CONTEXT_BYTES, PREHASH_BYTES, SIGNATURE_BYTES, VerifyingKey, prehash, sign_as,
    verify_as,
};
use openssl_abi::functions::signature as function;
use openssl_abi::{Dispatch, Param, ParamType, Params, guard, names};

use crate::context::Provider;
use crate::curves::key::{Key, KeyMaterial};
use crate::curves::scheme::Ed25519;
use crate::reason;
use crate::release::Release;

/// The functions of the algorithm.
pub(crate) struct Signature;

/// The first release whose default provider offers Ed25519 to `EVP_PKEY_sign_init` and
/// `EVP_PKEY_sign_message_init`.
const HASHES_ARE_SIGNED: Release = Release::new(3, 4);

/// The algorithm identifier in certificates: a sequence of the object identifier 1.3.101.112,
/// without parameters.
const ALGORITHM_ID: [u8; 7] = [0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70];

/// The variants, named as in parameters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    Pure,
    Context,
    Prehashed,
}

impl Variant {
    fn named(name: &[u8]) -> Option<Self> {
        const NAMES: [(&[u8], Variant); 3] = [
            (b"Ed25519", Variant::Pure),
            (b"Ed25519ctx", Variant::Context),
            (b"Ed25519ph", Variant::Prehashed),
        ];
        let found = NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        found.map(|(_, variant)| *variant)
    }
}

/// The function that started an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InitKind {
    /// `EVP_DigestSignInit` and the like: whole messages; the variant may be chosen.
    Digest,
    /// `EVP_PKEY_sign_message_init` and the like: whole messages, with the variant of the
    /// algorithm.
    Message,
    /// `EVP_PKEY_sign_init` and the like: hashes, so only Ed25519ph is possible.
    Hash,
}

/// Reason number and message of a failure.
type Refusal = (u32, String);

/// A signature operation.
#[derive(Clone)]
struct Operation {
    provider: *const Provider,
    key: Option<Arc<KeyMaterial<Ed25519>>>,
    init_kind: InitKind,
    variant: Variant,
    context: Vec<u8>, // Public: the caller's context string.
}

impl Operation {
    fn provider(&self) -> &Provider {
        // SAFETY: libcrypto holds the provider as long as there are operations of it.
        unsafe { &*self.provider }
    }

    #[track_caller]
    fn refuse(&self, (reason, message): Refusal) -> c_int {
        self.provider().core.raise(reason, &format!("Ed25519: {message}"));
        0
    }

    fn instance(&self) -> Result<Instance, Refusal> {
        let instance = match self.variant {
            Variant::Pure if self.context.is_empty() => Some(Instance::pure()),
            Variant::Pure => {
                return Err((
                    reason::PARAMETER,
                    "has no context string; Ed25519ctx has".to_owned(),
                ));
            }
            Variant::Context => Instance::with_context(&self.context),
            Variant::Prehashed => Instance::prehashed(&self.context),
        };
        // Longer context strings were rejected when they were set.
        instance.ok_or_else(|| (reason::PARAMETER, "Ed25519ctx needs a context string".to_owned()))
    }

    /// Calls `work` with the instance, and with the message or its hash.
    fn with_message<R>(
        &self,
        message: &[u8],
        work: impl FnOnce(&Instance, &[u8]) -> R,
    ) -> Result<R, Refusal> {
        let instance = self.instance()?;
        match (self.variant, self.init_kind) {
            (Variant::Prehashed, InitKind::Hash) if message.len() != PREHASH_BYTES => Err((
                reason::PARAMETER,
                format!("hash of {} bytes: expected {PREHASH_BYTES}", message.len()),
            )),
            (Variant::Prehashed, InitKind::Hash) => Ok(work(&instance, message)),
            (Variant::Prehashed, _) => Ok(work(&instance, &prehash(message))),
            (_, InitKind::Hash) => Err((
                reason::PARAMETER,
                "signs messages, not their hashes, but for the instance Ed25519ph".to_owned(),
            )),
            (_, _) => Ok(work(&instance, message)),
        }
    }

    /// Sets the parameters of an operation.
    fn set(&mut self, params: Params<'_>) -> Result<(), Refusal> {
        let wrong = |message: &str| Err((reason::PARAMETER, message.to_owned()));
        match params.utf8(names::INSTANCE) {
            Ok(None) => {}
            _ if self.init_kind == InitKind::Message => {
                return wrong("the algorithm is the instance: expected no instance parameter");
            }
            Ok(Some(name)) => match Variant::named(name) {
                Some(variant) => self.variant = variant,
                None => {
                    let name = reason::shown(name);
                    return wrong(&format!(
                        "instance {name}: expected Ed25519, Ed25519ctx or Ed25519ph"
                    ));
                }
            },
            Err(_) => return wrong("instance: expected a string"),
        }
        match params.octets(names::CONTEXT_STRING) {
            Ok(None) => {}
            Ok(Some(context)) if context.len() <= MAX_CONTEXT_BYTES => {
                self.context = context.to_vec(); // Public: as above.
            }
            Ok(Some(context)) => {
                return wrong(&format!(
                    "context string of {} bytes: expected {MAX_CONTEXT_BYTES} or less",
                    context.len()
                ));
            }
            Err(_) => return wrong("context string: expected bytes"),
        }
        Ok(())
    }
}

impl Signature {
    /// For releases whose default provider supports [`InitKind::Message`] and [`InitKind::Hash`].
    const DISPATCH: &'static [Dispatch] = &[
        function::NEWCTX.entry(Self::create),
        function::FREECTX.entry(Self::free),
        function::DUPCTX.entry(Self::duplicate),
        function::SIGN_MESSAGE_INIT.entry(Self::message_init),
        function::VERIFY_MESSAGE_INIT.entry(Self::message_init),
        function::SIGN_INIT.entry(Self::hash_init),
        function::VERIFY_INIT.entry(Self::hash_init),
        function::SIGN.entry(Self::sign),
        function::VERIFY.entry(Self::verify),
        function::DIGEST_SIGN_INIT.entry(Self::digest_init),
        function::DIGEST_VERIFY_INIT.entry(Self::digest_init),
        function::DIGEST_SIGN.entry(Self::sign),
        function::DIGEST_VERIFY.entry(Self::verify),
        function::GET_CTX_PARAMS.entry(Self::get_params),
        function::GETTABLE_CTX_PARAMS.entry(Self::gettable_params),
        function::SET_CTX_PARAMS.entry(Self::set_params),
        function::SETTABLE_CTX_PARAMS.entry(Self::settable_params),
        Dispatch::END,
    ];

    /// For earlier releases.
    const DIGEST_DISPATCH: &'static [Dispatch] = &[
        function::NEWCTX.entry(Self::create),
        function::FREECTX.entry(Self::free),
        function::DUPCTX.entry(Self::duplicate),
        function::DIGEST_SIGN_INIT.entry(Self::digest_init),
        function::DIGEST_VERIFY_INIT.entry(Self::digest_init),
        function::DIGEST_SIGN.entry(Self::sign),
        function::DIGEST_VERIFY.entry(Self::verify),
        function::GET_CTX_PARAMS.entry(Self::get_params),
        function::GETTABLE_CTX_PARAMS.entry(Self::gettable_params),
        function::SET_CTX_PARAMS.entry(Self::set_params),
        function::SETTABLE_CTX_PARAMS.entry(Self::settable_params),
        Dispatch::END,
    ];

    /// The same functions as the default provider of `release`: programs detect by the result of
    /// `EVP_PKEY_sign_init` whether there is more than `EVP_DigestSign`.
    pub(crate) fn dispatch(release: Option<Release>) -> &'static [Dispatch] {
        match release {
            Some(release) if release < HASHES_ARE_SIGNED => Self::DIGEST_DISPATCH,
            _ => Self::DISPATCH,
        }
    }

    unsafe extern "C" fn create(context: *mut c_void, _: *const c_char) -> *mut c_void {
        guard(ptr::null_mut(), || {
            let operation = Operation {
                provider: context.cast(),
                key: None,
                init_kind: InitKind::Digest,
                variant: Variant::Pure,
                context: Vec::<u8>::new(), // Public: as above.
            };
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
            let copy = unsafe { &*operation.cast::<Operation>() }.clone();
            Box::into_raw(Box::new(copy)).cast()
        })
    }

    unsafe extern "C" fn message_init(
        operation: *mut c_void,
        key: *mut c_void,
        params: *const Param,
    ) -> c_int {
        // SAFETY: libcrypto hands back an operation and a key of ours, and parameters.
        guard(0, || unsafe { Self::init(operation, key, params, InitKind::Message) })
    }

    unsafe extern "C" fn hash_init(
        operation: *mut c_void,
        key: *mut c_void,
        params: *const Param,
    ) -> c_int {
        // SAFETY: as above.
        guard(0, || unsafe { Self::init(operation, key, params, InitKind::Hash) })
    }

    unsafe extern "C" fn digest_init(
        operation: *mut c_void,
        digest: *const c_char,
        key: *mut c_void,
        params: *const Param,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands over a string or null.
            let digest = (!digest.is_null()).then(|| unsafe { CStr::from_ptr(digest) });
            if let Some(digest) = digest.filter(|digest| !digest.is_empty()) {
                // SAFETY: libcrypto hands back an operation of ours.
                let operation = unsafe { &*operation.cast::<Operation>() };
                let digest = reason::shown(digest.to_bytes());
                let message = format!("digest {digest}: expected none, as Ed25519 has its own");
                return operation.refuse((reason::PARAMETER, message));
            }
            // SAFETY: libcrypto hands back an operation and a key of ours, and parameters.
            unsafe { Self::init(operation, key, params, InitKind::Digest) }
        })
    }

    /// # Safety
    /// `operation` is ours, and no other thread uses it; `key` is ours or null, which means the
    /// operation's key; `params` are parameters.
    unsafe fn init(
        operation: *mut c_void,
        key: *mut c_void,
        params: *const Param,
        init_kind: InitKind,
    ) -> c_int {
        // SAFETY: by the caller's promise.
        let (operation, key, params) = unsafe {
            let operation = &mut *operation.cast::<Operation>();
            (operation, Key::<Ed25519>::borrow(key), Params::new(params))
        };
        match key.map(Key::material) {
            // Started again, with the parameters set before.
            None if operation.key.is_some() && init_kind == InitKind::Digest => {}
            None | Some(None) => {
                return operation.refuse((reason::MISSING_KEY, "no key was set".to_owned()));
            }
            Some(material) => {
                operation.key = material;
                operation.init_kind = init_kind;
                operation.variant = Variant::Pure;
                operation.context.clear();
            }
        }
        match operation.set(params) {
            Ok(()) => 1,
            Err(refusal) => operation.refuse(refusal),
        }
    }

    /// With a null `signature` only reports the size.
    unsafe extern "C" fn sign(
        operation: *mut c_void,
        signature: *mut c_uchar,
        size: *mut usize,
        room: usize,
        message: *const c_uchar,
        message_size: usize,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back an operation of ours.
            let operation = unsafe { &*operation.cast::<Operation>() };
            if size.is_null() {
                let message = "no place for the signature's size".to_owned();
                return operation.refuse((reason::MISSING_BUFFER, message));
            }
            if !signature.is_null() {
                if room < SIGNATURE_BYTES {
                    let message =
                        format!("signature buffer of {room} bytes: expected {SIGNATURE_BYTES}");
                    return operation.refuse((reason::BUFFER, message));
                }
                let Some(pair) = operation.key.as_ref().and_then(|key| key.pair()) else {
                    let message = "the key has no private half".to_owned();
                    return operation.refuse((reason::MISSING_KEY, message));
                };
                // SAFETY: libcrypto's buffer has the size it says.
                let message = unsafe { input(message, message_size) };
                let backend = operation.provider().backend;
                let signed = operation
                    .with_message(message, |instance, text| sign_as(backend, pair, instance, text));
                match signed {
                    // SAFETY: libcrypto's buffer has at least this room.
                    Ok(bytes) => unsafe { slice::from_raw_parts_mut(signature, SIGNATURE_BYTES) }
                        .copy_from_slice(&bytes),
                    Err(refusal) => return operation.refuse(refusal),
                }
            }
            // SAFETY: libcrypto gives a place for the size.
            unsafe { *size = SIGNATURE_BYTES };
            1
        })
    }

    /// An invalid signature adds nothing to OpenSSL's queue: callers would take it for a failure.
    unsafe extern "C" fn verify(
        operation: *mut c_void,
        signature: *const c_uchar,
        signature_size: usize,
        message: *const c_uchar,
        message_size: usize,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back an operation of ours, and buffers of the sizes that it
            // says.
            let (operation, signature, message) = unsafe {
                let operation = &*operation.cast::<Operation>();
                (operation, input(signature, signature_size), input(message, message_size))
            };
            let Some(key) = &operation.key else {
                return operation.refuse((reason::MISSING_KEY, "no key was set".to_owned()));
            };
            let Ok(signature) = <&[u8; SIGNATURE_BYTES]>::try_from(signature) else { return 0 };
            let (backend, public) = (operation.provider().backend, VerifyingKey(*key.public()));
            let verdict = operation.with_message(message, |instance, text| {
                verify_as(backend, &public, instance, signature, text)
            });
            match verdict {
                Ok(verdict) => c_int::from(verdict.is_ok()),
                Err(refusal) => operation.refuse(refusal),
            }
        })
    }

    unsafe extern "C" fn gettable_params(_: *mut c_void, _: *mut c_void) -> *const Param {
        static PARAMS: [Param; 2] =
            [Param::descriptor(names::ALGORITHM_ID, ParamType::Octets), Param::END];
        PARAMS.as_ptr()
    }

    unsafe extern "C" fn get_params(operation: *mut c_void, params: *mut Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back an operation of ours, and a parameter array to fill in.
            let (operation, params) =
                unsafe { (&*operation.cast::<Operation>(), Params::new(params)) };
            for mut param in params.iter().filter(|param| param.key() == names::ALGORITHM_ID) {
                if let Err(error) = param.set_octets(&ALGORITHM_ID) {
                    return operation.refuse((reason::BUFFER, format!("algorithm-id: {error}")));
                }
            }
            1
        })
    }

    unsafe extern "C" fn settable_params(_: *mut c_void, _: *mut c_void) -> *const Param {
        static PARAMS: [Param; 3] = [
            Param::descriptor(names::INSTANCE, ParamType::Utf8),
            Param::descriptor(names::CONTEXT_STRING, ParamType::Octets),
            Param::END,
        ];
        PARAMS.as_ptr()
    }

    unsafe extern "C" fn set_params(operation: *mut c_void, params: *const Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back an operation of ours, to one caller at a time, and
            // parameters.
            let (operation, params) =
                unsafe { (&mut *operation.cast::<Operation>(), Params::new(params)) };
            match operation.set(params) {
                Ok(()) => 1,
                Err(refusal) => operation.refuse(refusal),
            }
        })
    }
}

/// A buffer of libcrypto; null means an empty one.
///
/// # Safety
/// `bytes` is null, or has `size` bytes while the result is used.
unsafe fn input<'a>(bytes: *const c_uchar, size: usize) -> &'a [u8] {
    if bytes.is_null() {
        &[]
    } else {
        // SAFETY: by the caller's promise.
        unsafe { slice::from_raw_parts(bytes, size) }
    }
}
