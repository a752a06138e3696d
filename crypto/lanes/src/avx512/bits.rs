//! Bit planes on AVX-512.

use core::arch::x86_64::*;

use super::{Avx512, read};
use crate::{BitLanes, Trits, bits::every};

const BIT_WORDS: usize = 8;

// Functions of three bits, the value for (1, 1, 1) being the highest bit.

/// Whether a + b is not zero, from whether a is, b is, and their signs differ.
const SUM: i32 = 0b0111_1100;
/// The same for a - b.
const DIFFERENCE: i32 = 0b1011_1100;
/// The sign of a + b: if b is not zero, b's, or its opposite if a is not zero either; else a's.
const SIGN: i32 = 0b1011_1000;
/// The same for a - b.
const OPPOSITE: i32 = 0b0111_0100;

/// The low bytes of the words of two vectors.
const LOW_BYTES: [u8; 64] = {
    let mut order = [0; 64];
    let mut i = 0;
    while i < 64 {
        order[i] = 2 * i as u8;
        i += 1;
    }
    order
};

impl BitLanes for Avx512 {
    type Bits = __m512i;
    type Choice = __mmask8;

    const BIT_WORDS: usize = BIT_WORDS;

    #[inline(always)]
    fn load_bits(self, from: &[u64]) -> __m512i {
        let from = &from[..BIT_WORDS];
        // SAFETY: eight words of 64 bits are there; alignment is not needed. The token as above.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn store_bits(self, to: &mut [u64], v: __m512i) {
        let to = &mut to[..BIT_WORDS];
        // SAFETY: as for reading.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
    }

    #[inline(always)]
    fn splat_bits(self, value: u64) -> __m512i {
        avx512!(_mm512_set1_epi64(value as i64))
    }

    #[inline(always)]
    fn and_bits(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_and_si512(a, b))
    }

    #[inline(always)]
    fn xor_bits(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_xor_si512(a, b))
    }

    #[inline(always)]
    fn add_trits(self, a: Trits<__m512i>, b: Trits<__m512i>) -> Trits<__m512i> {
        avx512! {
            let differ = _mm512_xor_si512(a.sign, b.sign);
            let other = _mm512_xor_si512(b.sign, a.nonzero);
            Trits {
                nonzero: _mm512_ternarylogic_epi64::<SUM>(a.nonzero, b.nonzero, differ),
                sign: _mm512_ternarylogic_epi64::<SIGN>(a.sign, b.nonzero, other),
            }
        }
    }

    #[inline(always)]
    fn subtract_multiple(
        self,
        a: Trits<__m512i>,
        b: Trits<__m512i>,
        choice: __mmask8,
        sign: __m512i,
    ) -> Trits<__m512i> {
        avx512! {
            // Instructions of two arguments do not overwrite one.
            let sign = _mm512_xor_si512(b.sign, sign);
            let differ = _mm512_xor_si512(a.sign, sign);
            let other = _mm512_xor_si512(a.nonzero, sign);
            let (x, y) = (a.nonzero, a.sign);
            Trits {
                nonzero: _mm512_mask_ternarylogic_epi64::<DIFFERENCE>(x, choice, b.nonzero, differ),
                sign: _mm512_mask_ternarylogic_epi64::<OPPOSITE>(y, choice, b.nonzero, other),
            }
        }
    }

    #[inline(always)]
    fn bit_planes(self, from: &[i16]) -> [u64; 2] {
        let (low, high) = (read(from), read(&from[32..]));
        // SAFETY: sixty-four bytes are there. The token as above.
        let order = unsafe { _mm512_loadu_si512(LOW_BYTES.as_ptr().cast()) };
        avx512! {
            let bytes = _mm512_permutex2var_epi8(low, order, high);
            [_mm512_test_epi8_mask(bytes, bytes), _mm512_movepi8_mask(bytes)]
        }
    }

    #[inline(always)]
    fn forward_bits(self, a: __m512i) -> __m512i {
        avx512! {
            let next = _mm512_alignr_epi64::<1>(_mm512_setzero_si512(), a);
            _mm512_shldi_epi64::<1>(a, next)
        }
    }

    #[inline(always)]
    fn spread_bits(self, word: u64, stride: usize) -> u64 {
        avx512! {
            let count = 64usize.div_ceil(stride);
            _pdep_u64(word >> (64 - count), every(stride))
        }
    }

    #[inline(always)]
    fn choice(self, mask: u64) -> __mmask8 {
        mask as __mmask8
    }

    #[inline(always)]
    fn choose_bits(self, choice: __mmask8, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_mask_mov_epi64(b, choice, a))
    }
}
