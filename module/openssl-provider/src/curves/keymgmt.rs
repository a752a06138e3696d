//! Key management: generation, import and export, parameters.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::ptr;
use std::sync::Arc;

use openssl_abi::functions::keymgmt as function;
use openssl_abi::{
    Callback, Dispatch, Param, ParamType, Params, WrongType, guard, names, selection,
};
use secret::Secret;

use crate::curves::key::{Key, KeyMaterial};
use crate::curves::{KEY_BYTES, SECURITY_BITS, Scheme, dhkem};
use crate::keymgmt::selects;
use crate::memory;
use crate::provider::Provider;
use crate::reason;

/// The functions for keys of `S`.
pub(crate) struct KeyManagement<S>(PhantomData<S>);

/// What is to be generated.
struct Generation {
    provider: *const Provider,
    selection: c_int,
    /// What to derive the key from, instead of drawing it (RFC 9180, section 7.1.3).
    material: Option<Secret<[u8]>>,
}

impl<S: Scheme> KeyManagement<S> {
    pub(crate) const DISPATCH: &'static [Dispatch] = &[
        function::NEW.entry(Self::create),
        function::FREE.entry(Self::free),
        function::GEN_INIT.entry(Self::generation_init),
        function::GEN_SET_PARAMS.entry(Self::generation_set_params),
        function::GEN_SETTABLE_PARAMS.entry(Self::generation_settable_params),
        function::GEN.entry(Self::generate),
        function::GEN_CLEANUP.entry(Self::generation_cleanup),
        function::GET_PARAMS.entry(Self::get_params),
        function::GETTABLE_PARAMS.entry(Self::gettable_params),
        function::SET_PARAMS.entry(Self::set_params),
        function::SETTABLE_PARAMS.entry(Self::settable_params),
        function::HAS.entry(Self::has),
        function::VALIDATE.entry(Self::validate),
        function::MATCH.entry(Self::matches),
        function::IMPORT.entry(Self::import),
        function::IMPORT_TYPES.entry(Self::import_export_types),
        function::EXPORT.entry(Self::export),
        function::EXPORT_TYPES.entry(Self::import_export_types),
        function::DUP.entry(Self::duplicate),
        Dispatch::END,
    ];

    unsafe extern "C" fn create(context: *mut c_void) -> *mut c_void {
        guard(ptr::null_mut(), || {
            // SAFETY: libcrypto hands back our context.
            Key::<S>::new(unsafe { Provider::from_context(context) }, None).into_raw()
        })
    }

    unsafe extern "C" fn free(key: *mut c_void) {
        // SAFETY: libcrypto frees each key once.
        guard((), || unsafe { Key::<S>::free(key) });
    }

    unsafe extern "C" fn generation_init(
        context: *mut c_void,
        selection: c_int,
        params: *const Param,
    ) -> *mut c_void {
        guard(ptr::null_mut(), || {
            // SAFETY: libcrypto hands back our context, and parameters.
            let (provider, params) =
                unsafe { (Provider::from_context(context), Params::new(params)) };
            let mut generation = Generation { provider, selection, material: None };
            if !set::<S>(&mut generation, provider, params) {
                return ptr::null_mut();
            }
            Box::into_raw(Box::new(generation)).cast()
        })
    }

    unsafe extern "C" fn generation_set_params(
        generation: *mut c_void,
        params: *const Param,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back what `generation_init` gave, to one caller at a time,
            // and parameters; the provider is still there.
            let (generation, provider, params) = unsafe {
                let generation = &mut *generation.cast::<Generation>();
                let provider = generation.provider;
                (generation, &*provider, Params::new(params))
            };
            c_int::from(set::<S>(generation, provider, params))
        })
    }

    unsafe extern "C" fn generation_settable_params(
        _: *mut c_void,
        _: *mut c_void,
    ) -> *const Param {
        static PARAMS: [Param; 3] = [
            Param::descriptor(names::GROUP, ParamType::Utf8),
            Param::descriptor(names::DHKEM_IKM, ParamType::Octets),
            Param::END,
        ];
        PARAMS.as_ptr()
    }

    /// A TLS server asks for the parameters of the client's group only, and fills in the client's
    /// key: that makes no key pair.
    unsafe extern "C" fn generate(
        generation: *mut c_void,
        _: Option<Callback>,
        _: *mut c_void,
    ) -> *mut c_void {
        guard(ptr::null_mut(), || {
            // SAFETY: libcrypto hands back what `generation_init` gave; the provider is still
            // there.
            let (provider, generation) = unsafe {
                let generation = &*generation.cast::<Generation>();
                (&*generation.provider, generation)
            };
            if S::EXCHANGES {
                provider.warm_up.handshake();
            }
            if !selects(generation.selection, selection::KEYPAIR) {
                return Key::<S>::new(provider, None).into_raw();
            }
            let pair = match &generation.material {
                None => S::generate(provider).map_err(|error| {
                    (reason::of(&error, reason::RANDOM_SOURCE), error.to_string())
                }),
                Some(_) if !S::EXCHANGES => {
                    Err((reason::PARAMETER, "a key for signatures takes no dhkem-ikm".to_owned()))
                }
                Some(material) => match dhkem::derive(material) {
                    Some(secret) => Ok(S::pair(provider.backend, &secret)),
                    None => Err((
                        reason::PARAMETER,
                        format!(
                            "dhkem-ikm of {} bytes: expected {KEY_BYTES} or more",
                            material.len()
                        ),
                    )),
                },
            };
            match pair {
                Ok(pair) => {
                    Key::new(provider, Some(Arc::new(KeyMaterial::<S>::Pair(pair)))).into_raw()
                }
                Err((reason, message)) => {
                    provider.core.raise(reason, &format!("{}: {message}", S::NAME));
                    ptr::null_mut()
                }
            }
        })
    }

    unsafe extern "C" fn generation_cleanup(generation: *mut c_void) {
        guard((), || {
            if !generation.is_null() {
                // SAFETY: made by `Box::into_raw` in `generation_init`; libcrypto cleans up once.
                drop(unsafe { Box::from_raw(generation.cast::<Generation>()) });
            }
        });
    }

    unsafe extern "C" fn gettable_params(_: *mut c_void) -> *const Param {
        static EXCHANGE: [Param; 8] = [
            Param::descriptor(names::BITS, ParamType::Integer),
            Param::descriptor(names::SECURITY_BITS, ParamType::Integer),
            Param::descriptor(names::MAX_SIZE, ParamType::Integer),
            Param::descriptor(names::SECURITY_CATEGORY, ParamType::Integer),
            Param::descriptor(names::PUBLIC_KEY, ParamType::Octets),
            Param::descriptor(names::PRIVATE_KEY, ParamType::Octets),
            Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets),
            Param::END,
        ];
        static SIGNATURE: [Param; 8] = [
            Param::descriptor(names::BITS, ParamType::Integer),
            Param::descriptor(names::SECURITY_BITS, ParamType::Integer),
            Param::descriptor(names::MAX_SIZE, ParamType::Integer),
            Param::descriptor(names::SECURITY_CATEGORY, ParamType::Integer),
            Param::descriptor(names::PUBLIC_KEY, ParamType::Octets),
            Param::descriptor(names::PRIVATE_KEY, ParamType::Octets),
            Param::descriptor(names::MANDATORY_DIGEST, ParamType::Utf8),
            Param::END,
        ];
        if S::EXCHANGES { EXCHANGE.as_ptr() } else { SIGNATURE.as_ptr() }
    }

    unsafe extern "C" fn get_params(key: *mut c_void, params: *mut Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key, and a parameter array to fill in.
            let (Some(key), params) = (unsafe { (Key::<S>::borrow(key), Params::new(params)) })
            else {
                return 0;
            };
            let material = key.material();
            for mut param in params.iter() {
                let name = param.key();
                let set = if name == names::BITS {
                    param.set_integer(S::BITS)
                } else if name == names::SECURITY_BITS {
                    param.set_integer(SECURITY_BITS)
                } else if name == names::MAX_SIZE {
                    param.set_integer(S::MAX_SIZE)
                } else if name == names::SECURITY_CATEGORY {
                    // None of NIST's, which are those of quantum computers' adversaries.
                    param.set_integer(0)
                } else if name == names::PUBLIC_KEY
                    || S::EXCHANGES && name == names::ENCODED_PUBLIC_KEY
                {
                    match &material {
                        Some(material) => param.set_octets(material.public()),
                        None => Ok(()),
                    }
                } else if name == names::PRIVATE_KEY {
                    match material.as_ref().and_then(|material| material.pair()) {
                        Some(pair) => {
                            match S::with_secret(pair, |secret| param.set_octets(secret)) {
                                Ok(set) => set,
                                Err(error) => {
                                    key.raise(reason::INVALID_KEY, &error.to_string());
                                    return 0;
                                }
                            }
                        }
                        None => Ok(()),
                    }
                } else if !S::EXCHANGES && name == names::MANDATORY_DIGEST {
                    // Ed25519 brings its own: no other can be chosen.
                    param.set_utf8(c"")
                } else {
                    Ok(())
                };
                if let Err(error) = set {
                    key.raise(reason::BUFFER, &format!("{name:?}: {error}"));
                    return 0;
                }
            }
            1
        })
    }

    unsafe extern "C" fn settable_params(_: *mut c_void) -> *const Param {
        static EXCHANGE: [Param; 2] =
            [Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets), Param::END];
        static SIGNATURE: [Param; 1] = [Param::END];
        if S::EXCHANGES { EXCHANGE.as_ptr() } else { SIGNATURE.as_ptr() }
    }

    /// The peer's key share arrives here.
    unsafe extern "C" fn set_params(key: *mut c_void, params: *const Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key, and parameters.
            let (Some(key), params) = (unsafe { (Key::<S>::borrow(key), Params::new(params)) })
            else {
                return 0;
            };
            if !S::EXCHANGES {
                return 1;
            }
            match bytes(key, "key share", params.octets(names::ENCODED_PUBLIC_KEY)) {
                Ok(Some(public)) => {
                    key.set(KeyMaterial::Public(*public));
                    1
                }
                Ok(None) => 1,
                Err(Refused) => 0,
            }
        })
    }

    unsafe extern "C" fn has(key: *const c_void, selection: c_int) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key.
            let Some(key) = (unsafe { Key::<S>::borrow(key) }) else { return 0 };
            c_int::from(holds(key, selection))
        })
    }

    /// Any 32 bytes are a public key; of a pair, that its halves belong together is checked.
    unsafe extern "C" fn validate(key: *const c_void, selection: c_int, _: c_int) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key.
            let Some(key) = (unsafe { Key::<S>::borrow(key) }) else { return 0 };
            if !holds(key, selection) {
                return 0;
            }
            if selection & selection::KEYPAIR != selection::KEYPAIR {
                return 1;
            }
            let Some(material) = key.material() else { return 0 };
            let Some(pair) = material.pair() else { return 0 };
            let again = S::with_secret(pair, |secret| S::pair(key.provider().backend, secret));
            c_int::from(again.is_ok_and(|again| S::public(&again) == S::public(pair)))
        })
    }

    unsafe extern "C" fn matches(
        first: *const c_void,
        second: *const c_void,
        selection: c_int,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our keys.
            let (Some(first), Some(second)) =
                (unsafe { (Key::<S>::borrow(first), Key::<S>::borrow(second)) })
            else {
                return 0;
            };
            if !selects(selection, selection::KEYPAIR) {
                return 1;
            }
            let (Some(first), Some(second)) = (first.material(), second.material()) else {
                return 0;
            };
            // The secret half determines the public one, which stands for both.
            c_int::from(first.public() == second.public())
        })
    }

    unsafe extern "C" fn import(key: *mut c_void, selection: c_int, params: *const Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key, and parameters.
            let (Some(key), params) = (unsafe { (Key::<S>::borrow(key), Params::new(params)) })
            else {
                return 0;
            };
            match material(key, selection, params) {
                Some(material) => {
                    key.set(material);
                    1
                }
                None => 0,
            }
        })
    }

    unsafe extern "C" fn import_export_types(selection: c_int) -> *const Param {
        static BOTH: [Param; 3] = [
            Param::descriptor(names::PUBLIC_KEY, ParamType::Octets),
            Param::descriptor(names::PRIVATE_KEY, ParamType::Octets),
            Param::END,
        ];
        if selects(selection, selection::KEYPAIR) { BOTH.as_ptr() } else { ptr::null() }
    }

    unsafe extern "C" fn export(
        key: *mut c_void,
        selection: c_int,
        callback: Option<Callback>,
        argument: *mut c_void,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key.
            let Some(material) = (unsafe { Key::<S>::borrow(key) }).and_then(Key::material) else {
                return 0;
            };
            let Some(callback) = callback.filter(|_| selects(selection, selection::KEYPAIR)) else {
                return 0;
            };
            let public = Param::octets(names::PUBLIC_KEY, material.public());
            let give = |secret| {
                let params = [public, secret, Param::END];
                // SAFETY: callback and argument come from libcrypto together; the parameters
                // outlive the call.
                unsafe { callback(params.as_ptr(), argument) }
            };
            match material.pair() {
                Some(pair) if selects(selection, selection::PRIVATE_KEY) => {
                    S::with_secret(pair, |secret| give(Param::octets(names::PRIVATE_KEY, secret)))
                        .unwrap_or(0)
                }
                _ => give(Param::END),
            }
        })
    }

    unsafe extern "C" fn duplicate(key: *const c_void, selection: c_int) -> *mut c_void {
        guard(ptr::null_mut(), || {
            // SAFETY: libcrypto hands back our key.
            let Some(key) = (unsafe { Key::<S>::borrow(key) }) else { return ptr::null_mut() };
            let material = key.material().and_then(|material| {
                if selects(selection, selection::PRIVATE_KEY) || material.pair().is_none() {
                    selects(selection, selection::KEYPAIR).then_some(material)
                } else {
                    selects(selection, selection::PUBLIC_KEY)
                        .then(|| Arc::new(KeyMaterial::Public(*material.public())))
                }
            });
            Key::new(key.provider(), material).into_raw()
        })
    }
}

