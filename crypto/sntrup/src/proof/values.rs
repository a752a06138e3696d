//! If no word leaves its range, the kernels compute what the definition says, whatever the inputs:
//! run on polynomials, they give the polynomials of the definition.

use lanes::Lanes;
use lanes::proof::{Monomial, Polynomial, Polynomials, polynomials_modulo, prove};

use super::definition::{Definition, POINTS, ROWS};
use crate::every_set::{Claim, for_every_set};
use crate::params::ParameterSet;
use crate::product::{
    Coefficients, Fold, Forward, Inverse, PointwiseProduct, Transform, Workspace,
};

/// The sum of `c^j x_{jm+s}` over all j for which `jm + s` is below `count`: coefficient s of the
/// residue modulo x^m - c.
fn residue<P: ParameterSet>(c: i64, s: usize, count: usize) -> Polynomial {
    let mut power = 1;
    let mut terms = Vec::new();
    for e in (s..count).step_by(P::M) {
        terms.push((Monomial::variable(e), power));
        power = power * c % Definition::<P>::Q;
    }
    Polynomial::of(&terms)
}

/// Calls `check` for every word of a transform: its place, i, k and s.
fn for_every_residue<P: ParameterSet>(
    pairs: usize,
    mut check: impl FnMut(usize, usize, usize, usize),
) {
    for i in 0..POINTS {
        for k in 0..ROWS {
            for s in 0..P::M {
                check(Definition::<P>::place(pairs, i, k, s), i, k, s);
            }
        }
    }
}

/// The forward transform of the polynomial with the coefficients x_0 to x_{p-1} is its residues.
struct ForwardGivesResidues;

impl ForwardGivesResidues {
    fn check<P: ParameterSet, const PAIRS: usize>(&self) {
        let lanes = Polynomials::<PAIRS>::default();
        let roots = Definition::<P>::roots();
        let mut a = Coefficients::<P, Polynomial>::zero();
        for (i, x) in a.as_mut_slice().iter_mut().enumerate() {
            *x = Polynomial::variable(i);
        }
        let (mut out, mut space) = (Transform::zero(), Workspace::new());
        prove(|| lanes.run(Forward { out: &mut out, a: &a, space: &mut space }));
        for_every_residue::<P>(PAIRS, |place, i, k, s| {
            let expected = residue::<P>(roots[i][k], s, P::P);
            assert_eq!(out.0.as_ref()[place], expected, "{} {i} {k} {s}", P::NAME);
        });
    }
}

/// The base product is the product of residues, divided by 2^16.
struct PointwiseMultipliesResidues;

impl PointwiseMultipliesResidues {
    fn check<P: ParameterSet, const PAIRS: usize>(&self) {
        let lanes = Polynomials::<PAIRS>::default();
        let roots = Definition::<P>::roots();
        let scale = Definition::<P>::per_montgomery();
        let (mut a, mut b) = (Transform::<P, _>::zero(), Transform::<P, _>::zero());
        let mut space = Workspace::new();
        // Variables are numbered by place, those of b above those of a.
        for place in 0..P::WIDE {
            a.0.as_mut()[place] = Polynomial::variable(place);
            b.0.as_mut()[place] = Polynomial::variable(P::WIDE + place);
        }
        // The initial contents of `out` do not matter.
        let mut out = Transform::<P, _>::zero();
        out.0.as_mut().fill(Polynomial::variable(2 * P::WIDE));
        let kernel = PointwiseProduct { out: &mut out, a: Some(&a), b: &b, space: &mut space };
        prove(|| lanes.run(kernel));
        prove(|| lanes.run(PointwiseProduct { out: &mut a, a: None, b: &b, space: &mut space }));
        assert!(out.0 == a.0, "{}", P::NAME);
        for_every_residue::<P>(PAIRS, |place, i, k, s| {
            let at = |s| Definition::<P>::place(PAIRS, i, k, s);
            let mut terms = Vec::new();
            for u in 0..P::M {
                let v = (s + P::M - u) % P::M;
                let of_a = Monomial::variable(at(u));
                let of_b = Monomial::variable(P::WIDE + at(v));
                let root = if u + v < P::M { 1 } else { roots[i][k] };
                terms.push((of_a.times(of_b).unwrap(), scale * root));
            }
            let expected = Polynomial::of(&terms);
            assert_eq!(a.0.as_ref()[place], expected, "{} {i} {k} {s}", P::NAME);
        });
    }
}

/// The inverse transform of the residues of x_0 + x_1 x + ... is 2^16 times that, and the reduction
/// is that of the ring.
struct InverseUndoesResidues;

impl InverseUndoesResidues {
    fn check<P: ParameterSet, const PAIRS: usize>(&self) {
        let lanes = Polynomials::<PAIRS>::default();
        let roots = Definition::<P>::roots();
        let (mut a, mut space) = (Transform::<P, Polynomial>::zero(), Workspace::new());
        for_every_residue::<P>(PAIRS, |place, i, k, s| {
            a.0.as_mut()[place] = residue::<P>(roots[i][k], s, P::WIDE);
        });
        prove(|| lanes.run(Inverse { a: &mut a, space: &mut space }));
        for (e, &x) in space.0.as_ref().iter().enumerate() {
            let expected = Polynomial::of(&[(Monomial::variable(e), 1 << 16)]);
            assert_eq!(x, expected, "{} {e}", P::NAME);
        }
    }
}

/// The ring's reduction of a product of two elements.
struct FoldReduces;

impl FoldReduces {
    fn check<P: ParameterSet, const PAIRS: usize>(&self) {
        let lanes = Polynomials::<PAIRS>::default();
        let mut out = Coefficients::<P, Polynomial>::zero();
        let mut space = Workspace::<P, _>::new();
        let mut terms = vec![Vec::new(); P::P];
        for e in 0..2 * P::P - 1 {
            space.0.as_mut()[e] = Polynomial::variable(e);
            for i in Definition::<P>::folded(e) {
                terms[i].push((Monomial::variable(e), 1));
            }
        }
        // The initial contents do not matter.
        out.words_mut().fill(Polynomial::variable(2 * P::WIDE));
        prove(|| lanes.run(Fold { out: &mut out, space: &mut space }));
        for (i, &x) in out.words().iter().enumerate() {
            let expected =
                terms.get(i).map_or(Polynomial::default(), |terms| Polynomial::of(terms));
            assert_eq!(x, expected, "{} {i}", P::NAME);
        }
    }
}

/// A claim at every width, each with a memory of its own.
macro_rules! at_every_width {
    ($($claim:ident)*) => {$(
        impl Claim for $claim {
            fn check<P: ParameterSet>(&self) {
                polynomials_modulo(P::MODULUS, || self.check::<P, 4>());
                polynomials_modulo(P::MODULUS, || self.check::<P, 8>());
                polynomials_modulo(P::MODULUS, || self.check::<P, 16>());
            }
        }
    )*};
}

at_every_width! { ForwardGivesResidues PointwiseMultipliesResidues InverseUndoesResidues FoldReduces }

#[test]
fn forward_transforms_are_residues() {
    for_every_set(&ForwardGivesResidues);
}

#[test]
fn pointwise_products_are_products_of_residues() {
    for_every_set(&PointwiseMultipliesResidues);
}

#[test]
fn inverse_transforms_undo_residues() {
    for_every_set(&InverseUndoesResidues);
}

#[test]
fn the_fold_is_the_reduction_of_the_ring() {
    for_every_set(&FoldReduces);
}
