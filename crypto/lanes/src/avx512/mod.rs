//! AVX-512 with VNNI and VBMI: thirty-two words.

use core::arch::asm;
use core::arch::x86_64::*;

use crate::{Kernel, Lanes, Modulus, sealed::Sealed};

/// Intrinsics that touch no memory.
macro_rules! avx512 {
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
mod vl;

pub(crate) use vl::Vl;

/// The token of a processor with AVX-512 F, BW, DQ, VL, VNNI, VBMI, VBMI2, IFMA, VPOPCNTDQ and
/// BITALG: Ice Lake, Zen 4 and later.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

const PAIRS: usize = 16;
const WORDS: usize = 2 * PAIRS;

impl Avx512 {
    /// The token, if this processor has what it stands for.
    pub fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512ifma")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("avx512bitalg")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("lzcnt"))
        .then_some(Avx512(()))
    }
}

impl Sealed for Avx512 {}

/// The one boundary: `kernel`, and all that is inlined into it, is compiled for AVX-512.
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi,avx512vbmi2,avx512ifma,avx512vpopcntdq,avx512bitalg,bmi1,bmi2,popcnt,lzcnt"
)]
#[inline(never)]
fn run<K: Kernel<Avx512>>(lanes: Avx512, kernel: K) -> K::Output {
    kernel.run(lanes)
}

