//! The groups of TLS 1.3 that are not in [`TLS_GROUPS`]: their names and code points, to talk about
//! them.

use crate::{Curve, KeyExchange, P256, P384, TLS_GROUPS, X25519};

/// A group that other software has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherGroup {
    /// Its name, as in a list of groups for libssl.
    pub name: &'static str,
    /// Its code point.
    pub code_point: u16,
    /// Whether a part of it resists quantum computers.
    pub is_post_quantum: bool,
}

const fn classical(name: &'static str, code_point: u16) -> OtherGroup {
    OtherGroup { name, code_point, is_post_quantum: false }
}

const fn post_quantum(name: &'static str, code_point: u16) -> OtherGroup {
    OtherGroup { name, code_point, is_post_quantum: true }
}

/// The other groups that a TLS 1.3 server may have: those of IANA's registry, and the drafts with
/// Kyber that servers took before ML-KEM was a standard. None is in [`TLS_GROUPS`].
pub static OTHER_GROUPS: &[OtherGroup] = &[
    post_quantum("curveSM2MLKEM768", 0x11EE),
    post_quantum("X25519Kyber768Draft00", 0x6399),
    post_quantum("SecP256r1Kyber768Draft00", 0x639A),
    classical("X25519", X25519::CODE_POINT),
    classical(P256::NAME, P256::CODE_POINT),
    classical("X448", 0x001E),
    classical(P384::NAME, P384::CODE_POINT),
    classical("P-521", 0x0019),
    classical("brainpoolP256r1tls13", 0x001F),
    classical("brainpoolP384r1tls13", 0x0020),
    classical("brainpoolP512r1tls13", 0x0021),
    classical("curveSM2", 0x0029),
    classical("ffdhe2048", 0x0100),
    classical("ffdhe3072", 0x0101),
    classical("ffdhe4096", 0x0102),
    classical("ffdhe6144", 0x0103),
    classical("ffdhe8192", 0x0104),
];

/// The names and code points of all groups.
fn all() -> impl Iterator<Item = (&'static str, u16)> {
    let ours = TLS_GROUPS.iter().map(|group| (group.name, group.code_point));
    ours.chain(OTHER_GROUPS.iter().map(|group| (group.name, group.code_point)))
}

/// Whether a part of the group resists quantum computers. False for unknown groups.
pub fn is_post_quantum(code_point: u16) -> bool {
    let other = OTHER_GROUPS.iter().find(|group| group.code_point == code_point);
    other.map_or(TLS_GROUPS.iter().any(|group| group.code_point == code_point), |group| {
        group.is_post_quantum
    })
}

/// The name of the group with this code point; `None` if it is not in a table.
pub fn group_name(code_point: u16) -> Option<&'static str> {
    all().find(|(_, number)| *number == code_point).map(|(name, _)| name)
}

/// The code point of the group called `name`, in upper or lower case; `None` if it is not in a
/// table.
pub fn code_point_named(name: &str) -> Option<u16> {
    all().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, number)| number)
}

/// The name of the group with this code point, or the code point in hexadecimal.
pub fn shown_group(code_point: u16) -> String {
    group_name(code_point).map_or_else(|| format!("{code_point:#06x}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_group_is_in_one_table() {
        let points: HashSet<_> = all().map(|(_, point)| point).collect();
        let names: HashSet<_> = all().map(|(name, _)| name.to_lowercase()).collect();
        assert_eq!((points.len(), names.len()), (all().count(), all().count()));
        for (name, point) in all() {
            assert_eq!((group_name(point), code_point_named(name)), (Some(name), Some(point)));
        }
    }

    #[test]
    fn unknown_groups_are_shown_by_number() {
        assert_eq!(code_point_named("x25519mlkem1024"), None);
        assert_eq!(
            [0x11EC, 0x001D, 0x0017, 0x0A0A].map(shown_group),
            ["X25519MLKEM768", "X25519", "P-256", "0x0a0a"]
        );
        assert_eq!(
            [0x11EC, 0xFEE1, 0x6399, 0x001D, 0x0A0A].map(is_post_quantum),
            [true, true, true, false, false]
        );
    }
}
