//! Errors of the reference implementation.

use std::fmt;

/// An invalid input, and what would be valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// An input of the wrong length.
    WrongLength {
        /// The input, such as "public key".
        what: &'static str,
        /// The unit of its length: "bytes" or "coefficients".
        unit: &'static str,
        /// The only right length.
        expected: usize,
        /// The length it had.
        actual: usize,
    },
    /// A byte string that no Small polynomial encodes to: a coefficient whose two bits are 11, or
    /// a nonzero bit after the last coefficient.
    NotSmallEncoded {
        /// The input, such as "f in the secret key".
        what: &'static str,
        /// The offset, in bytes, of the first wrong byte.
        offset: usize,
    },
    /// A polynomial with a coefficient other than -1, 0 and 1.
    NotSmall {
        /// The input, such as "r".
        what: &'static str,
        /// The exponent of the first such coefficient.
        exponent: usize,
    },
    /// A Small polynomial of the wrong weight.
    NotShort {
        /// The input, such as "r".
        what: &'static str,
        /// w, the number of nonzero coefficients of a Short polynomial.
        expected: usize,
        /// The number of nonzero coefficients it had.
        actual: usize,
    },
    /// A g without an inverse in R/3, from which no key can be made.
    NotInvertible,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::WrongLength { what, unit, expected, actual } => {
                write!(f, "{what} has {actual} {unit}, expected {expected}")
            }
            Error::NotSmallEncoded { what, offset } => write!(
                f,
                "{what} is no encoding of a Small polynomial at byte {offset}, \
                 expected pairs of bits 00, 01 or 10 and then zeros"
            ),
            Error::NotSmall { what, exponent } => write!(
                f,
                "{what} is not Small at exponent {exponent}, expected coefficients -1, 0 or 1"
            ),
            Error::NotShort { what, expected, actual } => {
                write!(f, "{what} has {actual} nonzero coefficients, expected {expected}")
            }
            Error::NotInvertible => {
                write!(f, "g has no inverse modulo 3, expected an invertible one: draw again")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Checks a length, in bytes.
pub(super) fn check_bytes(what: &'static str, bytes: &[u8], expected: usize) -> Result<(), Error> {
    if bytes.len() == expected {
        Ok(())
    } else {
        Err(Error::WrongLength { what, unit: "bytes", expected, actual: bytes.len() })
    }
}
