//! The trait of lanes with bit planes of coefficients modulo 3.

use crate::Lanes;

/// A vector of coefficients modulo 3 as two bit planes. The sign of a zero coefficient may be
/// either.
#[derive(Clone, Copy)]
pub struct Trits<B> {
    /// One for each coefficient that is not zero.
    pub nonzero: B,
    /// One for each coefficient -1, zero for each coefficient 1.
    pub sign: B,
}

/// Operations on vectors of bits, in words of 64, for polynomials modulo 3 as bit planes.
pub trait BitLanes: Lanes {
    /// A vector of bits.
    type Bits: Copy;
    /// One of two.
    type Choice: Copy;

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
    /// Bitwise exclusive or.
    fn xor_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// `a + b`.
    fn add_trits(self, a: Trits<Self::Bits>, b: Trits<Self::Bits>) -> Trits<Self::Bits>;
    /// `a` if the choice was made with zero; if it was made with all ones, `a - b` where `sign` is
    /// zero and `a + b` where it is one.
    fn subtract_multiple(
        self,
        a: Trits<Self::Bits>,
        b: Trits<Self::Bits>,
        choice: Self::Choice,
        sign: Self::Bits,
    ) -> Trits<Self::Bits>;
    /// Of 64 words, each -1, 0 or 1: the bits of those that are not zero, and of those that are -1.
    /// The first word's bit is the lowest.
    fn bit_planes(self, from: &[Self::Word]) -> [u64; 2];

    /// Every bit one place forward, where the first bit is the highest one of the first word. The
    /// first one is lost, a zero comes in last.
    fn forward_bits(self, a: Self::Bits) -> Self::Bits;
    /// Every `stride`th bit of the result, the first one being the highest, from the highest bits
    /// of `word`; zeros between them.
    #[inline(always)]
    fn spread_bits(self, word: u64, stride: usize) -> u64 {
        let mut spread = 0;
        for i in 0..64usize.div_ceil(stride) {
            spread |= (word << i & 1 << 63) >> (i * stride);
        }
        spread
    }
    /// A mask for [`BitLanes::choose_bits`]: all ones or zero in every bit.
    fn choice(self, mask: u64) -> Self::Choice;
    /// `a` if the choice was made with all ones, `b` if with zero.
    fn choose_bits(self, choice: Self::Choice, a: Self::Bits, b: Self::Bits) -> Self::Bits;
}

/// Every `stride`th bit, from the highest one down.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn every(stride: usize) -> u64 {
    let mut mask = 1 << 63;
    let mut covered = stride;
    while covered < 64 {
        mask |= mask >> covered;
        covered *= 2;
    }
    mask
}
