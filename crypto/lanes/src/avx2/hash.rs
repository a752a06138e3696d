//! 64-bit integers on AVX2, for SHA-512.

use core::arch::asm;
use core::arch::x86_64::*;

use super::Avx2;
use super::transpose::transpose_four;
use crate::{HashLanes, PairLanes, RoundLanes, U64Lanes, sealed::Sealed};

const U64S: usize = 4;

#[inline(always)]
fn read(from: &[u8]) -> __m256i {
    let from = &from[..8 * U64S];
    // SAFETY: thirty-two bytes are there; alignment is not needed. The token as above.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

/// [`RoundLanes::pin_u64`].
#[target_feature(enable = "avx2")]
#[inline]
fn pin(mut a: __m256i) -> __m256i {
    // SAFETY: there is no instruction.
    unsafe {
        asm!("/* {} */", inout(ymm_reg) a, options(pure, nomem, nostack, preserves_flags));
    }
    a
}

/// The same for narrow vectors.
#[target_feature(enable = "avx2")]
#[inline]
fn pin_narrow(mut a: __m128i) -> __m128i {
    // SAFETY: there is no instruction.
    unsafe {
        asm!("/* {} */", inout(xmm_reg) a, options(pure, nomem, nostack, preserves_flags));
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
    fn splat_u64(self, value: u64) -> __m256i {
        avx2!(_mm256_set1_epi64x(value as i64))
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

impl RoundLanes for Avx2 {
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
}

impl HashLanes for Avx2 {
    type One = Narrow;
    type Two = Avx2;
    type Couple = Narrow;

    const FASTER_IN_TWO: bool = false;

    #[inline(always)]
    fn one(self) -> Narrow {
        Narrow(())
    }

    #[inline(always)]
    fn two(self) -> Avx2 {
        self
    }

    #[inline(always)]
    fn couple(self) -> Narrow {
        Narrow(())
    }

    #[inline(always)]
    fn transpose_blocks(self, blocks: &[&[u8; 128]], to: &mut [u64]) {
        let (blocks, to) = (&blocks[..U64S], &mut to[..16 * U64S]);
        for i in (0..16).step_by(U64S) {
            let mut r = [self.splat_u64(0); U64S];
            for j in 0..U64S {
                r[j] = read(&blocks[j][8 * i..]);
            }
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
            }
            let r = transpose_four(r);
            for j in 0..U64S {
                self.store_u64(&mut to[(i + j) * U64S..], r[j]);
            }
        }
    }
}

/// Narrow vectors of a processor with AVX2, whose token this is: 128-bit registers.
#[derive(Clone, Copy, Debug)]
pub struct Narrow(());

impl Sealed for Narrow {}

impl U64Lanes for Narrow {
    type U64 = __m128i;

    const U64S: usize = 2;

    #[inline(always)]
    fn load_u64(self, from: &[u64]) -> __m128i {
        let from = &from[..2];
        // SAFETY: two integers are there; alignment is not needed. SSE2 is part of the
        // architecture.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_u64(self, to: &mut [u64], v: __m128i) {
        let to = &mut to[..2];
        // SAFETY: as for reading.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn splat_u64(self, value: u64) -> __m128i {
        avx2!(_mm_set1_epi64x(value as i64))
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

impl RoundLanes for Narrow {
    #[inline(always)]
    fn choose_u64(self, mask: __m128i, a: __m128i, b: __m128i) -> __m128i {
        avx2!(_mm_xor_si128(b, _mm_and_si128(mask, _mm_xor_si128(a, b))))
    }

    #[inline(always)]
    fn majority_u64(self, a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        avx2!(_mm_xor_si128(b, _mm_and_si128(_mm_xor_si128(a, b), _mm_xor_si128(b, c))))
    }

    #[inline(always)]
    fn pin_u64(self, a: __m128i) -> __m128i {
        avx2!(pin_narrow(a))
    }
}

/// Sixteen bytes as two big-endian integers.
#[inline(always)]
fn read_big_endian(from: &[u8]) -> __m128i {
    let from = &from[..16];
    // SAFETY: sixteen bytes are there; alignment is not needed. The token as above.
    unsafe {
        let order = _mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607);
        _mm_shuffle_epi8(_mm_loadu_si128(from.as_ptr().cast()), order)
    }
}

impl PairLanes for Narrow {
    #[inline(always)]
    fn load_big_endian(self, blocks: &[&[u8; 128]], at: usize) -> __m128i {
        read_big_endian(&blocks[0][at..])
    }

    #[inline(always)]
    fn constants_u64(self, from: &[u64]) -> __m128i {
        self.load_u64(from)
    }

    #[inline(always)]
    fn straddle_u64(self, a: __m128i, b: __m128i) -> __m128i {
        avx2!(_mm_alignr_epi8::<8>(b, a))
    }

    #[inline(always)]
    fn store_in_turn(self, to: &mut [u64], v: __m128i) {
        self.store_u64(to, v);
    }
}

impl PairLanes for Avx2 {
    #[inline(always)]
    fn load_big_endian(self, blocks: &[&[u8; 128]], at: usize) -> __m256i {
        let (a, b) = (read_big_endian(&blocks[0][at..]), read_big_endian(&blocks[1][at..]));
        avx2!(_mm256_set_m128i(b, a))
    }

    #[inline(always)]
    fn constants_u64(self, from: &[u64]) -> __m256i {
        let from = &from[..2];
        // SAFETY: two integers are there; alignment is not needed. The token as above.
        unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn straddle_u64(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_alignr_epi8::<8>(b, a))
    }

    #[inline(always)]
    fn store_in_turn(self, to: &mut [u64], v: __m256i) {
        self.store_u64(to, avx2!(_mm256_permute4x64_epi64::<0b11_01_10_00>(v)));
    }
}
