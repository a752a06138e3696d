//! The kernels as compiled for each backend, on bases of their inputs. They are linear, or linear
//! in each of two factors, as the runs on polynomials show; what is right on a basis is then right
//! everywhere.

use core::marker::PhantomData;

use lanes::{Backend, Dispatch, Hardware};

use super::definition::{Definition, POINTS, ROWS};
use super::ranges::Ranges;
use crate::every_set::{Claim, for_every_set};
use crate::params::ParameterSet;
use crate::product::{
    Coefficients, Fold, Forward, Inverse, PointwiseProduct, Transform, Workspace,
};

/// Residues at every point: `[i][k]`.
type Residues = [[i64; ROWS]; POINTS];

/// Panics unless coefficient s of every residue of `transform` is what `expected` has, and the
/// others are zero modulo q.
fn expect<P: ParameterSet>(pairs: usize, transform: &[i16], s: usize, expected: &Residues) {
    let nonzero = transform.iter().filter(|&&x| x % P::Q != 0).count();
    assert_eq!(nonzero, POINTS * ROWS, "{} {s}", P::NAME);
    for i in 0..POINTS {
        for k in 0..ROWS {
            let x = transform[Definition::<P>::place(pairs, i, k, s)];
            let difference = i64::from(x) - expected[i][k];
            assert_eq!(difference % Definition::<P>::Q, 0, "{} {i} {k} {s}", P::NAME);
        }
    }
}

fn within(words: &[i16], bound: i16) -> bool {
    words.iter().all(|x| x.unsigned_abs() <= bound.unsigned_abs())
}

fn times<P: ParameterSet>(a: &Residues, b: &Residues) -> Residues {
    let mut product = *a;
    for (a, b) in product.as_flattened_mut().iter_mut().zip(b.as_flattened()) {
        *a = *a * b % Definition::<P>::Q;
    }
    product
}

/// Every power of x, one and the largest coefficient times.
struct ForwardOnBasis<P>(PhantomData<P>);

impl<P: ParameterSet> Dispatch for ForwardOnBasis<P> {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        let roots = Definition::<P>::roots();
        let mut a = Coefficients::<P>::zero();
        let (mut out, mut space) = (Transform::zero(), Workspace::new());
        for factor in [1, Ranges::<P>::COEFFICIENT, -Ranges::<P>::COEFFICIENT] {
            let mut expected = [[factor.into(); ROWS]; POINTS];
            for e in 0..P::P {
                if e > 0 && e % P::M == 0 {
                    expected = times::<P>(&expected, &roots);
                }
                a.as_mut_slice()[e] = factor;
                lanes.run(Forward { out: &mut out, a: &a, space: &mut space });
                a.as_mut_slice()[e] = 0;
                expect::<P>(L::PAIRS, out.0.as_ref(), e % P::M, &expected);
                assert!(within(out.0.as_ref(), Ranges::<P>::TRANSFORM));
            }
        }
    }
}

/// Every pair of powers of x, with another factor for each residue.
struct PointwiseOnBasis<P>(PhantomData<P>);

impl<P: ParameterSet> Dispatch for PointwiseOnBasis<P> {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        let roots = Definition::<P>::roots();
        let scale = [[Definition::<P>::per_montgomery(); ROWS]; POINTS];
        let (mut of_a, mut of_b) = (roots, roots);
        let bound = i64::from(Ranges::<P>::TRANSFORM);
        for (n, (a, b)) in
            of_a.as_flattened_mut().iter_mut().zip(of_b.as_flattened_mut()).enumerate()
        {
            (*a, *b) = (bound - 3 * n as i64, 7 * n as i64 - bound);
        }
        let product = times::<P>(&times::<P>(&of_a, &of_b), &scale);
        let wrapped = times::<P>(&product, &roots);

        let mut space = Workspace::new();
        let fill = |transform: &mut Transform<P>, s: usize, values: &Residues| {
            transform.0.as_mut().fill(0);
            for i in 0..POINTS {
                for k in 0..ROWS {
                    let place = Definition::<P>::place(L::PAIRS, i, k, s);
                    transform.0.as_mut()[place] = values[i][k] as i16;
                }
            }
        };
        let (mut a, mut b) = (Transform::<P>::zero(), Transform::<P>::zero());
        let mut out = Transform::<P>::zero();
        for u in 0..P::M {
            fill(&mut b, u, &of_b);
            for v in 0..P::M {
                fill(&mut a, v, &of_a);
                // In place, or not.
                out.clone_from(&a);
                let a = (v % 2 == 0).then_some(&a);
                lanes.run(PointwiseProduct { out: &mut out, a, b: &b, space: &mut space });
                let expected = if u + v < P::M { &product } else { &wrapped };
                expect::<P>(L::PAIRS, out.0.as_ref(), (u + v) % P::M, expected);
                assert!(within(out.0.as_ref(), Ranges::<P>::PRODUCT));
            }
        }
    }
}

/// The residues of every power of x that a product of two elements can have.
struct InverseOnBasis<P>(PhantomData<P>);

impl<P: ParameterSet> Dispatch for InverseOnBasis<P> {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        let roots = Definition::<P>::roots();
        let scale = Definition::<P>::centred(1 << 16);
        let mut a = Transform::<P>::zero();
        let (mut out, mut space) = (Coefficients::<P>::zero(), Workspace::new());
        let mut residues = [[1; ROWS]; POINTS];
        for e in 0..2 * P::P - 1 {
            if e > 0 && e % P::M == 0 {
                residues = times::<P>(&residues, &roots);
            }
            a.0.as_mut().fill(0);
            for i in 0..POINTS {
                for k in 0..ROWS {
                    let place = Definition::<P>::place(L::PAIRS, i, k, e % P::M);
                    a.0.as_mut()[place] = Definition::<P>::centred(residues[i][k]);
                }
            }
            lanes.run(Inverse { a: &mut a, space: &mut space });
            lanes.run(Fold { out: &mut out, space: &mut space });
            let terms = Definition::<P>::folded(e);
            for (i, &x) in out.words().iter().enumerate() {
                let expected = if terms.contains(&i) { scale } else { 0 };
                assert_eq!(x, expected, "{} {e} {i}", P::NAME);
            }
        }
    }
}

struct OnBasis;

impl Claim for OnBasis {
    fn check<P: ParameterSet>(&self) {
        for backend in Backend::available() {
            backend.run(ForwardOnBasis::<P>(PhantomData));
            backend.run(PointwiseOnBasis::<P>(PhantomData));
            backend.run(InverseOnBasis::<P>(PhantomData));
        }
    }
}

#[test]
fn every_backend_is_right_on_the_basis() {
    for_every_set(&OnBasis);
}
