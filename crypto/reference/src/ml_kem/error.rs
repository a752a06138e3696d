//! Errors of the input checks.

use super::Q;
use std::fmt;

/// An invalid input, and what would be valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// An input of the wrong length (the type checks of sections 7.2 and 7.3).
    WrongLength {
        /// The input, such as "encapsulation key".
        what: &'static str,
        /// The only right length in bytes.
        expected: usize,
        /// The length in bytes that it had.
        actual: usize,
    },
    /// An encapsulation key with a coefficient that is not below q (the modulus check of section
    /// 7.2).
    NotReduced {
        /// The index of the first such coefficient in t_hat: 256 i + j for coefficient j of
        /// polynomial i.
        index: usize,
        /// Its value, at least q.
        value: u16,
    },
    /// A decapsulation key that does not hold the hash of the encapsulation key in it (the hash
    /// check of section 7.3).
    WrongHash,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::WrongLength { what, expected, actual } => {
                write!(f, "{what} has {actual} bytes, expected {expected}")
            }
            Error::NotReduced { index, value } => write!(
                f,
                "coefficient {index} of the encapsulation key is {value}, expected less than {Q}"
            ),
            Error::WrongHash => write!(
                f,
                "hash in the decapsulation key differs, \
                 expected SHA3-256 of the encapsulation key in it"
            ),
        }
    }
}

impl std::error::Error for Error {}

/// Checks a length, in bytes.
pub(super) fn check_bytes(what: &'static str, bytes: &[u8], expected: usize) -> Result<(), Error> {
    if bytes.len() == expected {
        Ok(())
    } else {
        Err(Error::WrongLength { what, expected, actual: bytes.len() })
    }
}
