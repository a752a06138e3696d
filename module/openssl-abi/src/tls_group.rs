use core::ffi::{CStr, c_int, c_uint, c_void};

use crate::{Callback, Param, names};

/// A TLS group as the `TLS-GROUP` capability tells libssl of it.
#[derive(Clone, Copy, Debug)]
pub struct TlsGroup<'a> {
    /// Its name.
    pub name: &'a CStr,
    /// That of its algorithm.
    pub algorithm: &'a CStr,
    /// Its code point.
    pub code_point: u16,
    /// Its security in bits.
    pub security_bits: c_uint,
    /// What it is.
    pub kind: GroupKind,
}

/// What a TLS group is, and which versions have it.
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
    /// The capability's name.
    pub const CAPABILITY: &'static CStr = c"TLS-GROUP";

    /// Calls `callback` with the group, and says whether it took it.
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
