//! Integers modulo p = 2^255 - 19 in lanes: five limbs of 51 bits.
//!
//! A vector of elements is *reduced* if its limbs are below 2^51 + 2^17, and *wide* if they are
//! below 2^61. Factors are reduced; products are wide. The sum of two wide vectors may be carried,
//! and so may a wide vector, or a sum of two, less a wide one; what is carried is reduced.
//!
//! High halves of products count once or twice as much as low ones one place higher, and low ones
//! may be negative ([`Split`]).

use lanes::{FIELD_LANES, FieldLanes, Split};

use crate::field::{Fe, LIMB_BITS, LIMBS, MASK};

/// Eight elements, one in each lane.
pub(super) type Elements<L> = [<L as FieldLanes>::Limbs; LIMBS];

/// Eight elements in memory.
pub(super) type Stored<L> = [[<L as FieldLanes>::Limb; FIELD_LANES]; LIMBS];

/// The limbs of 2^11 p, which are above 2^61.
const BIAS: Fe = {
    let mut limbs = [((1 << LIMB_BITS) - 1) << 11; LIMBS];
    limbs[0] -= 18 << 11;
    Fe(limbs)
};

/// The limbs of p.
const P: Fe = {
    let mut limbs = [MASK; LIMBS];
    limbs[0] -= 18;
    Fe(limbs)
};

/// The limbs of 2p.
pub(super) const TWICE_P: Fe = Fe([2 * P.0[0], 2 * P.0[1], 2 * P.0[2], 2 * P.0[3], 2 * P.0[4]]);

/// Initial values of half the sums of products in ten places, for low halves with signs: these
/// numbers stand for 60p, and each is enough for the low halves of two products and a half.
const START: [u64; 2 * LIMBS] = {
    let mut places = [3 * MASK; 2 * LIMBS];
    places[0] -= 60 * 18;
    places[4] += 57 * MASK;
    places[9] = 0;
    places
};

/// A public element in every lane.
#[inline(always)]
pub(super) fn splat<L: FieldLanes>(lanes: L, value: Fe) -> Elements<L> {
    let [f0, f1, f2, f3, f4] = value.0;
    [
        lanes.splat_limb(f0),
        lanes.splat_limb(f1),
        lanes.splat_limb(f2),
        lanes.splat_limb(f3),
        lanes.splat_limb(f4),
    ]
}

/// Reads eight elements.
#[inline(always)]
pub(super) fn load<L: FieldLanes>(lanes: L, from: &Stored<L>) -> Elements<L> {
    let mut v = [lanes.splat_limb(0); LIMBS];
    for i in 0..LIMBS {
        v[i] = lanes.load_limbs(&from[i]);
    }
    v
}

/// Reads eight public elements.
#[inline(always)]
pub(super) fn constants<L: FieldLanes>(
    lanes: L,
    from: &[[u64; FIELD_LANES]; LIMBS],
) -> Elements<L> {
    let mut v = [lanes.splat_limb(0); LIMBS];
    for i in 0..LIMBS {
        v[i] = lanes.constant_limbs(&from[i]);
    }
    v
}

/// Writes eight elements.
#[inline(always)]
pub(super) fn store<L: FieldLanes>(lanes: L, to: &mut Stored<L>, v: Elements<L>) {
    for i in 0..LIMBS {
        lanes.store_limbs(&mut to[i], v[i]);
    }
}

/// Zeros in memory.
#[inline(always)]
pub(super) fn zeros<L: FieldLanes>() -> Stored<L> {
    [[L::Limb::default(); FIELD_LANES]; LIMBS]
}

/// Sum, limb by limb.
#[inline(always)]
pub(super) fn add<L: FieldLanes>(lanes: L, a: Elements<L>, b: Elements<L>) -> Elements<L> {
    let mut v = a;
    for i in 0..LIMBS {
        v[i] = lanes.add_limbs(a[i], b[i]);
    }
    v
}

/// `a - b` as a representative that is not negative, for wide `b`. Adds less than 2^62 to the limbs
/// of `a`.
#[inline(always)]
pub(super) fn sub<L: FieldLanes>(lanes: L, a: Elements<L>, b: Elements<L>) -> Elements<L> {
    let mut v = add(lanes, a, splat(lanes, BIAS));
    for i in 0..LIMBS {
        v[i] = lanes.sub_limbs(v[i], b[i]);
    }
    v
}

/// `-b`, for `b` with limbs up to those of p.
#[inline(always)]
pub(super) fn negate_canonical<L: FieldLanes>(lanes: L, b: Elements<L>) -> Elements<L> {
    let mut v = splat(lanes, P);
    for i in 0..LIMBS {
        v[i] = lanes.sub_limbs(v[i], b[i]);
    }
    v
}

