//! Errors of key encapsulation mechanisms.

use core::fmt;

/// Why an operation was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The input has the wrong size.
    Length {
        /// The kind of object that was read: `"sntrup761 public key"`.
        object: Object,
        /// Its size in bytes.
        expected: usize,
        /// The size of the input in bytes.
        actual: usize,
    },
    /// The input has the right size but is not the encoding of anything.
    NotCanonical {
        /// The kind of object that was read.
        object: Object,
    },
    /// The parts of a secret key do not belong together.
    Inconsistent {
        /// The kind of object that was read.
        object: Object,
    },
    /// The random source failed, or gave output that no random source would give.
    RandomSource,
}

/// A kind of object of one parameter set, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// The parameter set's name.
    pub parameter_set: &'static str,
    /// `"public key"`, `"secret key"` or `"ciphertext"`.
    pub kind: &'static str,
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.parameter_set, self.kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Length { object, expected, actual } => {
                write!(f, "{object} of {actual} bytes: expected {expected}")
            }
            Error::NotCanonical { object } => {
                write!(f, "{object} is not canonically encoded")
            }
            Error::Inconsistent { object } => {
                write!(f, "{object} is inconsistent: its parts do not belong together")
            }
            Error::RandomSource => f.write_str("the random source failed"),
        }
    }
}

impl core::error::Error for Error {}
