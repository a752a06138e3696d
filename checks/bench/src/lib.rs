//! Independent implementations of fastkex's algorithms, and fastkex itself, behind one interface
//! for each kind, with their measurement.

#![forbid(unsafe_code)]

pub mod comparison;
pub mod exchange;
#[cfg(feature = "handshakes")]
pub mod handshake;
pub mod kem;
pub mod openssl;
pub mod report;
pub mod signature;
pub mod versions;
