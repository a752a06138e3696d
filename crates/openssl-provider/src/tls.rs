//! The `TLS-GROUP` capability: tells libssl which groups there are.

use core::ffi::{CStr, c_int, c_uint, c_void};
use std::ffi::CString;

use kex::TLS_GROUPS;
use openssl_abi::{Callback, Param, names};

use crate::provider::Provider;

pub(crate) const GROUP_CAPABILITY: &CStr = c"TLS-GROUP";

const TLS_1_3: c_int = 0x0304;
const NO_LIMIT: c_int = 0;
const NOT_AT_ALL: c_int = -1;

/// Calls `callback` for each group, and says whether it took all.
///
/// # Safety
/// `callback` may be called with `argument`.
pub(crate) unsafe fn announce(
    provider: &Provider,
    callback: Callback,
    argument: *mut c_void,
) -> bool {
    TLS_GROUPS.iter().zip(&provider.code_points).all(|(group, &code_point)| {
        let Ok(name) = CString::new(group.name) else { return false };
        let (code_point, is_kem): (c_uint, c_uint) = (code_point.into(), 1);
        let params = [
            Param::utf8(names::TLS_GROUP_NAME, &name),
            Param::utf8(names::TLS_GROUP_NAME_INTERNAL, &name),
            Param::utf8(names::TLS_GROUP_ALGORITHM, &name),
            Param::unsigned(names::TLS_GROUP_ID, &code_point),
            Param::unsigned(names::TLS_GROUP_SECURITY_BITS, &group.security_bits),
            Param::unsigned(names::TLS_GROUP_IS_KEM, &is_kem),
            Param::integer(names::TLS_GROUP_MIN_TLS, &TLS_1_3),
            Param::integer(names::TLS_GROUP_MAX_TLS, &NO_LIMIT),
            Param::integer(names::TLS_GROUP_MIN_DTLS, &NOT_AT_ALL),
            Param::integer(names::TLS_GROUP_MAX_DTLS, &NOT_AT_ALL),
            Param::END,
        ];
        // SAFETY: the parameters outlive the call, which copies what it keeps.
        unsafe { callback(params.as_ptr(), argument) == 1 }
    })
}
