//! The groups that the commands know: fastkex's, and OpenSSL's for comparison.

use kex::TLS_GROUPS;

/// A TLS group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) code_point: u16,
    /// Bytes of the client's key share.
    pub(crate) client_bytes: usize,
    /// Bytes of the server's key share.
    pub(crate) server_bytes: usize,
}

/// OpenSSL's groups (RFC 8446, sections 4.2.7 and 4.2.8.2).
const OPENSSLS: [Group; 2] = [
    Group { name: "X25519", code_point: 0x001D, client_bytes: 32, server_bytes: 32 },
    Group { name: "P-256", code_point: 0x0017, client_bytes: 65, server_bytes: 65 },
];

/// Returns fastkex's groups.
pub(crate) fn ours() -> impl Iterator<Item = Group> {
    TLS_GROUPS.iter().map(|group| Group {
        name: group.name,
        code_point: group.code_point,
        client_bytes: group.public_key_bytes,
        server_bytes: group.ciphertext_bytes,
    })
}

/// Returns the group called `name`.
pub(crate) fn named(name: &str) -> Option<Group> {
    ours().chain(OPENSSLS).find(|group| group.name.eq_ignore_ascii_case(name))
}

pub(crate) use kex::shown_group as name_of;
