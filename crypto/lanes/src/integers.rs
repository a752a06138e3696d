//! The trait of lanes with 32-bit integers.

use crate::Lanes;

/// Operations on vectors of `PAIRS` unsigned integers, for sampling, sorting and coding. Sums and
/// products wrap.
pub trait IntegerLanes: Lanes {
    /// A vector of `PAIRS` unsigned integers.
    type U32: Copy;

    /// Reads a vector of unsigned integers.
    fn load_u32(self, from: &[u32]) -> Self::U32;
    /// Writes a vector of unsigned integers.
    fn store_u32(self, to: &mut [u32], v: Self::U32);
    /// The smaller of each two.
    fn min_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// The larger of each two.
    fn max_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// The order of lanes reversed within groups of `group` lanes, a power of two and a public
    /// constant.
    fn reverse_u32(self, a: Self::U32, group: usize) -> Self::U32;
    /// Lane i exchanged with lane `i ^ distance`; `distance` is a power of two and a public
    /// constant.
    fn swap_u32(self, a: Self::U32, distance: usize) -> Self::U32;
    /// `b` in lanes whose number has the bit `bit`, a public constant, `a` in the others.
    fn pick_u32(self, a: Self::U32, b: Self::U32, bit: usize) -> Self::U32;
    /// Pairs of the two lowest bits of `a` and of `b`, each less one.
    fn trits(self, a: Self::U32, b: Self::U32) -> Self::I16;

    /// A public constant in every lane.
    fn splat_u32(self, value: u32) -> Self::U32;
    /// Reads `PAIRS` integers of four bytes, little-endian.
    fn load_four_bytes(self, from: &[u8]) -> Self::U32;
    /// Reads `PAIRS` integers of two bytes, little-endian.
    fn load_two_bytes(self, from: &[u8]) -> Self::U32;
    /// Reads `PAIRS` bytes.
    fn load_bytes(self, from: &[u8]) -> Self::U32;
    /// Writes the low two bytes of each integer, little-endian.
    fn store_two_bytes(self, to: &mut [u8], a: Self::U32);
    /// Writes the lowest byte of each integer.
    fn store_bytes(self, to: &mut [u8], a: Self::U32);
    /// Reads `PAIRS` words that are not negative.
    fn load_words(self, from: &[Self::Word]) -> Self::U32;
    /// Writes the low half of each integer as a word.
    fn store_words(self, to: &mut [Self::Word], a: Self::U32);
    /// The first word of each pair plus `factor` times the second; none of them is negative.
    fn merge(self, pairs: Self::I16, factor: i16) -> Self::U32;
    /// The halves of each integer as a pair: the low one first.
    fn pairs(self, a: Self::U32) -> Self::I16;
    /// Sum.
    fn add_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// Difference.
    fn sub_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// Bitwise and.
    fn and_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// Bitwise or.
    fn or_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// Shift to the left by a public number of bits below 32.
    fn shift_left_u32(self, a: Self::U32, bits: u32) -> Self::U32;
    /// Shift to the right by a public number of bits below 32.
    fn shift_right_u32(self, a: Self::U32, bits: u32) -> Self::U32;
    /// The low half of the product.
    fn mul_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
    /// The high half of the product.
    fn mul_high_u32(self, a: Self::U32, b: Self::U32) -> Self::U32;
}
