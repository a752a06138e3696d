//! ML-KEM, piece by piece, as FIPS 203 (final, August 2024) states it.
//!
//! # Conventions
//!
//! A polynomial is an array of its n = 256 coefficients, the constant one first. It stands for an
//! element of Z_q\[X\]/(X^256 + 1) or, after [`ntt()`], of T_q, the ring of its transforms; names
//! that end in `_hat` are in T_q. Coefficients are the representatives from 0 to q - 1, with
//! q = 3329. Compressed polynomials have coefficients below 2^d.
//!
//! The matrix A is a list of rows. A\[i\]\[j\] is `sample_ntt` of rho, then the byte j, then the
//! byte i.
//!
//! Byte strings that come from outside are checked as sections 7.2 and 7.3 of the standard say, and
//! give an [`Error`]. A coefficient out of range is a mistake in the calling test and panics.
//!
//! Functions name the algorithm that they transliterate. Random bytes are always arguments: these
//! are the standard's internal functions (section 6) behind the input checks of section 7.

mod encode;
mod error;
mod hash;
mod k_pke;
pub mod kat;
mod kem;
mod ntt;
mod parameters;
mod sample;

pub use encode::{
    bits_to_bytes, byte_decode, byte_encode, bytes_to_bits, compress, compress_polynomial,
    decompress, decompress_polynomial,
};
pub use error::Error;
pub use hash::{g, h, j, prf, xof};
pub use k_pke::{k_pke_decrypt, k_pke_encrypt, k_pke_key_generation, matrix, matrix_blocks};
pub use kem::{
    Decapsulation, Encapsulation, KeyPair, check_decapsulation_key, check_encapsulation_key,
    decapsulate, decapsulate_detailed, encapsulate, key_generation,
};
pub use ntt::{ZETA, add, bit_reverse, inverse_ntt, multiply_ntts, ntt, subtract};
pub use parameters::{
    HASH_BYTES, N, Parameters, Polynomial, Q, SEED_BYTES, SHARED_SECRET_BYTES, XOF_BLOCK_BYTES,
};
pub use sample::{sample_ntt, sample_poly_cbd};
