//! Words as fields of bits on AVX2.

use core::arch::x86_64::*;

use super::{Avx2, WORDS};
use crate::{BitFieldLanes, IntegerLanes, SLACK_WORDS};

const BYTES: usize = 2 * WORDS;
/// A byte that a shuffle makes zero.
const NONE: u8 = 0x80;

/// Shuffles between fields of `BITS` bits and groups of four fields in 64-bit integers.
struct Fields<const BITS: usize>;

impl<const BITS: usize> Fields<BITS> {
    /// Bytes of a vector of fields.
    const ALL: usize = 2 * BITS;
    /// Bytes of half a vector, in which groups begin at [`Self::group`].
    const HALF: usize = BITS;

    /// The first byte of a group of four fields. With an odd number of bits, every other group
    /// begins in the middle of that byte.
    const fn group(number: usize) -> usize {
        number * BITS / 2
    }

    /// Bytes that a group touches.
    const fn group_bytes(number: usize) -> usize {
        (number * BITS % 2 * 4 + 4 * BITS).div_ceil(8)
    }

    /// Reads a vector of fields, and no byte beyond: each half has the bytes that its groups
    /// touch, in the places that [`Self::GROUPS`] takes them from.
    #[inline(always)]
    fn read(from: &[u8]) -> __m256i {
        let from = &from[..Self::ALL];
        if Self::ALL >= 16 {
            let (low, high) = (&from[..16], &from[Self::ALL - 16..]);
            // SAFETY: sixteen bytes are in each; alignment is not needed. The token as above.
            unsafe {
                let low = _mm_loadu_si128(low.as_ptr().cast());
                _mm256_set_m128i(_mm_loadu_si128(high.as_ptr().cast()), low)
            }
        } else if Self::ALL >= 8 {
            let low = i64::from_le_bytes(*from.first_chunk().unwrap());
            let high = i64::from_le_bytes(*from.last_chunk().unwrap());
            avx2!(_mm256_broadcastsi128_si256(_mm_set_epi64x(high, low)))
        } else {
            let all = i16::from_le_bytes(*from.first_chunk().unwrap());
            avx2!(_mm256_set1_epi16(all))
        }
    }

    /// Moves a group's bytes, as [`Self::read`] leaves them, to the group's integer.
    const GROUPS: [u8; BYTES] = {
        let mut order = [NONE; BYTES];
        let mut i = 0;
        while i < BYTES {
            let (group, byte) = (i / 8, i % 8);
            let at = Self::group(group) + byte;
            if byte < Self::group_bytes(group) {
                order[i] = if Self::ALL >= 16 {
                    (if group < 2 { at } else { at - (Self::ALL - 16) }) as u8
                } else if Self::ALL < 8 || at < 8 {
                    at as u8
                } else {
                    (at - (Self::ALL - 8) + 8) as u8
                };
            }
            i += 1;
        }
        order
    };

    /// Moves the bytes of a half's first group (`odd` 0) or second group (`odd` 1) to their places
    /// in the half. With an even number of bits, both at once.
    const fn places(odd: usize) -> [u8; BYTES] {
        let mut order = [NONE; BYTES];
        let mut i = 0;
        while i < BYTES {
            let (group, byte) = (i / 8 % 2, i % 8);
            if (group == odd || BITS.is_multiple_of(2)) && byte < Self::group_bytes(group) {
                order[i / 16 * 16 + Self::group(group) + byte] = (8 * group + byte) as u8;
            }
            i += 1;
        }
        order
    }

    const FIRST: [u8; BYTES] = Self::places(0);
    const SECOND: [u8; BYTES] = Self::places(1);

    /// The place of byte `byte` of all fields in the half that has it, if it is half `half`.
    const fn place(byte: usize, half: usize) -> u8 {
        if byte < Self::ALL && byte / Self::HALF == half { (byte % Self::HALF) as u8 } else { NONE }
    }

    /// Moves bytes of the halves to sixteen bytes from byte `first` on.
    const fn joined(first: usize) -> [[u8; 16]; 2] {
        let mut orders = [[NONE; 16]; 2];
        let mut i = 0;
        while i < 16 {
            orders[0][i] = Self::place(first + i, 0);
            orders[1][i] = Self::place(first + i, 1);
            i += 1;
        }
        orders
    }

    /// The first sixteen bytes, and the last sixteen, or the last eight if there are fewer.
    const FRONT: [[u8; 16]; 2] = Self::joined(0);
    const BACK: [[u8; 16]; 2] =
        Self::joined(Self::ALL.saturating_sub(if Self::ALL >= 16 { 16 } else { 8 }));

    /// Writes the bytes of both halves, which begin at the lowest byte of each, and no byte beyond.
    #[inline(always)]
    fn write(to: &mut [u8], halves: __m256i) {
        let to = &mut to[..Self::ALL];
        let (low, high) =
            avx2!((_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves)));
        let (front, back) = (join(low, high, &Self::FRONT), join(low, high, &Self::BACK));
        if Self::ALL >= 16 {
            let (to_front, to_back) = (to.as_mut_ptr(), to[Self::ALL - 16..].as_mut_ptr());
            // SAFETY: sixteen bytes are at both places; alignment is not needed. The second write
            // repeats bytes of the first one.
            unsafe {
                _mm_storeu_si128(to_front.cast(), front);
                _mm_storeu_si128(to_back.cast(), back);
            }
        } else if Self::ALL >= 8 {
            to[..8].copy_from_slice(&low_bytes(front));
            to[Self::ALL - 8..].copy_from_slice(&low_bytes(back));
        } else {
            to.copy_from_slice(&low_bytes(front)[..Self::ALL]);
        }
    }
}

