//! X25519 and Ed25519: faster versions of the default provider's algorithms, under the same names.
//! libcrypto passes keys between the two providers by export and import, so encoders, decoders and
//! everything built on them stay libcrypto's.

mod dhkem;
mod exchange;
mod key;
mod scheme;
mod signature;

pub(crate) use exchange::Exchange;
pub(crate) use scheme::{Ed25519, Scheme, X25519};
pub(crate) use signature::Signature;
