//! Formulas for points, on points and coordinates that are variables: from the ranges that the next
//! formula may be given to the same, and of the right value.

use lanes::FIELD_LANES;
use lanes::proof::{Bit, Residue};
use reference::drbg::Drbg;

use super::super::double::{self, doubling_form};
use super::super::ladder::{step_of_eight, step_of_one};
use super::super::points::{AffinePoints, Points};
use super::{NO_FACTOR, Proof, REDUCED, Vectors, WIDE, holds, holds_by_operations};
use super::{is_within, value, values, vectors, vectors_of};
use crate::montgomery::A24;
use crate::proof::definition::{AffinePoint, Number, d};

/// Formulas are made of the field's operations, of which every operation on lanes is known to
/// matter: some are enough here.
const STEP: usize = 11;

/// X and Z of two points, after a step of the ladder (RFC 7748, section 5) which begins with these.
fn ladder_step(u: Number, [x2, z2, x3, z3]: [Number; 4], change: bool) -> [Number; 4] {
    let [x2, z2, x3, z3] = if change { [x3, z3, x2, z2] } else { [x2, z2, x3, z3] };
    let (a, b, c, d) = (x2.add(z2), x2.sub(z2), x3.add(z3), x3.sub(z3));
    let (aa, bb, da, cb) = (a.square(), b.square(), d.mul(a), c.mul(b));
    let e = aa.sub(bb);
    let x3 = da.add(cb).square();
    let z3 = u.mul(da.sub(cb).square());
    [aa.mul(bb), e.mul(aa.add(Number::of(A24.into()).mul(e))), x3, z3]
}

/// The ladder's step doubles one point and adds the other, with which it has a known difference.
#[test]
fn the_step_of_the_ladder_is_that_of_the_curve() {
    let mut random = Drbg::new(&[2; 48]);
    let u_of = |point: AffinePoint| {
        let one = Number::of(1);
        one.add(point.y).over(one.sub(point.y))
    };
    for change in [false, true] {
        let [p, q] = [(); 2].map(|()| AffinePoint::random(&mut random));
        let [r, s] = [(); 2].map(|()| Number::random(&mut random));
        let points = [u_of(p).mul(r), r, u_of(q).mul(s), s];
        let [x2, z2, x3, z3] = ladder_step(u_of(q.add(p.negated())), points, change);
        let doubled = if change { q } else { p };
        assert_eq!(x2.over(z2), u_of(doubled.add(doubled)));
        assert_eq!(x3.over(z3), u_of(p.add(q)));
    }
}

fn eight_step_is_right<const SIGNED: bool>(change: bool, largest: u64) -> bool {
    let lanes = Proof::<SIGNED>::default();
    let mut random = Drbg::new(&[3; 48]);
    let u = vectors(&mut random, REDUCED);
    let points = [(); 4].map(|()| vectors(&mut random, largest));
    let bit = if change { Bit::One } else { Bit::Zero };
    let found = step_of_eight(lanes, [bit; FIELD_LANES], u, points);
    (0..FIELD_LANES).all(|lane| {
        let expected = ladder_step(value(&u, lane), points.map(|v| value(&v, lane)), change);
        found.map(|v| value(&v, lane)) == expected
    }) && found.iter().all(|v| is_within(v, WIDE))
}

fn eight_ladders<const SIGNED: bool>() {
    assert!(!holds(|| eight_step_is_right::<SIGNED>(false, 4 * WIDE)));
    for change in [false, true] {
        holds_by_operations(STEP, "step_of_eight", || eight_step_is_right::<SIGNED>(change, WIDE));
    }
}

#[test]
fn a_step_of_eight_ladders() {
    eight_ladders::<false>();
    eight_ladders::<true>();
}

