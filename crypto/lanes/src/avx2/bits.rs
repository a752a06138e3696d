//! Bit planes on AVX2.

use core::arch::x86_64::*;

use super::{Avx2, read};
use crate::{BitLanes, Trits, bits::every};

const BIT_WORDS: usize = 4;

/// The highest bits of the bytes of two vectors.
#[inline(always)]
fn high_bits(low: __m256i, high: __m256i) -> u64 {
    let (low, high) = avx2!((_mm256_movemask_epi8(low), _mm256_movemask_epi8(high)));
    u64::from(low as u32) | u64::from(high as u32) << 32
}

/// Thirty-two words as bytes.
#[inline(always)]
fn narrow(from: &[i16]) -> __m256i {
    let (low, high) = (read(from), read(&from[16..]));
    avx2!(_mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high)))
}

impl BitLanes for Avx2 {
    type Bits = __m256i;
    type Choice = __m256i;

    const BIT_WORDS: usize = BIT_WORDS;

    #[inline(always)]
    fn load_bits(self, from: &[u64]) -> __m256i {
        let from = &from[..BIT_WORDS];
        // SAFETY: four words of 64 bits are there; alignment is not needed. The token as above.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_bits(self, to: &mut [u64], v: __m256i) {
        let to = &mut to[..BIT_WORDS];
        // SAFETY: as for reading.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn splat_bits(self, value: u64) -> __m256i {
        avx2!(_mm256_set1_epi64x(value as i64))
    }

    #[inline(always)]
    fn and_bits(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_and_si256(a, b))
    }

    #[inline(always)]
    fn xor_bits(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_xor_si256(a, b))
    }

    #[inline(always)]
    fn add_trits(self, a: Trits<__m256i>, b: Trits<__m256i>) -> Trits<__m256i> {
        avx2! {
            let differ = _mm256_xor_si256(a.sign, b.sign);
            // If b is not zero, the sign is b's if a is zero, and the other one if a is the same.
            let change = _mm256_and_si256(b.nonzero, _mm256_xor_si256(differ, a.nonzero));
            let either = _mm256_xor_si256(a.nonzero, b.nonzero);
            let alike = _mm256_andnot_si256(differ, a.nonzero);
            Trits {
                nonzero: _mm256_or_si256(either, alike),
                sign: _mm256_xor_si256(a.sign, change),
            }
        }
    }

    #[inline(always)]
    fn subtract_multiple(
        self,
        a: Trits<__m256i>,
        b: Trits<__m256i>,
        choice: __m256i,
        sign: __m256i,
    ) -> Trits<__m256i> {
        avx2! {
            let differ = _mm256_xor_si256(a.sign, _mm256_xor_si256(b.sign, sign));
            let of_b = _mm256_and_si256(b.nonzero, choice);
            // As above, b's sign being the opposite.
            let change = _mm256_andnot_si256(_mm256_xor_si256(differ, a.nonzero), of_b);
            let either = _mm256_xor_si256(a.nonzero, of_b);
            let unlike = _mm256_and_si256(a.nonzero, differ);
            Trits {
                nonzero: _mm256_or_si256(either, unlike),
                sign: _mm256_xor_si256(a.sign, change),
            }
        }
    }

    #[inline(always)]
    fn bit_planes(self, from: &[i16]) -> [u64; 2] {
        let (low, high) = (narrow(from), narrow(&from[32..]));
        // Odd bytes are those that are not zero.
        let nonzero = avx2!(high_bits(_mm256_slli_epi16::<7>(low), _mm256_slli_epi16::<7>(high)));
        [nonzero, high_bits(low, high)]
    }

    #[inline(always)]
    fn forward_bits(self, a: __m256i) -> __m256i {
        avx2! {
            let next = _mm256_permute4x64_epi64::<0b00_11_10_01>(a);
            let next = _mm256_blend_epi32::<0b1100_0000>(next, _mm256_setzero_si256());
            _mm256_or_si256(_mm256_slli_epi64::<1>(a), _mm256_srli_epi64::<63>(next))
        }
    }

    #[inline(always)]
    fn spread_bits(self, word: u64, stride: usize) -> u64 {
        avx2! {
            let count = 64usize.div_ceil(stride);
            _pdep_u64(word >> (64 - count), every(stride))
        }
    }

    #[inline(always)]
    fn choice(self, mask: u64) -> __m256i {
        self.splat_bits(mask)
    }

    #[inline(always)]
    fn choose_bits(self, choice: __m256i, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_blendv_epi8(b, a, choice))
    }
}
