//! States of Keccak on AVX2: four at a time.

use core::arch::x86_64::*;

use super::Avx2;
use super::transpose::transpose_four;
use crate::avx512::Vl;
use crate::sponge::OnMany;
use crate::{KeccakLanes, Lanes, STREAMS, SpongeKernel, SpongeLanes, U64Lanes};

const U64S: usize = Avx2::U64S;

impl KeccakLanes for Avx2 {
    #[inline(always)]
    fn xor_two_u64(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_xor_si256(a, b))
    }

    #[inline(always)]
    fn chi_u64(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        avx2!(_mm256_xor_si256(a, _mm256_andnot_si256(b, c)))
    }

    #[inline(always)]
    fn first_u64(self, value: u64) -> __m256i {
        avx2!(_mm256_zextsi128_si256(_mm_cvtsi64_si128(value as i64)))
    }

    #[inline(always)]
    fn beside_first_u64(self, first: __m256i, others: __m256i) -> __m256i {
        avx2!(_mm256_blend_epi32::<0b0000_0011>(others, first))
    }

    #[inline(always)]
    fn load_streams(self, from: &[u8], stride: usize, to: &mut [[u64; STREAMS]]) {
        let from = &from[..(U64S - 1) * stride + 8 * U64S];
        let to = &mut to[..U64S];
        let mut r = [self.splat_u64(0); U64S];
        for i in 0..U64S {
            let row = &from[i * stride..][..8 * U64S];
            // SAFETY: thirty-two bytes are there; alignment is not needed. The token as above.
            r[i] = unsafe { _mm256_loadu_si256(row.as_ptr().cast()) };
        }
        let r = transpose_four(r);
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
        let r = transpose_four(r);
        for i in 0..U64S {
            let row = &mut to[i * stride..][..8 * U64S];
            // SAFETY: as for reading.
            unsafe { _mm256_storeu_si256(row.as_mut_ptr().cast(), r[i]) };
        }
    }
}

impl SpongeLanes for Avx2 {
    type Many = Avx2;
    type Chain = Avx2;

    #[inline(always)]
    fn many(self) -> Avx2 {
        self
    }

    #[inline(always)]
    fn chain(self) -> Avx2 {
        self
    }

    #[inline]
    fn run_many<K: SpongeKernel>(self, kernel: K) -> K::Output {
        match Vl::instead_of_avx2() {
            Some(narrow) => narrow.run(kernel),
            None => self.run(OnMany(kernel)),
        }
    }

    #[inline]
    fn run_chain<K: SpongeKernel>(self, kernel: K) -> K::Output {
        self.run_many(kernel)
    }
}
