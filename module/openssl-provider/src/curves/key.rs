use crate::curves::{KEY_BYTES, Scheme};
use crate::key::SharedKey;

/// A key's contents: immutable, so that operations in progress keep what they began with.
pub(super) enum KeyMaterial<S: Scheme> {
    /// As it came: what is wrong with it shows when it is used, as with the default provider.
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

/// A key of one of the two.
pub(super) type Key<S> = SharedKey<KeyMaterial<S>>;

impl<S: Scheme> Key<S> {
    /// Puts an error about the key into OpenSSL's queue.
    #[track_caller]
    pub(super) fn raise(&self, reason: u32, message: &str) {
        self.provider().core.raise(reason, &format!("{}: {message}", S::NAME));
    }
}
