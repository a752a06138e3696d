use crate::Lanes;

/// Operations on vectors of bits, in words of 64, for polynomials modulo 3 as bit planes.
pub trait BitLanes: Lanes {
    /// A vector of bits.
    type Bits: Copy;

    /// Words of 64 bits in a vector: a power of two, at most 8.
    const BIT_WORDS: usize;

    /// Reads a vector of bits.
    fn load_bits(self, from: &[u64]) -> Self::Bits;
    /// Writes a vector of bits.
    fn store_bits(self, to: &mut [u64], v: Self::Bits);
    /// A word in every word.
    fn splat_bits(self, value: u64) -> Self::Bits;
    /// Bitwise and.
    fn and_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise `a & !b`.
    fn and_not_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise or.
    fn or_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise exclusive or.
    fn xor_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Of 64 words, each -1, 0 or 1: the bits of those that are not zero, and of those that are -1. The first word's bit is the
    /// lowest.
    fn bit_planes(self, from: &[Self::Word]) -> [u64; 2];
}