/// Whether the key has the halves that are selected.
fn holds<S: Scheme>(key: &Key<S>, selection: c_int) -> bool {
    let material = key.material();
    let public = !selects(selection, selection::PUBLIC_KEY) || material.is_some();
    let private = !selects(selection, selection::PRIVATE_KEY)
        || material.is_some_and(|material| material.pair().is_some());
    public && private
}

/// Takes the parameters of a generation. There is one group only, which a `group` parameter can but
/// repeat.
fn set<S: Scheme>(generation: &mut Generation, provider: &Provider, params: Params<'_>) -> bool {
    let refuse = |message: String| {
        provider.core.raise(reason::PARAMETER, &format!("{}: {message}", S::NAME));
        false
    };
    match params.utf8(names::GROUP) {
        Ok(None) => {}
        _ if !S::EXCHANGES => return refuse("a key for signatures has no group".to_owned()),
        Ok(Some(name)) if name.eq_ignore_ascii_case(S::NAME.as_bytes()) => {}
        Ok(Some(name)) => {
            return refuse(format!("group {}: expected {}", reason::shown(name), S::NAME));
        }
        Err(_) => return refuse(format!("group: expected {} as a string", S::NAME)),
    }
    match params.octets(names::DHKEM_IKM) {
        // Nothing stands for none, as with the default provider.
        Ok(None | Some([])) => {}
        Ok(Some(material)) => match memory::copy(material) {
            Ok(copy) => generation.material = Some(copy),
            Err(memory::NoMemory) => {
                let message = format!("{}: no memory for dhkem-ikm", S::NAME);
                provider.core.raise(reason::MEMORY, &message);
                return false;
            }
        },
        Err(_) => return refuse("dhkem-ikm: expected bytes".to_owned()),
    }
    true
}

