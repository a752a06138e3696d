//! Whole kernels: no limb leaves its range in any of their steps, whatever the inputs, and what
//! they store is reduced.

use lanes::proof::{Residue as _, Symbol, examine, prove};
use lanes::{FIELD_LANES, FieldLanes as _, Kernel};
use reference::drbg::Drbg;

use super::super::double::{BASE, Double};
use super::super::points::no_points;
use super::super::{fixed, ladder};
use super::{Proof, REDUCED, Vectors, is_within, values, vectors};
use crate::edwards::D2;
use crate::field::{LIMBS, MASK};
use crate::proof::definition::{AffinePoint, Number};
use crate::scalar::Recoded;

type Limb = Symbol<Number>;

/// Words of secret bits.
fn any_words<const COUNT: usize>() -> [[Limb; FIELD_LANES]; COUNT] {
    let mut random = Drbg::new(&[20; 48]);
    [(); COUNT].map(|()| {
        [(); FIELD_LANES].map(|()| Symbol::new(0..=u64::MAX, Number::random(&mut random)))
    })
}

fn nothing() -> Vectors {
    [[Symbol::default(); FIELD_LANES]; LIMBS]
}

fn run<const SIGNED: bool>(kernel: impl Kernel<Proof<SIGNED>, Output = ()>) {
    prove(|| Proof::default().run_field(kernel));
}

#[test]
fn ladders_stay_in_range() {
    ladders::<false>();
    ladders::<true>();
}

fn ladders<const SIGNED: bool>() {
    let u = vectors(&mut Drbg::new(&[21; 48]), REDUCED);
    let changes = any_words();
    let (mut x, mut z) = (nothing(), nothing());
    run::<SIGNED>(ladder::Eight { changes: &changes, u: &u, x: &mut x, z: &mut z });
    assert!(is_within(&x, REDUCED) && is_within(&z, REDUCED));
    run::<SIGNED>(ladder::One { changes: &changes, u: &u, x: &mut x, z: &mut z });
    assert!(is_within(&x, REDUCED) && is_within(&z, REDUCED));
}

#[test]
fn multiples_of_the_base_point_stay_in_range() {
    multiples_of_base::<false>();
    multiples_of_base::<true>();
}

fn multiples_of_base<const SIGNED: bool>() {
    let mut points = no_points::<Proof<SIGNED>>();
    run::<SIGNED>(fixed::Eight { digits: &any_words(), to: &mut points });
    assert!(points.iter().all(|v| is_within(v, REDUCED)));
    run::<SIGNED>(fixed::One { digits: &any_words::<1>()[0], to: &mut points });
    assert!(points.iter().all(|v| is_within(v, REDUCED)));
}

/// Digits choose among multiples that all have the same ranges: reduced ones of the point, and ones
/// of the base point that are.
#[test]
fn sums_of_two_multiples_stay_in_range() {
    sums_of_two::<false>();
    sums_of_two::<true>();
}

fn sums_of_two<const SIGNED: bool>() {
    assert!(BASE.as_flattened().as_flattened().iter().all(|&limb| limb <= MASK));
    let point = vectors(&mut Drbg::new(&[22; 48]), REDUCED);
    for digit in 0..16u64 {
        let digits: Recoded = [digit * 0x1111_1111_1111_1111; 4];
        let base_digits: Recoded = [(15 - digit) * 0x1111_1111_1111_1111; 4];
        let mut to = nothing();
        run::<SIGNED>(Double {
            point: &point,
            digits: &digits,
            base_digits: &base_digits,
            to: &mut to,
        });
        assert!(is_within(&to, REDUCED));
    }
}

/// A ladder that begins with what is not reduced is not proved.
#[test]
fn inputs_out_of_range_are_found() {
    let u = vectors(&mut Drbg::new(&[23; 48]), 2 * REDUCED);
    let changes = any_words();
    let (mut x, mut z) = (nothing(), nothing());
    let kernel = ladder::Eight { changes: &changes, u: &u, x: &mut x, z: &mut z };
    let ((), violations) = examine(|| Proof::<false>::default().run_field(kernel));
    assert!(violations.iter().any(|v| v.what.contains("more than 52 bits")), "{violations:#?}");
}

/// The base point's multiples for sums of two multiples, by each digit: (y - x, 2, y + x, 2dxy).
#[test]
fn multiples_by_each_digit() {
    let base = AffinePoint::base();
    let twice = base.add(base);
    let d2 = Number::of_fe(&D2);
    let mut multiple = base;
    for entry in 0..8 {
        for (digit, point) in [(8 + entry, multiple), (7 - entry, multiple.negated())] {
            let v = BASE[digit].map(|limbs| limbs.map(lanes::Limb::constant));
            let AffinePoint { x, y } = point;
            let expected = [y.sub(x), Number::of(2), y.add(x), d2.mul(x).mul(y)];
            assert_eq!(values(&v)[..], [expected, expected].concat(), "digit {digit}");
        }
        multiple = multiple.add(twice);
    }
}
