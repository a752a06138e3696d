//! Streamlined NTRU Prime, round 3: sntrup653, 761, 857, 953, 1013 and 1277, with batch key
//! generation.
//!
//! A parameter set is a type, an instruction set is a [`Backend`] chosen at run time, and the
//! random source is an argument, so that known answers can be replayed:
//!
//! ```
//! use sntrup::{Backend, KeyPair, Sntrup761};
//! # let mut random = reference::drbg::Drbg::new(&[7; 48]);
//! let backend = Backend::best();
//! let mut keys = KeyPair::<Sntrup761>::generate_batch(backend, 32, &mut random)?;
//! let key = keys.pop().unwrap();
//! let (ciphertext, ours) = key.public_key().encapsulate(backend, &mut random)?;
//! let theirs = key.decapsulate(backend, &ciphertext);
//! assert_eq!(ours.as_bytes(), theirs.as_bytes());
//! # Ok::<(), sntrup::Error>(())
//! ```
//!
//! No branch, index or division depends on a secret; every value that holds one is erased on drop.
//! Decapsulation rejects implicitly: a ciphertext that [`PublicKey::encapsulate`] did not make
//! gives a secret that nobody can predict, in the same time.

#![forbid(unsafe_code)]

mod batch;
mod decapsulate;
mod encapsulate;
mod encode;
#[cfg(test)]
mod every_set;
mod hash;
mod kem;
mod keys;
mod operations;
mod params;
mod plan;
mod product;
#[cfg(test)]
mod proof;
mod r3;
mod random;
mod recip;
mod rq;
mod sha512;
mod short;
mod validate;

pub use batch::BatchMemory;
pub use decapsulate::ExpandedKey;
pub use encapsulate::PreparedEncapsulation;
pub use kem_common::{Array, Error, Object, SHARED_SECRET_BYTES, SharedSecret};
pub use keys::{Ciphertext, KeyPair, PublicKey, SecretKey};
pub use lanes::{Backend, BackendError};
pub use operations::Operations;
pub use params::{
    HASH_BYTES, ParameterSet, Reductions, Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013,
    Sntrup1277,
};
