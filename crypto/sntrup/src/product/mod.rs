//! Multiplication in R/q and R/3, with one multiplier: products modulo 96 factors of degree m.
//!
//! All six parameter sets have q = 1 mod 6. Let z be a primitive 6th root of unity modulo q, g a
//! generator of the multiplicative group, and d_i = g^i. The product of two polynomials of degree
//! below p is computed modulo
//!
//! ```text
//! prod_{i<16} (x^{6m} - d_i^6)  =  prod_{i<16} prod_{k<6} (x^m - d_i z^k)
//! ```
//!
//! of degree 96 m >= 2p - 1, so that the product is exact in Z/q\[x\]: no coefficient is doubled,
//! and no ring is extended. The right-hand side are the 96 factors of this module: 16 points d_i,
//! times 6 roots z^k. A transform holds, for each point i and each k, the residue modulo
//! x^m - d_i z^k. Pairs of coefficients are the words of a lane, and each lane is one point.
//!
//! - [`forward`](mod@forward): residues modulo x^{6m} - d_i^6 by a constant matrix, then, for each
//!   point, a Fourier transform of length 6 ([`dft`]).
//! - [`pointwise`]: products of residues, and sums of them.
//! - [`inverse`](mod@inverse): the inverse Fourier transform, the inverse matrix, a transposition.
//! - [`fold`]: the reduction modulo x^p - x - 1.
//!
//! R/3 uses the same code: a product of two polynomials with coefficients -1, 0, 1 has, modulo
//! x^p - x - 1, coefficients of absolute value at most 2p - 1 < q / 2, so it is exact modulo q.
//!
//! Source: derived for this crate, by the Chinese remainder theorem. No paper is followed. Modular
//! products are Montgomery's ("Modular multiplication without trial division", 1985) in the signed
//! form of Seiler ("Faster AVX2 optimized NTT multiplication for Ring-LWE lattice cryptography",
//! 2018). That each kernel computes this definition, and that no word overflows, is proved by
//! `crate::proof`; `docs/SOUNDNESS.md` lists the ranges of words between kernels.

mod dft;
mod fold;
mod forward;
mod inverse;
mod layout;
mod pointwise;
mod polynomial;
mod tables;

use lanes::{Lanes, Word};

pub(crate) use self::fold::Fold;
pub(crate) use self::forward::{Forward, forward};
pub(crate) use self::inverse::{Inverse, inverse};
pub(crate) use self::layout::Size;
pub(crate) use self::pointwise::{PointwiseProduct, multiply_accumulate};
pub(crate) use self::polynomial::{Coefficients, Transform, Workspace};
use crate::params::ParameterSet;

impl<P: ParameterSet, W: Word> Transform<P, W> {
    /// Sets it to the transform of `a`.
    pub(crate) fn set<L: Lanes<Word = W>>(
        &mut self,
        lanes: L,
        a: &Coefficients<P, W>,
        space: &mut Workspace<P, W>,
    ) {
        lanes.run(Forward { out: self, a, space });
    }

    /// Sets it to the product of the transforms `a` and `b`.
    pub(crate) fn set_product<L: Lanes<Word = W>>(
        &mut self,
        lanes: L,
        a: &Self,
        b: &Self,
        space: &mut Workspace<P, W>,
    ) {
        lanes.run(PointwiseProduct { out: self, a: Some(a), b, space });
    }

    /// Multiplies it by the transform `b`.
    pub(crate) fn multiply_by<L: Lanes<Word = W>>(
        &mut self,
        lanes: L,
        b: &Self,
        space: &mut Workspace<P, W>,
    ) {
        lanes.run(PointwiseProduct { out: self, a: None, b, space });
    }

