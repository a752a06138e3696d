//! Key management, generic over the type of keys: generation, import and export, parameters.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::ptr;
use std::sync::Arc;

use openssl_abi::functions::keymgmt as function;
use openssl_abi::{Callback, Dispatch, Param, Params, guard, names, selection};

use crate::context::Provider;
use crate::key::{KeyType, Raised, SharedKey, selects};
use crate::reason;
use secret::NoMemory;

/// The functions for keys of `T`.
pub(crate) struct KeyManagement<T>(PhantomData<T>);

/// The context of a generation.
struct Generation<T: KeyType> {
    provider: *const Provider,
    selection: c_int,
    options: T::Options,
}

/// Whether the key has the selected parts.
fn has_selected<T: KeyType>(material: Option<&T::Material>, selection: c_int) -> bool {
    let public = !selects(selection, selection::PUBLIC_KEY) || material.is_some();
    let private =
        !selects(selection, selection::PRIVATE_KEY) || material.is_some_and(T::has_secret);
    public && private
}

impl<T: KeyType> KeyManagement<T> {
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
        if T::IS_DECODED { function::LOAD.entry(Self::load) } else { Dispatch::END },
        Dispatch::END,
    ];

    unsafe extern "C" fn create(context: *mut c_void) -> *mut c_void {
        guard(ptr::null_mut(), || {
            // SAFETY: libcrypto hands back our context.
            SharedKey::<T>::new(unsafe { Provider::from_context(context) }, None).into_raw()
        })
    }

    pub(crate) unsafe extern "C" fn free(key: *mut c_void) {
        // SAFETY: libcrypto frees each key once.
        guard((), || unsafe { SharedKey::<T>::free(key) });
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
            let mut options = T::Options::default();
            if !T::set_options(&mut options, provider, params) {
                return ptr::null_mut();
            }
            Box::into_raw(Box::new(Generation::<T> { provider, selection, options })).cast()
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
                let generation = &mut *generation.cast::<Generation<T>>();
                let provider = generation.provider;
                (generation, &*provider, Params::new(params))
            };
            c_int::from(T::set_options(&mut generation.options, provider, params))
        })
    }

    unsafe extern "C" fn generation_settable_params(
        _: *mut c_void,
        _: *mut c_void,
    ) -> *const Param {
        T::GENERATION_SETTABLE.as_ptr()
    }

    /// A TLS server selects the parameters of the client's group only, and then sets the client's
    /// key share: no key pair is made for that.
    unsafe extern "C" fn generate(
        generation: *mut c_void,
        _: Option<Callback>,
        _: *mut c_void,
    ) -> *mut c_void {
        guard(ptr::null_mut(), || {
            // SAFETY: libcrypto hands back what `generation_init` gave; the provider is still
            // there.
            let (provider, generation) = unsafe {
                let generation = &*generation.cast::<Generation<T>>();
                (&*generation.provider, generation)
            };
            if T::EXCHANGES {
                // Either side of a handshake does this once.
                provider.warm_up.handshake();
            }
            if !selects(generation.selection, selection::KEYPAIR) {
                return SharedKey::<T>::new(provider, None).into_raw();
            }
            match T::generate(provider, &generation.options) {
                Ok(material) => SharedKey::<T>::new(provider, Some(Arc::new(material))).into_raw(),
                Err((reason, message)) => {
                    provider.core.raise(reason, &format!("{}: {message}", T::NAME));
                    ptr::null_mut()
                }
            }
        })
    }

    unsafe extern "C" fn generation_cleanup(generation: *mut c_void) {
        guard((), || {
            if !generation.is_null() {
                // SAFETY: made by `Box::into_raw` in `generation_init`; libcrypto cleans up once.
                drop(unsafe { Box::from_raw(generation.cast::<Generation<T>>()) });
            }
        });
    }

    /// Takes a key over from a decoder: the reference is the address of a pointer to it.
    unsafe extern "C" fn load(reference: *const c_void, size: usize) -> *mut c_void {
        if reference.is_null() || size != size_of::<*mut c_void>() {
            return ptr::null_mut();
        }
        let place = reference.cast_mut().cast::<*mut c_void>();
        // SAFETY: our decoder made the reference from such an address, and sees by the null that
        // the key was taken.
        unsafe { ptr::replace(place, ptr::null_mut()) }
    }

    unsafe extern "C" fn gettable_params(_: *mut c_void) -> *const Param {
        T::GETTABLE.as_ptr()
    }

    unsafe extern "C" fn get_params(key: *mut c_void, params: *mut Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key, and a parameter array to fill in.
            let (Some(key), params) =
                (unsafe { (SharedKey::<T>::borrow(key), Params::new(params)) })
            else {
                return 0;
            };
            let material = key.material();
            for mut param in params.iter() {
                let name = param.key();
                let set = if name == names::BITS {
                    Ok(param.set_integer(T::BITS))
                } else if name == names::SECURITY_BITS {
                    Ok(param.set_integer(T::SECURITY_BITS))
                } else if name == names::MAX_SIZE {
                    Ok(param.set_integer(T::MAX_SIZE))
                } else if name == names::PUBLIC_KEY
                    || T::EXCHANGES && name == names::ENCODED_PUBLIC_KEY
                {
                    material.as_deref().map_or(Ok(Ok(())), |material| {
                        T::with_public(material, |public| param.set_octets(public))
                    })
                } else if name == names::PRIVATE_KEY {
                    material.as_deref().map_or(Ok(Ok(())), |material| {
                        T::with_secret(material, |secret| {
                            secret.map_or(Ok(()), |secret| param.set_octets(secret))
                        })
                    })
                } else if name == names::SEED {
                    material.as_deref().map_or(Ok(Ok(())), |material| {
                        T::with_seed(material, |seed| {
                            seed.map_or(Ok(()), |seed| param.set_octets(seed))
                        })
                    })
                } else {
                    Ok(T::get_special(name, &mut param))
                };
                match set {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        let message = T::parameter_message(name, &error);
                        key.provider().core.raise(reason::BUFFER, &message);
                        return 0;
                    }
                    Err(NoMemory) => {
                        key.raise(reason::MEMORY, "no memory for a key");
                        return 0;
                    }
                }
            }
            1
        })
    }

    unsafe extern "C" fn settable_params(_: *mut c_void) -> *const Param {
        T::SETTABLE.as_ptr()
    }

    /// Sets the peer's key share.
    unsafe extern "C" fn set_params(key: *mut c_void, params: *const Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key, and parameters.
            let (Some(key), params) =
                (unsafe { (SharedKey::<T>::borrow(key), Params::new(params)) })
            else {
                return 0;
            };
            if !T::EXCHANGES {
                return 1;
            }
            match T::read_key_share(key, params.octets(names::ENCODED_PUBLIC_KEY)) {
                Ok(Some(material)) => {
                    key.set(material);
                    1
                }
                Ok(None) => 1,
                Err(Raised) => 0,
            }
        })
    }

    unsafe extern "C" fn has(key: *const c_void, selection: c_int) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key.
            let Some(key) = (unsafe { SharedKey::<T>::borrow(key) }) else { return 0 };
            c_int::from(has_selected::<T>(key.material().as_deref(), selection))
        })
    }

    /// A public key was checked when it was read; this checks that the keys of a pair match.
    unsafe extern "C" fn validate(key: *const c_void, selection: c_int, _: c_int) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key.
            let Some(key) = (unsafe { SharedKey::<T>::borrow(key) }) else { return 0 };
            let material = key.material();
            c_int::from(match material.as_deref() {
                material if !has_selected::<T>(material, selection) => false,
                Some(material) if selects(selection, selection::PRIVATE_KEY) => {
                    T::check_pair(key, material, selection)
                }
                _ => true,
            })
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
                (unsafe { (SharedKey::<T>::borrow(first), SharedKey::<T>::borrow(second)) })
            else {
                return 0;
            };
            if !selects(selection, selection::KEYPAIR) {
                return 1;
            }
            let (Some(first), Some(second)) = (first.material(), second.material()) else {
                return 0;
            };
            // The private key determines the public one, so comparing that is enough.
            c_int::from(T::is_same_public(&first, &second))
        })
    }

    unsafe extern "C" fn import(key: *mut c_void, selection: c_int, params: *const Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our key, and parameters.
            let (Some(key), params) =
                (unsafe { (SharedKey::<T>::borrow(key), Params::new(params)) })
            else {
                return 0;
            };
            match T::from_params(key, selection, params) {
                Ok(material) => {
                    key.set(material);
                    1
                }
                Err(Raised) => 0,
            }
        })
    }

    unsafe extern "C" fn import_export_types(selection: c_int) -> *const Param {
        if selects(selection, selection::PRIVATE_KEY) {
            T::KEY_PAIR_TYPES.as_ptr()
        } else if selects(selection, selection::PUBLIC_KEY) {
            T::PUBLIC_TYPES.as_ptr()
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
            let Some(key) = (unsafe { SharedKey::<T>::borrow(key) }) else { return 0 };
            let (Some(material), Some(callback)) = (key.material(), callback) else { return 0 };
            let wants_secret = selects(selection, selection::PRIVATE_KEY);
            let wants_public = selects(selection, selection::PUBLIC_KEY)
                || T::EXPORTS_PUBLIC_KEY_ALWAYS && wants_secret;
            let pass = |public: &[u8], secret: Option<&[u8]>, seed: Option<&[u8]>| {
                let parts = [
                    (names::PUBLIC_KEY, wants_public.then_some(public)),
                    (names::PRIVATE_KEY, secret),
                    (names::SEED, seed),
                ];
                let mut params = [Param::END; 4];
                let mut count = 0;
                for (name, part) in parts {
                    if let Some(part) = part {
                        params[count] = Param::octets(name, part);
                        count += 1;
                    }
                }
                if count == 0 {
                    return 0;
                }
                // SAFETY: callback and argument come from libcrypto together; the parameters
                // outlive the call.
                unsafe { callback(params.as_ptr(), argument) }
            };
            let passed = T::with_public(&material, |public| {
                if !wants_secret {
                    return Ok(pass(public, None, None));
                }
                let passed = T::with_secret(&material, |secret| {
                    T::with_seed(&material, |seed| pass(public, secret, seed))
                });
                passed.flatten()
            });
            passed.flatten().unwrap_or_else(|NoMemory| {
                key.raise(reason::MEMORY, "no memory to export a key");
                0
            })
        })
    }

    unsafe extern "C" fn duplicate(key: *const c_void, selection: c_int) -> *mut c_void {
        guard(ptr::null_mut(), || {
            // SAFETY: libcrypto hands back our key.
            let Some(key) = (unsafe { SharedKey::<T>::borrow(key) }) else {
                return ptr::null_mut();
            };
            let material = key.material().and_then(|material| {
                if selects(selection, selection::PRIVATE_KEY) || !T::has_secret(&material) {
                    selects(selection, selection::KEYPAIR).then_some(material)
                } else {
                    selects(selection, selection::PUBLIC_KEY)
                        .then(|| Arc::new(T::public_only(&material)))
                }
            });
            SharedKey::<T>::new(key.provider(), material).into_raw()
        })
    }
}