fn one_step_is_right<const SIGNED: bool>(change: bool, largest: u64) -> bool {
    let lanes = Proof::<SIGNED>::default();
    let mut random = Drbg::new(&[4; 48]);
    let mut numbers = || Number::random(&mut random);
    let (u, points) = (numbers(), [numbers(), numbers(), numbers(), numbers()]);
    let [x2, z2, x3, z3] = points;
    let twice = |sum, double| [sum, sum, double, double, sum, sum, double, double];
    let u_vectors = vectors_of(&mut random, REDUCED, [u; FIELD_LANES]);
    let x = vectors_of(&mut random, largest, twice(x3, x2));
    let z = vectors_of(&mut random, largest, twice(z3, z2));
    let bit = if change { Bit::One } else { Bit::Zero };
    let (x, z) = step_of_one(lanes, [bit; FIELD_LANES], u_vectors, x, z);
    let [x2, z2, x3, z3] = ladder_step(u, points, change);
    let right = values(&x) == twice(x3, x2) && values(&z) == twice(z3, z2);
    right && is_within(&x, REDUCED) && is_within(&z, REDUCED)
}

fn one_ladder<const SIGNED: bool>() {
    assert!(!holds(|| one_step_is_right::<SIGNED>(false, 4 * WIDE)));
    for change in [false, true] {
        holds_by_operations(STEP, "step_of_one", || one_step_is_right::<SIGNED>(change, REDUCED));
    }
}

#[test]
fn a_step_of_one_ladder() {
    one_ladder::<false>();
    one_ladder::<true>();
}

/// Random points, one for each lane.
fn random_points(random: &mut Drbg) -> [AffinePoint; FIELD_LANES] {
    [(); FIELD_LANES].map(|()| AffinePoint::random(random))
}

/// X, Y, Z and T of points, with random Z: each Z is another.
fn extended(random: &mut Drbg, points: &[AffinePoint; FIELD_LANES]) -> [[Number; 8]; 4] {
    let z = [(); FIELD_LANES].map(|()| Number::random(random));
    let by = |f: fn(AffinePoint) -> Number| core::array::from_fn(|i| f(points[i]).mul(z[i]));
    [by(|p| p.x), by(|p| p.y), z, by(|p| p.x.mul(p.y))]
}

fn eight_points<const SIGNED: bool>(
    random: &mut Drbg,
    points: &[AffinePoint; FIELD_LANES],
    wide: u64,
) -> Points<Proof<SIGNED>> {
    let [x, y, z, t] = extended(random, points);
    Points {
        x: vectors_of(random, wide, x),
        y: vectors_of(random, wide, y),
        z: vectors_of(random, wide, z),
        t: vectors_of(random, REDUCED, t),
    }
}

/// The sum of two points, and its Z up to the sign. That is zero in no sum of points of the curve,
/// whose d is no square.
#[derive(Clone, Copy)]
struct Sum {
    point: AffinePoint,
    z: Number,
}

/// The sum of two points, and `z^2 (1 - (d x1 x2 y1 y2)^2)`.
fn sum(p: AffinePoint, q: AffinePoint, z: Number) -> Sum {
    let product = d().mul(p.x).mul(q.x).mul(p.y).mul(q.y);
    Sum { point: p.add(q), z: z.square().mul(Number::of(1).sub(product.square())) }
}

impl Sum {
    /// Whether coordinates are those of the sum.
    fn is(self, [x, y, z, t]: [Number; 4]) -> bool {
        let AffinePoint { x: of_x, y: of_y } = self.point;
        let right = x == of_x.mul(z) && y == of_y.mul(z) && t == of_x.mul(of_y).mul(z);
        right && (z == self.z || z == Number::default().sub(self.z))
    }
}

fn eight_are<const SIGNED: bool>(
    found: &Points<Proof<SIGNED>>,
    expected: impl Fn(usize) -> Sum,
) -> bool {
    let Points { x, y, z, t } = found;
    let right = |lane| expected(lane).is([x, y, z, t].map(|v| value(v, lane)));
    (0..FIELD_LANES).all(right)
        && [x, y, z].iter().all(|v| is_within(v, WIDE))
        && is_within(t, REDUCED)
}

fn twice(z: Number) -> Number {
    z.add(z)
}

fn doubling_is_right<const SIGNED: bool>(largest: u64) -> bool {
    let mut random = Drbg::new(&[5; 48]);
    let points = random_points(&mut random);
    let v = eight_points::<SIGNED>(&mut random, &points, largest);
    let expected = |lane: usize| sum(points[lane], points[lane], value(&v.z, lane).square());
    eight_are(&v.double(Proof::<SIGNED>::default()), expected)
}

