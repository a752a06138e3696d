//! Integers modulo p = 2^255 - 19 in lanes: five limbs of 51 bits.
//!
//! A vector of elements is *reduced* if its limbs are below 2^51 + 2^17, and *wide* if they are below 2^61. Factors are reduced, or
//! have limbs below 2^52 otherwise; products are wide. The sum of two wide vectors may be carried, and so may a wide vector, or a
//! sum of two, less a wide one; what is carried is reduced.

use lanes::{FIELD_LANES, FieldLanes};

use crate::field::{Fe, LIMB_BITS, LIMBS};

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

/// The limbs of 2p.
const TWICE_P: Fe = {
    let mut limbs = [((1 << LIMB_BITS) - 1) << 1; LIMBS];
    limbs[0] -= 18 << 1;
    Fe(limbs)
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

/// `a - b` as a representative that is not negative, for wide `b`. Adds less than 2^62 to the limbs of `a`.
#[inline(always)]
pub(super) fn sub<L: FieldLanes>(lanes: L, a: Elements<L>, b: Elements<L>) -> Elements<L> {
    let mut v = add(lanes, a, splat(lanes, BIAS));
    for i in 0..LIMBS {
        v[i] = lanes.sub_limbs(v[i], b[i]);
    }
    v
}

/// `-b`, a factor, for `b` with limbs below 2^51 that stand for less than p.
#[inline(always)]
pub(super) fn negate_canonical<L: FieldLanes>(lanes: L, b: Elements<L>) -> Elements<L> {
    let mut v = splat(lanes, TWICE_P);
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
        lanes.mul_add_low(lanes.low_bits::<LIMB_BITS>(a0), top, lanes.splat_limb(19)),
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

/// Sums of the low halves of products, and of their high ones, which count twice as much as the low ones one place higher.
#[derive(Clone, Copy)]
struct Sums<L: FieldLanes> {
    low: [L::Limbs; 2 * LIMBS - 1],
    high: [L::Limbs; 2 * LIMBS - 1],
}

impl<L: FieldLanes> Sums<L> {
    #[inline(always)]
    fn zero(lanes: L) -> Self {
        let zero = [lanes.splat_limb(0); 2 * LIMBS - 1];
        Sums { low: zero, high: zero }
    }

    /// Adds a product of limbs whose places add up to `PLACE`.
    #[inline(always)]
    fn add<const PLACE: usize>(&mut self, lanes: L, a: L::Limbs, b: L::Limbs) {
        self.low[PLACE] = lanes.mul_add_low(self.low[PLACE], a, b);
        self.high[PLACE] = lanes.mul_add_high(self.high[PLACE], a, b);
    }

    /// The sum in a place.
    #[inline(always)]
    fn place(&self, lanes: L, i: usize) -> L::Limbs {
        lanes.add_limbs(self.low[i], twice(lanes, self.high[i - 1]))
    }

    /// The same, and the high half of the square of a limb of the place before.
    #[inline(always)]
    fn place_and_square(&self, lanes: L, i: usize, a: L::Limbs) -> L::Limbs {
        let high = lanes.mul_add_high(twice(lanes, self.high[i - 1]), a, a);
        lanes.add_limbs(self.low[i], high)
    }
}

#[inline(always)]
fn twice<L: FieldLanes>(lanes: L, x: L::Limbs) -> L::Limbs {
    lanes.add_limbs(x, x)
}

/// The wide vector that sums in ten places are: 2^255 is 19. Sums of five products of factors below 2^52 give limbs below
/// 20 (5 + 10) 2^52 < 2^61.
#[inline(always)]
fn fold<L: FieldLanes>(lanes: L, places: [L::Limbs; 2 * LIMBS]) -> Elements<L> {
    let [p0, p1, p2, p3, p4, p5, p6, p7, p8, p9] = places;
    [
        add_nineteen_times(lanes, p0, p5),
        add_nineteen_times(lanes, p1, p6),
        add_nineteen_times(lanes, p2, p7),
        add_nineteen_times(lanes, p3, p8),
        add_nineteen_times(lanes, p4, p9),
    ]
}

/// `x + 19 y`
#[inline(always)]
fn add_nineteen_times<L: FieldLanes>(lanes: L, x: L::Limbs, y: L::Limbs) -> L::Limbs {
    lanes.add_limbs(x, lanes.mul_limbs(y, lanes.splat_limb(19)))
}

/// Product; wide.
#[inline(always)]
pub(super) fn mul<L: FieldLanes>(lanes: L, a: Elements<L>, b: Elements<L>) -> Elements<L> {
    let mut sums = Sums::zero(lanes);
    sums.add::<0>(lanes, a[0], b[0]);
    sums.add::<1>(lanes, a[0], b[1]);
    sums.add::<2>(lanes, a[0], b[2]);
    sums.add::<3>(lanes, a[0], b[3]);
    sums.add::<4>(lanes, a[0], b[4]);
    sums.add::<5>(lanes, a[1], b[4]);
    sums.add::<6>(lanes, a[2], b[4]);
    sums.add::<7>(lanes, a[3], b[4]);
    sums.add::<8>(lanes, a[4], b[4]);
    sums.add::<1>(lanes, a[1], b[0]);
    sums.add::<2>(lanes, a[1], b[1]);
    sums.add::<3>(lanes, a[1], b[2]);
    sums.add::<4>(lanes, a[1], b[3]);
    sums.add::<5>(lanes, a[2], b[3]);
    sums.add::<6>(lanes, a[3], b[3]);
    sums.add::<7>(lanes, a[4], b[3]);
    sums.add::<2>(lanes, a[2], b[0]);
    sums.add::<3>(lanes, a[2], b[1]);
    sums.add::<4>(lanes, a[2], b[2]);
    sums.add::<5>(lanes, a[3], b[2]);
    sums.add::<6>(lanes, a[4], b[2]);
    sums.add::<3>(lanes, a[3], b[0]);
    sums.add::<4>(lanes, a[3], b[1]);
    sums.add::<5>(lanes, a[4], b[1]);
    sums.add::<4>(lanes, a[4], b[0]);
    let places = [
        sums.low[0],
        sums.place(lanes, 1),
        sums.place(lanes, 2),
        sums.place(lanes, 3),
        sums.place(lanes, 4),
        sums.place(lanes, 5),
        sums.place(lanes, 6),
        sums.place(lanes, 7),
        sums.place(lanes, 8),
        twice(lanes, sums.high[8]),
    ];
    fold(lanes, places)
}

/// Square; wide.
#[inline(always)]
pub(super) fn square<L: FieldLanes>(lanes: L, a: Elements<L>) -> Elements<L> {
    let mut sums = Sums::zero(lanes);
    sums.add::<1>(lanes, a[0], a[1]);
    sums.add::<2>(lanes, a[0], a[2]);
    sums.add::<3>(lanes, a[0], a[3]);
    sums.add::<4>(lanes, a[0], a[4]);
    sums.add::<5>(lanes, a[1], a[4]);
    sums.add::<6>(lanes, a[2], a[4]);
    sums.add::<7>(lanes, a[3], a[4]);
    sums.add::<3>(lanes, a[1], a[2]);
    sums.add::<4>(lanes, a[1], a[3]);
    sums.add::<5>(lanes, a[2], a[3]);
    // What was added counts twice, squares once, and high halves twice again.
    let zero = lanes.splat_limb(0);
    let places = [
        lanes.mul_add_low(zero, a[0], a[0]),
        twice(lanes, lanes.mul_add_high(sums.low[1], a[0], a[0])),
        lanes.mul_add_low(twice(lanes, sums.place(lanes, 2)), a[1], a[1]),
        twice(lanes, sums.place_and_square(lanes, 3, a[1])),
        lanes.mul_add_low(twice(lanes, sums.place(lanes, 4)), a[2], a[2]),
        twice(lanes, sums.place_and_square(lanes, 5, a[2])),
        lanes.mul_add_low(twice(lanes, sums.place(lanes, 6)), a[3], a[3]),
        twice(lanes, sums.place_and_square(lanes, 7, a[3])),
        lanes.mul_add_low(lanes.times_power::<2>(sums.high[7]), a[4], a[4]),
        twice(lanes, lanes.mul_add_high(zero, a[4], a[4])),
    ];
    fold(lanes, places)
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
