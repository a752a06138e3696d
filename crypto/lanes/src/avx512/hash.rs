//! 64-bit integers on AVX-512, for SHA-512.

use core::arch::asm;
use core::arch::x86_64::*;

use super::Avx512;
use super::transpose::transpose_eight;
use crate::avx2::Narrow;
use crate::{Avx2, HashLanes, PairLanes, RoundLanes, U64Lanes, sealed::Sealed};

const U64S: usize = 8;
/// The ternary function of three bits' sum.
const XOR: i32 = 0b1001_0110;
/// That of the second of three bits where the first is one, and of the third where it is zero.
const CHOOSE: i32 = 0b1100_1010;
/// That of the value that at least two of three bits have.
const MAJORITY: i32 = 0b1110_1000;

#[inline(always)]
fn read(from: &[u8]) -> __m512i {
    let from = &from[..8 * U64S];
    // SAFETY: sixty-four bytes are there; alignment is not needed. The token as above.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

/// [`RoundLanes::pin_u64`].
#[target_feature(enable = "avx512f")]
#[inline]
fn pin(mut a: __m512i) -> __m512i {
    // SAFETY: there is no instruction.
    unsafe {
        asm!("/* {} */", inout(zmm_reg) a, options(pure, nomem, nostack, preserves_flags));
    }
    a
}

impl U64Lanes for Avx512 {
    type U64 = __m512i;

    const U64S: usize = U64S;

    #[inline(always)]
    fn load_u64(self, from: &[u64]) -> __m512i {
        let from = &from[..U64S];
        // SAFETY: eight integers are there; alignment is not needed. The token as above.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_u64(self, to: &mut [u64], v: __m512i) {
        let to = &mut to[..U64S];
        // SAFETY: as for reading.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn splat_u64(self, value: u64) -> __m512i {
        avx512!(_mm512_set1_epi64(value as i64))
    }

    #[inline(always)]
    fn add_u64(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_add_epi64(a, b))
    }

    #[inline(always)]
    fn xor_u64(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        avx512!(_mm512_ternarylogic_epi64::<XOR>(a, b, c))
    }

    #[inline(always)]
    fn rotate_u64<const N: i32>(self, a: __m512i) -> __m512i {
        avx512!(_mm512_ror_epi64::<N>(a))
    }

    #[inline(always)]
    fn shift_u64<const N: i32>(self, a: __m512i) -> __m512i {
        avx512!(_mm512_srlv_epi64(a, _mm512_set1_epi64(i64::from(N))))
    }
}

impl RoundLanes for Avx512 {
    #[inline(always)]
    fn choose_u64(self, mask: __m512i, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_ternarylogic_epi64::<CHOOSE>(mask, a, b))
    }

    #[inline(always)]
    fn majority_u64(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        avx512!(_mm512_ternarylogic_epi64::<MAJORITY>(a, b, c))
    }

    #[inline(always)]
    fn pin_u64(self, a: __m512i) -> __m512i {
        avx512!(pin(a))
    }
}

impl HashLanes for Avx512 {
    type One = Narrow;
    type Two = Half;
    type Couple = Quarter;

    const FASTER_IN_TWO: bool = true;

    #[inline(always)]
    fn one(self) -> Narrow {
        Avx2::included_in(self).one()
    }

    #[inline(always)]
    fn two(self) -> Half {
        Half(Avx2::included_in(self))
    }

    #[inline(always)]
    fn couple(self) -> Quarter {
        Quarter(Avx2::included_in(self).couple())
    }

    #[inline(always)]
    fn transpose_blocks(self, blocks: &[&[u8; 128]], to: &mut [u64]) {
        let (blocks, to) = (&blocks[..U64S], &mut to[..16 * U64S]);
        for i in (0..16).step_by(U64S) {
            let mut r = [self.splat_u64(0); U64S];
            for j in 0..U64S {
                r[j] = read(&blocks[j][8 * i..]);
            }
            avx512! {
                let order = _mm512_set4_epi64(
                    0x0809_0a0b_0c0d_0e0f,
                    0x0001_0203_0405_0607,
                    0x0809_0a0b_0c0d_0e0f,
                    0x0001_0203_0405_0607,
                );
                for j in 0..U64S {
                    r[j] = _mm512_shuffle_epi8(r[j], order);
                }
            }
            let r = transpose_eight(r);
            for j in 0..U64S {
                self.store_u64(&mut to[(i + j) * U64S..], r[j]);
            }
        }
    }
}

