//! Key management. All keys are equal and have no contents. The provider's context serves as key
//! and as key generation context, so nothing is allocated or freed.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;

use openssl_abi::functions::keymgmt as function;
use openssl_abi::{Callback, Dispatch, Param, ParamType, Params, guard, names};

use crate::context::core;
use crate::group::{NullSize, PRETENDED_SECURITY_BITS};
use crate::reason;

/// The functions for keys of `S`.
pub(crate) struct KeyManagement<S>(PhantomData<S>);

impl<S: NullSize> KeyManagement<S> {
    pub(crate) const DISPATCH: &'static [Dispatch] = &[
        function::NEW.entry(create),
        function::FREE.entry(free),
        function::GEN_INIT.entry(Self::generation_init),
        function::GEN_SET_PARAMS.entry(Self::generation_set_params),
        function::GEN_SETTABLE_PARAMS.entry(generation_settable_params),
        function::GEN.entry(generate),
        function::GEN_CLEANUP.entry(free),
        function::GET_PARAMS.entry(Self::get_params),
        function::GETTABLE_PARAMS.entry(gettable_params),
        function::SET_PARAMS.entry(Self::set_params),
        function::SETTABLE_PARAMS.entry(settable_params),
        function::HAS.entry(has),
        Dispatch::END,
    ];

    unsafe extern "C" fn generation_init(
        context: *mut c_void,
        _: c_int,
        params: *const Param,
    ) -> *mut c_void {
        // SAFETY: libcrypto passes our context and parameters, as it does to the function called.
        match unsafe { Self::generation_set_params(context, params) } {
            1 => context,
            _ => core::ptr::null_mut(),
        }
    }

    /// Checks the `group` parameter. The algorithm is the group, so the parameter can only repeat
    /// its name.
    unsafe extern "C" fn generation_set_params(
        context: *mut c_void,
        params: *const Param,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto passes our context and parameters.
            let (core, params) = unsafe { (core(context), Params::new(params)) };
            let expected = S::GROUP.name;
            match params.utf8(names::GROUP) {
                Ok(None) => 1,
                Ok(Some(name)) if name.eq_ignore_ascii_case(expected.to_bytes()) => 1,
                _ => {
                    let message = format!("another group for a key of {expected:?}");
                    core.raise(reason::PARAMETER, &message);
                    0
                }
            }
        })
    }

    unsafe extern "C" fn get_params(key: *mut c_void, params: *mut Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto passes a key, which is our context, and a parameter array to fill
            // in.
            let (core, params) = unsafe { (core(key), Params::new(params)) };
            let group = S::GROUP;
            for mut param in params.iter() {
                let name = param.key();
                let set = if name == names::ENCODED_PUBLIC_KEY {
                    param.set_octets(group.client_share())
                } else if name == names::BITS {
                    param.set_integer(8 * group.client_bytes as u32)
                } else if name == names::SECURITY_BITS {
                    param.set_integer(PRETENDED_SECURITY_BITS)
                } else if name == names::MAX_SIZE {
                    param.set_integer(group.server_bytes as u32)
                } else {
                    Ok(())
                };
                if let Err(error) = set {
                    core.raise(reason::BUFFER, &format!("{:?} {name:?}: {error}", group.name));
                    return 0;
                }
            }
            1
        })
    }

    /// Checks the client's key share.
    unsafe extern "C" fn set_params(key: *mut c_void, params: *const Param) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto passes a key, which is our context, and parameters.
            let (core, params) = unsafe { (core(key), Params::new(params)) };
            match params.octets(names::ENCODED_PUBLIC_KEY) {
                Ok(None) => 1,
                Ok(Some(bytes)) if bytes == S::GROUP.client_share() => 1,
                _ => {
                    let message = format!("{:?}: not the client's constant", S::GROUP.name);
                    core.raise(reason::INVALID_SHARE, &message);
                    0
                }
            }
        })
    }
}

unsafe extern "C" fn create(context: *mut c_void) -> *mut c_void {
    context
}

unsafe extern "C" fn free(_: *mut c_void) {}

unsafe extern "C" fn generate(
    context: *mut c_void,
    _: Option<Callback>,
    _: *mut c_void,
) -> *mut c_void {
    context
}

unsafe extern "C" fn has(_: *const c_void, _: c_int) -> c_int {
    1
}

unsafe extern "C" fn generation_settable_params(_: *mut c_void, _: *mut c_void) -> *const Param {
    static PARAMS: [Param; 2] = [Param::descriptor(names::GROUP, ParamType::Utf8), Param::END];
    PARAMS.as_ptr()
}

unsafe extern "C" fn gettable_params(_: *mut c_void) -> *const Param {
    static PARAMS: [Param; 5] = [
        Param::descriptor(names::BITS, ParamType::Integer),
        Param::descriptor(names::SECURITY_BITS, ParamType::Integer),
        Param::descriptor(names::MAX_SIZE, ParamType::Integer),
        Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets),
        Param::END,
    ];
    PARAMS.as_ptr()
}

unsafe extern "C" fn settable_params(_: *mut c_void) -> *const Param {
    static PARAMS: [Param; 2] =
        [Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets), Param::END];
    PARAMS.as_ptr()
}
