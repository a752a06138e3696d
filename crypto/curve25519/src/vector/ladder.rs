//! The Montgomery ladder (RFC 7748, section 5): of eight scalars at once (8x1), or of one, whose
//! four products of a kind go to four lanes (Hisil, Egrice and Yassi 2020, "Fast 4 way vectorized
//! ladder for the complete set of Montgomery curves").

use lanes::{EachPart, FIELD_LANES, FieldLanes, FieldParts, Kernel, Portable, Split};
use zeroize::Zeroizing;

use super::field::{
    Elements, Stored, TWICE_P, add, blend, carry, load, mul, one_place_higher, permute_either,
    select, splat, square, store, sub, swap, zeros,
};
use crate::field::{BYTES, Fe, LIMBS};
use crate::montgomery::{A24, Projective};
use crate::scalar::{self, Words};

/// Bits of a clamped scalar.
const SCALAR_BITS: u32 = 255;

/// Eight ladders. In: reduced u-coordinates; of each scalar the bits at which the two points change
/// places. Out: reduced.
pub(super) struct Eight<'a, L: FieldLanes> {
    pub(super) changes: &'a [[L::Limb; FIELD_LANES]; 4],
    pub(super) u: &'a Stored<L>,
    pub(super) x: &'a mut Stored<L>,
    pub(super) z: &'a mut Stored<L>,
}

impl<L: FieldLanes> Kernel<L> for Eight<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let u = load(lanes, self.u);
        let (zero, one) = (splat(lanes, Fe::ZERO), splat(lanes, Fe::ONE));
        let mut points = [one, zero, u, one];
        for i in (0..SCALAR_BITS).rev() {
            let word = lanes.load_limbs(&self.changes[(i / 64) as usize]);
            points = step_of_eight(lanes, lanes.bit(word, i % 64), u, points);
        }
        let [xa, za, _, _] = points;
        store(lanes, self.x, carry(lanes, xa));
        store(lanes, self.z, carry(lanes, za));
    }
}

/// A step of eight ladders: doubles the first point, or the second one if they change places, and
/// adds the two, whose difference has the reduced u-coordinate `u`. Points are X and Z, wide.
#[inline(always)]
pub(super) fn step_of_eight<L: FieldLanes>(
    lanes: L,
    change: L::Bits,
    u: Elements<L>,
    points: [Elements<L>; 4],
) -> [Elements<L>; 4] {
    let [xa, za, xb, zb] = points;
    let sum_a = carry(lanes, add(lanes, xa, za));
    let difference_a = carry(lanes, sub(lanes, xa, za));
    let sum_b = carry(lanes, add(lanes, xb, zb));
    let difference_b = carry(lanes, sub(lanes, xb, zb));
    // The four products of one point's sum and the other's difference are the same whichever is
    // which.
    let sum_d = select(lanes, change, sum_b, sum_a);
    let difference_d = select(lanes, change, difference_b, difference_a);
    let one = mul(lanes, difference_b, sum_a);
    let other = mul(lanes, sum_b, difference_a);
    let xb = square(lanes, carry(lanes, add(lanes, one, other)));
    let difference = square(lanes, carry(lanes, sub(lanes, one, other)));
    let zb = mul(lanes, carry(lanes, difference), u);
    let (aa, bb) = (square(lanes, sum_d), square(lanes, difference_d));
    let e = carry(lanes, sub(lanes, aa, bb));
    let aa = carry(lanes, aa);
    let xa = mul(lanes, aa, carry(lanes, bb));
    let scaled = mul_small(lanes, e, A24);
    let za = mul(lanes, e, carry(lanes, add(lanes, scaled, aa)));
    [xa, za, xb, zb]
}

/// Product with a public factor below 2^17; wide.
#[inline(always)]
pub(super) fn mul_small<L: FieldLanes>(lanes: L, a: Elements<L>, factor: u32) -> Elements<L> {
    let factor = lanes.splat_limb(factor.into());
    let zero = lanes.splat_limb(0);
    let mut low = match L::SPLIT {
        Split::Unsigned52 => [zero; LIMBS],
        // Low halves may be negative.
        Split::Signed51 => splat(lanes, TWICE_P),
    };
    let mut high = a;
    for i in 0..LIMBS {
        low[i] = lanes.mul_add_low(low[i], a[i], factor);
        high[i] = one_place_higher(lanes, lanes.mul_add_high(zero, a[i], factor));
    }
    [
        lanes.mul_add_small(low[0], high[4], lanes.splat_limb(19)),
        lanes.add_limbs(low[1], high[0]),
        lanes.add_limbs(low[2], high[1]),
        lanes.add_limbs(low[3], high[2]),
        lanes.add_limbs(low[4], high[3]),
    ]
}

