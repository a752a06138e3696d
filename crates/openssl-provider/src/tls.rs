//! The `TLS-GROUP` capability: tells libssl which groups there are.

use core::ffi::c_void;
use std::ffi::CString;

use kex::TLS_GROUPS;
use openssl_abi::{Callback, GroupKind, TlsGroup};

use crate::provider::Provider;

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
        let group = TlsGroup {
            name: &name,
            algorithm: &name,
            code_point,
            security_bits: group.security_bits,
            kind: GroupKind::Kem,
        };
        // SAFETY: by the caller's promise.
        unsafe { group.announce(callback, argument) }
    })
}
