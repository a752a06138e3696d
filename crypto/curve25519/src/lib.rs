//! X25519 (RFC 7748) and Ed25519 (RFC 8032), with batch key generation.
//!
//! An instruction set is a [`Backend`] chosen at run time, and the random source is an argument:
//!
//! ```
//! use curve25519::{Backend, ed25519, x25519};
//! # let mut random = reference::drbg::Drbg::new(&[7; 48]);
//! let backend = Backend::best();
//! let mut keys = x25519::generate_batch(backend, &mut random, 8)?;
//! let (ours, theirs) = (keys.pop().unwrap(), keys.pop().unwrap());
//! let one = x25519::shared_secret(backend, &ours.secret, &theirs.public)?;
//! let other = x25519::shared_secret(backend, &theirs.secret, &ours.public)?;
//! assert_eq!(one.as_bytes(), other.as_bytes());
//!
//! let key = ed25519::SigningKey::from_seed(backend, &[1; 32]);
//! let signature = ed25519::sign(backend, &key, b"message");
//! ed25519::verify(backend, key.verifying_key(), &signature, b"message")?;
//! # Ok::<(), curve25519::Error>(())
//! ```
//!
//! No branch, index or division depends on a secret; every value that holds one is erased on drop.

#![forbid(unsafe_code)]

mod base;
pub mod ed25519;
mod edwards;
mod error;
mod field;
mod instance;
mod montgomery;
mod multiples;
mod offer;
mod plain_multiples;
#[cfg(test)]
mod proof;
mod scalar;
mod self_check;
mod speed;
mod vector;
pub mod x25519;

pub use error::Error;
pub use lanes::{Backend, BackendError};
pub use offer::{Choice, Offers};
pub use self_check::self_check;
pub use speed::is_fast;
