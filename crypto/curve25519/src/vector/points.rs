//! Eight points, one in each lane, by the formulas of `edwards`.

use lanes::{FIELD_LANES, FieldLanes, Portable};

use super::field::{Elements, add, carry, mul, mul_carry, permute, select, splat, square, store};
use super::field::{Stored, negate_canonical, sub, zeros};
use crate::edwards::{D2, Point};
use crate::field::{Fe, LIMBS};

/// Eight points: X, Y and Z wide, T reduced.
#[derive(Clone, Copy)]
pub(super) struct Points<L: FieldLanes> {
    pub(super) x: Elements<L>,
    pub(super) y: Elements<L>,
    pub(super) z: Elements<L>,
    pub(super) t: Elements<L>,
}

/// Eight points that are to be added, of which Z is 1: y + x, y - x and 2dxy, canonical or negated
/// by [`AffinePoints::negated`].
#[derive(Clone, Copy)]
pub(super) struct AffinePoints<L: FieldLanes> {
    pub(super) sum: Elements<L>,
    pub(super) difference: Elements<L>,
    pub(super) product: Elements<L>,
}

/// Eight points in memory: X, Y, Z, T.
pub(super) type StoredPoints<L> = [Stored<L>; 4];

impl<L: FieldLanes> AffinePoints<L> {
    /// The points where `keep` is one, their negatives where it is zero.
    #[inline(always)]
    pub(super) fn negated(self, lanes: L, keep: L::Bits) -> Self {
        let AffinePoints { sum, difference, product } = self;
        AffinePoints {
            sum: select(lanes, keep, sum, difference),
            difference: select(lanes, keep, difference, sum),
            product: select(lanes, keep, product, negate_canonical(lanes, product)),
        }
    }
}

impl<L: FieldLanes> Points<L> {
    #[inline(always)]
    pub(super) fn identity(lanes: L) -> Self {
        let (zero, one) = (splat(lanes, Fe::ZERO), splat(lanes, Fe::ONE));
        Points { x: zero, y: one, z: one, t: zero }
    }

    /// Writes the points, reduced.
    #[inline(always)]
    pub(super) fn store(self, lanes: L, to: &mut StoredPoints<L>) {
        let [x, y, z, t] = to;
        store(lanes, x, carry(lanes, self.x));
        store(lanes, y, carry(lanes, self.y));
        store(lanes, z, carry(lanes, self.z));
        store(lanes, t, self.t);
    }

    #[inline(always)]
    fn of_factors(
        lanes: L,
        e: Elements<L>,
        f: Elements<L>,
        g: Elements<L>,
        h: Elements<L>,
    ) -> Self {
        let (e, f, g, h) = (carry(lanes, e), carry(lanes, f), carry(lanes, g), carry(lanes, h));
        Points {
            x: mul(lanes, e, f),
            y: mul(lanes, g, h),
            z: mul(lanes, f, g),
            t: mul_carry(lanes, e, h),
        }
    }

    /// Twice the points; seven products.
    #[inline(always)]
    pub(super) fn double(self, lanes: L) -> Self {
        let a = square(lanes, carry(lanes, self.x));
        let b = square(lanes, carry(lanes, self.y));
        let c = carry(lanes, square(lanes, carry(lanes, self.z)));
        let d = square(lanes, carry(lanes, add(lanes, self.x, self.y)));
        let h = add(lanes, a, b);
        let g = carry(lanes, sub(lanes, a, b));
        let f = add(lanes, add(lanes, c, c), g);
        Self::of_factors(lanes, sub(lanes, h, d), f, g, h)
    }

    /// Sum with points whose Z is 1; seven products.
    #[inline(always)]
    pub(super) fn add_affine(self, lanes: L, other: &AffinePoints<L>) -> Self {
        let a = mul(lanes, carry(lanes, sub(lanes, self.y, self.x)), other.difference);
        let b = mul(lanes, carry(lanes, add(lanes, self.y, self.x)), other.sum);
        let c = mul(lanes, self.t, other.product);
        let d = add(lanes, self.z, self.z);
        Self::of_sums(lanes, a, b, c, d)
    }

    /// Sum; nine products.
    #[inline(always)]
    pub(super) fn add(self, lanes: L, other: Self) -> Self {
        let a = mul(
            lanes,
            carry(lanes, sub(lanes, self.y, self.x)),
            carry(lanes, sub(lanes, other.y, other.x)),
        );
        let b = mul(
            lanes,
            carry(lanes, add(lanes, self.y, self.x)),
            carry(lanes, add(lanes, other.y, other.x)),
        );
        let t = mul_carry(lanes, other.t, splat(lanes, D2));
        let c = mul(lanes, self.t, t);
        let d = mul(lanes, carry(lanes, self.z), carry(lanes, other.z));
        Self::of_sums(lanes, a, b, c, add(lanes, d, d))
    }

    #[inline(always)]
    fn of_sums(lanes: L, a: Elements<L>, b: Elements<L>, c: Elements<L>, d: Elements<L>) -> Self {
        let (e, h) = (sub(lanes, b, a), add(lanes, b, a));
        Self::of_factors(lanes, e, sub(lanes, d, c), add(lanes, d, c), h)
    }

    /// The points in other lanes.
    #[inline(always)]
    pub(super) fn permuted(self, lanes: L, order: &[u64; FIELD_LANES]) -> Self {
        Points {
            x: permute(lanes, self.x, order),
            y: permute(lanes, self.y, order),
            z: permute(lanes, self.z, order),
            t: permute(lanes, self.t, order),
        }
    }
}

/// No points in memory yet.
pub(super) fn no_points<L: FieldLanes>() -> StoredPoints<L> {
    [zeros::<L>(); 4]
}

/// The point in a lane.
pub(super) fn point_of(points: &StoredPoints<Portable>, lane: usize) -> Point {
    let element = |coordinate: usize| {
        let mut limbs = [0; LIMBS];
        for i in 0..LIMBS {
            limbs[i] = points[coordinate][i][lane];
        }
        Fe(limbs)
    };
    Point { x: element(0), y: element(1), z: element(2), t: element(3) }
}
