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
}

#[cfg(test)]
mod tests {
    use super::Modulus;

    #[test]
    fn inverse_is_right_for_every_modulus() {
        for q in (3..1 << 13).step_by(2) {
            let m = Modulus::new(q);
            assert_eq!((m.q as u16).wrapping_mul(m.inverse as u16), 1, "q = {q}");
        }
    }
}
