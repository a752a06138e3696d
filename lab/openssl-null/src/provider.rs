//! The provider itself: its algorithms, capability and parameters. Its context is the core that
//! loaded it.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use openssl_abi::functions::provider as function;
use openssl_abi::{
    Algorithm, Callback, Core, Dispatch, GroupKind, Param, ParamType, Params, TlsGroup, guard,
    names, operation,
};

use crate::context::core;
use crate::group::{GROUPS, Large, NullGroup, PRETENDED_SECURITY_BITS, Small};
use crate::kem::KeyEncapsulation;
use crate::keymgmt::KeyManagement;
use crate::reason;

const NAME: &CStr = c"fastkex, INSECURE null key exchange for measurements";
const PROPERTIES: &CStr = c"provider=fastkex_insecure_null";

pub(crate) const DISPATCH: &[Dispatch] = &[
    function::TEARDOWN.entry(teardown),
    function::GETTABLE_PARAMS.entry(gettable_params),
    function::GET_PARAMS.entry(get_params),
    function::QUERY_OPERATION.entry(query_operation),
    function::GET_REASON_STRINGS.entry(reason::strings),
    function::GET_CAPABILITIES.entry(get_capabilities),
    Dispatch::END,
];

const fn algorithm(group: &'static NullGroup, implementation: &'static [Dispatch]) -> Algorithm {
    Algorithm {
        names: group.name.as_ptr(),
        properties: PROPERTIES.as_ptr(),
        implementation: implementation.as_ptr(),
        description: group.description.as_ptr(),
    }
}

static KEY_MANAGEMENT: [Algorithm; 3] = [
    algorithm(GROUPS[0], KeyManagement::<Large>::DISPATCH),
    algorithm(GROUPS[1], KeyManagement::<Small>::DISPATCH),
    Algorithm::END,
];

static KEY_ENCAPSULATION: [Algorithm; 3] = [
    algorithm(GROUPS[0], KeyEncapsulation::<Large>::DISPATCH),
    algorithm(GROUPS[1], KeyEncapsulation::<Small>::DISPATCH),
    Algorithm::END,
];

unsafe extern "C" fn teardown(context: *mut c_void) {
    guard((), || {
        // SAFETY: made by `Box::into_raw` in `OSSL_provider_init`; libcrypto calls this once, after
        // all other functions.
        drop(unsafe { Box::from_raw(context.cast::<Core>()) });
    });
}

unsafe extern "C" fn gettable_params(_: *mut c_void) -> *const Param {
    static PARAMS: [Param; 3] = [
        Param::descriptor(names::PROVIDER_NAME, ParamType::Utf8Pointer),
        Param::descriptor(names::PROVIDER_STATUS, ParamType::Integer),
        Param::END,
    ];
    PARAMS.as_ptr()
}

unsafe extern "C" fn get_params(context: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto passes our context, and a parameter array to fill in.
        let (core, params) = unsafe { (core(context), Params::new(params)) };
        for mut param in params.iter() {
            let key = param.key();
            let set = if key == names::PROVIDER_NAME {
                param.set_utf8_pointer(NAME)
            } else if key == names::PROVIDER_STATUS {
                param.set_integer(1)
            } else {
                Ok(())
            };
            if let Err(error) = set {
                core.raise(reason::PARAMETER, &format!("{key:?}: {error}"));
                return 0;
            }
        }
        1
    })
}

unsafe extern "C" fn query_operation(
    _: *mut c_void,
    operation: c_int,
    no_store: *mut c_int,
) -> *const Algorithm {
    if !no_store.is_null() {
        // SAFETY: not null, so a place for the flag. libcrypto may cache our methods.
        unsafe { *no_store = 0 };
    }
    match operation {
        operation::KEYMGMT => KEY_MANAGEMENT.as_ptr(),
        operation::KEM => KEY_ENCAPSULATION.as_ptr(),
        _ => ptr::null(),
    }
}

unsafe extern "C" fn get_capabilities(
    _: *mut c_void,
    capability: *const c_char,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto passes the capability's name.
        let capability = unsafe { CStr::from_ptr(capability) };
        if !capability.to_bytes().eq_ignore_ascii_case(TlsGroup::CAPABILITY.to_bytes()) {
            return 1;
        }
        let Some(callback) = callback else { return 0 };
        let all = GROUPS.iter().all(|group| {
            let NullGroup { name, code_point, .. } = **group;
            let group = TlsGroup {
                name,
                algorithm: name,
                code_point,
                security_bits: PRETENDED_SECURITY_BITS,
                kind: GroupKind::Kem,
            };
            // SAFETY: callback and argument come from libcrypto together.
            unsafe { group.announce(callback, argument) }
        });
        c_int::from(all)
    })
}
