//! Products of integers by fused multiplications of doubles.
//!
//! A sum with 2^103 has its last bit at 2^51, so `h = a * b + 2^103`, rounded, has the high half of
//! the product in its bits. Taken from the product, it leaves a number below 2^51 of either sign,
//! which `a * b + (2^103 + 3 * 2^51 - h)` holds with its last bit at 1. Both are exact: whatever
//! the direction of rounding, high and low half add up to the product.
//!
//! Such instructions take a time of their own for numbers below the normal ones. There are none
//! here: whatever is added or multiplied is an integer, zero included, and zero times anything is
//! added to 2^103.

use core::arch::x86_64::*;

use super::Avx2;
use crate::field::{FIELD_LANES, Split};
use crate::{EachPart, FieldLanes, FieldParts, Kernel, Lanes, sealed::Sealed};

/// Limbs in a register.
const LANES: usize = FIELD_LANES / 2;

/// One half of eight field lanes: those from number `FIRST` on.
#[derive(Clone, Copy, Debug)]
pub struct Avx2Half<const FIRST: usize>(Avx2);

impl<const FIRST: usize> Sealed for Avx2Half<FIRST> {}

impl FieldParts for Avx2 {
    type Lower = Avx2Half<0>;

    fn lower(self) -> Avx2Half<0> {
        Avx2Half(self)
    }

    fn each<P: EachPart>(self, mut what: P) {
        what.on(Avx2Half::<0>(self));
        what.on(Avx2Half::<LANES>(self));
    }
}

/// The double 2^52, whose bits are those of integers below 2^52 and of itself in one.
const TWO_52: f64 = (1u64 << 52) as f64;
/// The double 2^103: of sums with it, the last bit stands for 2^51.
const TWO_103: f64 = (1u128 << 103) as f64;
/// The double 3 * 2^51: of sums with it, whose terms may have either sign, the last bit stands for
/// 1.
const THREE_TIMES_TWO_51: f64 = (3u64 << 51) as f64;

#[inline(always)]
fn splat(value: u64) -> __m256i {
    avx2!(_mm256_set1_epi64x(value as i64))
}

/// Four limbs from the one at `at` on.
#[inline(always)]
fn read(from: &[u64; FIELD_LANES], at: usize) -> __m256i {
    let from = &from[at..at + LANES];
    // SAFETY: four limbs are there; alignment is not needed. The caller holds the token.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline(always)]
fn write(to: &mut [u64; FIELD_LANES], at: usize, v: __m256i) {
    let to = &mut to[at..at + LANES];
    // SAFETY: as for reading.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), v) }
}

/// Adds the halves of a product with the bits of their constants. Compilers would make all products
/// of a formula before they add the first two, and have no registers for them: here they are made
/// as they come.
///
/// Within the boundary of `run`, and no other one: registers of 256 bits can be named only where
/// the compiler sees that they exist.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn mul_add(mut low: __m256i, mut high: __m256i, a: __m256d, b: __m256d) -> (__m256i, __m256i) {
    // SAFETY: registers alone are read and written.
    unsafe {
        core::arch::asm!(
            "vmovapd {h}, {two_103}",
            "vfmadd231pd {h}, {a}, {b}",
            "vsubpd {l}, {both}, {h}",
            "vpaddq {high}, {high}, {h}",
            "vfmadd231pd {l}, {a}, {b}",
            "vpaddq {low}, {low}, {l}",
            h = out(ymm_reg) _,
            l = out(ymm_reg) _,
            low = inout(ymm_reg) low,
            high = inout(ymm_reg) high,
            a = in(ymm_reg) a,
            b = in(ymm_reg) b,
            two_103 = in(ymm_reg) _mm256_set1_pd(TWO_103),
            both = in(ymm_reg) _mm256_set1_pd(TWO_103 + THREE_TIMES_TWO_51),
            options(nomem, nostack, preserves_flags)
        );
    }
    (low, high)
}

/// Limbs below 2^52 as doubles.
#[inline(always)]
fn double(a: __m256i) -> __m256d {
    avx2! {
        let sum = _mm256_or_si256(a, splat(TWO_52.to_bits()));
        _mm256_sub_pd(_mm256_castsi256_pd(sum), _mm256_set1_pd(TWO_52))
    }
}

/// The product's high half, in a sum with 2^103.
#[inline(always)]
fn high(a: __m256i, b: __m256i) -> __m256d {
    avx2!(_mm256_fmadd_pd(double(a), double(b), _mm256_set1_pd(TWO_103)))
}

