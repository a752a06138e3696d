use core::fmt;

use crate::{Lanes, Portable};

/// Something to do on lanes that are chosen when the program runs.
pub trait Dispatch {
    /// What it returns.
    type Output;

    /// Does it on the given lanes.
    fn on<L: Lanes<Word = i16>>(self, lanes: L) -> Self::Output;
}

/// One instruction set of this machine.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// Plain Rust.
    Portable(Portable),
}

impl Backend {
    /// The names that [`Backend::named`] knows, slowest first.
    pub const NAMES: &'static [&'static str] = &["portable"];

    /// The backends of this machine, slowest first.
    pub fn available() -> impl Iterator<Item = Backend> {
        Self::NAMES.iter().filter_map(|name| Self::named(name).ok())
    }

    /// The fastest backend of this machine.
    pub fn best() -> Backend {
        Backend::Portable(Portable)
    }

    /// The backend called `name`, one of [`Backend::NAMES`].
    ///
    /// # Errors
    /// The name is unknown, or this processor lacks the instruction set.
    pub fn named(name: &str) -> Result<Backend, BackendError> {
        match name {
            "portable" => Ok(Backend::Portable(Portable)),
            _ => Err(BackendError::Unknown { name: name.into() }),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Portable(_) => "portable",
        }
    }

    /// Does `what` on this backend's lanes.
    #[inline]
    pub fn run<D: Dispatch>(self, what: D) -> D::Output {
        match self {
            Backend::Portable(lanes) => what.on(lanes),
        }
    }
}

impl Default for Backend {
    fn default() -> Self {
        Self::best()
    }
}

/// Why there is no such backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackendError {
    /// Nothing of that name exists.
    Unknown {
        /// The name asked for.
        name: String,
    },
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackendError::Unknown { name } => {
                write!(f, "unknown backend '{name}': expected one of {}", Backend::NAMES.join(", "))
            }
        }
    }
}

impl core::error::Error for BackendError {}
