//! Key management: generation, import and export, parameters.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::ptr;
use std::sync::Arc;

use kex::TlsKem;
use openssl_abi::functions::keymgmt as function;
use openssl_abi::{Callback, Dispatch, Param, ParamType, Params, guard, names, selection};

use crate::key::{Key, KeyMaterial, public_bytes, secret_bytes};
use crate::memory::NoMemory;
use crate::provider::Provider;
use crate::reason;

/// The functions for keys of `K`.
pub(crate) struct KeyManagement<K>(PhantomData<K>);

/// What is to be generated.
struct Generation {
    provider: *const Provider,
    selection: c_int,
}

/// Whether `selection` has a bit of `bits`.
pub(crate) fn selects(selection: c_int, bits: c_int) -> bool {
    selection & bits != 0
}

impl<K: TlsKem> KeyManagement<K> {
    pub(crate) const DISPATCH: &'static [Dispatch] = &[
        function::NEW.entry(Self::create),
        function::FREE.entry(Self::free),
        function::GEN_INIT.entry(Self::generation_init),
        function::GEN_SET_PARAMS.entry(Self::generation_set_params),
        function::GEN_SETTABLE_PARAMS.entry(Self::generation_settable_params),
        function::GEN.entry(Self::generate),
        function::GEN_CLEANUP.entry(Self::generation_cleanup),
        function::LOAD.entry(Self::load),
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
            Key::<K>::new(unsafe { Provider::from_context(context) }, None).into_raw()
        })
    }

    pub(crate) unsafe extern "C" fn free(key: *mut c_void) {
        // SAFETY: libcrypto frees each key once.
        guard((), || unsafe { Key::<K>::free(key) });
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
            if !check_group::<K>(provider, params) {
                return ptr::null_mut();
            }
            Box::into_raw(Box::new(Generation { provider, selection })).cast()
        })
    }

    unsafe extern "C" fn generation_set_params(
        generation: *mut c_void,
        params: *const Param,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back what `generation_init` gave, and parameters; the
            // provider is still there.
            let (provider, params) =
                unsafe { (&*(*generation.cast::<Generation>()).provider, Params::new(params)) };
            c_int::from(check_group::<K>(provider, params))
        })
    }

    unsafe extern "C" fn generation_settable_params(
        _: *mut c_void,
        _: *mut c_void,
    ) -> *const Param {
        static PARAMS: [Param; 2] = [Param::descriptor(names::GROUP, ParamType::Utf8), Param::END];
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
            let (provider, selection) = unsafe {
                let generation = &*generation.cast::<Generation>();
                (&*generation.provider, generation.selection)
            };
            // Either side of a handshake does this once.
            provider.warm_up.handshake();
            if !selects(selection, selection::KEYPAIR) {
                return Key::<K>::new(provider, None).into_raw();
            }
            match provider.pools.keys::<K>().take() {
                Ok(pair) => Key::new(provider, Some(Arc::new(KeyMaterial::Pair(pair)))).into_raw(),
                Err(error) => {
                    let message = format!("{}: {error}", K::GROUP.name);
                    provider.core.raise(reason::of(&error, reason::RANDOM_SOURCE), &message);
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

    /// Takes over a key from a decoder: the reference is the place of a pointer to it.
    unsafe extern "C" fn load(reference: *const c_void, size: usize) -> *mut c_void {
        if reference.is_null() || size != size_of::<*mut c_void>() {
            return ptr::null_mut();
        }
        let place = reference.cast_mut().cast::<*mut c_void>();
        // SAFETY: our decoder made the reference from such a place, and sees by the null that the
        // key was taken.
        unsafe { ptr::replace(place, ptr::null_mut()) }
    }

    unsafe extern "C" fn gettable_params(_: *mut c_void) -> *const Param {
        static PARAMS: [Param; 7] = [
            Param::descriptor(names::BITS, ParamType::Integer),
            Param::descriptor(names::SECURITY_BITS, ParamType::Integer),
            Param::descriptor(names::MAX_SIZE, ParamType::Integer),
            Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets),
            Param::descriptor(names::PUBLIC_KEY, ParamType::Octets),
            Param::descriptor(names::PRIVATE_KEY, ParamType::Octets),
            Param::END,
        ];
        PARAMS.as_ptr()
    }

    unsafe extern "C" fn get_params(key: *mut c_void, params: *mut Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key, and a parameter array to fill in.
            let (Some(key), params) = (unsafe { (Key::<K>::borrow(key), Params::new(params)) })
            else {
                return 0;
            };
            let material = key.material();
            let no_memory = |_: NoMemory| {
                let message = format!("{}: no memory for a key", K::GROUP.name);
                key.provider().core.raise(reason::MEMORY, &message);
            };
            for mut param in params.iter() {
                let name = param.key();
                let set = if name == names::BITS {
                    param.set_integer(8 * K::PUBLIC_KEY_BYTES as u32)
                } else if name == names::SECURITY_BITS {
                    param.set_integer(K::GROUP.security_bits)
                } else if name == names::MAX_SIZE {
                    param.set_integer(K::CIPHERTEXT_BYTES as u32)
                } else if name == names::ENCODED_PUBLIC_KEY || name == names::PUBLIC_KEY {
                    match material.as_deref().map(public_bytes).transpose().map_err(no_memory) {
                        Ok(Some(bytes)) => param.set_octets(&bytes),
                        Ok(None) => Ok(()),
                        Err(()) => return 0,
                    }
                } else if name == names::PRIVATE_KEY {
                    match material.as_deref().map(secret_bytes).transpose().map_err(no_memory) {
                        Ok(Some(Some(bytes))) => param.set_octets(&bytes),
                        Ok(_) => Ok(()),
                        Err(()) => return 0,
                    }
                } else {
                    Ok(())
                };
                if let Err(error) = set {
                    let message = format!("{} {name:?}: {error}", K::GROUP.name);
                    key.provider().core.raise(reason::BUFFER, &message);
                    return 0;
                }
            }
            1
        })
    }

    unsafe extern "C" fn settable_params(_: *mut c_void) -> *const Param {
        static PARAMS: [Param; 2] =
            [Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets), Param::END];
        PARAMS.as_ptr()
    }

    /// The peer's key share arrives here.
    unsafe extern "C" fn set_params(key: *mut c_void, params: *const Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key, and parameters.
            let (Some(key), params) = (unsafe { (Key::<K>::borrow(key), Params::new(params)) })
            else {
                return 0;
            };
            match params.octets(names::ENCODED_PUBLIC_KEY) {
                Ok(None) => 1,
                Ok(Some(bytes)) => {
                    let backend = key.provider().backend;
                    c_int::from(fill(key, KeyMaterial::from_public_bytes(backend, bytes)))
                }
                Err(_) => {
                    let message = format!("{} key share: expected bytes", K::GROUP.name);
                    key.provider().core.raise(reason::PARAMETER, &message);
                    0
                }
            }
        })
    }

    unsafe extern "C" fn has(key: *const c_void, selection: c_int) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key.
            let Some(key) = (unsafe { Key::<K>::borrow(key) }) else { return 0 };
            let material = key.material();
            let public = !selects(selection, selection::PUBLIC_KEY) || material.is_some();
            let private = !selects(selection, selection::PRIVATE_KEY)
                || material.is_some_and(|material| material.has_secret());
            c_int::from(public && private)
        })
    }

    /// A public key was checked when it was read; of a key pair, that its halves belong together is
    /// checked here.
    unsafe extern "C" fn validate(key: *const c_void, selection: c_int, _: c_int) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key.
            let Some(key) = (unsafe { Key::<K>::borrow(key) }) else { return 0 };
            if !selects(selection, selection::KEYPAIR) {
                return 1;
            }
            let Some(material) = key.material() else { return 0 };
            if !selects(selection, selection::PRIVATE_KEY) {
                return 1;
            }
            match material.with_secret(|secret| K::check(secret, key.provider().backend)) {
                None => 0,
                Some(Ok(())) => 1,
                Some(Err(error)) => {
                    let message = format!("{}: {error}", K::GROUP.name);
                    key.provider().core.raise(reason::INVALID_KEY, &message);
                    0
                }
            }
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
                (unsafe { (Key::<K>::borrow(first), Key::<K>::borrow(second)) })
            else {
                return 0;
            };
            if !selects(selection, selection::KEYPAIR) {
                return 1;
            }
            let (Some(first), Some(second)) = (first.material(), second.material()) else {
                return 0;
            };
            // A secret key holds its public one, so that stands for both.
            c_int::from(first.public() == second.public())
        })
    }

    unsafe extern "C" fn import(key: *mut c_void, selection: c_int, params: *const Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key, and parameters.
            let (Some(key), params) = (unsafe { (Key::<K>::borrow(key), Params::new(params)) })
            else {
                return 0;
            };
            c_int::from(fill_from_params(key, selection, params))
        })
    }

    unsafe extern "C" fn import_export_types(selection: c_int) -> *const Param {
        static PUBLIC: [Param; 2] =
            [Param::descriptor(names::PUBLIC_KEY, ParamType::Octets), Param::END];
        static BOTH: [Param; 3] = [
            Param::descriptor(names::PUBLIC_KEY, ParamType::Octets),
            Param::descriptor(names::PRIVATE_KEY, ParamType::Octets),
            Param::END,
        ];
        if selects(selection, selection::PRIVATE_KEY) {
            BOTH.as_ptr()
        } else if selects(selection, selection::PUBLIC_KEY) {
            PUBLIC.as_ptr()
        } else {
            ptr::null()
        }
    }

    pub(crate) unsafe extern "C" fn export(
        key: *mut c_void,
        selection: c_int,
        callback: Option<Callback>,
        argument: *mut c_void,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key.
            let Some(key) = (unsafe { Key::<K>::borrow(key) }) else { return 0 };
            let (Some(material), Some(callback)) = (key.material(), callback) else { return 0 };
            let bytes = public_bytes(&material).and_then(|public| {
                let is_wanted = selects(selection, selection::PRIVATE_KEY);
                let secret = if is_wanted { secret_bytes(&material)? } else { None };
                Ok((public, secret))
            });
            let Ok((public, secret)) = bytes else {
                let message = format!("{}: no memory to export a key", K::GROUP.name);
                key.provider().core.raise(reason::MEMORY, &message);
                return 0;
            };
            let mut params = [Param::END; 3];
            let mut count = 0;
            if selects(selection, selection::PUBLIC_KEY) {
                params[count] = Param::octets(names::PUBLIC_KEY, &public);
                count += 1;
            }
            if let Some(secret) = &secret {
                params[count] = Param::octets(names::PRIVATE_KEY, secret);
                count += 1;
            }
            if count == 0 {
                return 0;
            }
            // SAFETY: callback and argument come from libcrypto together; the parameters outlive
            // the call.
            unsafe { callback(params.as_ptr(), argument) }
        })
    }

    unsafe extern "C" fn duplicate(key: *const c_void, selection: c_int) -> *mut c_void {
        guard(ptr::null_mut(), || {
            // SAFETY: libcrypto hands back our key.
            let Some(key) = (unsafe { Key::<K>::borrow(key) }) else { return ptr::null_mut() };
            let material = key.material().and_then(|material| {
                if selects(selection, selection::PRIVATE_KEY) || !material.has_secret() {
                    selects(selection, selection::KEYPAIR).then_some(material)
                } else {
                    selects(selection, selection::PUBLIC_KEY)
                        .then(|| Arc::new(KeyMaterial::Public(material.public().clone())))
                }
            });
            Key::new(key.provider(), material).into_raw()
        })
    }
}

