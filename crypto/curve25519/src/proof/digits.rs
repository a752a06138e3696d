//! Multiples by every digit in every place: tables, what is looked up in them, its sign, and how
//! often it is doubled.

use lanes::proof::Residue;
use lanes::{Backend, FieldDispatch, FieldParts, Portable};

use super::definition::{AffinePoint, Number, d};
use crate::base::{self, ENTRIES, TABLES};
use crate::edwards::{Affine, Point};
use crate::field::{Fe, LIMBS, MASK};
use crate::scalar::{DIGITS, Recoded, Words};
use crate::vector;

/// 16^i times the base point.
fn powers() -> Vec<AffinePoint> {
    let mut power = AffinePoint::base();
    let mut powers = Vec::new();
    for _ in 0..DIGITS {
        powers.push(power);
        for _ in 0..4 {
            power = power.add(power);
        }
    }
    powers
}

fn is(part: &Fe, expected: Number) -> bool {
    // Canonical, with a lowest limb that is at most that of p.
    let Fe(limbs) = *part;
    let canonical = limbs.iter().all(|&limb| limb <= MASK)
        && (limbs[0] < MASK - 18 || limbs[1..].iter().any(|&limb| limb < MASK));
    canonical && Number::of_fe(part) == expected
}

#[test]
fn tables_have_the_multiples_of_the_base_point() {
    let powers = powers();
    for table in 0..TABLES {
        let power = powers[2 * table];
        let double = power.add(power);
        let mut multiple = power;
        for entry in 0..ENTRIES {
            let mut found = Affine::default();
            base::look_up(table, entry as u64, &mut found);
            let public = base::entry(table, entry);
            let AffinePoint { x, y } = multiple;
            let (sum, difference) = (y.add(x), y.sub(x));
            let product = d().add(d()).mul(x).mul(y);
            for Affine { sum: s, difference: t, product: p } in [found, public] {
                assert!(is(&s, sum) && is(&t, difference) && is(&p, product), "{table} {entry}");
            }
            multiple = multiple.add(double);
        }
    }
}

/// The words with digit `digit` in place `at`, and 8 elsewhere, which stands for one.
fn one_digit(at: usize, digit: u64) -> Recoded {
    let mut digits = [0x8888_8888_8888_8888; 4];
    digits[at / 16] ^= (digit ^ 8) << (4 * (at % 16));
    digits
}

/// Every such choice of digits, and the multiple of the base point that it stands for.
fn multiples() -> Vec<(usize, u64, AffinePoint)> {
    let powers = powers();
    let ones = powers.iter().fold(AffinePoint::identity(), |sum, &power| sum.add(power));
    let mut multiples = Vec::new();
    for at in 0..DIGITS {
        // Digit b stands for 2b - 15.
        let step = powers[at].add(powers[at]);
        let mut multiple = (0..8).fold(ones, |sum, _| sum.add(step.negated()));
        for digit in 0..16 {
            multiples.push((at, digit, multiple));
            multiple = multiple.add(step);
        }
    }
    multiples
}

fn is_point(found: &Point, expected: AffinePoint, with_t: bool) -> bool {
    let [x, y, z, t] = [found.x, found.y, found.z, found.t].map(|fe| Number::of_fe(&fe));
    z != Number::default()
        && x == expected.x.mul(z)
        && y == expected.y.mul(z)
        && (!with_t || t.mul(z) == x.mul(y))
}

/// A public factor that has the digits of a recoded scalar, if the highest digit is positive:
/// twice, and one, without what is 2^256 or more.
fn factor(digits: &Recoded) -> Words {
    let [w0, w1, w2, w3] = *digits;
    [w0 << 1 | 1, w1 << 1 | w0 >> 63, w2 << 1 | w1 >> 63, w3 << 1 | w2 >> 63]
}

fn base_multiples(multiple_of_base: impl Fn(&Recoded) -> Point) {
    for (at, digit, expected) in multiples() {
        let found = multiple_of_base(&one_digit(at, digit));
        assert!(is_point(&found, expected, true), "digit {digit} in place {at}");
    }
}

/// One factor has the digit, the other one has ones only.
fn double_multiples(double_multiple: impl Fn(&Words, &Point, &Words) -> Point) {
    let ones = factor(&one_digit(0, 8));
    let sum_of_ones = multiples()[8].2;
    for (at, digit, multiple) in multiples() {
        if at + 1 == DIGITS && digit < 8 {
            continue;
        }
        let one = factor(&one_digit(at, digit));
        let expected = multiple.add(sum_of_ones);
        for (a, b) in [(&one, &ones), (&ones, &one)] {
            let found = double_multiple(a, &Point::BASE, b);
            assert!(is_point(&found, expected, false), "digit {digit} in place {at}");
        }
        // An even factor is one less than the odd one that is recoded.
        let even = [one[0] - 1, one[1], one[2], one[3]];
        let found = double_multiple(&even, &Point::BASE, &ones);
        let expected = expected.add(AffinePoint::base().negated());
        assert!(is_point(&found, expected, false), "digit {digit} in place {at}, and even");
    }
}

#[test]
fn digits_without_lanes() {
    base_multiples(Point::multiple_of_base);
    double_multiples(Point::double_multiple_vartime);
}

#[derive(Clone, Copy)]
struct OnLanes;

impl FieldDispatch for OnLanes {
    type Output = ();

    fn on<L: FieldParts>(self, lanes: L) {
        base_multiples(|digits| vector::multiple_of_base(lanes, digits));
        double_multiples(|a, point, b| vector::double_multiple_vartime(lanes, a, point, b));
        let all = multiples();
        let digits: Vec<_> = all.iter().map(|&(at, digit, _)| one_digit(at, digit)).collect();
        let mut found = vec![Point::IDENTITY; all.len()];
        vector::multiples_of_base(lanes, &digits, &mut found);
        for (found, (at, digit, expected)) in found.iter().zip(all) {
            assert!(is_point(found, expected, true), "digit {digit} in place {at}");
        }
    }

    fn without(self) {}
}

#[test]
fn digits_on_lanes() {
    OnLanes.on(Portable);
    for backend in Backend::available() {
        backend.run_field(OnLanes);
    }
}

/// The proofs of kernels count on these.
#[test]
fn every_entry_is_canonical() {
    let p = Fe([MASK - 18, MASK, MASK, MASK, MASK]);
    assert_eq!(Number::of_fe(&p), Number::default());
    assert!(!is(&p, Number::default()) && is(&Fe::ZERO, Number::default()));
    let words = base::tables().as_flattened().as_flattened();
    assert_eq!(words.len(), TABLES * 3 * LIMBS * ENTRIES);
    assert!(words.iter().all(|&word| word <= MASK));
}
