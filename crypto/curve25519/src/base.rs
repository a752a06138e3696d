//! Odd multiples of the base point, computed when the crate is compiled.

use crate::edwards::{Affine, D2, Point};
use crate::field::{Fe, LIMBS, equal_mask};

/// Tables: one for each byte of a scalar.
pub(crate) const TABLES: usize = 32;
/// Points of a table.
pub(crate) const ENTRIES: usize = 8;
/// Words of a point: y + x, y - x and 2dxy, all canonical.
pub(crate) const WORDS: usize = 3 * LIMBS;

/// Each word of all points of a table.
pub(crate) type Table = [[u64; ENTRIES]; WORDS];

/// A table begins on a cache line.
#[repr(align(64))]
struct Aligned([Table; TABLES]);

/// Entry e of table i is (2e + 1) 256^i times the base point.
#[allow(long_running_const_eval, reason = "it takes seconds, and ends")]
static MULTIPLES: Aligned = Aligned(multiples());

/// The tables.
pub(crate) fn tables() -> &'static [Table; TABLES] {
    &MULTIPLES.0
}

const fn multiples() -> [Table; TABLES] {
    const COUNT: usize = TABLES * ENTRIES;
    let mut points = [Point::IDENTITY; COUNT];
    let mut power = Point::BASE;
    let mut i = 0;
    while i < TABLES {
        let double = power.double(true);
        let step = double.prepared();
        points[ENTRIES * i] = power;
        let mut e = 1;
        while e < ENTRIES {
            points[ENTRIES * i + e] = points[ENTRIES * i + e - 1].add(&step);
            e += 1;
        }
        power = double;
        let mut doublings = 1;
        while doublings < 8 {
            power = power.double(true);
            doublings += 1;
        }
        i += 1;
    }

    // All are divided by their Z with one inversion.
    let mut before = [Fe::ONE; COUNT + 1];
    let mut i = 0;
    while i < COUNT {
        before[i + 1] = before[i].mul(points[i].z);
        i += 1;
    }
    let mut inverse = before[COUNT].invert();
    let mut tables = [[[0; ENTRIES]; WORDS]; TABLES];
    while i > 0 {
        i -= 1;
        let z = inverse.mul(before[i]);
        inverse = inverse.mul(points[i].z);
        let (x, y) = (points[i].x.mul(z), points[i].y.mul(z));
        let words = [
            Fe::from_bytes(&y.add(x).to_bytes()).0,
            Fe::from_bytes(&y.sub(x).to_bytes()).0,
            Fe::from_bytes(&x.mul(y).mul(D2).to_bytes()).0,
        ];
        let mut w = 0;
        while w < WORDS {
            tables[i / ENTRIES][w][i % ENTRIES] = words[w / LIMBS][w % LIMBS];
            w += 1;
        }
    }
    tables
}

/// An entry of the first table, when the crate is compiled: y + x, y - x and 2dxy.
pub(crate) const fn first_multiple(index: usize) -> [Fe; 3] {
    let mut parts = [Fe::ZERO; 3];
    let mut i = 0;
    while i < WORDS {
        parts[i / LIMBS].0[i % LIMBS] = MULTIPLES.0[0][i][index];
        i += 1;
    }
    parts
}

/// A secret entry of a table; all of it is read.
pub(crate) fn look_up(table: usize, index: u64, to: &mut Affine) {
    let mut masks = [0; ENTRIES];
    for (entry, mask) in masks.iter_mut().enumerate() {
        *mask = equal_mask(index, entry as u64);
    }
    let mut words = [0; WORDS];
    for (word, entries) in words.iter_mut().zip(&MULTIPLES.0[table]) {
        for entry in 0..ENTRIES {
            *word |= masks[entry] & entries[entry];
        }
    }
    *to = of_words(&words);
}

/// A public entry of a table.
pub(crate) fn entry(table: usize, index: usize) -> Affine {
    let mut words = [0; WORDS];
    for (word, entries) in words.iter_mut().zip(&MULTIPLES.0[table]) {
        *word = entries[index];
    }
    of_words(&words)
}

fn of_words(words: &[u64; WORDS]) -> Affine {
    let fe = |at| {
        let mut limbs = [0; LIMBS];
        limbs.copy_from_slice(&words[at..at + LIMBS]);
        Fe(limbs)
    };
    Affine { sum: fe(0), difference: fe(LIMBS), product: fe(2 * LIMBS) }
}
