//! Moduli of 16-bit arithmetic and their constants.

/// An odd modulus below 2^13 with the constants that reductions need, derived at compile time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    /// The modulus.
    pub q: i16,
    /// `q^-1 mod 2^16`.
    pub inverse: i16,
    /// `2^15 / q`, rounded: the multiplier of Barrett's reduction.
    pub reciprocal: i16,
}

impl Modulus {
    /// The constants for `q`, which must be odd and in `3 .. 2^13`.
    pub const fn new(q: i16) -> Self {
        assert!(q % 2 == 1 && q >= 3 && q < 1 << 13);
        // Newton's iteration doubles the number of right bits; q is its own inverse modulo 8.
        let mut inverse = q as u16;
        let mut bits = 3;
        while bits < 16 {
            inverse = inverse.wrapping_mul(2u16.wrapping_sub((q as u16).wrapping_mul(inverse)));
            bits *= 2;
        }
        let reciprocal = ((1 << 15) + q as i32 / 2) / q as i32;
        Modulus { q, inverse: inverse as i16, reciprocal: reciprocal as i16 }
    }

    /// The largest absolute value that [`Lanes::barrett`](crate::Lanes::barrett) gives, if what it
    /// is given has at most the absolute value `largest`, up to 2^15.
    pub const fn barrett_bound(self, largest: i32) -> i16 {
        assert!(largest >= 0 && largest <= 1 << 15);
        let (q, reciprocal) = (self.q as i32, self.reciprocal as i32);
        let (mut bound, mut t) = (0, 0);
        loop {
            let edge = (2 * t + 1) << 14;
            // Up to the one below zero, the quotient is -t; from the other on above zero, it is t +
            // 1.
            let (last, first) = (edge / reciprocal, (edge + reciprocal - 1) / reciprocal);
            let end = if last < largest { last } else { largest };
            if end - t * q > bound {
                bound = end - t * q;
            }
            if first > largest {
                return bound as i16;
            }
            if (t + 1) * q - first > bound {
                bound = (t + 1) * q - first;
            }
            t += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Modulus;
    use crate::{Lanes, Portable};

    #[test]
    fn inverse_is_right_for_every_modulus() {
        for q in (3..1 << 13).step_by(2) {
            let m = Modulus::new(q);
            assert_eq!((m.q as u16).wrapping_mul(m.inverse as u16), 1, "q = {q}");
        }
    }

    #[test]
    fn barrett_bound_is_reached_and_not_passed() {
        for q in (3..1 << 13).step_by(230).chain([4591, 4621, 5167, 6343, 7177, 7879]) {
            let m = Modulus::new(q);
            let mut largest = 0;
            for a in 0..=i16::MAX {
                for word in [a, -a] {
                    largest = largest.max(Portable.barrett([word; Portable::WORDS], m)[0].abs());
                }
                assert_eq!(m.barrett_bound(a.into()), largest, "q = {q}, a = {a}");
            }
            largest = largest.max(Portable.barrett([i16::MIN; Portable::WORDS], m)[0].abs());
            assert_eq!(m.barrett_bound(1 << 15), largest, "q = {q}");
        }
    }
}
