//! States of Keccak on AVX-512: eight at a time, or four in narrower vectors.

use core::arch::x86_64::*;

use super::Avx512;
use super::hash::Half;
use super::transpose::transpose_eight;
use crate::{Avx2, KeccakLanes, STREAMS, SpongeLanes, U64Lanes};

const U64S: usize = Avx512::U64S;
/// The ternary function `a ^ (!b & c)`.
const CHI: i32 = 0b1101_0010;

impl KeccakLanes for Avx512 {
    #[inline(always)]
    fn xor_two_u64(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_xor_si512(a, b))
    }

    #[inline(always)]
    fn chi_u64(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        avx512!(_mm512_ternarylogic_epi64::<CHI>(a, b, c))
    }

    #[inline(always)]
    fn first_u64(self, value: u64) -> __m512i {
        avx512!(_mm512_zextsi128_si512(_mm_cvtsi64_si128(value as i64)))
    }

    #[inline(always)]
    fn beside_first_u64(self, first: __m512i, others: __m512i) -> __m512i {
        avx512!(_mm512_mask_mov_epi64(others, 1, first))
    }

    #[inline(always)]
    fn load_streams(self, from: &[u8], stride: usize, to: &mut [[u64; STREAMS]]) {
        let from = &from[..(U64S - 1) * stride + 8 * U64S];
        let to = &mut to[..U64S];
        let mut r = [self.splat_u64(0); U64S];
        for i in 0..U64S {
            let row = &from[i * stride..][..8 * U64S];
            // SAFETY: sixty-four bytes are there; alignment is not needed. The token as above.
            r[i] = unsafe { _mm512_loadu_si512(row.as_ptr().cast()) };
        }
        let r = transpose_eight(r);
        for i in 0..U64S {
            self.store_u64(&mut to[i], r[i]);
        }
    }

    #[inline(always)]
    fn store_streams(self, from: &[[u64; STREAMS]], to: &mut [u8], stride: usize) {
        let from = &from[..U64S];
        let to = &mut to[..(U64S - 1) * stride + 8 * U64S];
        let mut r = [self.splat_u64(0); U64S];
        for i in 0..U64S {
            r[i] = self.load_u64(&from[i]);
        }
        let r = transpose_eight(r);
        for i in 0..U64S {
            let row = &mut to[i * stride..][..8 * U64S];
            // SAFETY: as for reading.
            unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), r[i]) };
        }
    }
}

impl KeccakLanes for Half {
    #[inline(always)]
    fn xor_two_u64(self, a: __m256i, b: __m256i) -> __m256i {
        self.wide().xor_two_u64(a, b)
    }

    #[inline(always)]
    fn chi_u64(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        avx512!(_mm256_ternarylogic_epi64::<CHI>(a, b, c))
    }

    #[inline(always)]
    fn first_u64(self, value: u64) -> __m256i {
        self.wide().first_u64(value)
    }

    #[inline(always)]
    fn beside_first_u64(self, first: __m256i, others: __m256i) -> __m256i {
        self.wide().beside_first_u64(first, others)
    }

    #[inline(always)]
    fn load_streams(self, from: &[u8], stride: usize, to: &mut [[u64; STREAMS]]) {
        self.wide().load_streams(from, stride, to);
    }

    #[inline(always)]
    fn store_streams(self, from: &[[u64; STREAMS]], to: &mut [u8], stride: usize) {
        self.wide().store_streams(from, to, stride);
    }
}

impl SpongeLanes for Avx512 {
    type Many = Avx512;
    type Chain = Half;

    #[inline(always)]
    fn many(self) -> Avx512 {
        self
    }

    #[inline(always)]
    fn chain(self) -> Half {
        Half::of(Avx2::included_in(self))
    }
}