fn doublings<const SIGNED: bool>() {
    holds_by_operations(STEP, "double", || doubling_is_right::<SIGNED>(WIDE));
    assert!(!holds(|| doubling_is_right::<SIGNED>(8 * WIDE)));
}

#[test]
fn eight_doublings() {
    doublings::<false>();
    doublings::<true>();
}

fn addition_is_right<const SIGNED: bool>(largest: u64) -> bool {
    let mut random = Drbg::new(&[6; 48]);
    let (p, q) = (random_points(&mut random), random_points(&mut random));
    let (a, b) = (
        eight_points::<SIGNED>(&mut random, &p, largest),
        eight_points::<SIGNED>(&mut random, &q, WIDE),
    );
    let z = |lane| twice(value(&a.z, lane).mul(value(&b.z, lane)));
    eight_are(&a.add(Proof::<SIGNED>::default(), b), |lane| sum(p[lane], q[lane], z(lane)))
}

fn additions<const SIGNED: bool>() {
    holds_by_operations(STEP, "add", || addition_is_right::<SIGNED>(WIDE));
    assert!(!holds(|| addition_is_right::<SIGNED>(2 * WIDE)));
}

#[test]
fn eight_additions() {
    additions::<false>();
    additions::<true>();
}

fn affine_points<const SIGNED: bool>(
    random: &mut Drbg,
    points: &[AffinePoint; FIELD_LANES],
    largest: u64,
) -> AffinePoints<Proof<SIGNED>> {
    let mut by = |f: fn(AffinePoint) -> Number| vectors_of(random, largest, points.map(f));
    AffinePoints {
        sum: by(|p| p.y.add(p.x)),
        difference: by(|p| p.y.sub(p.x)),
        product: by(|p| d().add(d()).mul(p.x).mul(p.y)),
    }
}

fn affine_addition_is_right<const SIGNED: bool>(largest: u64) -> bool {
    let mut random = Drbg::new(&[7; 48]);
    let (p, q) = (random_points(&mut random), random_points(&mut random));
    let a = eight_points::<SIGNED>(&mut random, &p, WIDE);
    let b = affine_points::<SIGNED>(&mut random, &q, largest);
    let z = |lane| twice(value(&a.z, lane));
    eight_are(&a.add_affine(Proof::<SIGNED>::default(), &b), |lane| sum(p[lane], q[lane], z(lane)))
}

fn affine_additions<const SIGNED: bool>() {
    holds_by_operations(STEP, "add_affine", || affine_addition_is_right::<SIGNED>(REDUCED));
    assert!(!holds(|| affine_addition_is_right::<SIGNED>(NO_FACTOR)));
}

#[test]
fn eight_additions_of_affine_points() {
    affine_additions::<false>();
    affine_additions::<true>();
}

fn negations<const SIGNED: bool>() {
    // Limbs of what is canonical but the lowest, which is less, as a test of the tables shows.
    for (bit, keeps) in [(Bit::One, true), (Bit::Zero, false)] {
        lanes::proof::prove(|| {
            let mut random = Drbg::new(&[8; 48]);
            let points = random_points(&mut random);
            let affine = affine_points::<SIGNED>(&mut random, &points, (1 << 51) - 19);
            let found = affine.negated(Proof::<SIGNED>::default(), [bit; FIELD_LANES]);
            let expected = if keeps { points } else { points.map(AffinePoint::negated) };
            let expected = affine_points::<SIGNED>(&mut random, &expected, REDUCED);
            for (found, expected) in [
                (&found.sum, &expected.sum),
                (&found.difference, &expected.difference),
                (&found.product, &expected.product),
            ] {
                assert_eq!(values(found), values(expected));
                assert!(is_within(found, REDUCED));
            }
        });
    }
}

#[test]
fn affine_points_are_negated() {
    negations::<false>();
    negations::<true>();
}

/// Two points as `double` has them: X, Z, Y and T or X in four lanes.
fn two_points(random: &mut Drbg, points: &[AffinePoint; 2], largest: u64) -> Vectors {
    let z = Number::random(random);
    let one_of = |point: AffinePoint| {
        let (x, y) = (point.x.mul(z), point.y.mul(z));
        [x, z, y, x.mul(point.y)]
    };
    let of_lanes = points.map(one_of).concat().try_into().unwrap();
    vectors_of(random, largest, of_lanes)
}