/// The algorithm is the group: a `group` parameter can only repeat its name.
fn check_group<K: TlsKem>(provider: &Provider, params: Params<'_>) -> bool {
    let expected = K::GROUP.name;
    match params.utf8(names::GROUP) {
        Ok(None) => true,
        Ok(Some(name)) if name.eq_ignore_ascii_case(expected.as_bytes()) => true,
        other => {
            let name = match other {
                Ok(name) => reason::shown(name.unwrap_or_default()),
                Err(error) => error.to_string(),
            };
            let message = format!("group {name} for a {expected} key: expected {expected}");
            provider.core.raise(reason::PARAMETER, &message);
            false
        }
    }
}

fn fill<K: TlsKem>(key: &Key<K>, material: Result<KeyMaterial<K>, kex::Error>) -> bool {
    match material {
        Ok(material) => {
            key.set(material);
            true
        }
        Err(error) => {
            let message = format!("{}: {error}", K::GROUP.name);
            key.provider().core.raise(reason::INVALID_KEY, &message);
            false
        }
    }
}

/// Fills an empty key from `pub` and `priv`; a secret key is enough, and must match a public one
/// beside it.
pub(crate) fn fill_from_params<K: TlsKem>(
    key: &Key<K>,
    selection: c_int,
    params: Params<'_>,
) -> bool {
    let raise = |message: &str| {
        let message = format!("{}: {message}", K::GROUP.name);
        key.provider().core.raise(reason::INVALID_KEY, &message);
        false
    };
    let (public, secret) =
        match (params.octets(names::PUBLIC_KEY), params.octets(names::PRIVATE_KEY)) {
            (Ok(public), Ok(secret)) => {
                (public, secret.filter(|_| selects(selection, selection::PRIVATE_KEY)))
            }
            (Err(error), _) => return raise(&format!("'pub' is {error}")),
            (_, Err(error)) => return raise(&format!("'priv' is {error}")),
        };
    let backend = key.provider().backend;
    match (secret, public) {
        (Some(secret), public) => match KeyMaterial::<K>::from_secret_bytes(backend, secret) {
            Ok(material) => match public.map(|bytes| Ok(*bytes == *public_bytes(&material)?)) {
                None | Some(Ok(true)) => fill(key, Ok(material)),
                Some(Ok(false)) => raise("'pub' is not the public key of 'priv'"),
                Some(Err(NoMemory)) => raise("no memory to compare 'pub'"),
            },
            error => fill(key, error),
        },
        (None, Some(public)) => fill(key, KeyMaterial::from_public_bytes(backend, public)),
        (None, None) => raise("neither 'pub' nor 'priv' given: expected one as bytes"),
    }
}
