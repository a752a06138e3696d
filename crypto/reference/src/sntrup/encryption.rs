//! Streamlined NTRU Prime Core: encryption of a Short polynomial, without hashes or bytes.

use super::{Parameters, r3_product, r3_reduce, round, rq_inverse, rq_product, rq_reduce, weight};

/// The public polynomial h = g/(3f) in R/q, balanced (the last step of the core's KeyGen).
///
/// # Panics
///
/// If f or g has not p coefficients, or f is 0 modulo q.
pub fn public_polynomial(params: &Parameters, f: &[i32], g: &[i32]) -> Vec<i32> {
    let f3: Vec<i32> = f.iter().map(|c| 3 * c).collect();
    let inverse = rq_inverse(params, &f3).expect("f is not zero, so 3f is invertible in R/q");
    rq_product(params, g, &inverse)
}

/// Encrypt: c = Round(h r), the product being in R/q.
///
/// # Panics
///
/// If r or h has not p coefficients.
pub fn encrypt(params: &Parameters, r: &[i32], h: &[i32]) -> Vec<i32> {
    round(params, &rq_product(params, h, r))
}

/// Decrypt up to its check: e v in R/3, where e is 3 f c, balanced modulo q and then taken modulo
/// 3. For a ciphertext made from a Short r, this is r; for others any Small polynomial.
///
/// `f` and `v` are the secret polynomials f and 1/g.
///
/// # Panics
///
/// If f, v or c has not p coefficients.
pub fn recover(params: &Parameters, f: &[i32], v: &[i32], c: &[i32]) -> Vec<i32> {
    let cf3: Vec<i32> = rq_product(params, c, f).iter().map(|c| 3 * c).collect();
    let e = r3_reduce(params, &rq_reduce(params, &cf3));
    r3_product(params, &e, v)
}

/// Decrypt: what [`recover`] gives if its weight is w, and otherwise w ones and then zeros.
///
/// # Panics
///
/// If f, v or c has not p coefficients.
pub fn decrypt(params: &Parameters, f: &[i32], v: &[i32], c: &[i32]) -> Vec<i32> {
    checked(params, recover(params, f, v, c))
}

/// The weight check of Decrypt.
pub(super) fn checked(params: &Parameters, r: Vec<i32>) -> Vec<i32> {
    if weight(&r) == params.w {
        r
    } else {
        (0..params.p).map(|i| i32::from(i < params.w)).collect()
    }
}