/// A parameter was refused, with an error in OpenSSL's queue.
struct Refused;

/// The bytes of half a key, if there are any.
fn bytes<'a, S: Scheme>(
    key: &Key<S>,
    what: &str,
    value: Result<Option<&'a [u8]>, WrongType>,
) -> Result<Option<&'a [u8; KEY_BYTES]>, Refused> {
    let Some(bytes) = value.map_err(|_| {
        key.raise(reason::PARAMETER, &format!("{what}: expected {KEY_BYTES} bytes"));
        Refused
    })?
    else {
        return Ok(None);
    };
    bytes.try_into().map(Some).map_err(|_| {
        let message = format!("{what} of {} bytes: expected {KEY_BYTES}", bytes.len());
        key.raise(reason::INVALID_KEY, &message);
        Refused
    })
}

/// A key from `pub` and `priv`; the secret half is enough, and must match a public one beside it.
fn material<S: Scheme>(
    key: &Key<S>,
    selection: c_int,
    params: Params<'_>,
) -> Option<KeyMaterial<S>> {
    if !selects(selection, selection::KEYPAIR) {
        return None;
    }
    let public = bytes(key, "public key", params.octets(names::PUBLIC_KEY)).ok()?;
    let secret = bytes(key, "private key", params.octets(names::PRIVATE_KEY)).ok()?;
    let secret = secret.filter(|_| selects(selection, selection::PRIVATE_KEY));
    match (secret, public) {
        (Some(secret), public) => {
            let pair = S::pair(key.provider().backend, secret);
            // A signature under another public key would give the private one away.
            if public.is_some_and(|public| public != S::public(&pair)) {
                key.raise(reason::INVALID_KEY, "'pub' is not the public key of 'priv'");
                return None;
            }
            Some(KeyMaterial::Pair(pair))
        }
        (None, Some(public)) => Some(KeyMaterial::Public(*public)),
        (None, None) => {
            key.raise(reason::INVALID_KEY, "neither 'pub' nor 'priv' given: expected one as bytes");
            None
        }
    }
}
