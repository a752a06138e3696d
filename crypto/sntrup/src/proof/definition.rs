//! The multiplier's definition, without the kernels' tables and constants.

use core::marker::PhantomData;

use crate::params::ParameterSet;

/// Points of the outer transform.
pub(crate) const POINTS: usize = 16;
/// Moduli x^m - c of each point.
pub(crate) const ROWS: usize = 6;

/// Arithmetic modulo q on 0 .. q.
pub(crate) struct Definition<P>(PhantomData<P>);

impl<P: ParameterSet> Definition<P> {
    /// q.
    pub(crate) const Q: i64 = P::Q as i64;

    pub(crate) fn power(base: i64, exponent: usize) -> i64 {
        (0..exponent).fold(1, |product, _| product * base % Self::Q)
    }

    /// 1 / 2^16.
    pub(crate) fn per_montgomery() -> i64 {
        (1..Self::Q).find(|x| (x << 16) % Self::Q == 1).unwrap()
    }

    /// The representative in `-(q-1)/2 ..= (q-1)/2`.
    pub(crate) fn centred(x: i64) -> i16 {
        ((x + Self::Q / 2).rem_euclid(Self::Q) - Self::Q / 2) as i16
    }

    /// `[i][k]`: c = g^i z^k of the modulus x^m - c, with g the smallest generator and z = g^((q -
    /// 1) / 6).
    pub(crate) fn roots() -> [[i64; ROWS]; POINTS] {
        let powers =
            |x: i64| core::iter::successors(Some(x), move |power| Some(power * x % Self::Q));
        let order = |x: i64| 1 + powers(x).position(|power| power == 1).unwrap() as i64;
        let generator = (2..).find(|&x| order(x) == Self::Q - 1).unwrap();
        let zeta = Self::power(generator, (P::Q as usize - 1) / 6);
        let mut roots = [[0; ROWS]; POINTS];
        for (i, roots) in roots.iter_mut().enumerate() {
            for (k, root) in roots.iter_mut().enumerate() {
                *root = Self::power(generator, i) * Self::power(zeta, k) % Self::Q;
            }
        }
        roots
    }

    /// The offset at which lanes of `pairs` pairs keep coefficient `s` of the residue modulo `x^m -
    /// roots[i][k]`.
    pub(crate) fn place(pairs: usize, i: usize, k: usize, s: usize) -> usize {
        let vector = (i / pairs * ROWS + k) * (P::M / 2) + s / 2;
        (vector * pairs + i % pairs) * 2 + s % 2
    }

    /// x^e modulo x^p - x - 1: the exponents of its terms, whose coefficients are 1.
    pub(crate) fn folded(e: usize) -> Vec<usize> {
        if e < P::P {
            return vec![e];
        }
        let mut exponents = Self::folded(e - P::P);
        exponents.extend(Self::folded(e - P::P + 1));
        exponents
    }
}