/// One ladder, twice: the upper four lanes do what the lower ones do. In: the u-coordinate,
/// reduced, in every lane, and the bits at which the two points change places. Out: reduced X and
/// Z, in the upper two lanes of each half.
pub(super) struct One<'a, L: FieldLanes> {
    pub(super) changes: &'a [[L::Limb; FIELD_LANES]; 4],
    pub(super) u: &'a Stored<L>,
    pub(super) x: &'a mut Stored<L>,
    pub(super) z: &'a mut Stored<L>,
}

/// Lanes of each half that take `b` of a blend.
const fn in_halves(lanes: u8) -> u8 {
    lanes | lanes << 4
}

const SECOND: u8 = in_halves(0b0010);
const THIRD: u8 = in_halves(0b0100);
const FOURTH: u8 = in_halves(0b1000);
const UPPER: u8 = in_halves(0b1100);
const ODD: u8 = in_halves(0b1010);

impl<L: FieldLanes> Kernel<L> for One<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let u = load(lanes, self.u);
        // (X, X) of the sum and of the double, and (Z, Z) likewise.
        let mut x = blend(lanes, UPPER, u, splat(lanes, Fe::ONE));
        let mut z = blend(lanes, UPPER, splat(lanes, Fe::ONE), splat(lanes, Fe::ZERO));
        for i in (0..SCALAR_BITS).rev() {
            let word = lanes.load_limbs(&self.changes[(i / 64) as usize]);
            (x, z) = step_of_one(lanes, lanes.bit(word, i % 64), u, x, z);
        }
        store(lanes, self.x, x);
        store(lanes, self.z, z);
    }
}

/// A step of one ladder, as [`step_of_eight`]: X and Z of the sum twice, then of the double twice,
/// reduced.
#[inline(always)]
pub(super) fn step_of_one<L: FieldLanes>(
    lanes: L,
    change: L::Bits,
    u: Elements<L>,
    x: Elements<L>,
    z: Elements<L>,
) -> (Elements<L>, Elements<L>) {
    let zero = splat(lanes, Fe::ZERO);
    let a24 = splat(lanes, Fe::small(A24));
    // (C, D, A, B): X + Z and X - Z of the sum, then of the double.
    let sums = blend(lanes, ODD, add(lanes, x, z), sub(lanes, x, z));
    let sums = carry(lanes, sums);
    // If they are exchanged, A with C, and B with D.
    const LEFT: [u64; FIELD_LANES] = [2, 3, 2, 3, 6, 7, 6, 7];
    const LEFT_CHANGED: [u64; FIELD_LANES] = [0, 1, 0, 1, 4, 5, 4, 5];
    const RIGHT: [u64; FIELD_LANES] = [1, 0, 2, 3, 5, 4, 6, 7];
    const RIGHT_CHANGED: [u64; FIELD_LANES] = [3, 2, 0, 1, 7, 6, 4, 5];
    let left = permute_either(lanes, change, sums, &LEFT_CHANGED, &LEFT);
    let right = permute_either(lanes, change, sums, &RIGHT_CHANGED, &RIGHT);
    // (DA, CB, AA, BB).
    let first = mul(lanes, left, right);
    let reduced = carry(lanes, first);
    let swapped = swap(lanes, first);
    // (DA + CB, CB - DA, AA - BB, AA).
    let sum = add(lanes, first, swapped);
    let difference = sub(lanes, first, swapped);
    let left = blend(lanes, SECOND | THIRD, sum, difference);
    let left = carry(lanes, blend(lanes, FOURTH, left, swapped));
    // (DA + CB, CB - DA, 121665, BB).
    let right = blend(lanes, THIRD, blend(lanes, FOURTH, left, reduced), a24);
    // (X of the sum, (DA - CB)^2, 121665 E, X of the double).
    let second = mul(lanes, left, right);
    let even = lane_of_pair::<L, 0>(lanes, second);
    let odd = lane_of_pair::<L, 1>(lanes, second);
    let x = carry(lanes, blend(lanes, UPPER, even, odd));
    // ((DA - CB)^2, the same, AA + 121665 E, the same).
    let right = blend(lanes, UPPER, odd, even);
    let aa = blend(lanes, UPPER, zero, lane_of_pair::<L, 0>(lanes, reduced));
    let right = carry(lanes, add(lanes, right, aa));
    // (u, u, E, E).
    let left = blend(lanes, UPPER, u, lane_of_pair::<L, 0>(lanes, left));
    let z = carry(lanes, mul(lanes, left, right));
    (x, z)
}

