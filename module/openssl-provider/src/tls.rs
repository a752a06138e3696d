//! The `TLS-GROUP` capability: describes the module's groups to libssl.

use core::ffi::c_void;
use std::ffi::CString;

use kex::TLS_GROUPS;
use openssl_abi::{Callback, Core, GroupKind, TlsGroup};

use crate::context::Provider;
use crate::release::Release;

const X25519_CODE_POINT: u16 = 0x001d;
const X25519_SECURITY_BITS: u32 = 128;
/// The first release whose libssl accepts a group from any provider.
const ANY_PROVIDERS: Release = Release::new(3, 5);
/// The first release whose default provider has ML-KEM.
const WITH_ML_KEM: Release = Release::new(3, 5);

/// Whether libssl leaves out groups whose algorithm comes from another provider than the one that
/// announces them. If so, and if the module's X25519 is used, the default provider's group is left
/// out, and the module must announce it instead.
pub(crate) fn groups_are_of_their_provider(core: &Core) -> bool {
    Release::of(core).is_some_and(|release| release < ANY_PROVIDERS)
}

/// Whether the default provider has the groups of ML-KEM and announces them. libssl then fetches
/// their algorithms from any provider: a group that two announce would be in its list twice.
pub(crate) fn openssl_has_ml_kem(core: &Core) -> bool {
    Release::of(core).is_some_and(|release| release >= WITH_ML_KEM)
}

/// Calls `callback` for each group that libssl does not have; returns whether all calls succeeded.
///
/// # Safety
/// `callback` may be called with `argument`.
pub(crate) unsafe fn announce(
    provider: &Provider,
    callback: Callback,
    argument: *mut c_void,
) -> bool {
    let x25519 = TlsGroup {
        name: c"x25519",
        algorithm: c"X25519",
        code_point: X25519_CODE_POINT,
        security_bits: X25519_SECURITY_BITS,
        kind: GroupKind::KeyExchange,
    };
    // SAFETY: by the caller's promise.
    if provider.announces_x25519 && !unsafe { x25519.announce(callback, argument) } {
        return false;
    }
    TLS_GROUPS.iter().zip(&provider.code_points).all(|(group, &code_point)| {
        let is_announced = group.is_private() || provider.announces_ml_kem;
        if !is_announced || !provider.groups.contains(group) {
            return true;
        }
        let (Ok(name), Ok(algorithm)) = (CString::new(group.name), CString::new(group.algorithm()))
        else {
            return false;
        };
        let group = TlsGroup {
            name: &name,
            algorithm: &algorithm,
            code_point,
            security_bits: group.security_bits,
            kind: GroupKind::Kem,
        };
        // SAFETY: by the caller's promise.
        unsafe { group.announce(callback, argument) }
    })
}
