//! Transposition of 64-bit integers on AVX2.

use core::arch::x86_64::*;

/// Integers in a vector.
const U64S: usize = 4;

/// Four vectors of four integers, transposed.
#[inline(always)]
pub(super) fn transpose_four(r: [__m256i; U64S]) -> [__m256i; U64S] {
    avx2! {
        let s = [
            _mm256_unpacklo_epi64(r[0], r[1]),
            _mm256_unpackhi_epi64(r[0], r[1]),
            _mm256_unpacklo_epi64(r[2], r[3]),
            _mm256_unpackhi_epi64(r[2], r[3]),
        ];
        [
            _mm256_permute2x128_si256::<0x20>(s[0], s[2]),
            _mm256_permute2x128_si256::<0x20>(s[1], s[3]),
            _mm256_permute2x128_si256::<0x31>(s[0], s[2]),
            _mm256_permute2x128_si256::<0x31>(s[1], s[3]),
        ]
    }
}
