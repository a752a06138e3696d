use core::arch::asm;
use core::arch::x86_64::*;

use super::Avx2;
use crate::{HashLanes, NarrowLanes, U64Lanes, sealed::Sealed};

const U64S: usize = 4;

#[inline(always)]
fn read(from: &[u8]) -> __m256i {
    let from = &from[..8 * U64S];
    // SAFETY: thirty-two bytes are there; alignment is not needed. The token as above.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

/// [`HashLanes::pin_u64`].
#[target_feature(enable = "avx2")]
#[inline]
fn pin(mut a: __m256i) -> __m256i {
    // SAFETY: there is no instruction.
    unsafe {
        asm!("/* {} */", inout(ymm_reg) a, options(pure, nomem, nostack, preserves_flags));
    }
    a
}

impl U64Lanes for Avx2 {
    type U64 = __m256i;

    const U64S: usize = U64S;

    #[inline(always)]
    fn load_u64(self, from: &[u64]) -> __m256i {
        let from = &from[..U64S];
        // SAFETY: four integers are there; alignment is not needed. The token as above.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_u64(self, to: &mut [u64], v: __m256i) {
        let to = &mut to[..U64S];
        // SAFETY: as for reading.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn add_u64(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_add_epi64(a, b))
    }

    #[inline(always)]
    fn xor_u64(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        avx2!(_mm256_xor_si256(_mm256_xor_si256(a, b), c))
    }

    #[inline(always)]
    fn rotate_u64<const N: i32>(self, a: __m256i) -> __m256i {
        avx2! {
            let high = _mm256_sllv_epi64(a, _mm256_set1_epi64x(i64::from(64 - N)));
            _mm256_or_si256(_mm256_srli_epi64::<N>(a), high)
        }
    }

    #[inline(always)]
    fn shift_u64<const N: i32>(self, a: __m256i) -> __m256i {
        avx2!(_mm256_srli_epi64::<N>(a))
    }
}

impl HashLanes for Avx2 {
    type Narrow = Narrow;

    #[inline(always)]
    fn narrow(self) -> Narrow {
        Narrow(())
    }

    #[inline(always)]
    fn splat_u64(self, value: u64) -> __m256i {
        avx2!(_mm256_set1_epi64x(value as i64))
    }

    #[inline(always)]
    fn choose_u64(self, mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_xor_si256(b, _mm256_and_si256(mask, _mm256_xor_si256(a, b))))
    }

    #[inline(always)]
    fn majority_u64(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        avx2! {
            let differ = _mm256_and_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(b, c));
            _mm256_xor_si256(b, differ)
        }
    }

    #[inline(always)]
    fn pin_u64(self, a: __m256i) -> __m256i {
        avx2!(pin(a))
    }

    #[inline(always)]
    fn transpose_blocks(self, blocks: &[&[u8; 128]], to: &mut [u64]) {
        let (blocks, to) = (&blocks[..U64S], &mut to[..16 * U64S]);
        for i in (0..16).step_by(U64S) {
            let mut r = [self.splat_u64(0); U64S];
            for j in 0..U64S {
                r[j] = read(&blocks[j][8 * i..]);
            }
            let mut s = r;
            avx2! {
                let order = _mm256_setr_epi64x(
                    0x0001_0203_0405_0607,
                    0x0809_0a0b_0c0d_0e0f,
                    0x0001_0203_0405_0607,
                    0x0809_0a0b_0c0d_0e0f,
                );
                for j in 0..U64S {
                    r[j] = _mm256_shuffle_epi8(r[j], order);
                }
                for j in 0..2 {
                    s[2 * j] = _mm256_unpacklo_epi64(r[2 * j], r[2 * j + 1]);
                    s[2 * j + 1] = _mm256_unpackhi_epi64(r[2 * j], r[2 * j + 1]);
                }
                for j in 0..2 {
                    r[j] = _mm256_permute2x128_si256::<0x20>(s[j], s[j + 2]);
                    r[j + 2] = _mm256_permute2x128_si256::<0x31>(s[j], s[j + 2]);
                }
            }
            for j in 0..U64S {
                self.store_u64(&mut to[(i + j) * U64S..], r[j]);
            }
        }
    }
}

/// Narrow vectors of a processor with AVX2, whose token this is: 128-bit registers.
#[derive(Clone, Copy, Debug)]
pub struct Narrow(pub(crate) ());

impl Sealed for Narrow {}

impl U64Lanes for Narrow {
    type U64 = __m128i;

    const U64S: usize = 2;

    #[inline(always)]
    fn load_u64(self, from: &[u64]) -> __m128i {
        let from = &from[..2];
        // SAFETY: two integers are there; alignment is not needed. SSE2 is part of the architecture.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_u64(self, to: &mut [u64], v: __m128i) {
        let to = &mut to[..2];
        // SAFETY: as for reading.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn add_u64(self, a: __m128i, b: __m128i) -> __m128i {
        avx2!(_mm_add_epi64(a, b))
    }

    #[inline(always)]
    fn xor_u64(self, a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        avx2!(_mm_xor_si128(_mm_xor_si128(a, b), c))
    }

    #[inline(always)]
    fn rotate_u64<const N: i32>(self, a: __m128i) -> __m128i {
        avx2! {
            let high = _mm_sllv_epi64(a, _mm_set1_epi64x(i64::from(64 - N)));
            _mm_or_si128(_mm_srli_epi64::<N>(a), high)
        }
    }

    #[inline(always)]
    fn shift_u64<const N: i32>(self, a: __m128i) -> __m128i {
        avx2!(_mm_srli_epi64::<N>(a))
    }
}

impl NarrowLanes for Narrow {
    #[inline(always)]
    fn load_big_endian(self, from: &[u8]) -> __m128i {
        let from = &from[..16];
        // SAFETY: sixteen bytes are there; alignment is not needed. The token as above.
        unsafe {
            let order = _mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607);
            _mm_shuffle_epi8(_mm_loadu_si128(from.as_ptr().cast()), order)
        }
    }

    #[inline(always)]
    fn straddle_u64(self, a: __m128i, b: __m128i) -> __m128i {
        avx2!(_mm_alignr_epi8::<8>(b, a))
    }
}
