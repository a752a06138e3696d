//! AVX2: sixteen words.

use core::arch::x86_64::*;

use crate::{Avx512, Kernel, Lanes, Modulus, sealed::Sealed};

/// Intrinsics that touch no memory.
macro_rules! avx2 {
    ($($code:tt)*) => {
        // SAFETY: the caller holds the token, so the processor has the instructions.
        unsafe { $($code)* }
    };
}

mod bit_fields;
mod bits;
mod field;
mod hash;
mod integers;
mod sponge;
mod transpose;

pub use field::Avx2Half;
pub(crate) use hash::Narrow;

/// The token of a processor with AVX2.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

const PAIRS: usize = 8;
const WORDS: usize = 2 * PAIRS;

impl Avx2 {
    /// The token, if this processor has what it stands for.
    pub fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt"))
        .then_some(Avx2(()))
    }

    /// The token of a processor that has more: AVX-512 F includes AVX2, and [`Avx512::detect`] asks
    /// for the other extensions too.
    #[inline(always)]
    pub(crate) fn included_in(_: Avx512) -> Self {
        Avx2(())
    }
}

impl Sealed for Avx2 {}

/// The one boundary: `kernel`, and all that is inlined into it, is compiled for AVX2.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
#[inline(never)]
fn run<K: Kernel<Avx2>>(lanes: Avx2, kernel: K) -> K::Output {
    kernel.run(lanes)
}

#[inline(always)]
fn read(from: &[i16]) -> __m256i {
    let from = &from[..WORDS];
    // SAFETY: sixteen words are there; alignment is not needed. The token as above.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline(always)]
fn write(to: &mut [i16], v: __m256i) {
    let to = &mut to[..WORDS];
    // SAFETY: as for reading.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), v) }
}

#[inline(always)]
fn write_half(to: &mut [i16], v: __m128i) {
    let to = &mut to[..WORDS / 2];
    // SAFETY: eight words are there; alignment is not needed. SSE2 is part of the architecture.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), v) }
}

/// The words of each pair apart: the first ones in the lower half, the second ones in the upper
/// half.
#[inline(always)]
fn split(a: __m256i) -> __m256i {
    avx2! {
        let order = _mm256_setr_epi8(
            0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6,
            7, 10, 11, 14, 15,
        );
        _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_shuffle_epi8(a, order))
    }
}

impl Lanes for Avx2 {
    type Word = i16;
    type I16 = __m256i;
    type I32 = __m256i;

    const PAIRS: usize = PAIRS;