/// Vectors of 256 bits with AVX-512's instructions, where it has better ones than AVX2.
#[derive(Clone, Copy, Debug)]
pub struct Half(Avx2);

impl Half {
    /// The token of a processor whose AVX2 token is given, with AVX-512 VL.
    #[inline(always)]
    pub(super) fn of(wide: Avx2) -> Self {
        Half(wide)
    }

    /// The token for what AVX2 does as well.
    #[inline(always)]
    pub(super) fn wide(self) -> Avx2 {
        self.0
    }
}

impl Sealed for Half {}

impl U64Lanes for Half {
    type U64 = __m256i;

    const U64S: usize = Avx2::U64S;

    #[inline(always)]
    fn load_u64(self, from: &[u64]) -> __m256i {
        self.0.load_u64(from)
    }

    #[inline(always)]
    fn store_u64(self, to: &mut [u64], v: __m256i) {
        self.0.store_u64(to, v);
    }

    #[inline(always)]
    fn splat_u64(self, value: u64) -> __m256i {
        self.0.splat_u64(value)
    }

    #[inline(always)]
    fn add_u64(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.add_u64(a, b)
    }

    #[inline(always)]
    fn xor_u64(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        avx512!(_mm256_ternarylogic_epi64::<XOR>(a, b, c))
    }

    #[inline(always)]
    fn rotate_u64<const N: i32>(self, a: __m256i) -> __m256i {
        avx512!(_mm256_ror_epi64::<N>(a))
    }

    #[inline(always)]
    fn shift_u64<const N: i32>(self, a: __m256i) -> __m256i {
        avx512!(_mm256_srlv_epi64(a, _mm256_set1_epi64x(i64::from(N))))
    }
}

impl PairLanes for Half {
    #[inline(always)]
    fn load_big_endian(self, blocks: &[&[u8; 128]], at: usize) -> __m256i {
        self.0.load_big_endian(blocks, at)
    }

    #[inline(always)]
    fn constants_u64(self, from: &[u64]) -> __m256i {
        self.0.constants_u64(from)
    }

    #[inline(always)]
    fn straddle_u64(self, a: __m256i, b: __m256i) -> __m256i {
        self.0.straddle_u64(a, b)
    }

    #[inline(always)]
    fn store_in_turn(self, to: &mut [u64], v: __m256i) {
        self.0.store_in_turn(to, v);
    }
}

/// Vectors of 128 bits with AVX-512's instructions, where it has better ones than AVX2.
#[derive(Clone, Copy, Debug)]
pub struct Quarter(Narrow);

impl Sealed for Quarter {}

impl U64Lanes for Quarter {
    type U64 = __m128i;

    const U64S: usize = Narrow::U64S;

    #[inline(always)]
    fn load_u64(self, from: &[u64]) -> __m128i {
        self.0.load_u64(from)
    }

    #[inline(always)]
    fn store_u64(self, to: &mut [u64], v: __m128i) {
        self.0.store_u64(to, v);
    }

    #[inline(always)]
    fn splat_u64(self, value: u64) -> __m128i {
        self.0.splat_u64(value)
    }

    #[inline(always)]
    fn add_u64(self, a: __m128i, b: __m128i) -> __m128i {
        self.0.add_u64(a, b)
    }

    #[inline(always)]
    fn xor_u64(self, a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        avx512!(_mm_ternarylogic_epi64::<XOR>(a, b, c))
    }

    #[inline(always)]
    fn rotate_u64<const N: i32>(self, a: __m128i) -> __m128i {
        avx512!(_mm_ror_epi64::<N>(a))
    }

    #[inline(always)]
    fn shift_u64<const N: i32>(self, a: __m128i) -> __m128i {
        avx512!(_mm_srlv_epi64(a, _mm_set1_epi64x(i64::from(N))))
    }
}

impl RoundLanes for Quarter {
    #[inline(always)]
    fn choose_u64(self, mask: __m128i, a: __m128i, b: __m128i) -> __m128i {
        avx512!(_mm_ternarylogic_epi64::<CHOOSE>(mask, a, b))
    }

    #[inline(always)]
    fn majority_u64(self, a: __m128i, b: __m128i, c: __m128i) -> __m128i {
        avx512!(_mm_ternarylogic_epi64::<MAJORITY>(a, b, c))
    }

    #[inline(always)]
    fn pin_u64(self, a: __m128i) -> __m128i {
        self.0.pin_u64(a)
    }
}