#[inline(always)]
fn add(a: __m256i, b: __m256i) -> __m256i {
    avx2!(_mm256_add_epi64(a, b))
}

#[inline(always)]
fn sub(a: __m256i, b: __m256i) -> __m256i {
    avx2!(_mm256_sub_epi64(a, b))
}

/// Exact where `high` was rounded to, in any direction: the sums have as many bits as a double.
#[inline(always)]
fn mul_add_low(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
    avx2! {
        let rest = _mm256_sub_pd(_mm256_set1_pd(TWO_103 + THREE_TIMES_TWO_51), high(a, b));
        let low = _mm256_castpd_si256(_mm256_fmadd_pd(double(a), double(b), rest));
        add(sum, sub(low, splat(THREE_TIMES_TWO_51.to_bits())))
    }
}

#[inline(always)]
fn mul_add_high(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
    avx2! {
        let high = _mm256_castpd_si256(high(a, b));
        add(sum, sub(high, splat(TWO_103.to_bits())))
    }
}

#[inline(always)]
fn mul_add_small(sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
    avx2!(add(sum, _mm256_mul_epu32(a, b)))
}

#[inline(always)]
fn times<const FACTOR: u64>(a: __m256i) -> __m256i {
    avx2! {
        let low = _mm256_mul_epu32(a, splat(FACTOR));
        let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), splat(FACTOR));
        add(low, _mm256_slli_epi64::<32>(high))
    }
}

#[inline(always)]
fn low_bits<const BITS: u32>(a: __m256i) -> __m256i {
    avx2!(_mm256_and_si256(a, splat((1 << BITS) - 1)))
}

#[inline(always)]
fn high_bits<const BITS: u32>(a: __m256i) -> __m256i {
    avx2!(_mm256_srl_epi64(a, _mm_cvtsi32_si128(BITS as i32)))
}

/// All ones where bit number `bit` is one, else zero.
#[inline(always)]
fn bit(a: __m256i, bit: u32) -> __m256i {
    avx2! {
        let up = _mm256_sll_epi64(a, _mm_cvtsi32_si128(63 - bit as i32));
        _mm256_cmpgt_epi64(_mm256_setzero_si256(), up)
    }
}

/// `b` in lanes whose bit in `lanes`, a public constant, is one; `a` in the others.
#[inline(always)]
fn blend(lanes: u8, a: __m256i, b: __m256i) -> __m256i {
    let mut masks = [0u64; LANES];
    for i in 0..LANES {
        masks[i] = (lanes as u64 >> i & 1).wrapping_neg();
    }
    let [m0, m1, m2, m3] = masks;
    avx2! {
        let mask = _mm256_setr_epi64x(m0 as i64, m1 as i64, m2 as i64, m3 as i64);
        _mm256_blendv_epi8(a, b, mask)
    }
}

#[inline(always)]
fn choose(mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
    avx2!(_mm256_blendv_epi8(b, a, mask))
}

/// Lane `order[i] % 4` of `a`.
#[inline(always)]
fn permute(a: __m256i, order: &[u64; LANES]) -> __m256i {
    let order = words_of(order);
    avx2!(_mm256_permutevar8x32_epi32(a, order))
}

/// The two 32-bit words of each lane of an order.
#[inline(always)]
fn words_of(order: &[u64; LANES]) -> __m256i {
    let mut words = [0i32; 2 * LANES];
    for i in 0..LANES {
        let lane = (order[i] % LANES as u64) as i32;
        words[2 * i] = 2 * lane;
        words[2 * i + 1] = 2 * lane + 1;
    }
    let [w0, w1, w2, w3, w4, w5, w6, w7] = words;
    avx2!(_mm256_setr_epi32(w0, w1, w2, w3, w4, w5, w6, w7))
}

/// The order of a half of a vector.
#[inline(always)]
fn half<const FIRST: usize>(order: &[u64; FIELD_LANES]) -> [u64; LANES] {
    let mut half = [0; LANES];
    half.copy_from_slice(&order[FIRST..FIRST + LANES]);
    half
}

#[inline(always)]
fn permute_either(bits: __m256i, a: __m256i, one: &[u64; LANES], zero: &[u64; LANES]) -> __m256i {
    let order = choose(bits, words_of(one), words_of(zero));
    avx2!(_mm256_permutevar8x32_epi32(a, order))
}

#[inline(always)]
fn swap(a: __m256i) -> __m256i {
    avx2!(_mm256_shuffle_epi32::<0b0100_1110>(a))
}

