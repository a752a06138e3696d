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

/// Whether libssl leaves out groups whose algorithm comes from another provider than the one that
/// announces them. If so, and if the module's X25519 is used, the default provider's group is left
/// out, and the module must announce it instead.
pub(crate) fn groups_are_of_their_provider(core: &Core) -> bool {
    Release::of(core).is_some_and(|release| release < ANY_PROVIDERS)
}

/// Calls `callback` for each group; returns whether all calls succeeded.
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
        if !provider.groups.contains(group) {
            return true;
        }
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
