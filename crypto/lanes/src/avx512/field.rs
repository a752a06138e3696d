//! Field lanes on AVX-512, by IFMA.

use core::arch::x86_64::*;

use super::Avx512;
use crate::field::{FIELD_LANES, Split};
use crate::{EachPart, FieldLanes, FieldParts, Kernel, Lanes};

#[inline(always)]
fn read(from: &[u64; FIELD_LANES]) -> __m512i {
    // SAFETY: sixty-four bytes are there; alignment is not needed. The caller holds the token.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

impl FieldParts for Avx512 {
    type Lower = Self;

    fn lower(self) -> Self {
        self
    }

    fn each<P: EachPart>(self, mut what: P) {
        what.on(self);
    }
}

impl FieldLanes for Avx512 {
    type Limb = u64;
    type Limbs = __m512i;
    type Bits = __mmask8;

    const SPLIT: Split = Split::Unsigned52;
    const IS_WHOLE: bool = true;

    #[inline(always)]
    fn run_field<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        self.run(kernel)
    }

    #[inline(always)]
    fn load_limbs(self, from: &[u64; FIELD_LANES]) -> __m512i {
        read(from)
    }

    #[inline(always)]
    fn store_limbs(self, to: &mut [u64; FIELD_LANES], v: __m512i) {
        // SAFETY: sixty-four bytes are there; alignment is not needed. The token as above.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn constant_limbs(self, from: &[u64; FIELD_LANES]) -> __m512i {
        read(from)
    }

    #[inline(always)]
    fn splat_limb(self, value: u64) -> __m512i {
        avx512!(_mm512_set1_epi64(value as i64))
    }

    #[inline(always)]
    fn add_limbs(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_add_epi64(a, b))
    }

    #[inline(always)]
    fn sub_limbs(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_sub_epi64(a, b))
    }

    #[inline(always)]
    fn low_bits<const BITS: u32>(self, a: __m512i) -> __m512i {
        avx512!(_mm512_and_si512(a, _mm512_set1_epi64((1 << BITS) - 1)))
    }

    #[inline(always)]
    fn high_bits<const BITS: u32>(self, a: __m512i) -> __m512i {
        avx512!(_mm512_srli_epi64::<BITS>(a))
    }

    #[inline(always)]
    fn times<const FACTOR: u64>(self, a: __m512i) -> __m512i {
        avx512!(_mm512_mullo_epi64(a, _mm512_set1_epi64(FACTOR as i64)))
    }

    #[inline(always)]
    fn mul_add_small(self, sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        self.mul_add_low(sum, a, b)
    }

    #[inline(always)]
    fn mul_add_low(self, sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_madd52lo_epu64(sum, a, b))
    }

    #[inline(always)]
    fn mul_add_high(self, sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_madd52hi_epu64(sum, a, b))
    }

    #[inline(always)]
    fn blend_limbs(self, lanes: u8, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_mask_blend_epi64(lanes, a, b))
    }

    #[inline(always)]
    fn permute_limbs(self, a: __m512i, order: &[u64; FIELD_LANES]) -> __m512i {
        avx512!(_mm512_permutexvar_epi64(read(order), a))
    }

    #[inline(always)]
    fn swap_limbs(self, a: __m512i) -> __m512i {
        avx512!(_mm512_shuffle_epi32::<0b0100_1110>(a))
    }

    #[inline(always)]
    fn bit(self, a: __m512i, bit: u32) -> __mmask8 {
        avx512!(_mm512_test_epi64_mask(a, _mm512_set1_epi64(1 << bit)))
    }

    #[inline(always)]
    fn select_limbs(self, bits: __mmask8, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_mask_blend_epi64(bits, b, a))
    }

    #[inline(always)]
    fn permute_either(
        self,
        bits: __mmask8,
        a: __m512i,
        one: &[u64; FIELD_LANES],
        zero: &[u64; FIELD_LANES],
    ) -> __m512i {
        avx512! {
            let order = _mm512_mask_blend_epi64(bits, read(zero), read(one));
            _mm512_permutexvar_epi64(order, a)
        }
    }

    #[inline(always)]
    fn nibble(self, a: __m512i, at: u32) -> __m512i {
        avx512! {
            let a = _mm512_srlv_epi64(a, _mm512_set1_epi64(i64::from(at)));
            _mm512_and_si512(a, _mm512_set1_epi64(0xf))
        }
    }

    #[inline(always)]
    fn look_up(self, table: &[u64; FIELD_LANES], index: __m512i) -> __m512i {
        avx512!(_mm512_permutexvar_epi64(index, read(table)))
    }
}
