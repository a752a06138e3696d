//! Keys of X25519 and Ed25519.

use crate::curves::{KEY_BYTES, Scheme};
use crate::key::SharedKey;

/// The contents of a key. They are immutable: operations in progress go on with the contents that
/// they started with.
pub(super) enum KeyMaterial<S: Scheme> {
    /// Any 32 bytes. A bad point shows when it is used, as with the default provider.
    Public([u8; KEY_BYTES]),
    Pair(S::Pair),
}

impl<S: Scheme> KeyMaterial<S> {
    pub(super) fn public(&self) -> &[u8; KEY_BYTES] {
        match self {
            KeyMaterial::Public(public) => public,
            KeyMaterial::Pair(pair) => S::public(pair),
        }
    }

    pub(super) fn pair(&self) -> Option<&S::Pair> {
        match self {
            KeyMaterial::Public(_) => None,
            KeyMaterial::Pair(pair) => Some(pair),
        }
    }
}

/// A key of `S`.
pub(super) type Key<S> = SharedKey<KeyMaterial<S>>;

impl<S: Scheme> Key<S> {
    /// Adds an error about the key to OpenSSL's queue.
    #[track_caller]
    pub(super) fn raise(&self, reason: u32, message: &str) {
        self.provider().core.raise(reason, &format!("{}: {message}", S::NAME));
    }
}
