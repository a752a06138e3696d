//! The sum of a multiple of any point and one of the base point, for public scalars: the
//! coordinates of two points are in four lanes each (2x4).
//!
//! Points are (X, Z, Y, T) in a half of a vector, wide. Both halves do the same: they hold the two
//! multiples.

use lanes::{EachPart, FIELD_LANES, FieldLanes, FieldParts, Kernel, Portable};

use super::field::{
    Elements, Stored, add, blend, carry, constants, load, mul, permute, square, store, sub, swap,
    zeros,
};
use crate::base::{self, ENTRIES};
use crate::edwards::{D2, Point};
use crate::field::{Fe, LIMBS};
use crate::scalar::{self, DIGITS, Recoded, Words};

/// Multiples by each digit: 2i - 15 times a point.
const MULTIPLES: usize = 2 * ENTRIES;

/// Lanes of both halves.
const fn in_halves(lanes: u8) -> u8 {
    lanes | lanes << 4
}

const HIGH_HALF: u8 = 0xf0;
const FIRST: u8 = in_halves(0b0001);
const SECOND: u8 = in_halves(0b0010);
const THIRD: u8 = in_halves(0b0100);
const LOWER: u8 = in_halves(0b0011);
const LAST: u8 = in_halves(0b1000);

/// An order of lanes in both halves.
const fn order(lanes: [u64; 4]) -> [u64; FIELD_LANES] {
    let [a, b, c, d] = lanes;
    [a, b, c, d, a + 4, b + 4, c + 4, d + 4]
}

const EXCHANGED: [u64; FIELD_LANES] = order([2, 3, 0, 1]);

/// Limbs of eight public elements.
type Constants = [[u64; FIELD_LANES]; LIMBS];

/// Elements in the lanes of each half.
const fn in_lanes(of_lanes: [Fe; 4]) -> Constants {
    let mut constants = [[0; FIELD_LANES]; LIMBS];
    let mut i = 0;
    while i < LIMBS {
        let mut lane = 0;
        while lane < FIELD_LANES {
            constants[i][lane] = of_lanes[lane % 4].0[i];
            lane += 1;
        }
        i += 1;
    }
    constants
}

/// The factors that prepare (Y - X, Z, Y + X, T) for additions.
static FACTORS: Constants = in_lanes([Fe::ONE, Fe::small(2), Fe::ONE, D2]);

/// The base point's multiples by each digit: (y - x, 2, y + x, 2dxy).
pub(super) static BASE: [Constants; MULTIPLES] = {
    let mut multiples = [[[0; FIELD_LANES]; LIMBS]; MULTIPLES];
    let mut digit = 0;
    while digit < MULTIPLES {
        let positive = digit >= ENTRIES;
        let entry = if positive { digit - ENTRIES } else { ENTRIES - 1 - digit };
        let [sum, difference, product] = base::first_multiple(entry);
        let negated = Fe::from_bytes(&product.neg().to_bytes());
        multiples[digit] = if positive {
            in_lanes([difference, Fe::small(2), sum, product])
        } else {
            in_lanes([sum, Fe::small(2), difference, negated])
        };
        digit += 1;
    }
    multiples
};

/// Twice the points, with T if `T`, else with X again in its place.
#[inline(always)]
pub(super) fn double<L: FieldLanes, const T: bool>(lanes: L, points: Elements<L>) -> Elements<L> {
    // (X, Z, Y, X + Y); the last lane was X or is no longer wanted.
    let sums = add(lanes, points, swap(lanes, points));
    let squares = square(lanes, carry(lanes, blend(lanes, LAST, points, sums)));
    // (X^2, Z^2, Y^2, (X + Y)^2) = (A, C, B, D).
    const A: [u64; FIELD_LANES] = order([0; 4]);
    const B: [u64; FIELD_LANES] = order([2; 4]);
    let (a, b) = (permute(lanes, squares, &A), permute(lanes, squares, &B));
    let neighbours = swap(lanes, squares);
    // (A - B, A - B, A + B, A + B), then with 2C in the first and -D in the third: (F, G, E, H).
    let factors = blend(lanes, LOWER, add(lanes, a, b), sub(lanes, a, b));
    let more = add(lanes, factors, add(lanes, neighbours, neighbours));
    let less = sub(lanes, factors, neighbours);
    let factors = blend(lanes, THIRD, blend(lanes, FIRST, factors, more), less);
    let factors = carry(lanes, factors);
    const LEFT: [u64; FIELD_LANES] = order([2, 1, 1, 2]);
    const RIGHT: [u64; FIELD_LANES] = order([0, 0, 3, 0]);
    const RIGHT_T: [u64; FIELD_LANES] = order([0, 0, 3, 3]);
    let right = permute(lanes, factors, if T { &RIGHT_T } else { &RIGHT });
    mul(lanes, permute(lanes, factors, &LEFT), right)
}

/// (Y - X, Z, Y + X, T), reduced.
#[inline(always)]
fn differences<L: FieldLanes>(lanes: L, points: Elements<L>) -> Elements<L> {
    let exchanged = permute(lanes, points, &EXCHANGED);
    let first = blend(lanes, FIRST, points, sub(lanes, exchanged, points));
    carry(lanes, blend(lanes, THIRD, first, add(lanes, points, exchanged)))
}

/// Points prepared for additions: (Y - X, 2Z, Y + X, 2dT), reduced.
#[inline(always)]
pub(super) fn prepare<L: FieldLanes>(lanes: L, points: Elements<L>) -> Elements<L> {
    carry(lanes, mul(lanes, differences(lanes, points), constants(lanes, &FACTORS)))
}

