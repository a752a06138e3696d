//! Integers on AVX2, for sampling, sorting and coding.

use core::arch::x86_64::*;

use super::{Avx2, PAIRS, write_half};
use crate::IntegerLanes;

/// The low halves of all integers.
#[inline(always)]
fn low_halves(a: __m256i) -> __m128i {
    avx2! {
        let order = _mm256_setr_epi8(
            0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 4, 5, 8, 9, 12, 13, -1, -1,
            -1, -1, -1, -1, -1, -1,
        );
        let apart = _mm256_shuffle_epi8(a, order);
        _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b11_01_10_00>(apart))
    }
}

/// The lowest bytes of all integers, in the lower half.
#[inline(always)]
fn low_bytes(a: __m256i) -> __m128i {
    avx2! {
        let order = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, -1, -1, -1, -1, -1, -1, -1, -1);
        _mm_shuffle_epi8(low_halves(a), order)
    }
}

impl IntegerLanes for Avx2 {
    type U32 = __m256i;

    #[inline(always)]
    fn load_u32(self, from: &[u32]) -> __m256i {
        let from = &from[..PAIRS];
        // SAFETY: eight integers are there; alignment is not needed. The token as above.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_u32(self, to: &mut [u32], v: __m256i) {
        let to = &mut to[..PAIRS];
        // SAFETY: as for reading.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn min_u32(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_min_epu32(a, b))
    }

    #[inline(always)]
    fn max_u32(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_max_epu32(a, b))
    }

    #[inline(always)]
    fn reverse_u32(self, a: __m256i, group: usize) -> __m256i {
        avx2! {
            match group {
                1 => a,
                2 => _mm256_shuffle_epi32::<0b10_11_00_01>(a),
                4 => _mm256_shuffle_epi32::<0b00_01_10_11>(a),
                _ => _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0)),
            }
        }
    }

    #[inline(always)]
    fn swap_u32(self, a: __m256i, distance: usize) -> __m256i {
        avx2! {
            match distance {
                1 => _mm256_shuffle_epi32::<0b10_11_00_01>(a),
                2 => _mm256_shuffle_epi32::<0b01_00_11_10>(a),
                _ => _mm256_permute4x64_epi64::<0b01_00_11_10>(a),
            }
        }
    }

    #[inline(always)]
    fn pick_u32(self, a: __m256i, b: __m256i, bit: usize) -> __m256i {
        avx2! {
            match bit {
                1 => _mm256_blend_epi32::<0b1010_1010>(a, b),
                2 => _mm256_blend_epi32::<0b1100_1100>(a, b),
                _ => _mm256_blend_epi32::<0b1111_0000>(a, b),
            }
        }
    }

    #[inline(always)]
    fn trits(self, a: __m256i, b: __m256i) -> __m256i {
        avx2! {
            let three = _mm256_set1_epi16(3);
            let pairs = _mm256_blend_epi16::<0b1010_1010>(a, _mm256_slli_epi32::<16>(b));
            _mm256_sub_epi16(_mm256_and_si256(pairs, three), _mm256_set1_epi16(1))
        }
    }

    #[inline(always)]
    fn splat_u32(self, value: u32) -> __m256i {
        avx2!(_mm256_set1_epi32(value as i32))
    }

    #[inline(always)]
    fn load_four_bytes(self, from: &[u8]) -> __m256i {
        let from = &from[..4 * PAIRS];
        // SAFETY: that many bytes are there; alignment is not needed. The token as above.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn load_two_bytes(self, from: &[u8]) -> __m256i {
        let from = &from[..2 * PAIRS];
        // SAFETY: that many bytes are there; alignment is not needed. The token as above.
        unsafe { _mm256_cvtepu16_epi32(_mm_loadu_si128(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn load_bytes(self, from: &[u8]) -> __m256i {
        let from = &from[..PAIRS];
        // SAFETY: that many bytes are there; alignment is not needed. The token as above.
        unsafe { _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store_two_bytes(self, to: &mut [u8], a: __m256i) {
        let to = &mut to[..2 * PAIRS];
        // SAFETY: as for reading.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), low_halves(a)) }
    }

    #[inline(always)]
    fn store_bytes(self, to: &mut [u8], a: __m256i) {
        let to = &mut to[..PAIRS];
        // SAFETY: as for reading.
        unsafe { _mm_storel_epi64(to.as_mut_ptr().cast(), low_bytes(a)) }
    }

    #[inline(always)]
    fn load_words(self, from: &[i16]) -> __m256i {
        let from = &from[..PAIRS];
        // SAFETY: that many words are there; alignment is not needed. The token as above.
        unsafe { _mm256_cvtepu16_epi32(_mm_loadu_si128(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store_words(self, to: &mut [i16], a: __m256i) {
        write_half(to, low_halves(a));
    }

    #[inline(always)]
    fn merge(self, pairs: __m256i, factor: i16) -> __m256i {
        avx2! {
            let factors = _mm256_set1_epi32(i32::from(factor) << 16 | 1);
            _mm256_madd_epi16(pairs, factors)
        }
    }

    #[inline(always)]
    fn pairs(self, a: __m256i) -> __m256i {
        a
    }

    #[inline(always)]
    fn add_u32(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_add_epi32(a, b))
    }

    #[inline(always)]
    fn sub_u32(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_sub_epi32(a, b))
    }

    #[inline(always)]
    fn and_u32(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_and_si256(a, b))
    }

    #[inline(always)]
    fn or_u32(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_or_si256(a, b))
    }

    #[inline(always)]
    fn shift_left_u32(self, a: __m256i, bits: u32) -> __m256i {
        avx2!(_mm256_sll_epi32(a, _mm_cvtsi32_si128(bits as i32)))
    }

    #[inline(always)]
    fn shift_right_u32(self, a: __m256i, bits: u32) -> __m256i {
        avx2!(_mm256_srl_epi32(a, _mm_cvtsi32_si128(bits as i32)))
    }

    #[inline(always)]
    fn mul_u32(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_mullo_epi32(a, b))
    }

    #[inline(always)]
    fn mul_high_u32(self, a: __m256i, b: __m256i) -> __m256i {
        avx2! {
            let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(a, b));
            let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
            _mm256_blend_epi32::<0b1010_1010>(even, odd)
        }
    }
}