/// `vpdpwssd`, which compilers split into a product and a sum unless told which processor they tune
/// for.
#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn dot_product(mut acc: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: the instruction works on the three registers and nothing else.
    unsafe {
        asm!(
            "vpdpwssd {acc}, {a}, {b}",
            acc = inout(zmm_reg) acc,
            a = in(zmm_reg) a,
            b = in(zmm_reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    acc
}

/// [`dot_product`] with a pair in memory in every pair of the second factor.
#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn dot_product_broadcast(mut acc: __m512i, a: __m512i, pair: &[i16; 2]) -> __m512i {
    // SAFETY: the instruction reads four bytes at the reference.
    unsafe {
        asm!(
            "vpdpwssd {acc}, {a}, dword ptr [{pair}]{{1to16}}",
            acc = inout(zmm_reg) acc,
            a = in(zmm_reg) a,
            pair = in(reg) pair.as_ptr(),
            options(pure, readonly, nostack, preserves_flags)
        );
    }
    acc
}

#[inline(always)]
fn read(from: &[i16]) -> __m512i {
    let from = &from[..WORDS];
    // SAFETY: thirty-two words are there; alignment is not needed. The token as above.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline(always)]
fn write(to: &mut [i16], v: __m512i) {
    let to = &mut to[..WORDS];
    // SAFETY: as for reading.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), v) }
}

#[inline(always)]
fn write_half(to: &mut [i16], v: __m256i) {
    let to = &mut to[..WORDS / 2];
    // SAFETY: sixteen words are there; alignment is not needed. The token as above.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), v) }
}

/// Word numbers for permutations.
const fn word_order(base: u16, step: u16, half: u16) -> [u16; WORDS] {
    let mut order = [0; WORDS];
    let mut i = 0;
    while i < WORDS {
        // Two interleaved or concatenated sequences.
        order[i] = if half == 0 {
            base + (i as u16) / 2 + if i % 2 == 1 { step } else { 0 }
        } else {
            ((i as u16) % half) * step + (i as u16) / half
        };
        i += 1;
    }
    order
}

/// Word numbers in sequence.
const fn word_sequence(first: u16) -> [u16; WORDS] {
    let mut order = [0; WORDS];
    let mut i = 0;
    while i < WORDS {
        order[i] = first + i as u16;
        i += 1;
    }
    order
}

#[inline(always)]
fn order(words: &[u16; WORDS]) -> __m512i {
    // SAFETY: sixty-four bytes are there. The token as above.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Pair numbers of two vectors after exchanges at distances 8, 4, 2 and 1 pairs: all of
/// [`Lanes::split_pairs`]. Exchanges undo themselves, so that `joined` takes the reverse order.
const fn pair_numbers(joined: bool) -> [[u32; PAIRS]; 2] {
    let mut numbers = [[0; PAIRS]; 2];
    let mut i = 0;
    while i < PAIRS {
        numbers[0][i] = i as u32;
        numbers[1][i] = (PAIRS + i) as u32;
        i += 1;
    }
    let mut step = 0;
    while step < 4 {
        let distance = if joined { 1 << step } else { (PAIRS / 2) >> step };
        let mut i = 0;
        while i < PAIRS {
            if i & distance != 0 {
                let odd = numbers[0][i];
                numbers[0][i] = numbers[1][i - distance];
                numbers[1][i - distance] = odd;
            }
            i += 1;
        }
        step += 1;
    }
    numbers
}

const SPLIT: [[u32; PAIRS]; 2] = pair_numbers(false);
const JOIN: [[u32; PAIRS]; 2] = pair_numbers(true);

#[inline(always)]
fn pair_order(pairs: &[u32; PAIRS]) -> __m512i {
    // SAFETY: sixty-four bytes are there. The token as above.
    unsafe { _mm512_loadu_si512(pairs.as_ptr().cast()) }
}

impl Lanes for Avx512 {
    type Word = i16;
    type I16 = __m512i;
    type I32 = __m512i;

    const PAIRS: usize = PAIRS;

    #[inline(always)]
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        // SAFETY: the token is proof that the processor has the instructions.
        unsafe { run(self, kernel) }
    }

    #[inline(always)]
    fn load(self, from: &[i16]) -> __m512i {
        read(from)
    }

    #[inline(always)]
    fn store(self, to: &mut [i16], v: __m512i) {
        write(to, v);
    }

    #[inline(always)]
    fn constants(self, from: &[i16]) -> __m512i {
        read(from)
    }

    #[inline(always)]
    fn splat(self, value: i16) -> __m512i {
        avx512!(_mm512_set1_epi16(value))
    }

    #[inline(always)]
    fn broadcast(self, from: &[i16]) -> __m512i {
        avx512!(_mm512_set1_epi16(from[0]))
    }

    #[inline(always)]
    fn broadcast_pair(self, from: &[i16]) -> __m512i {
        let pair = u32::from(from[1] as u16) << 16 | u32::from(from[0] as u16);
        avx512!(_mm512_set1_epi32(pair as i32))
    }

    #[inline(always)]
    fn first(self, a: __m512i) -> __m512i {
        avx512!(_mm512_broadcastw_epi16(_mm512_castsi512_si128(a)))
    }

    #[inline(always)]
    fn advance(self, a: __m512i, b: __m512i) -> __m512i {
        const NEXT: [u16; WORDS] = word_sequence(1);
        avx512!(_mm512_permutex2var_epi16(a, order(&NEXT), b))
    }

    #[inline(always)]
    fn add(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_add_epi16(a, b))
    }

    #[inline(always)]
    fn sub(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_sub_epi16(a, b))
    }

    #[inline(always)]
    fn select(self, mask: __m512i, a: __m512i, b: __m512i) -> __m512i {
        const CHOOSE: i32 = 0b1100_1010;
        avx512!(_mm512_ternarylogic_epi32::<CHOOSE>(mask, a, b))
    }

    #[inline(always)]
    fn and(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_and_si512(a, b))
    }

    #[inline(always)]
    fn nonzero(self, a: __m512i) -> __m512i {
        avx512!(_mm512_movm_epi16(_mm512_test_epi16_mask(a, a)))
    }

    #[inline(always)]
    fn negative(self, a: __m512i) -> __m512i {
        avx512!(_mm512_srai_epi16::<15>(a))
    }

    #[inline(always)]
    fn no_multiple(self, a_q: __m512i) -> __m512i {
        avx512! {
            let less = _mm512_sub_epi16(_mm512_set1_epi16(1), _mm512_abs_epi16(a_q));
            _mm512_srai_epi16::<15>(less)
        }
    }

    #[inline(always)]
    fn positive(self, a: __m512i) -> __m512i {
        avx512!(_mm512_movm_epi16(_mm512_cmpgt_epi16_mask(a, _mm512_setzero_si512())))
    }

    #[inline(always)]
    fn montgomery(self, a: __m512i, b: __m512i, b_q: __m512i, q: Modulus) -> __m512i {
        avx512! {
            let t = _mm512_mullo_epi16(a, b_q);
            let t = _mm512_mulhi_epi16(t, _mm512_set1_epi16(q.q));
            _mm512_sub_epi16(_mm512_mulhi_epi16(a, b), t)
        }
    }

    #[inline(always)]
    fn prepare(self, a: __m512i, q: Modulus) -> __m512i {
        avx512!(_mm512_mullo_epi16(a, _mm512_set1_epi16(q.inverse)))
    }

    #[inline(always)]
    fn barrett(self, a: __m512i, q: Modulus) -> __m512i {
        avx512! {
            let t = _mm512_mulhrs_epi16(a, _mm512_set1_epi16(q.reciprocal));
            _mm512_sub_epi16(a, _mm512_mullo_epi16(t, _mm512_set1_epi16(q.q)))
        }
    }

    #[inline(always)]
    fn freeze(self, a: __m512i, q: Modulus) -> __m512i {
        let a = self.barrett(a, q);
        avx512! {
            let (modulus, half) = (_mm512_set1_epi16(q.q), _mm512_set1_epi16(q.q / 2));
            let above = _mm512_cmpgt_epi16_mask(a, half);
            let below = _mm512_cmplt_epi16_mask(a, _mm512_set1_epi16(-(q.q / 2)));
            let a = _mm512_mask_sub_epi16(a, above, a, modulus);
            _mm512_mask_add_epi16(a, below, a, modulus)
        }
    }

    #[inline(always)]
    fn freeze3(self, a: __m512i) -> __m512i {
        avx512! {
            let t = _mm512_mulhrs_epi16(a, _mm512_set1_epi16(crate::THIRD));
            _mm512_sub_epi16(a, _mm512_add_epi16(t, _mm512_add_epi16(t, t)))
        }
    }

    #[inline(always)]
    fn zero(self) -> __m512i {
        avx512!(_mm512_setzero_si512())
    }

    #[inline(always)]
    fn dot(self, acc: __m512i, a: __m512i, b: __m512i) -> __m512i {
        avx512!(dot_product(acc, a, b))
    }

    #[inline(always)]
    fn dot_broadcast(self, acc: __m512i, a: __m512i, from: &[i16]) -> __m512i {
        let pair: &[i16; 2] = from.first_chunk().unwrap();
        avx512!(dot_product_broadcast(acc, a, pair))
    }

    #[inline(always)]
    fn reduce(self, even: __m512i, odd: __m512i, q: Modulus) -> __m512i {
        avx512! {
            let low = _mm512_mask_blend_epi16(0xaaaa_aaaa, even, _mm512_slli_epi32::<16>(odd));
            let high = _mm512_mask_blend_epi16(0xaaaa_aaaa, _mm512_srli_epi32::<16>(even), odd);
            let t = _mm512_mullo_epi16(low, _mm512_set1_epi16(q.inverse));
            _mm512_sub_epi16(high, _mm512_mulhi_epi16(t, _mm512_set1_epi16(q.q)))
        }
    }

    #[inline(always)]
    fn swap(self, a: __m512i) -> __m512i {
        avx512!(_mm512_rol_epi32::<16>(a))
    }

    #[inline(always)]
    fn straddle(self, a: __m512i, b: __m512i) -> __m512i {
        avx512!(_mm512_shrdi_epi32::<16>(a, b))
    }

    #[inline(always)]
    fn store_interleaved(self, to: &mut [i16], a: __m512i, b: __m512i) {
        const LOW: [u16; WORDS] = word_order(0, WORDS as u16, 0);
        const HIGH: [u16; WORDS] = word_order(PAIRS as u16, WORDS as u16, 0);
        let (first, second) = avx512! {
            (
                _mm512_permutex2var_epi16(a, order(&LOW), b),
                _mm512_permutex2var_epi16(a, order(&HIGH), b),
            )
        };
        let (to_first, to_second) = to[..2 * WORDS].split_at_mut(WORDS);
        write(to_first, first);
        write(to_second, second);
    }

    #[inline(always)]
    fn exchange(self, a: __m512i, b: __m512i, distance: usize) -> [__m512i; 2] {
        avx512! {
            match distance {
                2 => [
                    _mm512_mask_shuffle_epi32::<0b10_10_00_00>(a, 0xaaaa, b),
                    _mm512_mask_shuffle_epi32::<0b11_11_01_01>(b, 0x5555, a),
                ],
                4 => [_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)],
                8 => [
                    _mm512_mask_shuffle_i64x2::<0b10_10_00_00>(a, 0b1100_1100, b, b),
                    _mm512_mask_shuffle_i64x2::<0b11_11_01_01>(b, 0b0011_0011, a, a),
                ],
                _ => [
                    _mm512_shuffle_i64x2::<0b01_00_01_00>(a, b),
                    _mm512_shuffle_i64x2::<0b11_10_11_10>(a, b),
                ],
            }
        }
    }

    #[inline(always)]
    fn split_pairs(self, a: __m512i, b: __m512i) -> [__m512i; 2] {
        avx512! {
            [
                _mm512_permutex2var_epi32(a, pair_order(&SPLIT[0]), b),
                _mm512_permutex2var_epi32(a, pair_order(&SPLIT[1]), b),
            ]
        }
    }

    #[inline(always)]
    fn join_pairs(self, a: __m512i, b: __m512i) -> [__m512i; 2] {
        avx512! {
            [
                _mm512_permutex2var_epi32(a, pair_order(&JOIN[0]), b),
                _mm512_permutex2var_epi32(a, pair_order(&JOIN[1]), b),
            ]
        }
    }

    #[inline(always)]
    fn store_split(self, first: &mut [i16], second: &mut [i16], a: __m512i) {
        const APART: [u16; WORDS] = word_order(0, 2, PAIRS as u16);
        let (low, high) = avx512! {
            let a = _mm512_permutexvar_epi16(order(&APART), a);
            (_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64::<1>(a))
        };
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
        avx512! {
            for i in 0..PAIRS / 2 {
                s[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
                s[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
            }
            for i in 0..PAIRS / 4 {
                let [a, b, c, d] = [s[4 * i], s[4 * i + 1], s[4 * i + 2], s[4 * i + 3]];
                r[4 * i] = _mm512_unpacklo_epi64(a, c);
                r[4 * i + 1] = _mm512_unpackhi_epi64(a, c);
                r[4 * i + 2] = _mm512_unpacklo_epi64(b, d);
                r[4 * i + 3] = _mm512_unpackhi_epi64(b, d);
            }
            for i in 0..4 {
                let a = _mm512_shuffle_i32x4::<0x88>(r[i], r[i + 4]);
                let b = _mm512_shuffle_i32x4::<0xdd>(r[i], r[i + 4]);
                let c = _mm512_shuffle_i32x4::<0x88>(r[i + 8], r[i + 12]);
                let d = _mm512_shuffle_i32x4::<0xdd>(r[i + 8], r[i + 12]);
                s[i] = _mm512_shuffle_i32x4::<0x88>(a, c);
                s[i + 8] = _mm512_shuffle_i32x4::<0xdd>(a, c);
                s[i + 4] = _mm512_shuffle_i32x4::<0x88>(b, d);
                s[i + 12] = _mm512_shuffle_i32x4::<0xdd>(b, d);
            }
        }
        for j in 0..PAIRS {
            write(&mut to[j * stride..], s[j]);
        }
    }
}