    /// Writes the element of R/q of which this is the transform to `out`, and overwrites `self`.
    /// Only a product can be inverted: its scale is what the inverse expects.
    pub(crate) fn invert<L: Lanes<Word = W>>(
        &mut self,
        lanes: L,
        out: &mut Coefficients<P, W>,
        space: &mut Workspace<P, W>,
    ) {
        lanes.run(Inverse { a: self, space });
        lanes.run(Fold { out, space });
    }
}

/// Multiplies elements of R/q, with the memory for it.
pub(crate) struct Multiplier<P: ParameterSet, W: Word = i16> {
    a: Transform<P, W>,
    b: Transform<P, W>,
    space: Workspace<P, W>,
}

impl<P: ParameterSet, W: Word> Multiplier<P, W> {
    /// A multiplier with memory of zeros.
    pub(crate) fn new() -> Self {
        Multiplier { a: Transform::zero(), b: Transform::zero(), space: Workspace::new() }
    }

    /// Multiplies `a` by `b` in R/q. Coefficients are at most (q - 1) / 2 in absolute value.
    pub(crate) fn multiply_by<L: Lanes<Word = W>>(
        &mut self,
        lanes: L,
        a: &mut Coefficients<P, W>,
        b: &Coefficients<P, W>,
    ) {
        self.b.set(lanes, b, &mut self.space);
        self.a.set(lanes, a, &mut self.space);
        self.a.multiply_by(lanes, &self.b, &mut self.space);
        self.a.invert(lanes, a, &mut self.space);
    }
}

#[cfg(test)]
mod tests {
    use lanes::{Backend, Dispatch, Hardware};

    use super::tables::Field;
    use super::*;
    use crate::every_set::{Claim, for_every_set};
    use crate::params::ParameterSet;

    /// The product of `a` and `b` modulo q and x^p - x - 1, centred, from the definition.
    fn schoolbook<P: ParameterSet>(a: &[i16], b: &[i16]) -> Vec<i16> {
        let q = i64::from(P::Q);
        let mut wide = vec![0i64; 2 * P::P];
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate() {
                wide[i + j] += i64::from(x) * i64::from(y);
            }
        }
        for i in (P::P..2 * P::P).rev() {
            wide[i - P::P] += wide[i];
            wide[i - P::P + 1] += wide[i];
        }
        let field = Field { q };
        wide[..P::P].iter().map(|&x| field.centred(x)).collect()
    }

    struct Multiply<'a, P: ParameterSet>(&'a Coefficients<P>, &'a Coefficients<P>);

    impl<P: ParameterSet> Dispatch for Multiply<'_, P> {
        type Output = Coefficients<P>;

        fn on<L: Hardware>(self, lanes: L) -> Coefficients<P> {
            let mut product = self.0.clone();
            Multiplier::<P>::new().multiply_by(lanes, &mut product, self.1);
            product
        }
    }

    struct Products;

    impl Claim for Products {
        fn check<P: ParameterSet>(&self) {
            let mut state = 1u64;
            let mut next = |range: i16| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                ((state >> 33) % (2 * range as u64 + 1)) as i16 - range
            };
            let half = P::Q / 2;
            for round in 0..12 {
                let (mut a, mut b) = (Coefficients::<P>::zero(), Coefficients::<P>::zero());
                for (a, b) in a.as_mut_slice().iter_mut().zip(b.as_mut_slice()) {
                    (*a, *b) = match round {
                        0 => (half, half),
                        1 => (-half, half),
                        2..6 => (next(1), next(1)),
                        6..9 => (next(half), next(1)),
                        _ => (next(half), next(half)),
                    };
                }
                let expected = schoolbook::<P>(a.as_slice(), b.as_slice());
                for backend in Backend::available() {
                    let c = backend.run(Multiply(&a, &b));
                    assert_eq!(c.as_slice(), expected, "{} {} {round}", P::NAME, backend.name());
                    assert!(c.0.as_ref()[P::P..].iter().all(|&x| x == 0));
                }
            }
        }
    }

    #[test]
    fn products_are_those_of_the_definition() {
        for_every_set(&Products);
    }
}