#[inline(always)]
fn nibble(a: __m256i, at: u32) -> __m256i {
    avx2! {
        let a = _mm256_srl_epi64(a, _mm_cvtsi32_si128(at as i32));
        _mm256_and_si256(a, splat(0xf))
    }
}

#[inline(always)]
fn look_up(table: &[u64; FIELD_LANES], index: __m256i) -> __m256i {
    avx2! {
        // Words 2i and 2i + 1 for lane i of either half of the table.
        let twice = _mm256_slli_epi64::<1>(index);
        let words = _mm256_add_epi64(_mm256_or_si256(twice, _mm256_slli_epi64::<32>(twice)), splat(1 << 32));
        let lower = _mm256_permutevar8x32_epi32(read(table, 0), words);
        let upper = _mm256_permutevar8x32_epi32(read(table, LANES), words);
        choose(bit(index, 2), upper, lower)
    }
}

/// A kernel for one half.
struct OnHalf<K, const FIRST: usize>(K);

impl<K: Kernel<Avx2Half<FIRST>>, const FIRST: usize> Kernel<Avx2> for OnHalf<K, FIRST> {
    type Output = K::Output;

    #[inline(always)]
    fn run(self, lanes: Avx2) -> K::Output {
        self.0.run(Avx2Half(lanes))
    }
}

impl<const FIRST: usize> FieldLanes for Avx2Half<FIRST> {
    type Limb = u64;
    type Limbs = __m256i;
    /// All ones or zero.
    type Bits = __m256i;

    const SPLIT: Split = Split::Signed51;
    const IS_WHOLE: bool = false;