/// The negatives of prepared points: X and T change their signs.
#[inline(always)]
pub(super) fn negate<L: FieldLanes>(lanes: L, prepared: Elements<L>) -> Elements<L> {
    let exchanged = permute(lanes, prepared, &EXCHANGED);
    let zero = [lanes.splat_limb(0); LIMBS];
    let negated = carry(lanes, sub(lanes, zero, prepared));
    // Z stays.
    let other = blend(lanes, LAST, exchanged, negated);
    blend(lanes, SECOND, other, prepared)
}

/// Sums with prepared points, with T as [`double`].
#[inline(always)]
pub(super) fn sum<L: FieldLanes, const T: bool>(
    lanes: L,
    points: Elements<L>,
    prepared: Elements<L>,
) -> Elements<L> {
    // (A, D, B, C), and (B, C, A, D).
    let products = mul(lanes, differences(lanes, points), prepared);
    let exchanged = permute(lanes, products, &EXCHANGED);
    // (B - A, D - C, B + A, C + D) = (E, F, H, G).
    let factors =
        blend(lanes, FIRST, add(lanes, products, exchanged), sub(lanes, exchanged, products));
    let factors = carry(lanes, blend(lanes, SECOND, factors, sub(lanes, products, exchanged)));
    const LEFT: [u64; FIELD_LANES] = order([0, 3, 3, 0]);
    const RIGHT: [u64; FIELD_LANES] = order([1, 1, 2, 1]);
    const RIGHT_T: [u64; FIELD_LANES] = order([1, 1, 2, 2]);
    let right = permute(lanes, factors, if T { &RIGHT_T } else { &RIGHT });
    mul(lanes, permute(lanes, factors, &LEFT), right)
}

/// The two multiples. In: a point in both halves, reduced, and the digits of its public factor and
/// of the base point's. Out: the point's multiple in the lower half and the base point's in the
/// upper one, reduced.
pub(super) struct Double<'a, L: FieldLanes> {
    pub(super) point: &'a Stored<L>,
    pub(super) digits: &'a Recoded,
    pub(super) base_digits: &'a Recoded,
    pub(super) to: &'a mut Stored<L>,
}

impl<L: FieldLanes> Kernel<L> for Double<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let mut multiple = load(lanes, self.point);
        let twice = prepare(lanes, double::<L, true>(lanes, doubling_form(lanes, multiple)));
        let mut multiples = [multiple; MULTIPLES];
        for entry in 0..ENTRIES {
            if entry > 0 {
                multiple = sum::<L, true>(lanes, multiple, twice);
            }
            let prepared = prepare(lanes, multiple);
            multiples[ENTRIES + entry] = prepared;
            multiples[ENTRIES - 1 - entry] = negate(lanes, prepared);
        }

        let identity = in_lanes([Fe::ZERO, Fe::ONE, Fe::ONE, Fe::ZERO]);
        let mut points = constants(lanes, &identity);
        for i in (0..DIGITS).rev() {
            if i + 1 < DIGITS {
                points = double::<L, false>(lanes, points);
                points = double::<L, false>(lanes, points);
                points = double::<L, false>(lanes, points);
                points = double::<L, true>(lanes, points);
            }
            let own = multiples[scalar::digit(self.digits, i) as usize];
            let of_base = constants(lanes, &BASE[scalar::digit(self.base_digits, i) as usize]);
            let prepared = blend(lanes, HIGH_HALF, own, of_base);
            points = if i > 0 {
                sum::<L, false>(lanes, points, prepared)
            } else {
                sum::<L, true>(lanes, points, prepared)
            };
        }
        store(lanes, self.to, carry(lanes, points));
    }
}

/// X in the place of T.
#[inline(always)]
pub(super) fn doubling_form<L: FieldLanes>(lanes: L, points: Elements<L>) -> Elements<L> {
    const X_LAST: [u64; FIELD_LANES] = order([0, 1, 2, 0]);
    permute(lanes, points, &X_LAST)
}

/// [`Double`] on each part of the lanes.
struct EachDouble<'a> {
    point: &'a Stored<Portable>,
    digits: &'a Recoded,
    base_digits: &'a Recoded,
    to: &'a mut Stored<Portable>,
}

impl EachPart for EachDouble<'_> {
    fn on<L: FieldLanes<Limb = u64>>(&mut self, lanes: L) {
        let Self { point, digits, base_digits, ref mut to } = *self;
        lanes.run_field(Double::<L> { point, digits, base_digits, to });
    }
}

/// `a * point + b * base`, for public scalars below L; T is not valid. The point's Z is 1, and it
/// may have any order.
pub(crate) fn double_multiple_vartime<L: FieldParts>(
    lanes: L,
    a: &Words,
    point: &Point,
    b: &Words,
) -> Point {
    let stored = in_lanes([point.x, point.z, point.y, point.t]);
    let mut to = zeros::<Portable>();
    lanes.each(EachDouble {
        point: &stored,
        digits: &scalar::recode_odd(&scalar::odd(a)),
        base_digits: &scalar::recode(b),
        to: &mut to,
    });
    let point_at = |lane: usize| {
        let element = |at: usize| Fe(core::array::from_fn(|i| to[i][lane + at]));
        Point { x: element(0), z: element(1), y: element(2), t: element(3) }
    };
    let sum = point_at(0).add(&point_at(FIELD_LANES / 2).prepared());
    if scalar::is_even_vartime(a) { sum.add(&point.negated().prepared()) } else { sum }
}
