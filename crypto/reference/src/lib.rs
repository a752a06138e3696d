//! Streamlined NTRU Prime as its specification states it (round 3 of NIST's project, October 2020)
//! and ML-KEM as FIPS 203 states it (August 2024): slow, obvious, and the oracle of every test in
//! this project.
//!
//! **Never use this crate on real secrets.** It is variable-time throughout: its branches, indices,
//! divisions and sorts follow secret data, and it erases nothing. It is written to be read next to
//! the specification. Products are schoolbook, inverses are the extended Euclidean algorithm, Short
//! is sampled with the standard library's sort, and Encode and Decode are the recursion of the
//! specification. ML-KEM works bit by bit where FIPS 203 does.
//!
//! - [`sntrup`]: parameter sets, the key-encapsulation mechanism and each of its building blocks.
//! - [`ml_kem`]: the same for ML-KEM, with its known answers.
//! - [`drbg`]: NIST's AES-256-CTR generator, from which known answers draw their bytes.
//! - [`kat`]: the known-answer files for Streamlined NTRU Prime, embedded, with a parser and a
//!   replay for any implementation.
//!
//! ```
//! use reference::{drbg::Drbg, sntrup};
//!
//! let params = sntrup::Parameters::by_name("sntrup653").unwrap();
//! let mut drbg = Drbg::new(&[7; 48]);
//! let mut random = |bytes: &mut [u8]| drbg.fill(bytes);
//! let (pk, sk) = sntrup::key_generation(&params, &mut random);
//! let (ct, ss) = sntrup::encapsulate(&params, &pk, &mut random)?;
//! assert_eq!(sntrup::decapsulate(&params, &sk, &ct)?, ss);
//! # Ok::<(), sntrup::Error>(())
//! ```
//!
//! ```
//! use reference::ml_kem;
//!
//! let params = ml_kem::Parameters::by_name("mlkem768").unwrap();
//! let (d, z, m) = ([1; 32], [2; 32], [3; 32]);
//! let (ek, dk) = ml_kem::key_generation(&params, &d, &z);
//! let (c, key) = ml_kem::encapsulate(&params, &ek, &m)?;
//! assert_eq!(ml_kem::decapsulate(&params, &dk, &c)?, key);
//! # Ok::<(), ml_kem::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod drbg;
pub mod kat;
pub mod ml_kem;
pub mod sntrup;
