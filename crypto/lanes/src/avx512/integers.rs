//! Integers on AVX-512, for sampling, sorting and coding.

use core::arch::x86_64::*;

use super::{Avx512, PAIRS, write_half};
use crate::IntegerLanes;

impl IntegerLanes for Avx512 {
    type U32 = __m512i;

    #[inline(always)]
    fn load_u32(self, from: &[u32]) -> __m512i {
        let from = &from[..PAIRS];
        // SAFETY: sixteen integers are there; alignment is not needed. The token as above.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_u32(self, to: &mut [u32], v: __m512i) {
        let to = &mut to[..PAIRS];
        // SAFETY: as for reading.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn min_u32(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_min_epu32(a, b))
    }

    #[inline(always)]
    fn max_u32(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_max_epu32(a, b))
    }

    #[inline(always)]
    fn reverse_u32(self, a: __m512i, group: usize) -> __m512i {
        avx512! {
            let eight = _mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
            let sixteen = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
            match group {
                1 => a,
                2 => _mm512_shuffle_epi32::<0b10_11_00_01>(a),
                4 => _mm512_shuffle_epi32::<0b00_01_10_11>(a),
                8 => _mm512_permutexvar_epi32(eight, a),
                _ => _mm512_permutexvar_epi32(sixteen, a),
            }
        }
    }

    #[inline(always)]
    fn swap_u32(self, a: __m512i, distance: usize) -> __m512i {
        avx512! {
            match distance {
                1 => _mm512_shuffle_epi32::<0b10_11_00_01>(a),
                2 => _mm512_shuffle_epi32::<0b01_00_11_10>(a),
                4 => _mm512_shuffle_i32x4::<0b10_11_00_01>(a, a),
                _ => _mm512_shuffle_i32x4::<0b01_00_11_10>(a, a),
            }
        }
    }

    #[inline(always)]
    fn pick_u32(self, a: __m512i, b: __m512i, bit: usize) -> __m512i {
        avx512! {
            match bit {
                1 => _mm512_mask_mov_epi32(a, 0xaaaa, b),
                2 => _mm512_mask_mov_epi32(a, 0xcccc, b),
                4 => _mm512_mask_mov_epi32(a, 0xf0f0, b),
                _ => _mm512_mask_mov_epi32(a, 0xff00, b),
            }
        }
    }

    #[inline(always)]
    fn trits(self, a: __m512i, b: __m512i) -> __m512i {
        avx512! {
            let pairs = _mm512_mask_mov_epi16(a, 0xaaaa_aaaa, _mm512_slli_epi32::<16>(b));
            let bits = _mm512_and_si512(pairs, _mm512_set1_epi16(3));
            _mm512_sub_epi16(bits, _mm512_set1_epi16(1))
        }
    }

    #[inline(always)]
    fn splat_u32(self, value: u32) -> __m512i {
        avx512!(_mm512_set1_epi32(value as i32))
    }

    #[inline(always)]
    fn load_four_bytes(self, from: &[u8]) -> __m512i {
        let from = &from[..4 * PAIRS];
        // SAFETY: that many bytes are there; alignment is not needed. The token as above.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn load_two_bytes(self, from: &[u8]) -> __m512i {
        let from = &from[..2 * PAIRS];
        // SAFETY: that many bytes are there; alignment is not needed. The token as above.
        unsafe { _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn load_bytes(self, from: &[u8]) -> __m512i {
        let from = &from[..PAIRS];
        // SAFETY: that many bytes are there; alignment is not needed. The token as above.
        unsafe { _mm512_cvtepu8_epi32(_mm_loadu_si128(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store_two_bytes(self, to: &mut [u8], a: __m512i) {
        let to = &mut to[..2 * PAIRS];
        // SAFETY: as for reading.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), _mm512_cvtepi32_epi16(a)) }
    }

    #[inline(always)]
    fn store_bytes(self, to: &mut [u8], a: __m512i) {
        let to = &mut to[..PAIRS];
        // SAFETY: as for reading.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(a)) }
    }

    #[inline(always)]
    fn load_words(self, from: &[i16]) -> __m512i {
        let from = &from[..PAIRS];
        // SAFETY: that many words are there; alignment is not needed. The token as above.
        unsafe { _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store_words(self, to: &mut [i16], a: __m512i) {
        write_half(to, avx512!(_mm512_cvtepi32_epi16(a)));
    }

    #[inline(always)]
    fn merge(self, pairs: __m512i, factor: i16) -> __m512i {
        avx512! {
            let factors = _mm512_set1_epi32(i32::from(factor) << 16 | 1);
            _mm512_madd_epi16(pairs, factors)
        }
    }

    #[inline(always)]
    fn pairs(self, a: __m512i) -> __m512i {
        a
    }

    #[inline(always)]
    fn add_u32(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_add_epi32(a, b))
    }

    #[inline(always)]
    fn sub_u32(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_sub_epi32(a, b))
    }

    #[inline(always)]
    fn and_u32(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_and_si512(a, b))
    }

    #[inline(always)]
    fn or_u32(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_or_si512(a, b))
    }

    #[inline(always)]
    fn shift_left_u32(self, a: __m512i, bits: u32) -> __m512i {
        avx512!(_mm512_sll_epi32(a, _mm_cvtsi32_si128(bits as i32)))
    }

    #[inline(always)]
    fn shift_right_u32(self, a: __m512i, bits: u32) -> __m512i {
        avx512!(_mm512_srl_epi32(a, _mm_cvtsi32_si128(bits as i32)))
    }

    #[inline(always)]
    fn mul_u32(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_mullo_epi32(a, b))
    }

    #[inline(always)]
    fn mul_high_u32(self, a: __m512i, b: __m512i) -> __m512i {
        avx512! {
            let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(a, b));
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            _mm512_mask_mov_epi32(even, 0xaaaa, odd)
        }
    }
}
