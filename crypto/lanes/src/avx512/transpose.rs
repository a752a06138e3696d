//! Transposition of 64-bit integers on AVX-512.

use core::arch::x86_64::*;

/// Integers in a vector.
const U64S: usize = 8;

/// Eight vectors of eight integers, transposed.
#[inline(always)]
pub(super) fn transpose_eight(r: [__m512i; U64S]) -> [__m512i; U64S] {
    avx512! {
        let mut s = r;
        let mut t = r;
        for j in 0..U64S / 2 {
            s[2 * j] = _mm512_unpacklo_epi64(r[2 * j], r[2 * j + 1]);
            s[2 * j + 1] = _mm512_unpackhi_epi64(r[2 * j], r[2 * j + 1]);
        }
        for j in 0..2 {
            let a = _mm512_shuffle_i64x2::<0x88>(s[j], s[j + 2]);
            let b = _mm512_shuffle_i64x2::<0xdd>(s[j], s[j + 2]);
            let c = _mm512_shuffle_i64x2::<0x88>(s[j + 4], s[j + 6]);
            let d = _mm512_shuffle_i64x2::<0xdd>(s[j + 4], s[j + 6]);
            t[j] = _mm512_shuffle_i64x2::<0x88>(a, c);
            t[j + 2] = _mm512_shuffle_i64x2::<0x88>(b, d);
            t[j + 4] = _mm512_shuffle_i64x2::<0xdd>(a, c);
            t[j + 6] = _mm512_shuffle_i64x2::<0xdd>(b, d);
        }
        t
    }
}
