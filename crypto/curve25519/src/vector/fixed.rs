//! Multiples of the base point: of eight scalars at once (8x1), or of one, whose terms go to eight
//! lanes (1x8).

use lanes::{EachPart, FIELD_LANES, FieldLanes, FieldParts, Kernel, Portable};
use zeroize::Zeroizing;

use super::field::Elements;
use super::points::{AffinePoints, Points, StoredPoints, no_points, point_of};
use crate::base::{self, TABLES, Table, WORDS};
use crate::edwards::Point;
use crate::field::LIMBS;
use crate::scalar::{Recoded, Words};

/// Words of a scalar.
const SCALAR_WORDS: usize = 4;
/// Tables whose points a lane adds where there is one scalar.
const TABLES_OF_LANE: usize = TABLES / FIELD_LANES;

/// Bits of a byte, and of a digit: byte i of a scalar has the digits of table i.
const BYTE: usize = 8;
const DIGIT: usize = 4;

/// The order in which lanes are added: half to half, if lanes of one reach the other, and within
/// halves.
const EXCHANGES: [[u64; FIELD_LANES]; 3] =
    [[4, 5, 6, 7, 0, 1, 2, 3], [2, 3, 0, 1, 6, 7, 4, 5], [1, 0, 3, 2, 5, 4, 7, 6]];

/// Recoded scalars, word by word: those of eight scalars in eight lanes.
type Digits<L> = [[<L as FieldLanes>::Limb; FIELD_LANES]; SCALAR_WORDS];

/// Eight multiples of the base point. In: any recoded scalars. Out: reduced.
pub(super) struct Eight<'a, L: FieldLanes> {
    pub(super) digits: &'a Digits<L>,
    pub(super) to: &'a mut StoredPoints<L>,
}

impl<L: FieldLanes> Kernel<L> for Eight<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let mut sum = Points::identity(lanes);
        for odd in [1, 0] {
            for (table, entries) in base::tables().iter().enumerate() {
                let at = BYTE * table + DIGIT * odd;
                let digits = lanes.load_limbs(&self.digits[at / 64]);
                let (index, positive) = index(lanes, digits, (at % 64) as u32);
                let term = look_up(lanes, entries, index).negated(lanes, positive);
                sum = sum.add_affine(lanes, &term);
            }
            if odd == 1 {
                sum = sixteenfold(lanes, sum);
            }
        }
        sum.store(lanes, self.to);
    }
}

/// One multiple of the base point: lane i adds the terms of tables `i * TABLES_OF_LANE` on. In: a
/// recoded scalar of which lane i has the digits of its tables, from the lowest bit on. Out:
/// reduced, in every lane; of each half, where lanes are not whole.
pub(super) struct One<'a, L: FieldLanes> {
    pub(super) digits: &'a [L::Limb; FIELD_LANES],
    pub(super) to: &'a mut StoredPoints<L>,
}

impl<L: FieldLanes> Kernel<L> for One<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let digits = lanes.load_limbs(self.digits);
        let mut sum = Points::identity(lanes);
        for odd in [1, 0] {
            for table in 0..TABLES_OF_LANE {
                let (index, positive) = index(lanes, digits, (BYTE * table + DIGIT * odd) as u32);
                let term = look_up_each(lanes, table, index).negated(lanes, positive);
                sum = sum.add_affine(lanes, &term);
            }
            if odd == 1 {
                sum = sixteenfold(lanes, sum);
            }
        }
        // A loop over both kinds of orders would leave the compiler without their values, which
        // permutations on AVX2 are made of.
        if L::IS_WHOLE {
            for order in &EXCHANGES {
                sum = sum.add(lanes, sum.permuted(lanes, order));
            }
        } else {
            for order in &[EXCHANGES[1], EXCHANGES[2]] {
                sum = sum.add(lanes, sum.permuted(lanes, order));
            }
        }
        sum.store(lanes, self.to);
    }
}

#[inline(always)]
fn sixteenfold<L: FieldLanes>(lanes: L, points: Points<L>) -> Points<L> {
    let mut points = points;
    for _ in 0..4 {
        points = points.double(lanes);
    }
    points
}

