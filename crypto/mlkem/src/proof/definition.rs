//! The definition of the transform, without the kernels' tables and constants (FIPS 203, section
//! 4.3).

/// The modulus.
pub(super) const Q: i64 = 3329;
/// Pairs of a transformed polynomial.
pub(super) const PAIRS: usize = 128;

/// `base^exponent mod q`.
pub(super) fn power(base: i64, exponent: usize) -> i64 {
    (0..exponent).fold(1, |product, _| product * base % Q)
}

/// The representative in `-(q-1)/2 ..= (q-1)/2`.
pub(super) fn centred(x: i64) -> i16 {
    ((x + Q / 2).rem_euclid(Q) - Q / 2) as i16
}

/// gamma of pair i: the pair is the polynomial modulo X^2 - gamma. These are the odd powers of 17,
/// with the bits of the pair's number in reverse.
pub(super) fn gamma(pair: usize) -> i64 {
    let reversed = (0..7).fold(0, |all, bit| all << 1 | (pair >> bit & 1));
    power(17, 2 * reversed + 1)
}
