//! Errors of X25519 and Ed25519.

use core::fmt;

/// Why an operation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An X25519 public key of small order: it would make a shared secret that everybody knows (RFC
    /// 7748, section 6.1).
    SmallOrder,
    /// An Ed25519 public key is the encoding of no point, or, where that is asked for, of one that
    /// must not be used.
    PublicKey,
    /// An Ed25519 signature was not made of this message by this key.
    Signature,
    /// The random source failed.
    RandomSource,
    /// This implementation computes wrong results on this machine.
    SelfCheck {
        /// The operation that failed.
        operation: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::SmallOrder => f.write_str("X25519 public key has small order"),
            Error::PublicKey => f.write_str("Ed25519 public key is no point that may be used"),
            Error::Signature => f.write_str("Ed25519 signature does not belong to message and key"),
            Error::RandomSource => f.write_str("the random source failed"),
            Error::SelfCheck { operation } => {
                write!(f, "self-check: {operation} gives a wrong result on this machine")
            }
        }
    }
}

impl core::error::Error for Error {}