/// The entry that a digit asks for, in its low three bits, and whether it is not to be negated.
#[inline(always)]
fn index<L: FieldLanes>(lanes: L, digits: L::Limbs, at: u32) -> (L::Limbs, L::Bits) {
    let digit = lanes.nibble(digits, at);
    let positive = lanes.bit(digit, 3);
    // Digit 8 + i stands for 2i + 1, and 7 - i for -(2i + 1).
    let mirrored = lanes.sub_limbs(lanes.splat_limb(15), digit);
    (lanes.select_limbs(positive, digit, mirrored), positive)
}

/// The entries of one table.
#[inline(always)]
fn look_up<L: FieldLanes>(lanes: L, table: &Table, index: L::Limbs) -> AffinePoints<L> {
    let mut words = [lanes.splat_limb(0); WORDS];
    for i in 0..WORDS {
        words[i] = lanes.look_up(&table[i], index);
    }
    of_words::<L>(words)
}

/// The entries of each lane's table.
#[inline(always)]
fn look_up_each<L: FieldLanes>(lanes: L, table: usize, index: L::Limbs) -> AffinePoints<L> {
    let mut words = [lanes.splat_limb(0); WORDS];
    for i in 0..WORDS {
        for lane in 0..FIELD_LANES {
            let entries = &base::tables()[TABLES_OF_LANE * lane + table][i];
            words[i] = lanes.blend_limbs(1 << lane, words[i], lanes.look_up(entries, index));
        }
    }
    of_words::<L>(words)
}

#[inline(always)]
fn of_words<L: FieldLanes>(words: [L::Limbs; WORDS]) -> AffinePoints<L> {
    let mut parts: [Elements<L>; 3] = [[words[0]; LIMBS]; 3];
    for part in 0..3 {
        for i in 0..LIMBS {
            parts[part][i] = words[LIMBS * part + i];
        }
    }
    let [sum, difference, product] = parts;
    AffinePoints { sum, difference, product }
}

/// [`Eight`] on each part of the lanes.
struct EachEight<'a> {
    digits: &'a Digits<Portable>,
    to: &'a mut StoredPoints<Portable>,
}

impl EachPart for EachEight<'_> {
    fn on<L: FieldLanes<Limb = u64>>(&mut self, lanes: L) {
        lanes.run_field(Eight::<L> { digits: self.digits, to: self.to });
    }
}

/// [`One`] on each part of the lanes.
struct EachOne<'a> {
    digits: &'a [u64; FIELD_LANES],
    to: &'a mut StoredPoints<Portable>,
}

impl EachPart for EachOne<'_> {
    fn on<L: FieldLanes<Limb = u64>>(&mut self, lanes: L) {
        lanes.run_field(One::<L> { digits: self.digits, to: self.to });
    }
}

/// Writes the multiples of the base point by as many recoded scalars.
pub(crate) fn multiples_of_base<L: FieldParts>(lanes: L, scalars: &[Recoded], to: &mut [Point]) {
    let mut digits = Zeroizing::new([[0; FIELD_LANES]; SCALAR_WORDS]);
    let mut points = Zeroizing::new(no_points::<Portable>());
    for (group, to) in scalars.chunks(FIELD_LANES).zip(to.chunks_mut(FIELD_LANES)) {
        for (lane, scalar) in group.iter().enumerate() {
            for word in 0..SCALAR_WORDS {
                digits[word][lane] = scalar[word];
            }
        }
        let mut part = EachEight { digits: &digits, to: &mut points };
        if group.len() > FIELD_LANES / 2 {
            lanes.each(part)
        } else {
            part.on(lanes.lower())
        }
        for (lane, to) in to.iter_mut().enumerate() {
            *to = point_of(&points, lane);
        }
    }
}

/// The multiple of the base point by one recoded scalar.
pub(crate) fn multiple_of_base<L: FieldParts>(lanes: L, scalar: &Recoded) -> Point {
    let mut digits = Zeroizing::new([0; FIELD_LANES]);
    split(scalar, &mut digits);
    let mut points = Zeroizing::new(no_points::<Portable>());
    lanes.each(EachOne { digits: &digits, to: &mut points });
    let sum = point_of(&points, 0);
    if L::IS_WHOLE { sum } else { sum.add(&point_of(&points, FIELD_LANES / 2).prepared()) }
}

/// Gives each lane the bytes of its tables.
fn split(scalar: &Words, digits: &mut [u64; FIELD_LANES]) {
    for (lane, digits) in digits.iter_mut().enumerate() {
        let at = BYTE * TABLES_OF_LANE * lane;
        *digits = scalar[at / 64] >> (at % 64);
    }
}