/// The bytes of two vectors that two shuffles take.
#[inline(always)]
fn join(low: __m128i, high: __m128i, [of_low, of_high]: &[[u8; 16]; 2]) -> __m128i {
    // SAFETY: sixteen bytes are in each table. The token as above.
    unsafe {
        let of_low = _mm_loadu_si128(of_low.as_ptr().cast());
        let of_high = _mm_loadu_si128(of_high.as_ptr().cast());
        _mm_or_si128(_mm_shuffle_epi8(low, of_low), _mm_shuffle_epi8(high, of_high))
    }
}

/// The low eight bytes of a vector.
#[inline(always)]
fn low_bytes(v: __m128i) -> [u8; 8] {
    avx2!(_mm_cvtsi128_si64(v)).to_le_bytes()
}

#[inline(always)]
fn table(bytes: &[u8; BYTES]) -> __m256i {
    // SAFETY: thirty-two bytes are there. The token as above.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// For each set of eight words, given by its bits, a shuffle that moves its words to the front.
static FRONT: [[u8; 16]; 256] = {
    let mut orders = [[NONE; 16]; 256];
    let mut set = 0;
    while set < 256 {
        let (mut word, mut count) = (0, 0);
        while word < 8 {
            if set >> word & 1 == 1 {
                orders[set][2 * count] = 2 * word as u8;
                orders[set][2 * count + 1] = 2 * word as u8 + 1;
                count += 1;
            }
            word += 1;
        }
        set += 1;
    }
    orders
};

/// Writes the words of a set to the front of `to`, and returns how many there are. Other words may
/// follow them.
#[inline(always)]
fn store_front(to: &mut [i16], words: __m128i, set: u8) -> usize {
    let to = &mut to[..WORDS / 2];
    let order = &FRONT[usize::from(set)]; // Public: fields that are not secret.
    // SAFETY: sixteen bytes are in each; alignment is not needed. The token as above.
    unsafe {
        let front = _mm_shuffle_epi8(words, _mm_loadu_si128(order.as_ptr().cast()));
        _mm_storeu_si128(to.as_mut_ptr().cast(), front);
    }
    set.count_ones() as usize
}

impl BitFieldLanes for Avx2 {
    #[inline(always)]
    fn mul_low(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_mullo_epi16(a, b))
    }

    #[inline(always)]
    fn mul_high(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_mulhi_epi16(a, b))
    }

    #[inline(always)]
    fn mul_rounded(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_mulhrs_epi16(a, b))
    }

    #[inline(always)]
    fn shift_left<const N: u32>(self, a: __m256i) -> __m256i {
        avx2!(_mm256_sll_epi16(a, _mm_cvtsi32_si128(N as i32)))
    }

    #[inline(always)]
    fn shift_right<const N: u32>(self, a: __m256i) -> __m256i {
        avx2!(_mm256_srl_epi16(a, _mm_cvtsi32_si128(N as i32)))
    }

    #[inline(always)]
    fn unpack<const BITS: usize>(self, from: &[u8]) -> __m256i {
        let fields = Fields::<BITS>::read(from);
        let bits = BITS as i64;
        avx2! {
            let groups = _mm256_shuffle_epi8(fields, table(&Fields::<BITS>::GROUPS));
            let groups = if BITS % 2 == 1 {
                _mm256_srlv_epi64(groups, _mm256_setr_epi64x(0, 4, 0, 4))
            } else {
                groups
            };
            let apart = _mm256_sll_epi64(groups, _mm_cvtsi64_si128(32 - 2 * bits));
            let pairs = _mm256_blend_epi32::<0b1010_1010>(groups, apart);
            let apart = _mm256_sll_epi32(pairs, _mm_cvtsi64_si128(16 - bits));
            let words = _mm256_blend_epi16::<0b1010_1010>(pairs, apart);
            _mm256_and_si256(words, _mm256_set1_epi16((1 << BITS) - 1))
        }
    }

    #[inline(always)]
    fn pack<const BITS: usize>(self, to: &mut [u8], a: __m256i) {
        let low = 32 - 2 * BITS as i32;
        let pairs = self.merge(a, 1 << BITS);
        let halves = avx2! {
            let together = _mm256_sllv_epi32(pairs, _mm256_set1_epi64x(i64::from(low)));
            let groups = _mm256_srl_epi64(together, _mm_cvtsi32_si128(low));
            let first = table(&Fields::<BITS>::FIRST);
            if BITS % 2 == 1 {
                let groups = _mm256_sllv_epi64(groups, _mm256_setr_epi64x(0, 4, 0, 4));
                let second = table(&Fields::<BITS>::SECOND);
                _mm256_or_si256(
                    _mm256_shuffle_epi8(groups, first),
                    _mm256_shuffle_epi8(groups, second),
                )
            } else {
                _mm256_shuffle_epi8(groups, first)
            }
        };
        Fields::<BITS>::write(to, halves);
    }

    #[inline(always)]
    fn append_below_vartime(
        self,
        from: &[u8],
        bound: i16,
        to: &mut [i16],
        mut count: usize,
    ) -> usize {
        let wanted = to.len() - SLACK_WORDS;
        let (blocks, _) = from.as_chunks::<{ 12 * WORDS / 8 }>();
        for block in blocks {
            let fields = self.unpack::<12>(block);
            let (low, high, set) = avx2! {
                let below = _mm256_cmpgt_epi16(_mm256_set1_epi16(bound), fields);
                let set = _mm256_movemask_epi8(_mm256_packs_epi16(below, _mm256_setzero_si256()));
                (_mm256_castsi256_si128(fields), _mm256_extracti128_si256::<1>(fields), set)
            };
            count += store_front(&mut to[count..], low, set as u8);
            count += store_front(&mut to[count..], high, (set >> 16) as u8);
            if count >= wanted {
                return wanted;
            }
        }
        count
    }
}
