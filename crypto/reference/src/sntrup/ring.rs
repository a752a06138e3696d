//! Arithmetic in R/q and R/3.

use super::Parameters;

/// The representative of c modulo an odd `modulus` that is nearest to 0.
fn balanced(c: i64, modulus: i32) -> i32 {
    let modulus = i64::from(modulus);
    let c = c.rem_euclid(modulus);
    let c = if c > modulus / 2 { c - modulus } else { c };
    i32::try_from(c).expect("a balanced representative is below its 32-bit modulus")
}

fn reduce(params: &Parameters, a: &[i32], modulus: i32) -> Vec<i32> {
    check_length(params, a);
    a.iter().map(|&c| balanced(c.into(), modulus)).collect()
}

fn check_length(params: &Parameters, a: &[i32]) {
    assert_eq!(a.len(), params.p, "coefficients of a polynomial of {}", params.name);
}

/// Multiplies in (Z/modulus)\[x\]/(x^p - x - 1): schoolbook, then x^p = x + 1.
fn product(params: &Parameters, a: &[i32], b: &[i32], modulus: i32) -> Vec<i32> {
    let (a, b) = (reduce(params, a, modulus), reduce(params, b, modulus));
    let p = params.p;
    let mut sums = vec![0_i64; 2 * p - 1];
    for (i, &a_i) in a.iter().enumerate() {
        for (j, &b_j) in b.iter().enumerate() {
            sums[i + j] += i64::from(a_i) * i64::from(b_j);
        }
    }
    for i in (p..sums.len()).rev() {
        sums[i - p] += sums[i];
        sums[i - p + 1] += sums[i];
    }
    sums[..p].iter().map(|&c| balanced(c, modulus)).collect()
}

/// Inverts in (Z/modulus)\[x\]/(x^p - x - 1), the modulus being prime and below 2^15.
///
/// The extended Euclidean algorithm on x^p - x - 1 and a. Every remainder r comes with a t such
/// that r = t a modulo x^p - x - 1; a last remainder that is a nonzero constant makes t / r the
/// inverse, and any other one is a common factor.
fn inverse(params: &Parameters, a: &[i32], modulus: i32) -> Option<Vec<i32>> {
    check_length(params, a);
    let p = params.p;
    let mut ring = vec![0; p + 1];
    (ring[0], ring[1], ring[p]) = (modulus - 1, modulus - 1, 1);

    let (mut r, mut r_next) = (ring, Vec::from(a));
    r_next.iter_mut().for_each(|c| *c = c.rem_euclid(modulus));
    trim(&mut r_next);
    let (mut t, mut t_next) = (vec![], vec![1]);
    while !r_next.is_empty() {
        let (quotient, remainder) = divide(&r, &r_next, modulus);
        let t_new = subtract_product(&t, &quotient, &t_next, modulus);
        (r, r_next) = (r_next, remainder);
        (t, t_next) = (t_next, t_new);
    }
    let &[constant] = &r[..] else { return None };
    let scale = scalar_inverse(constant, modulus);
    t.resize(p, 0);
    Some(t.iter().map(|&c| balanced(i64::from(c) * i64::from(scale), modulus)).collect())
}

// Below, a polynomial over Z/modulus of any degree: coefficients from 0 to modulus - 1, the
// constant one first, the last one nonzero. The zero polynomial is empty.

/// Removes leading zeros.
fn trim(a: &mut Vec<i32>) {
    while a.last() == Some(&0) {
        a.pop();
    }
}

/// Quotient and remainder of a by a nonzero b.
fn divide(a: &[i32], b: &[i32], modulus: i32) -> (Vec<i32>, Vec<i32>) {
    let leading = *b.last().expect("division by a nonzero polynomial");
    let scale = scalar_inverse(leading, modulus);
    let mut remainder = a.to_vec();
    let mut quotient = vec![0; (a.len() + 1).saturating_sub(b.len())];
    for shift in (0..quotient.len()).rev() {
        let factor = remainder[shift + b.len() - 1] * scale % modulus;
        quotient[shift] = factor;
        for (c, b_i) in remainder[shift..].iter_mut().zip(b) {
            *c = (*c - factor * b_i).rem_euclid(modulus);
        }
    }
    trim(&mut remainder);
    trim(&mut quotient);
    (quotient, remainder)
}

/// a - b c.
fn subtract_product(a: &[i32], b: &[i32], c: &[i32], modulus: i32) -> Vec<i32> {
    let mut difference = a.to_vec();
    difference.resize(a.len().max(b.len() + c.len()), 0);
    for (i, b_i) in b.iter().enumerate() {
        for (d, c_j) in difference[i..].iter_mut().zip(c) {
            *d = (*d - b_i * c_j).rem_euclid(modulus);
        }
    }
    trim(&mut difference);
    difference
}

/// The inverse of a nonzero scalar modulo a prime: its power modulus - 2 (Fermat).
fn scalar_inverse(c: i32, modulus: i32) -> i32 {
    let (mut power, mut square, mut exponent) = (1, c, modulus - 2);
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = power * square % modulus;
        }
        square = square * square % modulus;
        exponent /= 2;
    }
    power
}

/// Balances the coefficients modulo q.
///
/// # Panics
///
/// If `a` has not p coefficients.
pub fn rq_reduce(params: &Parameters, a: &[i32]) -> Vec<i32> {
    reduce(params, a, params.q)
}

/// Balances the coefficients modulo 3: -1, 0 or 1.
///
/// # Panics
///
/// If `a` has not p coefficients.
pub fn r3_reduce(params: &Parameters, a: &[i32]) -> Vec<i32> {
    reduce(params, a, 3)
}

/// The product in R/q of any two polynomials, balanced.
///
/// # Panics
///
/// If `a` or `b` has not p coefficients.
pub fn rq_product(params: &Parameters, a: &[i32], b: &[i32]) -> Vec<i32> {
    product(params, a, b, params.q)
}

/// The product in R/3 of any two polynomials, balanced.
///
/// # Panics
///
/// If `a` or `b` has not p coefficients.
pub fn r3_product(params: &Parameters, a: &[i32], b: &[i32]) -> Vec<i32> {
    product(params, a, b, 3)
}

/// The inverse in R/q, balanced. R/q is a field: only 0 has none.
///
/// # Panics
///
/// If `a` has not p coefficients.
pub fn rq_inverse(params: &Parameters, a: &[i32]) -> Option<Vec<i32>> {
    inverse(params, a, params.q)
}

/// The inverse in R/3, balanced, or `None` if `a` shares a factor with x^p - x - 1 modulo 3.
///
/// # Panics
///
/// If `a` has not p coefficients.
pub fn r3_inverse(params: &Parameters, a: &[i32]) -> Option<Vec<i32>> {
    inverse(params, a, 3)
}

/// Round: each coefficient, balanced modulo q, goes to the nearest multiple of 3.
///
/// The result stays in -(q-1)/2 to (q-1)/2, whose ends are multiples of 3.
///
/// # Panics
///
/// If `a` has not p coefficients.
pub fn round(params: &Parameters, a: &[i32]) -> Vec<i32> {
    rq_reduce(params, a).iter().map(|&c| c - balanced(c.into(), 3)).collect()
}

/// The number of nonzero coefficients.
pub fn weight(a: &[i32]) -> usize {
    a.iter().filter(|&&c| c != 0).count()
}
