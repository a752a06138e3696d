//! The scheme's hashes: the first half of SHA-512, with a one-byte prefix (round-3 specification, section 4.2).

use lanes::Lanes;
use sha2::{Digest, Sha512};
use zeroize::Zeroizing;

use crate::params::HASH_BYTES;

/// What is hashed; the value is the prefix.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Purpose {
    /// The session key of a rejected ciphertext.
    Rejection = 0,
    /// The session key.
    Session = 1,
    /// The confirmation inside the ciphertext.
    Confirmation = 2,
    /// An encoded Small.
    Small = 3,
    /// A public key.
    PublicKey = 4,
}

pub(crate) type Hash = Zeroizing<[u8; HASH_BYTES]>;

/// The hash of the concatenation of `parts`.
pub(crate) fn hash(purpose: Purpose, parts: &[&[u8]]) -> Hash {
    hash_prefixed(purpose as u8, parts)
}

/// The hashes of `messages`, all of the same length, in the same order.
pub(crate) fn hash_all<L: Lanes>(_: L, purpose: Purpose, messages: &[&[u8]]) -> Vec<Hash> {
    messages.iter().map(|message| hash(purpose, &[message])).collect()
}

/// The session key, or the rejection key where `rejected` is all ones; the prefix is a secret.
pub(crate) fn session_hash(rejected: u8, parts: &[&[u8]]) -> Hash {
    let prefix =
        Purpose::Session as u8 ^ (rejected & (Purpose::Session as u8 ^ Purpose::Rejection as u8));
    hash_prefixed(prefix, parts)
}

fn hash_prefixed(prefix: u8, parts: &[&[u8]]) -> Hash {
    let mut state = Sha512::new();
    state.update([prefix]);
    for part in parts {
        state.update(part);
    }
    let mut digest = Zeroizing::new([0; 64]);
    state.finalize_into((&mut *digest).into());
    let mut result = Zeroizing::new([0; HASH_BYTES]);
    result.copy_from_slice(&digest[..HASH_BYTES]);
    result
}
