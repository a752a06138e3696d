//! Arithmetic without lanes. Limbs and sums grow with those of the operands, except for low bits,
//! which are bounded: if nothing overflows and nothing is lost where all limbs are as large as they
//! may be, this holds for all. Overflow checks find the one, a comparison with the definition the
//! other.

use lanes::proof::Residue;

use super::definition::Number;
use crate::field::{BYTES, Fe, LIMBS, MASK};

/// The largest limb of factors, of reduced elements, and of what is carried.
const FACTOR: u64 = (1 << 54) - 1;
const REDUCED: u64 = (1 << 51) + (1 << 17) - 1;
const CARRIED: u64 = (1 << 63) - 1;
/// The largest limb of what is subtracted.
const SUBTRAHEND: u64 = (1 << 53) - 77;

/// Factors in the formulas for points and in the ladder: sums of at most three reduced elements,
/// with one difference among them.
const _: () = assert!(3 * REDUCED + (1 << 53) <= FACTOR && REDUCED <= SUBTRAHEND);

/// Elements with each of the given limbs in each place.
fn elements(limbs: &[u64]) -> impl Iterator<Item = Fe> {
    (0..limbs.len().pow(LIMBS as u32)).map(|choice| {
        Fe(core::array::from_fn(|i| limbs[choice / limbs.len().pow(i as u32) % limbs.len()]))
    })
}

fn is_reduced(fe: &Fe) -> bool {
    fe.0.iter().all(|&limb| limb <= REDUCED)
}

#[track_caller]
fn expect(found: Fe, expected: Number) {
    assert!(is_reduced(&found), "{:x?}", found.0);
    assert_eq!(Number::of_fe(&found), expected, "{:x?}", found.0);
}

fn product_is_right(a: Fe, b: Fe) {
    expect(a.mul(b), Number::of_fe(&a).mul(Number::of_fe(&b)));
}

#[test]
fn products_at_the_edges() {
    let largest = Fe([FACTOR; LIMBS]);
    for a in elements(&[0, 1, MASK, REDUCED, FACTOR]) {
        expect(a.square(), Number::of_fe(&a).square());
        product_is_right(a, largest);
        product_is_right(largest, a);
        product_is_right(a, Fe([a.0[3], a.0[0], a.0[4], a.0[1], a.0[2]]));
        for factor in [0, 1, 121_665, (1 << 17) - 1] {
            expect(a.mul_small(factor), Number::of_fe(&a).mul(Number::of(factor.into())));
        }
    }
}

/// A product is a sum of products of limbs, each times a number: all of them are right. So is a
/// square.
#[test]
fn products_limb_by_limb() {
    for i in 0..LIMBS {
        for j in 0..LIMBS {
            for (x, y) in [(1, 1), (FACTOR, FACTOR), (1 << 50, (1 << 54) - 3)] {
                let (mut a, mut b) = (Fe::ZERO, Fe::ZERO);
                (a.0[i], b.0[j]) = (x, y);
                product_is_right(a, b);
                a.0[j] = y;
                expect(a.square(), Number::of_fe(&a).square());
            }
        }
    }
}

#[test]
fn sums_and_carries_at_the_edges() {
    for a in elements(&[0, 1, MASK, REDUCED, FACTOR, CARRIED]) {
        expect(a.carried(), Number::of_fe(&a));
    }
    for a in elements(&[0, 1, SUBTRAHEND]) {
        let value = Number::of_fe(&a);
        for b in elements(&[0, REDUCED]) {
            let of_b = Number::of_fe(&b);
            let (sum, difference) = (b.add(a), b.sub(a));
            assert_eq!(Number::of_fe(&sum), of_b.add(value));
            assert_eq!(Number::of_fe(&difference), of_b.sub(value));
            assert!(difference.0.iter().all(|&limb| limb < REDUCED + (1 << 53)));
        }
        assert_eq!(Number::of_fe(&a.neg()), Number::default().sub(value));
    }
}

/// Encodings are canonical, whatever represents the element.
#[test]
fn encodings_at_the_edges() {
    let edges =
        [0, 1, 18, 19, 20, MASK - 19, MASK - 18, MASK - 17, MASK, MASK + 1, REDUCED, FACTOR];
    let check = |fe: Fe| {
        let value = Number::of_fe(&fe);
        let bytes = fe.to_bytes();
        assert_eq!(bytes, value.to_bytes(), "{:x?}", fe.0);
        assert_eq!(fe.is_zero(), if value == Number::default() { u64::MAX } else { 0 });
        assert_eq!(fe.is_odd(), bytes[0] & 1 == 1);
        let read = Fe::from_bytes(&bytes);
        assert_eq!(Number::of_fe(&read), value);
        assert!(read.0.iter().all(|&limb| limb <= MASK));
    };
    for low in edges {
        for mut fe in elements(&[0, MASK, MASK + 1, REDUCED, FACTOR]) {
            fe.0[0] = low;
            check(fe);
        }
    }
    // Multiples of p, and what is next to them.
    for multiple in 0..8 {
        let mut fe = Fe([multiple * MASK; LIMBS]);
        fe.0[0] = multiple * (MASK - 18);
        for _ in 0..4 {
            check(fe);
            fe.0[0] += 1;
        }
    }
}

/// Every byte in every place; the highest bit is not read.
#[test]
fn decoding() {
    for rest in [0, 0xff] {
        for place in 0..BYTES {
            for byte in 0..=0xff {
                let mut bytes = [rest; BYTES];
                bytes[place] = byte;
                let fe = Fe::from_bytes(&bytes);
                bytes[BYTES - 1] &= 0x7f;
                assert_eq!(Number::of_fe(&fe), Number::of_bytes(&bytes));
                assert!(fe.0.iter().all(|&limb| limb <= MASK));
            }
        }
    }
}

#[test]
fn powers() {
    for a in elements(&[0, 1, REDUCED]) {
        let value = Number::of_fe(&a);
        if value == Number::default() {
            assert_eq!(a.invert().is_zero(), u64::MAX);
        } else {
            expect(a.invert(), value.invert());
        }
        // To the power (p - 5) / 8, eight times, with four more factors, is to the power p - 1.
        let power = Number::of_fe(&a.power_for_root()).square().square().square();
        let one = if value == Number::default() { value } else { Number::of(1) };
        assert_eq!(power.mul(value.square().square()), one);
    }
}
