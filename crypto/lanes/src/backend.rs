//! The choice of an instruction set when the program runs.

use core::fmt;

#[cfg(target_arch = "x86_64")]
use crate::{Avx2, Avx512};
use crate::{FieldParts, Hardware, Portable};

/// An operation on lanes that are chosen when the program runs.
pub trait Dispatch {
    /// The result of the operation.
    type Output;

    /// Does it on the given lanes.
    fn on<L: Hardware>(self, lanes: L) -> Self::Output;
}

/// An operation on field lanes, if the backend has them.
pub trait FieldDispatch {
    /// The result of the operation.
    type Output;

    /// Does it on the given lanes.
    fn on<L: FieldParts>(self, lanes: L) -> Self::Output;
    /// Runs the operation without lanes: faster than lanes without the instructions for them.
    fn without(self) -> Self::Output;
}

/// An instruction set that this machine has.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// Plain Rust.
    Portable(Portable),
    /// AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// AVX-512.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Backend {
    /// The names that [`Backend::named`] knows, slowest first.
    pub const NAMES: &'static [&'static str] = &["portable", "avx2", "avx512"];

    /// The backends of this machine, slowest first.
    pub fn available() -> impl Iterator<Item = Backend> {
        Self::NAMES.iter().filter_map(|name| Self::named(name).ok())
    }

    /// The fastest backend of this machine.
    pub fn best() -> Backend {
        Self::available().last().unwrap_or(Backend::Portable(Portable))
    }

    /// The backend called `name`, one of [`Backend::NAMES`].
    ///
    /// # Errors
    /// The name is unknown, or this processor lacks the instruction set.
    pub fn named(name: &str) -> Result<Backend, BackendError> {
        match name {
            "portable" => Ok(Backend::Portable(Portable)),
            #[cfg(target_arch = "x86_64")]
            "avx2" => Avx2::detect().map(Backend::Avx2).ok_or(BackendError::Missing("avx2")),
            #[cfg(target_arch = "x86_64")]
            "avx512" => {
                Avx512::detect().map(Backend::Avx512).ok_or(BackendError::Missing("avx512"))
            }
            _ => Err(BackendError::Unknown { name: name.into() }),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Portable(_) => "portable",
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(_) => "avx512",
        }
    }

    /// Runs an operation on this backend's lanes.
    #[inline]
    pub fn run<D: Dispatch>(self, what: D) -> D::Output {
        match self {
            Backend::Portable(lanes) => what.on(lanes),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(lanes) => what.on(lanes),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(lanes) => what.on(lanes),
        }
    }

    /// Runs an operation on this backend's field lanes, or without lanes.
    #[inline]
    pub fn run_field<D: FieldDispatch>(self, what: D) -> D::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2(lanes) => what.on(lanes),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512(lanes) => what.on(lanes),
            Backend::Portable(_) => what.without(),
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
    /// No backend has that name.
    Unknown {
        /// The name asked for.
        name: String,
    },
    /// This processor lacks the instructions.
    Missing(&'static str),
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackendError::Unknown { name } => {
                write!(f, "unknown backend '{name}': expected one of {}", Backend::NAMES.join(", "))
            }
            BackendError::Missing(name) => {
                write!(f, "this processor has no {name}: expected one of ")?;
                let names: Vec<_> = Backend::available().map(Backend::name).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}

impl core::error::Error for BackendError {}
