//! The traits of lanes with 64-bit integers, for SHA-512 and Keccak.

use crate::{Lanes, sealed::Sealed};

/// Operations on vectors of `U64S` unsigned integers.
pub trait U64Lanes: Copy + Sealed {
    /// A vector of `U64S` unsigned integers.
    type U64: Copy;

    /// Integers in a vector: 1, 2, 4 or 8.
    const U64S: usize;

    /// Reads a vector.
    fn load_u64(self, from: &[u64]) -> Self::U64;
    /// Writes a vector.
    fn store_u64(self, to: &mut [u64], v: Self::U64);
    /// A public constant in every lane.
    fn splat_u64(self, value: u64) -> Self::U64;
    /// Sum modulo 2^64.
    fn add_u64(self, a: Self::U64, b: Self::U64) -> Self::U64;
    /// `a ^ b ^ c`.
    fn xor_u64(self, a: Self::U64, b: Self::U64, c: Self::U64) -> Self::U64;
    /// Rotated towards the low end by `N` bits, `0 < N < 64`.
    fn rotate_u64<const N: i32>(self, a: Self::U64) -> Self::U64;
    /// Shifted towards the low end by `N` bits, `0 < N < 64`.
    fn shift_u64<const N: i32>(self, a: Self::U64) -> Self::U64;
}

/// Operations for rounds of SHA-512.
pub trait RoundLanes: U64Lanes {
    /// The bits of `a` where those of `mask` are one, those of `b` where they are zero.
    fn choose_u64(self, mask: Self::U64, a: Self::U64, b: Self::U64) -> Self::U64;
    /// The majority of three bits, bit by bit.
    fn majority_u64(self, a: Self::U64, b: Self::U64, c: Self::U64) -> Self::U64;
    /// `a`, about which the compiler then knows nothing: a sum on the way to it is computed as
    /// written.
    fn pin_u64(self, a: Self::U64) -> Self::U64;
}

/// Vectors of two integers that are neighbours in memory, for each of `U64S / 2` messages.
pub trait PairLanes: U64Lanes {
    /// Reads two big-endian integers from byte `at` of each block on.
    fn load_big_endian(self, blocks: &[&[u8; 128]], at: usize) -> Self::U64;
    /// The first two integers of `from` for each message.
    fn constants_u64(self, from: &[u64]) -> Self::U64;
    /// For each message the second integer of `a` and the first of `b`.
    fn straddle_u64(self, a: Self::U64, b: Self::U64) -> Self::U64;
    /// Writes the first integer of each message, then the second of each.
    fn store_in_turn(self, to: &mut [u64], v: Self::U64);
}

/// Operations for hashing one message, two, or `U64S` messages at once.
pub trait HashLanes: Lanes + RoundLanes {
    /// Vectors of the same processor for the schedule of one message.
    type One: PairLanes;
    /// The same for the schedules of two messages.
    type Two: PairLanes;
    /// Vectors of two integers, one of each of two messages.
    type Couple: RoundLanes;

    /// Whether two messages at once take less time than one after another.
    const FASTER_IN_TWO: bool;

    /// The token for one message.
    fn one(self) -> Self::One;
    /// The token for the schedules of two messages.
    fn two(self) -> Self::Two;
    /// The token for the rounds of two messages.
    fn couple(self) -> Self::Couple;
    /// Reads 16 big-endian integers from each of `U64S` blocks, and writes them as 16 vectors:
    /// those of block `i` to lane `i`.
    fn transpose_blocks(self, blocks: &[&[u8; 128]], to: &mut [u64]);
}