    #[inline(always)]
    fn run_field<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        self.0.run(OnHalf::<K, FIRST>(kernel))
    }

    #[inline(always)]
    fn load_limbs(self, from: &[u64; FIELD_LANES]) -> __m256i {
        read(from, FIRST)
    }

    #[inline(always)]
    fn store_limbs(self, to: &mut [u64; FIELD_LANES], v: __m256i) {
        write(to, FIRST, v);
    }

    #[inline(always)]
    fn constant_limbs(self, from: &[u64; FIELD_LANES]) -> __m256i {
        read(from, FIRST)
    }

    #[inline(always)]
    fn splat_limb(self, value: u64) -> __m256i {
        splat(value)
    }

    #[inline(always)]
    fn add_limbs(self, a: __m256i, b: __m256i) -> __m256i {
        add(a, b)
    }

    #[inline(always)]
    fn sub_limbs(self, a: __m256i, b: __m256i) -> __m256i {
        sub(a, b)
    }

    #[inline(always)]
    fn low_bits<const BITS: u32>(self, a: __m256i) -> __m256i {
        low_bits::<BITS>(a)
    }

    #[inline(always)]
    fn high_bits<const BITS: u32>(self, a: __m256i) -> __m256i {
        high_bits::<BITS>(a)
    }

    #[inline(always)]
    fn times<const FACTOR: u64>(self, a: __m256i) -> __m256i {
        times::<FACTOR>(a)
    }

    #[inline(always)]
    fn mul_add_small(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        mul_add_small(sum, a, b)
    }

    #[inline(always)]
    fn mul_add_low(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        mul_add_low(sum, a, b)
    }

    #[inline(always)]
    fn mul_add_high(self, sum: __m256i, a: __m256i, b: __m256i) -> __m256i {
        mul_add_high(sum, a, b)
    }

    #[inline(always)]
    fn mul_add_all<const COUNT: usize>(
        self,
        low: __m256i,
        high: __m256i,
        a: [__m256i; COUNT],
        b: [__m256i; COUNT],
    ) -> (__m256i, __m256i) {
        let mut low = sub(low, splat((COUNT as u64).wrapping_mul(THREE_TIMES_TWO_51.to_bits())));
        let mut high = sub(high, splat((COUNT as u64).wrapping_mul(TWO_103.to_bits())));
        for i in 0..COUNT {
            // SAFETY: the token is proof that the processor has the instructions.
            (low, high) = unsafe { mul_add(low, high, double(a[i]), double(b[i])) };
        }
        (low, high)
    }

    #[inline(always)]
    fn blend_limbs(self, lanes: u8, a: __m256i, b: __m256i) -> __m256i {
        blend(lanes >> FIRST, a, b)
    }

    #[inline(always)]
    fn permute_limbs(self, a: __m256i, order: &[u64; FIELD_LANES]) -> __m256i {
        permute(a, &half::<FIRST>(order))
    }

    #[inline(always)]
    fn swap_limbs(self, a: __m256i) -> __m256i {
        swap(a)
    }

    #[inline(always)]
    fn bit(self, a: __m256i, at: u32) -> __m256i {
        bit(a, at)
    }

    #[inline(always)]
    fn select_limbs(self, bits: __m256i, a: __m256i, b: __m256i) -> __m256i {
        choose(bits, a, b)
    }

    #[inline(always)]
    fn permute_either(
        self,
        bits: __m256i,
        a: __m256i,
        one: &[u64; FIELD_LANES],
        zero: &[u64; FIELD_LANES],
    ) -> __m256i {
        permute_either(bits, a, &half::<FIRST>(one), &half::<FIRST>(zero))
    }

    #[inline(always)]
    fn nibble(self, a: __m256i, at: u32) -> __m256i {
        nibble(a, at)
    }

    #[inline(always)]
    fn look_up(self, table: &[u64; FIELD_LANES], index: __m256i) -> __m256i {
        look_up(table, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of MXCSR that choose where to round, and their values: to the nearest, down, up,
    /// towards zero.
    const ROUNDING: u32 = 3 << 13;
    const DIRECTIONS: [u32; 4] = [0, 1 << 13, 2 << 13, 3 << 13];

    /// MXCSR, and then another one.
    fn exchange(with: u32) -> u32 {
        let mut before = 0u32;
        // SAFETY: words of 32 bits are written and read; the caller restores the word.
        unsafe {
            core::arch::asm!(
                "stmxcsr [{before}]",
                "ldmxcsr [{with}]",
                before = in(reg) &raw mut before,
                with = in(reg) &raw const with,
                options(nostack)
            );
        }
        before
    }

    /// Low halves with 2^60, and high ones, of each product and of the sum of two.
    struct Halves<'a> {
        a: &'a [u64; FIELD_LANES],
        b: &'a [u64; FIELD_LANES],
        to: &'a mut [[u64; FIELD_LANES]; 4],
    }

    const ABOVE: u64 = 1 << 60;

    impl<L: FieldLanes<Limb = u64>> Kernel<L> for Halves<'_> {
        type Output = ();

        #[inline(always)]
        fn run(self, lanes: L) {
            let (a, b) = (lanes.load_limbs(self.a), lanes.load_limbs(self.b));
            let (zero, above) = (lanes.splat_limb(0), lanes.splat_limb(ABOVE));
            let (low, high) = lanes.mul_add_all(above, zero, [a, b], [b, b]);
            let results =
                [lanes.mul_add_low(above, a, b), lanes.mul_add_high(zero, a, b), low, high];
            for i in 0..results.len() {
                lanes.store_limbs(&mut self.to[i], results[i]);
            }
        }
    }

    impl EachPart for Halves<'_> {
        fn on<L: FieldLanes<Limb = u64>>(&mut self, lanes: L) {
            lanes.run_field(Halves { a: self.a, b: self.b, to: self.to });
        }
    }

    /// A program may have told the processor to round in another direction: products are right all
    /// the same.
    #[test]
    fn halves_add_up_however_they_are_rounded() {
        let Some(lanes) = Avx2::detect() else { return };
        let largest = (1u128 << 103).isqrt() as u64;
        let mut random = 1u64;
        for round in 0..20_000 {
            let mut next = || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let bits = (random ^ random >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11;
                let edges =
                    [0, 1, largest, 1 << 51, (1 << 51) - 1, (1 << 51) + 1, 1 << 26, 3 << 25];
                if round % 2 == 0 { edges[(bits % 8) as usize] } else { bits % (largest + 1) }
            };
            let a: [u64; FIELD_LANES] = core::array::from_fn(|_| next());
            let b: [u64; FIELD_LANES] = core::array::from_fn(|_| next());
            for direction in DIRECTIONS {
                let mut to = [[0; FIELD_LANES]; 4];
                let before = exchange(0);
                exchange(before & !ROUNDING | direction);
                lanes.each(Halves { a: &a, b: &b, to: &mut to });
                exchange(before);
                for lane in 0..FIELD_LANES {
                    let [a, b] = [a[lane], b[lane]].map(i128::from);
                    for (i, product, terms) in [(0, a * b, 1), (2, a * b + b * b, 2)] {
                        let low = i128::from(to[i][lane]) - i128::from(ABOVE);
                        assert_eq!(i128::from(to[i + 1][lane]) * (1 << 51) + low, product);
                        assert!(low.abs() < terms << 51, "{low:#x}");
                    }
                }
            }
        }
    }
}
