//! The variants of Ed25519 (RFC 8032, section 5.1).

use sha2::{Digest, Sha512};

/// The longest context.
pub const MAX_CONTEXT_BYTES: usize = 255;
/// Bytes of the hash that Ed25519ph signs.
pub const PREHASH_BYTES: usize = 64;

/// The beginning of the domain prefix of the variants Ed25519ctx and Ed25519ph; plain Ed25519 has
/// none (`dom2` in RFC 8032, section 2).
const DOMAIN: &[u8; 32] = b"SigEd25519 no Ed25519 collisions";

/// Ed25519 or one of its variants. Signatures of one are none of another, nor of another context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Empty, or [`DOMAIN`], whether the message is a hash, and the context with its length.
    domain: Vec<u8>, // Public: the caller's context.
}

impl Instance {
    /// Ed25519: no context, and the message as it is.
    pub fn pure() -> Self {
        Instance { domain: Vec::<u8>::new() } // Public: as above.
    }

    /// Ed25519ctx. `None` if the context is longer than [`MAX_CONTEXT_BYTES`], or empty, which this
    /// variant is not made for.
    pub fn with_context(context: &[u8]) -> Option<Self> {
        if context.is_empty() { None } else { Self::in_domain(false, context) }
    }

    /// Ed25519ph, for messages that are [`prehash`]ed. `None` if the context is longer than
    /// [`MAX_CONTEXT_BYTES`].
    pub fn prehashed(context: &[u8]) -> Option<Self> {
        Self::in_domain(true, context)
    }

    fn in_domain(prehashed: bool, context: &[u8]) -> Option<Self> {
        let length = u8::try_from(context.len()).ok()?;
        Some(Instance { domain: [DOMAIN, &[u8::from(prehashed), length][..], context].concat() }) // Public: as above.
    }

    pub(crate) fn domain(&self) -> &[u8] {
        &self.domain
    }
}

/// The hash of a message, which Ed25519ph signs.
pub fn prehash(message: &[u8]) -> [u8; PREHASH_BYTES] {
    Sha512::digest(message).into()
}
