//! Lane types: an instruction set is a type, and kernels are written once, generic over it.
//!
//! A [`Lanes`] value is a zero-sized *CPU token*. Tokens of instruction sets that a processor may
//! lack can only be had from detection, so safe code that holds one may run that backend. A kernel
//! is a type implementing [`Kernel`]; [`Lanes::run`] is its one `#[target_feature]` boundary, and
//! everything below must be `#[inline(always)]` free functions or methods: a closure does not
//! inherit the boundary's instruction set.
//!
//! The trait offers arithmetic and selection only: no comparison that yields a `bool` and no index
//! taken from a lane. Generic code therefore cannot branch on data; that is the constant-time
//! argument at source level.
//!
//! Vectors hold *pairs*: `2 * PAIRS` words of 16 bits, of which each two neighbours share a 32-bit
//! accumulator in [`Lanes::dot`].

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod backend;
mod bit_fields;
mod bits;
#[cfg(target_arch = "x86_64")]
pub mod cipher;
#[cfg(target_arch = "x86_64")]
pub mod clock;
mod field;
mod hash;
mod integers;
#[cfg(all(feature = "memcheck", target_arch = "x86_64"))]
pub mod memcheck;
mod modulus;
mod portable;
pub mod proof;
mod rest;
mod scalar;
mod sponge;

#[cfg(target_arch = "x86_64")]
pub use avx2::{Avx2, Avx2Half};
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub use backend::{Backend, BackendError, Dispatch, FieldDispatch};
pub use bit_fields::{BitFieldLanes, SLACK_WORDS};
pub use bits::{BitLanes, Trits};
pub use field::{EachPart, FIELD_LANES, FieldLanes, FieldParts, Limb, Split};
pub use hash::{HashLanes, PairLanes, RoundLanes, U64Lanes};
pub use integers::IntegerLanes;
pub use modulus::Modulus;
pub use portable::Portable;
pub use rest::rest;
pub use scalar::scalar;
pub use sponge::{KeccakLanes, STREAMS, SpongeKernel, SpongeLanes};

use zerocopy::FromZeros;

/// 2^15 / 3, rounded: the multiplier of the reduction modulo 3.
const THIRD: i16 = (((1 << 15) + 1i32) / 3) as i16;

mod sealed {
    pub trait Sealed {}
}

/// An element in memory, 16 bits wide when it runs on hardware. `Default` is zero.
pub trait Word: Copy + Default + FromZeros + PartialEq + Eq + Send + Sync + 'static {
    /// A public constant.
    fn constant(value: i16) -> Self;
}

impl Word for i16 {
    #[inline(always)]
    fn constant(value: i16) -> Self {
        value
    }
}

/// Lanes of an instruction set, which can do everything.
pub trait Hardware: IntegerLanes + BitLanes + BitFieldLanes + HashLanes + SpongeLanes {}

impl<L: IntegerLanes + BitLanes + BitFieldLanes + HashLanes + SpongeLanes> Hardware for L {}

/// A computation written against [`Lanes`] or [`FieldLanes`].
///
/// Implementations mark `run` `#[inline(always)]`, so that it is compiled inside the boundary of
/// [`Lanes::run`].
pub trait Kernel<L> {
    /// The result of the kernel.
    type Output;

    /// Runs the kernel on the given lanes.
    fn run(self, lanes: L) -> Self::Output;
}

