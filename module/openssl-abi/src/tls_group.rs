//! TLS groups as the `TLS-GROUP` capability describes them.

use core::ffi::{CStr, c_int, c_uint, c_void};

use crate::names;
use crate::param::Param;
use crate::types::Callback;

/// A TLS group, as the `TLS-GROUP` capability describes it to libssl.
#[derive(Clone, Copy, Debug)]
pub struct TlsGroup<'a> {
    /// Name of the group.
    pub name: &'a CStr,
    /// Name of the algorithm that libssl fetches for it.
    pub algorithm: &'a CStr,
    /// Code point in TLS.
    pub code_point: u16,
    /// Security strength in bits.
    pub security_bits: c_uint,
    /// Kind of the group.
    pub kind: GroupKind,
}

/// Kinds of TLS groups, and the versions that use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// A KEM, for TLS 1.3 only.
    Kem,
    /// A key exchange, for every version of TLS and DTLS.
    KeyExchange,
}

const TLS_1_0: c_int = 0x0301;
const TLS_1_3: c_int = 0x0304;
const DTLS_1_0: c_int = 0xfeff;
const NO_LIMIT: c_int = 0;
const NOT_AT_ALL: c_int = -1;

impl TlsGroup<'_> {
    /// Name of the capability.
    pub const CAPABILITY: &'static CStr = c"TLS-GROUP";

    /// Calls `callback` with the group; returns whether the callback succeeded.
    ///
    /// # Safety
    /// `callback` may be called with `argument`.
    pub unsafe fn announce(&self, callback: Callback, argument: *mut c_void) -> bool {
        let code_point: c_uint = self.code_point.into();
        let (is_kem, tls, (lowest_dtls, highest_dtls)): (c_uint, _, _) = match self.kind {
            GroupKind::Kem => (1, TLS_1_3, (NOT_AT_ALL, NOT_AT_ALL)),
            GroupKind::KeyExchange => (0, TLS_1_0, (DTLS_1_0, NO_LIMIT)),
        };
        let params = [
            Param::utf8(names::TLS_GROUP_NAME, self.name),
            Param::utf8(names::TLS_GROUP_NAME_INTERNAL, self.algorithm),
            Param::utf8(names::TLS_GROUP_ALGORITHM, self.algorithm),
            Param::unsigned(names::TLS_GROUP_ID, &code_point),
            Param::unsigned(names::TLS_GROUP_SECURITY_BITS, &self.security_bits),
            Param::unsigned(names::TLS_GROUP_IS_KEM, &is_kem),
            Param::integer(names::TLS_GROUP_MIN_TLS, &tls),
            Param::integer(names::TLS_GROUP_MAX_TLS, &NO_LIMIT),
            Param::integer(names::TLS_GROUP_MIN_DTLS, &lowest_dtls),
            Param::integer(names::TLS_GROUP_MAX_DTLS, &highest_dtls),
            Param::END,
        ];
        // SAFETY: the parameters outlive the call, which copies what it keeps.
        unsafe { callback(params.as_ptr(), argument) == 1 }
    }
}