/// Reduces limbs below 2^63: each gives what it has above 51 bits to the next, at once.
#[inline(always)]
pub(super) fn carry<L: FieldLanes>(lanes: L, a: Elements<L>) -> Elements<L> {
    let [a0, a1, a2, a3, a4] = a;
    let top = lanes.high_bits::<LIMB_BITS>(a4);
    [
        lanes.mul_add_small(lanes.low_bits::<LIMB_BITS>(a0), top, lanes.splat_limb(19)),
        carry_to(lanes, a1, a0),
        carry_to(lanes, a2, a1),
        carry_to(lanes, a3, a2),
        carry_to(lanes, a4, a3),
    ]
}

/// The low bits of a limb, and what the one before it carries.
#[inline(always)]
fn carry_to<L: FieldLanes>(lanes: L, limb: L::Limbs, before: L::Limbs) -> L::Limbs {
    lanes.add_limbs(lanes.low_bits::<LIMB_BITS>(limb), lanes.high_bits::<LIMB_BITS>(before))
}

/// The sums of the low and of the high halves of products whose limbs' places add up to the same.
#[derive(Clone, Copy)]
struct Column<L: FieldLanes> {
    low: L::Limbs,
    high: L::Limbs,
}

impl<L: FieldLanes> Column<L> {
    /// The products of each `a` and `b`, in a place that begins with `times` [`START`] where low
    /// halves have signs.
    #[inline(always)]
    fn of<const COUNT: usize>(
        lanes: L,
        place: usize,
        times: u64,
        a: [L::Limbs; COUNT],
        b: [L::Limbs; COUNT],
    ) -> Self {
        let low = lanes.splat_limb(match L::SPLIT {
            Split::Unsigned52 => 0,
            Split::Signed51 => times * START[place],
        });
        let (low, high) = lanes.mul_add_all(low, lanes.splat_limb(0), a, b);
        Column { low, high }
    }

    /// The sum in this place, which is one higher than that of `lower`.
    #[inline(always)]
    fn place(&self, lanes: L, lower: &Self) -> L::Limbs {
        lanes.add_limbs(self.low, one_place_higher(lanes, lower.high))
    }

    /// Twice the sum in this place, and the high half of the square of a limb of the place before.
    #[inline(always)]
    fn twice_and_square(&self, lanes: L, lower: &Self, a: L::Limbs) -> L::Limbs {
        match L::SPLIT {
            Split::Unsigned52 => {
                let high = lanes.mul_add_high(one_place_higher(lanes, lower.high), a, a);
                twice(lanes, lanes.add_limbs(self.low, high))
            }
            Split::Signed51 => lanes.mul_add_high(twice(lanes, self.place(lanes, lower)), a, a),
        }
    }
}

/// A sum of high halves, as a limb one place higher.
#[inline(always)]
pub(super) fn one_place_higher<L: FieldLanes>(lanes: L, high: L::Limbs) -> L::Limbs {
    match L::SPLIT {
        Split::Unsigned52 => twice(lanes, high),
        Split::Signed51 => high,
    }
}

#[inline(always)]
fn twice<L: FieldLanes>(lanes: L, x: L::Limbs) -> L::Limbs {
    lanes.add_limbs(x, x)
}

/// Product; wide: sums of five products of factors give limbs below 20 (5 + 10) 2^52 < 2^61.
#[inline(always)]
pub(super) fn mul<L: FieldLanes>(lanes: L, a: Elements<L>, b: Elements<L>) -> Elements<L> {
    let [a0, a1, a2, a3, a4] = a;
    let [b0, b1, b2, b3, b4] = b;
    // From the highest place on: what is above 2^255 goes to the lower places, and little is left
    // to be kept at any time.
    let c8 = Column::of(lanes, 8, 2, [a4], [b4]);
    let p9 = times_nineteen(lanes, one_place_higher(lanes, c8.high));
    let c7 = Column::of(lanes, 7, 2, [a3, a4], [b4, b3]);
    let p8 = times_nineteen(lanes, c8.place(lanes, &c7));
    let c6 = Column::of(lanes, 6, 2, [a2, a3, a4], [b4, b3, b2]);
    let p7 = times_nineteen(lanes, c7.place(lanes, &c6));
    let c5 = Column::of(lanes, 5, 2, [a1, a2, a3, a4], [b4, b3, b2, b1]);
    let p6 = times_nineteen(lanes, c6.place(lanes, &c5));
    let c4 = Column::of(lanes, 4, 2, [a0, a1, a2, a3, a4], [b4, b3, b2, b1, b0]);
    let p5 = times_nineteen(lanes, c5.place(lanes, &c4));
    let c3 = Column::of(lanes, 3, 2, [a0, a1, a2, a3], [b3, b2, b1, b0]);
    let p4 = lanes.add_limbs(c4.place(lanes, &c3), p9);
    let c2 = Column::of(lanes, 2, 2, [a0, a1, a2], [b2, b1, b0]);
    let p3 = lanes.add_limbs(c3.place(lanes, &c2), p8);
    let c1 = Column::of(lanes, 1, 2, [a0, a1], [b1, b0]);
    let p2 = lanes.add_limbs(c2.place(lanes, &c1), p7);
    let c0 = Column::of(lanes, 0, 2, [a0], [b0]);
    let p1 = lanes.add_limbs(c1.place(lanes, &c0), p6);
    let p0 = lanes.add_limbs(c0.low, p5);
    [p0, p1, p2, p3, p4]
}

