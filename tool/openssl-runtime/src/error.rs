//! The crate's errors.

use std::path::PathBuf;
use std::{fmt, io};

use crate::failure::Failure;
use crate::summary::Summary;

/// The error of a failed call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No usable libssl and libcrypto were found; contains each attempt with the loader's message.
    NotFound(Vec<String>),
    /// A library file could not be loaded; contains the loader's reason.
    Load {
        /// The requested file or name.
        path: PathBuf,
        /// The dynamic loader's message.
        reason: String,
    },
    /// The library is older than OpenSSL 1.1.1, or not OpenSSL's.
    Unsupported {
        /// The file that was loaded.
        path: PathBuf,
        /// The version that the library reports, or a description.
        found: String,
    },
    /// The library lacks a function that every OpenSSL of its version has.
    MissingSymbol {
        /// The libcrypto that was loaded.
        path: PathBuf,
        /// The function's name.
        symbol: &'static str,
    },
    /// libssl was bound to another libcrypto than the requested one. A process can hold only one
    /// library of each soname, so each OpenSSL of the same major version needs a process of its
    /// own.
    MixedLibraries {
        /// The requested libcrypto.
        wanted: PathBuf,
        /// The libcrypto that libssl uses.
        bound: PathBuf,
    },
    /// An OpenSSL function failed.
    OpenSsl(Failure),
    /// No active provider implements the operation; contains the operation as the end of "no active
    /// provider can ...".
    NoImplementation(String),
    /// A TLS handshake failed; contains the state of this side.
    Handshake(Box<Summary>),
    /// An argument cannot be passed on to OpenSSL; contains the reason.
    Input(String),
    /// Reading or writing a file or stream failed.
    Io(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(tried) => write!(
                f,
                "no OpenSSL 3.0 or later found; install it (Debian: apt-get install libssl3) or name its files; tried: {}",
                tried.join("; ")
            ),
            Self::Load { path, reason } => write!(f, "cannot load {}: {reason}", path.display()),
            Self::Unsupported { path, found } => {
                write!(
                    f,
                    "{} is {found}; OpenSSL 3.0 or later is needed, or 1.1.1 for clients with ENGINEs",
                    path.display()
                )
            }
            Self::MissingSymbol { path, symbol } => {
                write!(f, "{} or its libssl has no function {symbol}", path.display())
            }
            Self::MixedLibraries { wanted, bound } => write!(
                f,
                "libssl uses {} which this process already holds, not {}; use one process for each OpenSSL",
                bound.display(),
                wanted.display()
            ),
            Self::OpenSsl(failure) => failure.fmt(f),
            Self::NoImplementation(what) => write!(f, "no active provider can {what}"),
            Self::Handshake(summary) => summary.fmt(f),
            Self::Input(text) => f.write_str(text),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::OpenSsl(failure)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Io(error) => error,
            other => Self::other(other),
        }
    }
}
