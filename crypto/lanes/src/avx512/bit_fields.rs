//! Words as fields of bits on AVX-512.

use core::arch::x86_64::*;

use super::{Avx512, WORDS};
use crate::{BitFieldLanes, IntegerLanes, Lanes, SLACK_WORDS};

const BYTES: usize = 2 * WORDS;

/// Permutations between fields of `BITS` bits and groups of four fields in 64-bit integers.
struct Fields<const BITS: usize>;

impl<const BITS: usize> Fields<BITS> {
    /// Bytes of a vector of fields.
    const ALL: usize = 4 * BITS;
    /// The same as a mask.
    const MASK: __mmask64 = (1 << Self::ALL) - 1;

    /// The first byte of a group of four fields. With an odd number of bits, every other group
    /// begins in the middle of that byte.
    const fn group(number: usize) -> usize {
        number * BITS / 2
    }

    /// Moves a group's bytes to the group's integer.
    const GROUPS: [u8; BYTES] = {
        let mut order = [0; BYTES];
        let mut i = 0;
        while i < BYTES {
            // Bytes after the group's last one are never used.
            order[i] = ((Self::group(i / 8) + i % 8) % BYTES) as u8;
            i += 1;
        }
        order
    };

    /// The first bit of each byte of the words that a group's fields become.
    const SHIFTS: [u8; BYTES] = {
        let mut shifts = [0; BYTES];
        let mut i = 0;
        while i < BYTES {
            let (group, field, high) = (i / 8, i % 8 / 2, i % 2);
            shifts[i] = ((group * BITS % 2) * 4 + field * BITS + 8 * high) as u8;
            i += 1;
        }
        shifts
    };

    /// Moves the bytes of groups to their places: with an odd number of bits, those of groups 0,
    /// 2, ... (`odd` 0) or 1, 3, ... (`odd` 1), else all. Also says which bytes have one.
    const fn places(odd: usize) -> ([u8; BYTES], __mmask64) {
        let (mut order, mut mask) = ([0; BYTES], 0);
        let mut i = 0;
        while i < BYTES {
            let (group, byte) = (i / 8, i % 8);
            let bytes = (group * BITS % 2 * 4 + 4 * BITS).div_ceil(8);
            if (group % 2 == odd || BITS.is_multiple_of(2)) && byte < bytes {
                order[Self::group(group) + byte] = i as u8;
                mask |= 1 << (Self::group(group) + byte);
            }
            i += 1;
        }
        (order, mask)
    }

    const FIRST: ([u8; BYTES], __mmask64) = Self::places(0);
    const SECOND: ([u8; BYTES], __mmask64) = Self::places(1);
}

#[inline(always)]
fn table(bytes: &[u8; BYTES]) -> __m512i {
    // SAFETY: sixty-four bytes are there. The token as above.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

impl BitFieldLanes for Avx512 {
    #[inline(always)]
    fn mul_low(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_mullo_epi16(a, b))
    }

    #[inline(always)]
    fn mul_high(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_mulhi_epi16(a, b))
    }

    #[inline(always)]
    fn mul_rounded(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_mulhrs_epi16(a, b))
    }

    #[inline(always)]
    fn shift_left<const N: u32>(self, a: __m512i) -> __m512i {
        avx512!(_mm512_slli_epi16::<N>(a))
    }

    #[inline(always)]
    fn shift_right<const N: u32>(self, a: __m512i) -> __m512i {
        avx512!(_mm512_srli_epi16::<N>(a))
    }

    #[inline(always)]
    fn unpack<const BITS: usize>(self, from: &[u8]) -> __m512i {
        let from = &from[..Fields::<BITS>::ALL];
        // SAFETY: the masked bytes are there, and no others are read. The token as above.
        let fields = unsafe { _mm512_maskz_loadu_epi8(Fields::<BITS>::MASK, from.as_ptr().cast()) };
        avx512! {
            let groups = _mm512_permutexvar_epi8(table(&Fields::<BITS>::GROUPS), fields);
            let words = _mm512_multishift_epi64_epi8(table(&Fields::<BITS>::SHIFTS), groups);
            _mm512_and_si512(words, _mm512_set1_epi16((1 << BITS) - 1))
        }
    }

    #[inline(always)]
    fn pack<const BITS: usize>(self, to: &mut [u8], a: __m512i) {
        let to = &mut to[..Fields::<BITS>::ALL];
        let low = 32 - 2 * BITS as i64;
        let pairs = self.merge(a, 1 << BITS);
        let fields = avx512! {
            let together = _mm512_sllv_epi32(pairs, _mm512_set1_epi64(low));
            let groups = _mm512_srlv_epi64(together, _mm512_set1_epi64(low));
            let (first, mask) = &Fields::<BITS>::FIRST;
            if BITS % 2 == 1 {
                let groups = _mm512_sllv_epi64(groups, _mm512_set4_epi64(4, 0, 4, 0));
                let (second, rest) = &Fields::<BITS>::SECOND;
                _mm512_or_si512(
                    _mm512_maskz_permutexvar_epi8(*mask, table(first), groups),
                    _mm512_maskz_permutexvar_epi8(*rest, table(second), groups),
                )
            } else {
                _mm512_permutexvar_epi8(table(first), groups)
            }
        };
        // SAFETY: the masked bytes are there, and no others are written. The token as above.
        unsafe {
            _mm512_mask_storeu_epi8(to.as_mut_ptr().cast(), Fields::<BITS>::MASK, fields);
        }
    }

    #[inline(always)]
    fn append_below_vartime(
        self,
        from: &[u8],
        bound: i16,
        to: &mut [i16],
        mut count: usize,
    ) -> usize {
        const BLOCK: usize = 12 * WORDS / 8;
        let wanted = to.len() - SLACK_WORDS;
        let (blocks, rest) = from.as_chunks::<BLOCK>();
        // Fields that are not there are not below.
        let mut last = [0xff; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        for block in blocks.iter().chain((!rest.is_empty()).then_some(&last)) {
            let fields = self.unpack::<12>(block);
            let (front, below) = avx512! {
                let below = _mm512_cmplt_epi16_mask(fields, _mm512_set1_epi16(bound));
                // In a register: some processors write a compressed vector to memory slowly.
                (_mm512_maskz_compress_epi16(below, fields), below)
            };
            self.store(&mut to[count..], front);
            count += below.count_ones() as usize;
            if count >= wanted {
                return wanted;
            }
        }
        count
    }
}