/// Operations on vectors of 16-bit words and their 32-bit accumulators.
///
/// Memory operands are slices of at least the vector's length; only that many words are touched.
/// Additions and subtractions wrap on hardware; kernels keep their values in ranges where they do
/// not.
pub trait Lanes: Copy + Send + Sync + sealed::Sealed + 'static {
    /// Memory element.
    type Word: Word;
    /// A vector of `2 * PAIRS` words.
    type I16: Copy;
    /// A vector of `PAIRS` accumulators.
    type I32: Copy;

    /// 32-bit accumulators in a vector; a divisor of 16.
    const PAIRS: usize;
    /// Words in a vector.
    const WORDS: usize = 2 * Self::PAIRS;

    /// Runs `kernel` compiled for this instruction set.
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// Reads a vector of words.
    fn load(self, from: &[Self::Word]) -> Self::I16;
    /// Writes a vector of words.
    fn store(self, to: &mut [Self::Word], v: Self::I16);
    /// Reads a vector of public constants.
    fn constants(self, from: &[i16]) -> Self::I16;
    /// A public constant in every word.
    fn splat(self, value: i16) -> Self::I16;
    /// The first word of `from` in every word.
    fn broadcast(self, from: &[Self::Word]) -> Self::I16;
    /// The first two words of `from` in every pair.
    fn broadcast_pair(self, from: &[Self::Word]) -> Self::I16;

    /// The first word of `a` in every word.
    fn first(self, a: Self::I16) -> Self::I16;
    /// The words of `a` but the first, then the first word of `b`.
    fn advance(self, a: Self::I16, b: Self::I16) -> Self::I16;

    /// Sum, word by word.
    fn add(self, a: Self::I16, b: Self::I16) -> Self::I16;
    /// Difference, word by word.
    fn sub(self, a: Self::I16, b: Self::I16) -> Self::I16;
    /// `a` where `mask` is all ones, `b` where it is zero.
    fn select(self, mask: Self::I16, a: Self::I16, b: Self::I16) -> Self::I16;
    /// Bitwise and of a word and a mask, or of two masks.
    fn and(self, a: Self::I16, b: Self::I16) -> Self::I16;
    /// All ones where `a` is not zero, else zero.
    fn nonzero(self, a: Self::I16) -> Self::I16;
    /// All ones where `a` is negative, else zero.
    fn negative(self, a: Self::I16) -> Self::I16;
    /// All ones where `a`, of absolute value below 2q, is no multiple of q, else zero, for `a_q = a
    /// * q^-1 mod 2^16`.
    fn no_multiple(self, a_q: Self::I16) -> Self::I16;
    /// All ones where `a > 0`, else zero.
    fn positive(self, a: Self::I16) -> Self::I16;

    /// `a * b / 2^16` modulo q, for `b_q = b * q^-1 mod 2^16`; absolute value at most `|a * b| /
    /// 2^16 + q / 2 + 1`.
    fn montgomery(self, a: Self::I16, b: Self::I16, b_q: Self::I16, q: Modulus) -> Self::I16;
    /// `a * q^-1 mod 2^16`: prepares a factor for [`Lanes::montgomery`].
    fn prepare(self, a: Self::I16, q: Modulus) -> Self::I16;
    /// A representative of `a` modulo q with absolute value below q, for any `a`;
    /// [`Modulus::barrett_bound`] has its range.
    fn barrett(self, a: Self::I16, q: Modulus) -> Self::I16;
    /// The representative of `a` modulo q in `-(q-1)/2 ..= (q-1)/2`, for any `a`.
    fn freeze(self, a: Self::I16, q: Modulus) -> Self::I16;
    /// The representative of `a` modulo 3 in `-1 ..= 1`, for `|a| < 2^14`.
    fn freeze3(self, a: Self::I16) -> Self::I16;

    /// Accumulators of zero.
    fn zero(self) -> Self::I32;
    /// `acc + a0 * b0 + a1 * b1` for each pair.
    fn dot(self, acc: Self::I32, a: Self::I16, b: Self::I16) -> Self::I32;
    /// [`Lanes::dot`] with the first two words of `from` in every pair of the second factor.
    #[inline(always)]
    fn dot_broadcast(self, acc: Self::I32, a: Self::I16, from: &[Self::Word]) -> Self::I32 {
        self.dot(acc, a, self.broadcast_pair(from))
    }
    /// Pairs `(even / 2^16, odd / 2^16)` modulo q; absolute values at most `|x| / 2^16 + q / 2 +
    /// 1`.
    fn reduce(self, even: Self::I32, odd: Self::I32, q: Modulus) -> Self::I16;

    /// The two words of each pair exchanged.
    fn swap(self, a: Self::I16) -> Self::I16;
    /// Pairs made of the second word of `a` and the first of `b`.
    fn straddle(self, a: Self::I16, b: Self::I16) -> Self::I16;
    /// Pairs `(a[i], b[i])` in memory order: `2 * WORDS` words.
    fn store_interleaved(self, to: &mut [Self::Word], a: Self::I16, b: Self::I16);
    /// The first words of all pairs to `first`, the second words to `second`: `PAIRS` words each.
    fn store_split(self, first: &mut [Self::Word], second: &mut [Self::Word], a: Self::I16);

    /// Exchanges the odd blocks of `a` with the even blocks of `b`, where blocks have `distance`
    /// words: a power of two from 2 to half a vector, and a public constant.
    fn exchange(self, a: Self::I16, b: Self::I16, distance: usize) -> [Self::I16; 2];
    /// [`Lanes::exchange`] at all distances from half a vector down to 2.
    #[inline(always)]
    fn split_pairs(self, mut a: Self::I16, mut b: Self::I16) -> [Self::I16; 2] {
        let mut distance = Self::PAIRS;
        while distance >= 2 {
            [a, b] = self.exchange(a, b, distance);
            distance /= 2;
        }
        [a, b]
    }
    /// The inverse of [`Lanes::split_pairs`].
    #[inline(always)]
    fn join_pairs(self, mut a: Self::I16, mut b: Self::I16) -> [Self::I16; 2] {
        let mut distance = 2;
        while distance <= Self::PAIRS {
            [a, b] = self.exchange(a, b, distance);
            distance *= 2;
        }
        [a, b]
    }

    /// Transposes `PAIRS` vectors of pairs: pair `j` of vector `i` of `from` goes to row `j`, pair
    /// `i` of `to`, whose rows are `stride` words apart. Where rows overlap, the later one stays.
    #[inline(always)]
    fn transpose(self, from: &[Self::Word], to: &mut [Self::Word], stride: usize) {
        for j in 0..Self::PAIRS {
            for i in 0..Self::PAIRS {
                let pair = (i * Self::PAIRS + j) * 2;
                to[j * stride + 2 * i] = from[pair];
                to[j * stride + 2 * i + 1] = from[pair + 1];
            }
        }
    }
}
