use core::fmt;

/// Why an operation was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The input has the wrong size.
    Length {
        /// What was read: `"sntrup761 public key"`.
        what: What,
        /// Its size in bytes.
        expected: usize,
        /// The size of the input in bytes.
        actual: usize,
    },
    /// The input has the right size but is not the encoding of anything.
    NotCanonical {
        /// What was read.
        what: What,
    },
    /// The parts of a secret key do not belong together.
    Inconsistent {
        /// What was read.
        what: What,
    },
    /// The random source failed, or gave output that no random source would give.
    RandomSource,
}

/// A kind of object of one parameter set, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct What {
    /// The parameter set's name.
    pub parameter_set: &'static str,
    /// `"public key"`, `"secret key"` or `"ciphertext"`.
    pub object: &'static str,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.parameter_set, self.object)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Length { what, expected, actual } => {
                write!(f, "{what} of {actual} bytes: expected {expected}")
            }
            Error::NotCanonical { what } => {
                write!(f, "{what} is not canonically encoded")
            }
            Error::Inconsistent { what } => {
                write!(f, "{what} is inconsistent: its parts do not belong together")
            }
            Error::RandomSource => f.write_str("the random source failed"),
        }
    }
}

impl core::error::Error for Error {}
