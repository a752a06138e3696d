//! No word and no accumulator leaves its range, whatever the inputs.

use core::marker::PhantomData;

use lanes::proof::{Interval, Intervals, Violation, examine, prove};
use lanes::{Kernel, Lanes};

use crate::every_set::{Claim, for_every_set};
use crate::params::ParameterSet;
use crate::product::{
    Coefficients, Fold, Forward, Inverse, PointwiseProduct, Transform, Workspace, inverse,
};
use crate::r3::Reduce;
use crate::recip::rq_invert_triple;
use crate::rq::{Round, TripleToSmall};

/// The absolute bounds of the values that kernels pass to each other.
pub(super) struct Ranges<P>(PhantomData<P>);

impl<P: ParameterSet> Ranges<P> {
    /// Elements of R/q: [`Forward`] takes them and [`Fold`] gives them.
    pub(super) const COEFFICIENT: i16 = P::Q / 2;
    /// Transforms: [`Forward`] gives them; both factors of [`PointwiseProduct`].
    pub(super) const TRANSFORM: i16 = {
        let row = Self::reduced(8 * (Self::COEFFICIENT as i32).pow(2));
        // A word cannot be larger.
        P::MODULUS.barrett_bound(if 6 * row < 1 << 15 { 6 * row } else { 1 << 15 })
    };
    /// Products of transforms before their reduction.
    const UNREDUCED: i16 = Self::reduced(P::M as i32 * (Self::TRANSFORM as i32).pow(2)) as i16;
    /// Products of transforms: [`PointwiseProduct`] gives them and [`Inverse`] takes them.
    pub(super) const PRODUCT: i16 = if P::REDUCTIONS.after_pointwise {
        P::MODULUS.barrett_bound(Self::UNREDUCED as i32)
    } else {
        Self::UNREDUCED
    };
    /// Elements of R/3.
    pub(super) const SMALL: i16 = 1;

    /// The bound of [`Lanes::reduce`] for an accumulator of at most `bound`.
    const fn reduced(bound: i32) -> i32 {
        (bound >> 16) + P::Q as i32 / 2 + 1
    }
}

fn bound(words: &[Interval]) -> u16 {
    words.iter().map(|word| word.bound()).max().unwrap()
}

/// The largest absolute values that the multiplier's kernels give, on words of the ranges stated,
/// and what goes wrong.
#[derive(Default)]
struct Outcome {
    transform: u16,
    product: u16,
    coefficient: u16,
    /// Of the forward transform, the base product, and the inverse transform with the reduction.
    violations: [Vec<Violation>; 3],
}

fn multiply<P: ParameterSet, const PAIRS: usize>() -> Outcome {
    let lanes = Intervals::<PAIRS>::default();
    let mut outcome = Outcome::default();
    let mut a = Coefficients::<P, Interval>::zero();
    let mut transform = Transform::zero();
    let mut space = Workspace::new();

    a.as_mut_slice().fill(Interval::within(Ranges::<P>::COEFFICIENT));
    let kernel = Forward { out: &mut transform, a: &a, space: &mut space };
    outcome.violations[0] = examine(|| lanes.run(kernel)).1;
    outcome.transform = bound(transform.0.as_ref());

    transform.0.as_mut().fill(Interval::within(Ranges::<P>::TRANSFORM));
    let other = transform.clone();
    let kernel = PointwiseProduct { out: &mut transform, a: None, b: &other, space: &mut space };
    outcome.violations[1] = examine(|| lanes.run(kernel)).1;
    outcome.product = bound(transform.0.as_ref());

    transform.0.as_mut().fill(Interval::within(Ranges::<P>::PRODUCT));
    let ((), violations) = examine(|| {
        lanes.run(Inverse { a: &mut transform, space: &mut space });
        lanes.run(Fold { out: &mut a, space: &mut space });
    });
    outcome.violations[2] = violations;
    outcome.coefficient = bound(a.words());
    assert_eq!(bound(&a.words()[P::P..]), 0);
    outcome
}

/// Each kernel gives what the next one takes, and the last one what the first one takes.
struct Composition;

impl Composition {
    fn check<P: ParameterSet, const PAIRS: usize>(&self) {
        let outcome = multiply::<P, PAIRS>();
        let violations: Vec<_> = outcome.violations.iter().flatten().collect();
        assert!(violations.is_empty(), "{violations:#?}");
        assert!(i32::from(outcome.transform) <= Ranges::<P>::TRANSFORM.into());
        assert!(i32::from(outcome.product) <= Ranges::<P>::PRODUCT.into());
        assert!(i32::from(outcome.coefficient) <= Ranges::<P>::COEFFICIENT.into());
    }
}

impl Claim for Composition {
    fn check<P: ParameterSet>(&self) {
        self.check::<P, 4>();
        self.check::<P, 8>();
        self.check::<P, 16>();
    }
}

#[test]
fn the_multiplier_takes_its_own_results() {
    for_every_set(&Composition);
}

/// A small factor is one of R/q, and a product of two is the same modulo q as over the integers:
/// none of its coefficients, sums of at most 2p - 1 products, is as large as q / 2.
struct SmallProducts;

impl Claim for SmallProducts {
    fn check<P: ParameterSet>(&self) {
        assert!(Ranges::<P>::SMALL <= Ranges::<P>::COEFFICIENT);
        let mut terms = vec![0; P::P];
        for e in 0..2 * P::P - 1 {
            let pairs = P::P - e.abs_diff(P::P - 1);
            for i in super::definition::Definition::<P>::folded(e) {
                terms[i] += pairs;
            }
        }
        let most = terms.into_iter().max().unwrap();
        assert_eq!(most, 2 * P::P - 1);
        assert!(most <= Ranges::<P>::COEFFICIENT as usize);
    }
}

