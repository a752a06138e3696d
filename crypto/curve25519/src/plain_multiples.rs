//! Multiples of points without lanes.

use zeroize::Zeroizing;

use crate::base::{self, ENTRIES, TABLES};
use crate::edwards::{Affine, Point};
use crate::scalar::{self, DIGITS, Recoded, Words};

impl Point {
    /// A secret multiple of the base point.
    pub(crate) fn multiple_of_base(digits: &Recoded) -> Point {
        let mut sum = Point::IDENTITY;
        let mut term = Zeroizing::new(Affine::default());
        for odd in [1, 0] {
            for table in 0..TABLES {
                let digit = scalar::digit(digits, 2 * table + odd);
                // All ones for digits below 8, which are negative.
                let negative = (digit >> 3).wrapping_sub(1);
                base::look_up(table, (digit ^ negative) % ENTRIES as u64, &mut term);
                term.negate(negative);
                sum = sum.add_affine(&term);
            }
            if odd == 1 {
                for i in 0..4 {
                    sum = sum.double(i == 3);
                }
            }
        }
        sum
    }

    /// `a * point + b * base`, for public scalars below L; T is not valid. The point may have any
    /// order.
    pub(crate) fn double_multiple_vartime(a: &Words, point: &Point, b: &Words) -> Point {
        let (digits, b_digits) = (scalar::recode_odd(&scalar::odd(a)), scalar::recode(b));
        let double = point.double(true).prepared();
        let mut multiples = [point.prepared(); ENTRIES];
        let mut multiple = *point;
        for entry in &mut multiples[1..] {
            multiple = multiple.add(&double);
            *entry = multiple.prepared();
        }
        let mut sum = Point::IDENTITY;
        for i in (0..DIGITS).rev() {
            let a = scalar::digit(&digits, i) as usize;
            let b = scalar::digit(&b_digits, i) as usize;
            for i in 0..4 {
                sum = sum.double(i == 3);
            }
            let term = if a < 8 { multiples[7 - a].negated() } else { multiples[a - 8] };
            sum = sum.add(&term);
            let mut term = base::entry(0, if b < 8 { 7 - b } else { b - 8 });
            if b < 8 {
                term.negate(u64::MAX);
            }
            sum = sum.add_affine(&term);
        }
        if scalar::is_even_vartime(a) { sum.add(&multiples[0].negated()) } else { sum }
    }
}
