//! The crate's errors, with OpenSSL's messages.

use std::ffi::{CStr, c_char, c_ulong};
use std::path::PathBuf;
use std::{fmt, io, ptr};

use crate::absent;
use crate::connection::Summary;
use crate::symbols::Symbols;

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

/// A failed OpenSSL call: the operation, and the thread's error queue right after it, oldest entry
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The operation, as the end of "cannot ...".
    pub operation: String,
    /// OpenSSL's error queue; empty for failures that OpenSSL does not explain.
    pub queue: Vec<QueueEntry>,
}

impl Failure {
    /// Drains the thread's error queue; to be called right after the failing call.
    pub(crate) fn drain(symbols: &Symbols, operation: impl Into<String>) -> Self {
        let mut queue = Vec::from_iter(absent::take().map(|function| QueueEntry {
            code: 0,
            library: None,
            reason: Some(format!("this OpenSSL has no function {function}")),
            function: Some(function.into()),
            data: None,
        }));
        while let Some(entry) = QueueEntry::pop(symbols) {
            queue.push(entry);
        }
        Self { operation: operation.into(), queue }
    }

    /// True if an entry of the queue has this reason text.
    pub fn has_reason(&self, reason: &str) -> bool {
        self.queue.iter().any(|entry| entry.reason.as_deref() == Some(reason))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.operation)?;
        if self.queue.is_empty() {
            return f.write_str(" (OpenSSL gives no reason)");
        }
        for (index, entry) in self.queue.iter().enumerate() {
            write!(f, "{}{entry}", if index == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// One entry of OpenSSL's error queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// OpenSSL's packed number, which contains library and reason.
    pub code: u64,
    /// The library or provider that raised the error, such as "SSL routines".
    pub library: Option<String>,
    /// The reason, such as "wrong version number".
    pub reason: Option<String>,
    /// The C function that raised the error.
    pub function: Option<String>,
    /// Details of the error, such as a file name.
    pub data: Option<String>,
}

impl QueueEntry {
    fn pop(symbols: &Symbols) -> Option<Self> {
        let (mut function, mut data) = (ptr::null(), ptr::null());
        // SAFETY: the out pointers are valid; null is allowed for unused ones.
        let code = unsafe {
            (symbols.ERR_get_error_all)(
                ptr::null_mut(),
                ptr::null_mut(),
                &mut function,
                &mut data,
                ptr::null_mut(),
            )
        };
        if code == 0 {
            return None;
        }
        Some(Self {
            code: widen(code),
            // SAFETY: looks up a number; the result is null or a string that lasts as long as the
            // library or provider.
            library: unsafe { text((symbols.ERR_lib_error_string)(code)) },
            // SAFETY: as above.
            reason: unsafe { text((symbols.ERR_reason_error_string)(code)) },
            // SAFETY: both strings belong to the popped entry, which lasts until the next error is
            // raised.
            function: unsafe { text(function) },
            // SAFETY: as above.
            data: unsafe { text(data) },
        })
    }
}

impl fmt::Display for QueueEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => f.write_str(reason)?,
            None => write!(f, "error {:08X}", self.code)?,
        }
        if let Some(library) = &self.library {
            write!(f, " ({library})")?;
        }
        if let Some(data) = &self.data {
            write!(f, ": {data}")?;
        }
        Ok(())
    }
}

/// Converts to 64 bits: `unsigned long` has only 32 bits on some platforms.
#[allow(clippy::useless_conversion)]
fn widen(code: c_ulong) -> u64 {
    code.into()
}

/// Copies a C string; `None` for a null pointer or an empty string.
///
/// # Safety
///
/// `pointer` is null or a string that ends in NUL and stays unchanged during the call.
pub(crate) unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller vouches for the rest.
    let text = unsafe { CStr::from_ptr(pointer) }.to_string_lossy();
    (!text.is_empty()).then(|| text.into_owned())
}