#[test]
fn products_of_small_polynomials_are_exact() {
    for_every_set(&SmallProducts);
}

/// The kernels that take one coefficient to one coefficient.
struct OneToOne;

impl OneToOne {
    fn check<P: ParameterSet, const PAIRS: usize>(&self) {
        let lanes = Intervals::<PAIRS>::default();
        let run = |kernel: &dyn Fn(&mut Coefficients<P, Interval>)| {
            let mut a = Coefficients::zero();
            a.as_mut_slice().fill(Interval::within(Ranges::<P>::COEFFICIENT));
            prove(|| kernel(&mut a));
            assert_eq!(bound(&a.words()[P::P..]), 0);
            i32::from(bound(a.words()))
        };
        let small = i32::from(Ranges::<P>::SMALL);
        assert!(run(&|a| lanes.run(TripleToSmall::<P, _>(a))) <= small);
        assert!(run(&|a| lanes.run(Reduce::<P, _>(a))) <= small);
        // (q - 1) / 2 is a multiple of 3, which intervals do not know.
        assert!(run(&|a| lanes.run(Round::<P, _>(a))) <= i32::from(Ranges::<P>::COEFFICIENT) + 1);
    }
}

impl Claim for OneToOne {
    fn check<P: ParameterSet>(&self) {
        self.check::<P, 4>();
        self.check::<P, 8>();
        self.check::<P, 16>();
    }
}

#[test]
fn rounding_and_reducing_modulo_3_stay_in_range() {
    for_every_set(&OneToOne);
}

/// The inversion runs all its steps, on every element at once.
struct Inversion;

impl Inversion {
    fn check<P: ParameterSet, const PAIRS: usize>(&self) {
        let mut a = Coefficients::<P, Interval>::zero();
        a.as_mut_slice().fill(Interval::within(Ranges::<P>::COEFFICIENT));
        prove(|| rq_invert_triple(Intervals::<PAIRS>::default(), &mut a));
        assert!(i32::from(bound(a.words())) <= Ranges::<P>::COEFFICIENT.into());
        assert_eq!(bound(&a.words()[P::P..]), 0);
    }
}

impl Claim for Inversion {
    fn check<P: ParameterSet>(&self) {
        self.check::<P, 4>();
        self.check::<P, 8>();
        self.check::<P, 16>();
    }
}

#[test]
fn inverses_in_rq_are_elements_of_rq() {
    for_every_set(&Inversion);
}

/// [`Inverse`] without the reduction of its output.
struct InverseUnreduced<'a, P: ParameterSet, L: Lanes> {
    a: &'a mut Transform<P, L::Word>,
    space: &'a mut Workspace<P, L::Word>,
}

impl<P: ParameterSet, L: Lanes> Kernel<L> for InverseUnreduced<'_, P, L> {
    type Output = ();

    fn run(self, lanes: L) {
        inverse::<P, L, 1>(lanes, self.a.0.as_mut(), self.space.0.as_mut(), false);
    }
}

/// A reduction of the table cannot be left out.
struct NoneIsIdle;

impl Claim for NoneIsIdle {
    fn check<P: ParameterSet>(&self) {
        let lanes = Intervals::<16>::default();
        let (mut transform, mut space) = (Transform::<P, _>::zero(), Workspace::new());
        let mut out = Coefficients::zero();
        if P::REDUCTIONS.after_pointwise {
            transform.0.as_mut().fill(Interval::within(Ranges::<P>::UNREDUCED));
            let kernel = Inverse { a: &mut transform, space: &mut space };
            let ((), violations) = examine(|| lanes.run(kernel));
            assert!(!violations.is_empty(), "{}", P::NAME);
        }
        if P::REDUCTIONS.after_inverse {
            transform.0.as_mut().fill(Interval::within(Ranges::<P>::PRODUCT));
            prove(|| lanes.run(InverseUnreduced { a: &mut transform, space: &mut space }));
            let kernel = Fold { out: &mut out, space: &mut space };
            let ((), violations) = examine(|| lanes.run(kernel));
            assert!(!violations.is_empty(), "{}", P::NAME);
        }
    }
}

#[test]
fn without_a_reduction_of_the_table_a_word_overflows() {
    for_every_set(&NoneIsIdle);
}

/// The kernels overflow on what they must not be given.
struct TooLarge;

impl Claim for TooLarge {
    fn check<P: ParameterSet>(&self) {
        let lanes = Intervals::<8>::default();
        let mut a = Coefficients::<P, Interval>::zero();
        a.as_mut_slice().fill(Interval::within(i16::MAX));
        let (mut transform, mut space) = (Transform::zero(), Workspace::new());
        let kernel = Forward { out: &mut transform, a: &a, space: &mut space };
        let ((), violations) = examine(|| lanes.run(kernel));
        assert!(!violations.is_empty(), "{}", P::NAME);

        // Products of transforms are no transforms.
        let wide = Interval::within(i16::MAX);
        transform.0.as_mut().fill(wide);
        let other = transform.clone();
        let kernel =
            PointwiseProduct { out: &mut transform, a: None, b: &other, space: &mut space };
        let ((), violations) = examine(|| lanes.run(kernel));
        assert!(!violations.is_empty(), "{}", P::NAME);
    }
}

#[test]
fn inputs_out_of_range_are_found() {
    for_every_set(&TooLarge);
}
