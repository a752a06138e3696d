//! Errors of key encapsulation and key exchange.

use core::fmt;

/// Why a key, a ciphertext or an operation was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The input has the wrong size.
    Length {
        /// `"public key"`, `"secret key"` or `"ciphertext"`.
        object: &'static str,
        /// Its size in bytes.
        expected: usize,
        /// The size of the input in bytes.
        actual: usize,
    },
    /// An X25519 public key of small order: it would make a shared secret that everybody knows (RFC
    /// 7748, section 6.1).
    SmallOrder,
    /// A public key that is no point of the curve in uncompressed form.
    NotOnCurve {
        /// Name of the curve.
        curve: &'static str,
    },
    /// A secret key that is zero, or not below the order of the curve's group.
    OutOfRange {
        /// Name of the curve.
        curve: &'static str,
    },
    /// Refused by Streamlined NTRU Prime or ML-KEM.
    Kem(sntrup::Error),
    /// The random source failed.
    RandomSource,
}

impl Error {
    /// Checks the size of `bytes`.
    pub(crate) fn check_length(
        object: &'static str,
        expected: usize,
        bytes: &[u8],
    ) -> Result<(), Error> {
        if bytes.len() == expected {
            Ok(())
        } else {
            Err(Error::Length { object, expected, actual: bytes.len() })
        }
    }
}

impl From<sntrup::Error> for Error {
    fn from(error: sntrup::Error) -> Self {
        match error {
            sntrup::Error::RandomSource => Error::RandomSource,
            error => Error::Kem(error),
        }
    }
}

impl From<curve25519::Error> for Error {
    fn from(error: curve25519::Error) -> Self {
        match error {
            curve25519::Error::SmallOrder => Error::SmallOrder,
            // An exchange has no other errors.
            _ => Error::RandomSource,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Length { object, expected, actual } => {
                write!(f, "{object} of {actual} bytes: expected {expected}")
            }
            Error::SmallOrder => f.write_str("X25519 public key has small order"),
            Error::NotOnCurve { curve } => {
                write!(f, "{curve} public key: expected an uncompressed point of the curve")
            }
            Error::OutOfRange { curve } => {
                write!(f, "{curve} secret key: expected a number between 0 and the group's order")
            }
            Error::Kem(error) => error.fmt(f),
            Error::RandomSource => f.write_str("the random source failed"),
        }
    }
}

impl core::error::Error for Error {}