/// One lane of each pair in both.
#[inline(always)]
fn lane_of_pair<L: FieldLanes, const ODD_LANE: usize>(lanes: L, a: Elements<L>) -> Elements<L> {
    let swapped = swap(lanes, a);
    if ODD_LANE == 1 { blend(lanes, ODD, swapped, a) } else { blend(lanes, ODD, a, swapped) }
}

/// The bits of a clamped scalar at which the two points of the ladder change places.
fn changes(secret: &[u8; BYTES]) -> Zeroizing<Words> {
    let clamped = Zeroizing::new(scalar::clamp(secret));
    let bits = Zeroizing::new(scalar::read(&clamped));
    let [b0, b1, b2, b3] = *bits;
    // The lowest bit is zero, so they are in their places at the end.
    Zeroizing::new([
        b0 ^ (b0 >> 1 | b1 << 63),
        b1 ^ (b1 >> 1 | b2 << 63),
        b2 ^ (b2 >> 1 | b3 << 63),
        b3 ^ b3 >> 1,
    ])
}

/// Inputs and outputs of ladders.
type Memory = [Stored<Portable>; 3];

/// Writes the multiples of as many points with the given u-coordinates by secret scalars, which are
/// clamped.
pub(crate) fn ladders<'a, L: FieldParts>(
    lanes: L,
    pairs: impl Iterator<Item = (&'a [u8; BYTES], &'a [u8; BYTES])>,
    to: &mut [Projective],
) {
    let mut bits = Zeroizing::new([[0; FIELD_LANES]; 4]);
    let mut memory: Zeroizing<Memory> = Zeroizing::new([zeros::<Portable>(); 3]);
    let mut groups = to.chunks_mut(FIELD_LANES);
    let mut count = 0;
    for (secret, u) in pairs {
        let (secret, u) = (changes(secret), Fe::from_bytes(u));
        for word in 0..4 {
            bits[word][count] = secret[word];
        }
        for limb in 0..LIMBS {
            memory[0][limb][count] = u.0[limb];
        }
        count += 1;
        if count == FIELD_LANES {
            eight(lanes, &bits, &mut memory, groups.next().unwrap_or_default());
            count = 0;
        }
    }
    if count > 0 {
        eight(lanes, &bits, &mut memory, groups.next().unwrap_or_default());
    }
}

/// [`Eight`] on each part of the lanes.
struct EachEight<'a> {
    changes: &'a [[u64; FIELD_LANES]; 4],
    memory: &'a mut Memory,
}

impl EachPart for EachEight<'_> {
    fn on<L: FieldLanes<Limb = u64>>(&mut self, lanes: L) {
        let [u, x, z] = &mut *self.memory;
        lanes.run_field(Eight::<L> { changes: self.changes, u, x, z });
    }
}

fn eight<L: FieldParts>(
    lanes: L,
    changes: &[[u64; FIELD_LANES]; 4],
    memory: &mut Memory,
    to: &mut [Projective],
) {
    let mut part = EachEight { changes, memory };
    if to.len() > FIELD_LANES / 2 {
        lanes.each(part)
    } else {
        part.on(lanes.lower())
    }
    let [_, x, z] = memory;
    for (lane, to) in to.iter_mut().enumerate() {
        *to = Projective { x: element(x, lane), z: element(z, lane) };
    }
}

/// The multiple of the point with the given u-coordinate by a secret scalar, which is clamped.
pub(crate) fn ladder<L: FieldParts>(lanes: L, secret: &[u8; BYTES], u: &[u8; BYTES]) -> Projective {
    let bits = changes(secret);
    let changes = Zeroizing::new(bits.map(|word| [word; FIELD_LANES]));
    let mut memory: Zeroizing<Memory> = Zeroizing::new([zeros::<Portable>(); 3]);
    let [stored_u, x, z] = &mut *memory;
    *stored_u = Fe::from_bytes(u).0.map(|limb| [limb; FIELD_LANES]);
    lanes.lower().run_field(One::<L::Lower> { changes: &changes, u: stored_u, x, z });
    Projective { x: element(x, 2), z: element(z, 2) }
}

fn element(stored: &Stored<Portable>, lane: usize) -> Fe {
    let mut limbs = [0; LIMBS];
    for i in 0..LIMBS {
        limbs[i] = stored[i][lane];
    }
    Fe(limbs)
}