    #[inline(always)]
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        // SAFETY: the token is proof that the processor has the instructions.
        unsafe { run(self, kernel) }
    }

    #[inline(always)]
    fn load(self, from: &[i16]) -> __m256i {
        read(from)
    }

    #[inline(always)]
    fn store(self, to: &mut [i16], v: __m256i) {
        write(to, v);
    }

    #[inline(always)]
    fn constants(self, from: &[i16]) -> __m256i {
        read(from)
    }

    #[inline(always)]
    fn splat(self, value: i16) -> __m256i {
        avx2!(_mm256_set1_epi16(value))
    }

    #[inline(always)]
    fn broadcast(self, from: &[i16]) -> __m256i {
        avx2!(_mm256_set1_epi16(from[0]))
    }

    #[inline(always)]
    fn broadcast_pair(self, from: &[i16]) -> __m256i {
        let pair = u32::from(from[1] as u16) << 16 | u32::from(from[0] as u16);
        avx2!(_mm256_set1_epi32(pair as i32))
    }

    #[inline(always)]
    fn first(self, a: __m256i) -> __m256i {
        avx2!(_mm256_broadcastw_epi16(_mm256_castsi256_si128(a)))
    }

    #[inline(always)]
    fn advance(self, a: __m256i, b: __m256i) -> __m256i {
        avx2! {
            let middle = _mm256_permute2x128_si256::<0x21>(a, b);
            _mm256_alignr_epi8::<2>(middle, a)
        }
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_add_epi16(a, b))
    }

    #[inline(always)]
    fn sub(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_sub_epi16(a, b))
    }

    #[inline(always)]
    fn select(self, mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_blendv_epi8(b, a, mask))
    }

    #[inline(always)]
    fn and(self, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_and_si256(a, b))
    }

    #[inline(always)]
    fn nonzero(self, a: __m256i) -> __m256i {
        avx2! {
            let zero = _mm256_cmpeq_epi16(a, _mm256_setzero_si256());
            _mm256_xor_si256(zero, _mm256_set1_epi16(-1))
        }
    }

    #[inline(always)]
    fn negative(self, a: __m256i) -> __m256i {
        avx2!(_mm256_srai_epi16::<15>(a))
    }

    #[inline(always)]
    fn no_multiple(self, a_q: __m256i) -> __m256i {
        avx2!(_mm256_cmpgt_epi16(_mm256_abs_epi16(a_q), _mm256_set1_epi16(1)))
    }

    #[inline(always)]
    fn positive(self, a: __m256i) -> __m256i {
        avx2!(_mm256_cmpgt_epi16(a, _mm256_setzero_si256()))
    }

    #[inline(always)]
    fn montgomery(self, a: __m256i, b: __m256i, b_q: __m256i, q: Modulus) -> __m256i {
        avx2! {
            let t = _mm256_mullo_epi16(a, b_q);
            let t = _mm256_mulhi_epi16(t, _mm256_set1_epi16(q.q));
            _mm256_sub_epi16(_mm256_mulhi_epi16(a, b), t)
        }
    }

    #[inline(always)]
    fn prepare(self, a: __m256i, q: Modulus) -> __m256i {
        avx2!(_mm256_mullo_epi16(a, _mm256_set1_epi16(q.inverse)))
    }

    #[inline(always)]
    fn barrett(self, a: __m256i, q: Modulus) -> __m256i {
        avx2! {
            let t = _mm256_mulhrs_epi16(a, _mm256_set1_epi16(q.reciprocal));
            _mm256_sub_epi16(a, _mm256_mullo_epi16(t, _mm256_set1_epi16(q.q)))
        }
    }

    #[inline(always)]
    fn freeze(self, a: __m256i, q: Modulus) -> __m256i {
        let a = self.barrett(a, q);
        avx2! {
            let (modulus, half) = (_mm256_set1_epi16(q.q), _mm256_set1_epi16(q.q / 2));
            let above = _mm256_cmpgt_epi16(a, half);
            let below = _mm256_cmpgt_epi16(_mm256_set1_epi16(-(q.q / 2)), a);
            let a = _mm256_sub_epi16(a, _mm256_and_si256(above, modulus));
            _mm256_add_epi16(a, _mm256_and_si256(below, modulus))
        }
    }

    #[inline(always)]
    fn freeze3(self, a: __m256i) -> __m256i {
        avx2! {
            let t = _mm256_mulhrs_epi16(a, _mm256_set1_epi16(crate::THIRD));
            _mm256_sub_epi16(a, _mm256_add_epi16(t, _mm256_add_epi16(t, t)))
        }
    }

    #[inline(always)]
    fn zero(self) -> __m256i {
        avx2!(_mm256_setzero_si256())
    }

    #[inline(always)]
    fn dot(self, acc: __m256i, a: __m256i, b: __m256i) -> __m256i {
        avx2!(_mm256_add_epi32(acc, _mm256_madd_epi16(a, b)))
    }

    #[inline(always)]
    fn reduce(self, even: __m256i, odd: __m256i, q: Modulus) -> __m256i {
        avx2! {
            let low = _mm256_blend_epi16::<0b1010_1010>(even, _mm256_slli_epi32::<16>(odd));
            let high = _mm256_blend_epi16::<0b1010_1010>(_mm256_srli_epi32::<16>(even), odd);
            let t = _mm256_mullo_epi16(low, _mm256_set1_epi16(q.inverse));
            _mm256_sub_epi16(high, _mm256_mulhi_epi16(t, _mm256_set1_epi16(q.q)))
        }
    }

    #[inline(always)]
    fn swap(self, a: __m256i) -> __m256i {
        avx2! {
            let order = _mm256_setr_epi8(
                2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11,
                8, 9, 14, 15, 12, 13,
            );
            _mm256_shuffle_epi8(a, order)
        }
    }

    #[inline(always)]
    fn straddle(self, a: __m256i, b: __m256i) -> __m256i {
        avx2! {
            let (first, second) = (_mm256_srli_epi32::<16>(a), _mm256_slli_epi32::<16>(b));
            _mm256_blend_epi16::<0b1010_1010>(first, second)
        }
    }

    #[inline(always)]
    fn store_interleaved(self, to: &mut [i16], a: __m256i, b: __m256i) {
        let (first, second) = avx2! {
            let (low, high) = (_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b));
            (_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high))
        };
        let (to_first, to_second) = to[..2 * WORDS].split_at_mut(WORDS);
        write(to_first, first);
        write(to_second, second);
    }

    #[inline(always)]
    fn exchange(self, a: __m256i, b: __m256i, distance: usize) -> [__m256i; 2] {
        avx2! {
            match distance {
                2 => {
                    let of_b = _mm256_shuffle_epi32::<0b10_10_00_00>(b);
                    let of_a = _mm256_shuffle_epi32::<0b11_11_01_01>(a);
                    [
                        _mm256_blend_epi32::<0b1010_1010>(a, of_b),
                        _mm256_blend_epi32::<0b0101_0101>(b, of_a),
                    ]
                }
                4 => [_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)],
                _ => [
                    _mm256_permute2x128_si256::<0x20>(a, b),
                    _mm256_permute2x128_si256::<0x31>(a, b),
                ],
            }
        }
    }

    #[inline(always)]
    fn store_split(self, first: &mut [i16], second: &mut [i16], a: __m256i) {
        let a = split(a);
        let (low, high) = avx2!((_mm256_castsi256_si128(a), _mm256_extracti128_si256::<1>(a)));
        write_half(first, low);
        write_half(second, high);
    }

    #[inline(always)]
    fn transpose(self, from: &[i16], to: &mut [i16], stride: usize) {
        let from = &from[..PAIRS * WORDS];
        let to = &mut to[..(PAIRS - 1) * stride + WORDS];
        let mut r = [self.zero(); PAIRS];
        for i in 0..PAIRS {
            r[i] = read(&from[i * WORDS..]);
        }
        let mut s = r;
        avx2! {
            for i in 0..PAIRS / 2 {
                s[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
                s[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
            }
            for i in 0..PAIRS / 4 {
                let [a, b, c, d] = [s[4 * i], s[4 * i + 1], s[4 * i + 2], s[4 * i + 3]];
                r[4 * i] = _mm256_unpacklo_epi64(a, c);
                r[4 * i + 1] = _mm256_unpackhi_epi64(a, c);
                r[4 * i + 2] = _mm256_unpacklo_epi64(b, d);
                r[4 * i + 3] = _mm256_unpackhi_epi64(b, d);
            }
            for i in 0..PAIRS / 2 {
                s[i] = _mm256_permute2x128_si256::<0x20>(r[i], r[i + 4]);
                s[i + 4] = _mm256_permute2x128_si256::<0x31>(r[i], r[i + 4]);
            }
        }
        for j in 0..PAIRS {
            write(&mut to[j * stride..], s[j]);
        }
    }
}