fn two_are(found: &Vectors, expected: [Sum; 2], with_t: bool) -> bool {
    let right = |half: usize| {
        let [x, z, y, last] = core::array::from_fn(|i| value(found, 4 * half + i));
        let t = if with_t { last } else { expected[half].point.y.mul(x) };
        expected[half].is([x, y, z, t]) && (with_t || last == x)
    };
    right(0) && right(1) && is_within(found, WIDE)
}

/// Points prepared for additions.
fn prepared(points: [AffinePoint; 2], z: Number) -> [Number; FIELD_LANES] {
    let of_one = |point: AffinePoint| {
        let (x, y) = (point.x.mul(z), point.y.mul(z));
        [y.sub(x), twice(z), y.add(x), d().add(d()).mul(x).mul(point.y)]
    };
    points.map(of_one).concat().try_into().unwrap()
}

fn two_random(random: &mut Drbg) -> [AffinePoint; 2] {
    [(); 2].map(|()| AffinePoint::random(random))
}

fn doubling_of_two_is_right<const T: bool, const SIGNED: bool>(largest: u64) -> bool {
    let lanes = Proof::<SIGNED>::default();
    let mut random = Drbg::new(&[9; 48]);
    let points = two_random(&mut random);
    let v = doubling_form(lanes, two_points(&mut random, &points, largest));
    // Both have the same Z.
    let expected = points.map(|p| sum(p, p, value(&v, 1).square()));
    two_are(&double::double::<_, T>(lanes, v), expected, T)
}

fn doublings_of_two<const SIGNED: bool>() {
    holds_by_operations(STEP, "double::<true>", || doubling_of_two_is_right::<true, SIGNED>(WIDE));
    holds_by_operations(STEP, "double::<false>", || {
        doubling_of_two_is_right::<false, SIGNED>(WIDE)
    });
    assert!(!holds(|| doubling_of_two_is_right::<true, SIGNED>(8 * WIDE)));
}

#[test]
fn two_doublings() {
    doublings_of_two::<false>();
    doublings_of_two::<true>();
}

fn sum_of_two_is_right<const T: bool, const SIGNED: bool>(largest: u64) -> bool {
    let lanes = Proof::<SIGNED>::default();
    let mut random = Drbg::new(&[10; 48]);
    let (p, q) = (two_random(&mut random), two_random(&mut random));
    let v = two_points(&mut random, &p, WIDE);
    let z = Number::random(&mut random);
    let other = vectors_of(&mut random, largest, prepared(q, z));
    let z = twice(z.mul(value(&v, 1)));
    let expected = [sum(p[0], q[0], z), sum(p[1], q[1], z)];
    two_are(&double::sum::<_, T>(lanes, v, other), expected, T)
}

fn additions_of_two<const SIGNED: bool>() {
    holds_by_operations(STEP, "sum::<true>", || sum_of_two_is_right::<true, SIGNED>(REDUCED));
    holds_by_operations(STEP, "sum::<false>", || sum_of_two_is_right::<false, SIGNED>(REDUCED));
    assert!(!holds(|| sum_of_two_is_right::<true, SIGNED>(NO_FACTOR)));
}

#[test]
fn two_additions() {
    additions_of_two::<false>();
    additions_of_two::<true>();
}

/// Points are prepared, and prepared ones negated.
fn preparing_is_right<const SIGNED: bool>(largest: u64) -> bool {
    let lanes = Proof::<SIGNED>::default();
    let mut random = Drbg::new(&[11; 48]);
    let points = two_random(&mut random);
    let v = two_points(&mut random, &points, largest);
    let z = value(&v, 1);
    let found = double::prepare(lanes, v);
    let negated = double::negate(lanes, found);
    let right = values(&found) == prepared(points, z)
        && values(&negated) == prepared(points.map(AffinePoint::negated), z);
    right && is_within(&found, REDUCED) && is_within(&negated, REDUCED)
}

fn preparing<const SIGNED: bool>() {
    holds_by_operations(STEP, "prepare", || preparing_is_right::<SIGNED>(WIDE));
    assert!(!holds(|| preparing_is_right::<SIGNED>(2 * WIDE)));
}

#[test]
fn two_points_are_prepared() {
    preparing::<false>();
    preparing::<true>();
}
