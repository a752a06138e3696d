//! Streamlined NTRU Prime, piece by piece.
//!
//! # Conventions
//!
//! R is the ring Z\[x\]/(x^p - x - 1). An element of R, R/q or R/3 is a slice of its p
//! coefficients, the constant one first. Functions accept any representatives and return the
//! balanced ones: -(q-1)/2 to (q-1)/2 for R/q, -1 to 1 for R/3. Small means coefficients -1, 0 and
//! 1; Short means Small with exactly w nonzero coefficients; Rounded means balanced multiples of 3.
//!
//! Byte strings that come from outside are checked and give an [`Error`]. A slice of coefficients
//! of the wrong length or range is a mistake in the calling test and panics.
//!
//! Documentation names algorithms as the specification does ("NTRU Prime: round 3", 7 October
//! 2020). The OpenSSLNTRU paper restates the rings and Short in its section 2.1.

mod encode;
mod encryption;
mod error;
mod kem;
mod parameters;
mod ring;
mod sample;

pub use encode::{
    decode, encode, rounded_decode, rounded_encode, rq_decode, rq_encode, small_decode,
    small_encode,
};
pub use encryption::{decrypt, encrypt, public_polynomial, recover};
pub use error::Error;
pub use kem::{
    Decapsulation, Encapsulation, KeyPair, SecretKey, decapsulate, decapsulate_detailed,
    encapsulate, encapsulate_derand, hash_b, hide, key_generation, key_generation_derand,
    session_key, split_secret_key,
};
pub use parameters::{CONFIRM_BYTES, HASH_BYTES, Parameters, SHARED_SECRET_BYTES};
pub use ring::{
    r3_inverse, r3_product, r3_reduce, round, rq_inverse, rq_product, rq_reduce, weight,
};
pub use sample::{
    is_short, is_small, short_from_u32s, short_random, small_from_u32, small_random, u32s_random,
};
