//! A small, reproducible random number generator for tests.

/// The generator SplitMix64.
pub struct Numbers(u64);

impl Numbers {
    /// Makes a generator with a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 to `bound - 1`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// Returns a number from 0 to 1, excluding 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns one of several texts.
    pub fn pick<'a, S: AsRef<str>>(&mut self, from: &'a [S]) -> &'a str {
        from[self.below(from.len())].as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix64() {
        // Output of Sebastiano Vigna's reference implementation for seed 0.
        let mut numbers = Numbers::new(0);
        assert_eq!(
            [numbers.bits(), numbers.bits()],
            [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]
        );
        assert!((0..1000).all(|_| numbers.below(7) < 7 && (0.0..1.0).contains(&numbers.unit())));
    }
}
