//! The sides of a TLS connection, and the versions of TLS.

use std::ffi::c_int;

use crate::constants::{TLS1_2_VERSION, TLS1_3_VERSION};

/// The side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The side that opens the connection.
    Client,
    /// The side that answers.
    Server,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsVersion {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

impl TlsVersion {
    pub(crate) fn number(self) -> c_int {
        match self {
            Self::Tls12 => TLS1_2_VERSION,
            Self::Tls13 => TLS1_3_VERSION,
        }
    }

    pub(crate) fn from_number(number: c_int) -> Option<Self> {
        [Self::Tls12, Self::Tls13].into_iter().find(|version| version.number() == number)
    }
}