/// Square; wide.
#[inline(always)]
pub(super) fn square<L: FieldLanes>(lanes: L, a: Elements<L>) -> Elements<L> {
    let [a0, a1, a2, a3, a4] = a;
    // Products in columns count twice, squares once.
    let c8 = Column::of(lanes, 8, 1, [], []);
    let p9 = times_nineteen(lanes, one_place_higher(lanes, lanes.mul_add_high(c8.high, a4, a4)));
    let c7 = Column::of(lanes, 7, 1, [a3], [a4]);
    let p8 = lanes.mul_add_low(twice(lanes, c8.place(lanes, &c7)), a4, a4);
    let p8 = times_nineteen(lanes, p8);
    let c6 = Column::of(lanes, 6, 1, [a2], [a4]);
    let p7 = times_nineteen(lanes, c7.twice_and_square(lanes, &c6, a3));
    let c5 = Column::of(lanes, 5, 1, [a1, a2], [a4, a3]);
    let p6 = lanes.mul_add_low(twice(lanes, c6.place(lanes, &c5)), a3, a3);
    let p6 = times_nineteen(lanes, p6);
    let c4 = Column::of(lanes, 4, 1, [a0, a1], [a4, a3]);
    let p5 = times_nineteen(lanes, c5.twice_and_square(lanes, &c4, a2));
    let c3 = Column::of(lanes, 3, 1, [a0, a1], [a3, a2]);
    let p4 = lanes.mul_add_low(twice(lanes, c4.place(lanes, &c3)), a2, a2);
    let p4 = lanes.add_limbs(p4, p9);
    let c2 = Column::of(lanes, 2, 1, [a0], [a2]);
    let p3 = c3.twice_and_square(lanes, &c2, a1);
    let p3 = lanes.add_limbs(p3, p8);
    let c1 = Column::of(lanes, 1, 1, [a0], [a1]);
    let p2 = lanes.mul_add_low(twice(lanes, c2.place(lanes, &c1)), a1, a1);
    let p2 = lanes.add_limbs(p2, p7);
    let c0 = Column::of(lanes, 0, 2, [], []);
    let p1 = lanes.add_limbs(c1.twice_and_square(lanes, &c0, a0), p6);
    let p0 = lanes.add_limbs(lanes.mul_add_low(c0.low, a0, a0), p5);
    [p0, p1, p2, p3, p4]
}

/// 2^255 is 19.
#[inline(always)]
fn times_nineteen<L: FieldLanes>(lanes: L, place: L::Limbs) -> L::Limbs {
    lanes.times::<19>(place)
}

/// Reduced product.
#[inline(always)]
pub(super) fn mul_carry<L: FieldLanes>(lanes: L, a: Elements<L>, b: Elements<L>) -> Elements<L> {
    carry(lanes, mul(lanes, a, b))
}

/// Elements in other lanes.
#[inline(always)]
pub(super) fn permute<L: FieldLanes>(
    lanes: L,
    a: Elements<L>,
    order: &[u64; FIELD_LANES],
) -> Elements<L> {
    let mut v = a;
    for i in 0..LIMBS {
        v[i] = lanes.permute_limbs(a[i], order);
    }
    v
}

/// `b` in lanes whose bit in `which`, a public constant, is one; `a` in the others.
#[inline(always)]
pub(super) fn blend<L: FieldLanes>(
    lanes: L,
    which: u8,
    a: Elements<L>,
    b: Elements<L>,
) -> Elements<L> {
    let mut v = a;
    for i in 0..LIMBS {
        v[i] = lanes.blend_limbs(which, a[i], b[i]);
    }
    v
}

/// `a` in lanes whose bit is one, `b` in the others.
#[inline(always)]
pub(super) fn select<L: FieldLanes>(
    lanes: L,
    bits: L::Bits,
    a: Elements<L>,
    b: Elements<L>,
) -> Elements<L> {
    let mut v = a;
    for i in 0..LIMBS {
        v[i] = lanes.select_limbs(bits, a[i], b[i]);
    }
    v
}

/// Elements in other lanes, whose order is a secret choice between two.
#[inline(always)]
pub(super) fn permute_either<L: FieldLanes>(
    lanes: L,
    bits: L::Bits,
    a: Elements<L>,
    one: &[u64; FIELD_LANES],
    zero: &[u64; FIELD_LANES],
) -> Elements<L> {
    let mut v = a;
    for i in 0..LIMBS {
        v[i] = lanes.permute_either(bits, a[i], one, zero);
    }
    v
}

/// Each two neighbours exchanged.
#[inline(always)]
pub(super) fn swap<L: FieldLanes>(lanes: L, a: Elements<L>) -> Elements<L> {
    let mut v = a;
    for i in 0..LIMBS {
        v[i] = lanes.swap_limbs(a[i]);
    }
    v
}
