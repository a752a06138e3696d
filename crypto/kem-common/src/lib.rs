//! Types and functions that the libraries of key encapsulation mechanisms share: arrays whose size
//! depends on a parameter set, errors, shared secrets, erasure and declassification.

#![forbid(unsafe_code)]

mod array;
mod erase;
mod error;
mod operations;
mod public;
mod random;
mod shared_secret;

pub use array::{Array, Element};
pub use erase::{Erase, wipe};
pub use error::{Error, Object};
pub use public::{public, public_bytes};
pub use random::Source;
pub use shared_secret::{SHARED_SECRET_BYTES, SharedSecret};
