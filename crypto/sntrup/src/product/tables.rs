//! The multiplier's constants, computed at compile time from q.

use core::marker::PhantomData;

use super::layout::{POINTS, ROW_WORDS, ROWS};
use crate::params::ParameterSet;

/// The multiplier's constants. Factors of Montgomery products are multiplied by 2^16, which the
/// reduction cancels.
#[repr(C, align(64))]
pub(super) struct Tables {
    /// `[r][j]`: pairs d_i^(6 * 2j + r), d_i^(6 * (2j + 1) + r) of lane i, for -4 <= j < 4.
    pub(super) forward: [[[i16; ROW_WORDS]; 8]; ROWS],
    /// `[r][i]`: columns 2i and 2i + 1 of the inverse Vandermonde matrix, multiplied by the twist
    /// d_i^-r and the scale.
    pub(super) inverse: [[[i16; ROW_WORDS]; 8]; ROWS],
    /// `[k]`: d_i z^k of lane i.
    pub(super) root: [[i16; ROW_WORDS]; ROWS],
    /// `root`, prepared for [`lanes::Lanes::montgomery`].
    pub(super) root_prepared: [[i16; ROW_WORDS]; ROWS],
    /// z^2, a primitive third root of unity.
    pub(super) omega: i16,
    /// `omega`, prepared for [`lanes::Lanes::montgomery`].
    pub(super) omega_prepared: i16,
}

/// Arithmetic modulo q at compile time.
pub(super) struct Field {
    pub(super) q: i64,
}

impl Field {
    /// The representative in `0..q`.
    const fn reduce(&self, a: i64) -> i64 {
        a.rem_euclid(self.q)
    }

    /// `base^exponent`; the exponent may be negative.
    const fn power(&self, base: i64, exponent: i64) -> i64 {
        let mut exponent = exponent.rem_euclid(self.q - 1);
        let mut base = self.reduce(base);
        let mut result = 1;
        while exponent > 0 {
            if exponent % 2 == 1 {
                result = result * base % self.q;
            }
            base = base * base % self.q;
            exponent /= 2;
        }
        result
    }

    /// The representative in `-(q-1)/2 ..= (q-1)/2`.
    pub(super) const fn centred(&self, a: i64) -> i16 {
        let a = self.reduce(a);
        (if a > self.q / 2 { a - self.q } else { a }) as i16
    }

    /// The smallest generator of the multiplicative group.
    const fn generator(&self) -> i64 {
        let mut candidate = 2;
        'candidates: loop {
            let mut rest = self.q - 1;
            let mut factor = 2;
            while rest > 1 {
                if rest % factor == 0 {
                    if self.power(candidate, (self.q - 1) / factor) == 1 {
                        candidate += 1;
                        continue 'candidates;
                    }
                    while rest % factor == 0 {
                        rest /= factor;
                    }
                }
                factor += 1;
            }
            return candidate;
        }
    }

    /// `[j][i]`: coefficient of y^j in the Lagrange polynomial that is 1 at point i and 0 at the
    /// other points. This is the inverse of the Vandermonde matrix of the points.
    const fn lagrange(&self, points: &[i64; POINTS]) -> [[i64; POINTS]; POINTS] {
        let mut result = [[0; POINTS]; POINTS];
        let mut i = 0;
        while i < POINTS {
            let mut numerator = [0i64; POINTS + 1];
            numerator[0] = 1;
            let mut denominator = 1;
            let mut other = 0;
            while other < POINTS {
                if other != i {
                    let mut degree = POINTS;
                    while degree > 0 {
                        numerator[degree] =
                            self.reduce(numerator[degree - 1] - numerator[degree] * points[other]);
                        degree -= 1;
                    }
                    numerator[0] = self.reduce(-numerator[0] * points[other]);
                    denominator = self.reduce(denominator * (points[i] - points[other]));
                }
                other += 1;
            }
            let scale = self.power(denominator, -1);
            let mut j = 0;
            while j < POINTS {
                result[j][i] = numerator[j] * scale % self.q;
                j += 1;
            }
            i += 1;
        }
        result
    }
}

impl Tables {
    /// The tables for a modulus q = 1 modulo 6.
    const fn new(modulus: lanes::Modulus) -> Self {
        let field = Field { q: modulus.q as i64 };
        let montgomery = 1 << 16;
        let generator = field.generator();
        // Powers of the generator, to be looked up below. Point d_i is the i-th power.
        let mut powers = [1; 1 << 13];
        let mut i = 1;
        while i < field.q as usize {
            powers[i] = powers[i - 1] * generator % field.q;
            i += 1;
        }
        let sixth = (field.q as usize - 1) / 6;
        let zeta = powers[sixth];
        let mut sixths = [0; POINTS];
        let mut i = 0;
        while i < POINTS {
            sixths[i] = powers[6 * i];
            i += 1;
        }
        let vandermonde = field.lagrange(&sixths);
        // The pointwise product and the reduction after the inverse matrix divide by 2^16 each;
        // the DFT and its inverse multiply by 6 together.
        let scale = field.reduce(field.reduce(montgomery * montgomery) * field.power(6, -1));

        let omega = field.centred(zeta * zeta % field.q * montgomery);
        let mut tables = Tables {
            forward: [[[0; ROW_WORDS]; 8]; ROWS],
            inverse: [[[0; ROW_WORDS]; 8]; ROWS],
            root: [[0; ROW_WORDS]; ROWS],
            root_prepared: [[0; ROW_WORDS]; ROWS],
            omega,
            omega_prepared: omega.wrapping_mul(modulus.inverse),
        };
        let mut r = 0;
        while r < ROWS {
            let mut word = 0;
            while word < ROW_WORDS {
                let (lane, half) = (word / 2, word % 2);
                let mut j = 0;
                while j < 8 {
                    let exponent = 6 * (2 * j + half) as i64 - 48 + r as i64;
                    let power = powers[(lane as i64 * exponent).rem_euclid(field.q - 1) as usize];
                    tables.forward[r][j][word] = field.centred(power * montgomery);
                    j += 1;
                }
                let mut i = 0;
                while i < 8 {
                    let column = 2 * i + half;
                    let exponent = -((column * r) as i64);
                    let twist = powers[exponent.rem_euclid(field.q - 1) as usize];
                    tables.inverse[r][i][word] =
                        field.centred(vandermonde[lane][column] * twist % field.q * scale);
                    i += 1;
                }
                tables.root[r][word] = field.centred(powers[lane + r * sixth] * montgomery);
                tables.root_prepared[r][word] = tables.root[r][word].wrapping_mul(modulus.inverse);
                word += 1;
            }
            r += 1;
        }
        tables
    }
}

/// Holds the tables of a parameter set.
pub(super) struct Constants<P>(PhantomData<P>);

impl<P: ParameterSet> Constants<P> {
    /// The tables, computed at compile time.
    pub(super) const TABLES: Tables = Tables::new(P::MODULUS);
}
