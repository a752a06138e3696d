//! If no word leaves its range, the arithmetic is what the definition says, whatever the inputs:
//! run on polynomials, it gives the polynomials of the definition.

use lanes::Lanes;
use lanes::proof::{Monomial, Polynomial, Polynomials, polynomials_modulo, prove};

use super::definition::{PAIRS, Q, gamma, power};
use super::{InverseNtt, Ntt, SumOfProducts};
use crate::params::{MODULUS, N};
use crate::poly::Poly;
use crate::product::Scale;

/// The coefficients x_first, x_(first + 1), ...
fn variables(first: usize) -> Poly<Polynomial> {
    Poly(core::array::from_fn(|i| Polynomial::variable(first + i)))
}

/// Word `half` of a pair of the transform of x_0, x_1, ..., times a factor.
fn residue(pair: usize, half: usize) -> Polynomial {
    let gamma = gamma(pair);
    let terms: Vec<_> =
        (0..N / 2).map(|j| (Monomial::variable(2 * j + half), power(gamma, j))).collect();
    Polynomial::of(&terms)
}

fn forward<const WIDTH: usize>() {
    let mut poly = variables(0);
    prove(|| Polynomials::<WIDTH>::default().run(Ntt(&mut poly)));
    for i in 0..N {
        assert_eq!(poly.0[i], residue(i / 2, i % 2), "{WIDTH} pairs, word {i}");
    }
}

#[test]
fn transforms_are_residues() {
    polynomials_modulo(MODULUS, forward::<4>);
    polynomials_modulo(MODULUS, forward::<8>);
    polynomials_modulo(MODULUS, forward::<16>);
}

fn inverse<const WIDTH: usize>() {
    let mut poly = Poly(core::array::from_fn(|i| residue(i / 2, i % 2)));
    prove(|| Polynomials::<WIDTH>::default().run(InverseNtt(&mut poly)));
    for i in 0..N {
        let expected = Polynomial::of(&[(Monomial::variable(i), 128)]);
        assert_eq!(poly.0[i], expected, "{WIDTH} pairs, word {i}");
    }
}

#[test]
fn inverse_transforms_undo_residues_128_times() {
    polynomials_modulo(MODULUS, inverse::<4>);
    polynomials_modulo(MODULUS, inverse::<8>);
    polynomials_modulo(MODULUS, inverse::<16>);
}

/// Polynomials in the sums of products.
const TERMS: usize = 2;

fn products<const WIDTH: usize>() {
    for (scale, factor) in [(Scale::One, 1), (Scale::ForInverse, power(128, Q as usize - 2))] {
        let a: [_; TERMS] = core::array::from_fn(|i| variables(i * N));
        let b: [_; TERMS] = core::array::from_fn(|i| variables((TERMS + i) * N));
        let mut to = Poly::zero();
        let kernel = SumOfProducts { a: &a, b: &b, scale, to: &mut to };
        prove(|| Polynomials::<WIDTH>::default().run(kernel));
        for pair in 0..PAIRS {
            let product = |i: usize, of_a: usize, of_b: usize, times: i64| {
                let a = Monomial::variable(i * N + 2 * pair + of_a);
                let b = Monomial::variable((TERMS + i) * N + 2 * pair + of_b);
                (a.times(b).unwrap(), factor * times % Q)
            };
            let sum = |f: &dyn Fn(usize) -> [(Monomial, i64); 2]| {
                Polynomial::of(&(0..TERMS).flat_map(f).collect::<Vec<_>>())
            };
            let first = sum(&|i| [product(i, 0, 0, 1), product(i, 1, 1, gamma(pair))]);
            let second = sum(&|i| [product(i, 0, 1, 1), product(i, 1, 0, 1)]);
            assert_eq!(to.0[2 * pair..2 * pair + 2], [first, second], "{WIDTH} pairs, {pair}");
        }
    }
}

#[test]
fn rows_are_sums_of_products_of_residues() {
    polynomials_modulo(MODULUS, products::<4>);
    polynomials_modulo(MODULUS, products::<8>);
    polynomials_modulo(MODULUS, products::<16>);
}
