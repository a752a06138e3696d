use core::arch::x86_64::*;

use super::{Avx2, PAIRS};
use crate::SortLanes;

impl SortLanes for Avx2 {
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
}
