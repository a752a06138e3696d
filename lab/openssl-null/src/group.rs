//! The groups and their key shares.

use core::ffi::{CStr, c_uint};

use kex::{Sntrup, TlsGroup, TlsKem};
use sntrup::Sntrup761;

/// A TLS group without computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NullGroup {
    /// The name of the group and of its algorithm.
    pub name: &'static CStr,
    /// The description for users.
    pub description: &'static CStr,
    /// The code point: for private use, like the code points of `kex`, and different from all of
    /// them.
    pub code_point: u16,
    /// Bytes of the client's key share.
    pub client_bytes: usize,
    /// Bytes of the server's key share.
    pub server_bytes: usize,
}

/// The group of an implementation's functions.
pub(crate) trait NullSize: 'static {
    /// The group.
    const GROUP: &'static NullGroup;
}

/// Key shares as large as the key shares of sntrup761.
pub(crate) struct Large;

/// Key shares as small as the smallest of real groups.
pub(crate) struct Small;

const SNTRUP761: &TlsGroup = Sntrup::<Sntrup761>::GROUP;

impl NullSize for Large {
    const GROUP: &'static NullGroup = &NullGroup {
        name: c"insecure-null",
        description: c"INSECURE: constants as large as the key shares of sntrup761",
        code_point: 0xFEF0,
        client_bytes: SNTRUP761.public_key_bytes,
        server_bytes: SNTRUP761.ciphertext_bytes,
    };
}

impl NullSize for Small {
    const GROUP: &'static NullGroup = &NullGroup {
        name: c"insecure-null-small",
        description: c"INSECURE: constants as large as the key shares of X25519",
        code_point: 0xFEF1,
        client_bytes: 32,
        server_bytes: 32,
    };
}

/// Both groups: first the one with key shares as large as sntrup761's, then as large as X25519's.
pub const GROUPS: [&NullGroup; 2] = [Large::GROUP, Small::GROUP];

/// The security in bits that libssl is told, which is false. With it libssl accepts the groups at
/// its usual security levels.
pub(crate) const PRETENDED_SECURITY_BITS: c_uint = 128;

/// The constant of which every key share and shared secret is a prefix. An eavesdropper knows it.
static CONSTANT: [u8; MOST_BYTES] = {
    let word = b"INSECURE";
    let mut bytes = [0; MOST_BYTES];
    let mut i = 0;
    while i < MOST_BYTES {
        bytes[i] = word[i % word.len()];
        i += 1;
    }
    bytes
};

const MOST_BYTES: usize = if SNTRUP761.public_key_bytes > SNTRUP761.ciphertext_bytes {
    SNTRUP761.public_key_bytes
} else {
    SNTRUP761.ciphertext_bytes
};

impl NullGroup {
    /// Returns the client's key share, the encoded public key.
    pub(crate) fn client_share(&self) -> &'static [u8] {
        &CONSTANT[..self.client_bytes]
    }

    /// Returns the server's key share, the ciphertext.
    pub(crate) fn server_share(&self) -> &'static [u8] {
        &CONSTANT[..self.server_bytes]
    }

    /// Returns the shared secret, which is public.
    pub(crate) fn secret(&self) -> &'static [u8] {
        &CONSTANT[..SNTRUP761.shared_secret_bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_keep_clear_of_the_real_ones() {
        for (index, group) in GROUPS.iter().enumerate() {
            assert!(kex::PRIVATE_CODE_POINTS.contains(&group.code_point));
            assert!(kex::TLS_GROUPS.iter().all(|real| real.code_point != group.code_point));
            assert!(GROUPS[..index].iter().all(|other| other.code_point != group.code_point));
            assert!(group.name.to_str().unwrap().starts_with("insecure"));
            assert!(kex::group_named(group.name.to_str().unwrap()).is_none());
        }
        let sntrup761 = kex::group_named("sntrup761").unwrap();
        let shares = (GROUPS[0].client_share().len(), GROUPS[0].server_share().len());
        assert_eq!(shares, (sntrup761.public_key_bytes, sntrup761.ciphertext_bytes));
        assert_eq!(GROUPS[1].secret().len(), sntrup761.shared_secret_bytes);
    }
}
