//! ML-KEM (FIPS 203): ML-KEM-512, ML-KEM-768 and ML-KEM-1024, with batch key generation.
//!
//! A parameter set is a type, an instruction set is a [`Backend`] chosen at run time, and the
//! random source is an argument:
//!
//! ```
//! use mlkem::{Backend, EncapsulationKey, KeyPair, MlKem768};
//! # let mut random = reference::drbg::Drbg::new(&[7; 48]);
//! let backend = Backend::best();
//! let mut keys = KeyPair::<MlKem768>::generate_batch(backend, 32, &mut random)?;
//! let key = keys.pop().unwrap();
//!
//! let bytes = key.encapsulation_key().as_bytes();
//! let peer = EncapsulationKey::<MlKem768>::from_bytes(bytes)?;
//! let (ciphertext, ours) = peer.encapsulate(backend, &mut random)?;
//! let theirs = key.decapsulate(backend, &ciphertext);
//! assert_eq!(ours.as_bytes(), theirs.as_bytes());
//! # Ok::<(), mlkem::Error>(())
//! ```
//!
//! No branch, index or division depends on a secret; every value that holds one is erased on drop.
//! The seed of the matrix and all that is computed from it are public. Decapsulation rejects
//! implicitly: a ciphertext that [`EncapsulationKey::encapsulate`] did not make gives a secret that
//! nobody can predict, in the same time.
//!
//! Batch key generation with one key in each lane of the hash is prior art: Zheng, Zhu, Song and
//! Zhao, "Faster Post-Quantum TLS 1.3 Based on ML-KEM" (arXiv 2404.13544).

#![forbid(unsafe_code)]

mod chain;
mod code;
mod decapsulate;
mod encapsulate;
mod generate;
mod generate_many;
mod keccak;
mod kem;
mod keys;
mod matrix;
mod noise;
mod ntt;
mod operations;
mod params;
mod poly;
mod product;
#[cfg(test)]
mod proof;
mod sponge;

pub use decapsulate::ExpandedKey;
pub use encapsulate::PreparedEncapsulation;
pub use generate_many::BatchMemory;
pub use kem_common::{Array, Element, Error, Object, SHARED_SECRET_BYTES, SharedSecret};
pub use keys::{Ciphertext, DecapsulationKey, EncapsulationKey, KeyPair, SEED_BYTES};
pub use lanes::{Backend, BackendError};
pub use operations::Operations;
pub use params::{MlKem512, MlKem768, MlKem1024, ParameterSet};
