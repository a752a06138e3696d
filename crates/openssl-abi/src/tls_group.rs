use core::ffi::{CStr, c_int, c_uint, c_void};

use crate::{Callback, Param, names};

/// A TLS group as the `TLS-GROUP` capability tells libssl of it: a KEM that is an algorithm of the same name, for TLS 1.3 only.
#[derive(Clone, Copy, Debug)]
pub struct TlsGroup<'a> {
    /// Its name.
    pub name: &'a CStr,
    /// Its code point.
    pub code_point: u16,
    /// Its security in bits.
    pub security_bits: c_uint,
}

const TLS_1_3: c_int = 0x0304;
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
        let (code_point, is_kem): (c_uint, c_uint) = (self.code_point.into(), 1);
        let params = [
            Param::utf8(names::TLS_GROUP_NAME, self.name),
            Param::utf8(names::TLS_GROUP_NAME_INTERNAL, self.name),
            Param::utf8(names::TLS_GROUP_ALGORITHM, self.name),
            Param::unsigned(names::TLS_GROUP_ID, &code_point),
            Param::unsigned(names::TLS_GROUP_SECURITY_BITS, &self.security_bits),
            Param::unsigned(names::TLS_GROUP_IS_KEM, &is_kem),
            Param::integer(names::TLS_GROUP_MIN_TLS, &TLS_1_3),
            Param::integer(names::TLS_GROUP_MAX_TLS, &NO_LIMIT),
            Param::integer(names::TLS_GROUP_MIN_DTLS, &NOT_AT_ALL),
            Param::integer(names::TLS_GROUP_MAX_DTLS, &NOT_AT_ALL),
            Param::END,
        ];
        // SAFETY: the parameters outlive the call, which copies what it keeps.
        unsafe { callback(params.as_ptr(), argument) == 1 }
    }
}
