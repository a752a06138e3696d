//! States of Keccak in plain Rust: one at a time.

use super::Portable;
use crate::{KeccakLanes, STREAMS, SpongeLanes};

impl KeccakLanes for Portable {
    #[inline(always)]
    fn xor_two_u64(self, a: u64, b: u64) -> u64 {
        a ^ b
    }

    #[inline(always)]
    fn chi_u64(self, a: u64, b: u64, c: u64) -> u64 {
        a ^ (!b & c)
    }

    #[inline(always)]
    fn first_u64(self, value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn beside_first_u64(self, first: u64, _: u64) -> u64 {
        first
    }

    #[inline(always)]
    fn load_streams(self, from: &[u8], _: usize, to: &mut [[u64; STREAMS]]) {
        to[0][0] = u64::from_le_bytes(*from.first_chunk().unwrap());
    }

    #[inline(always)]
    fn store_streams(self, from: &[[u64; STREAMS]], to: &mut [u8], _: usize) {
        to[..8].copy_from_slice(&from[0][0].to_le_bytes());
    }
}

impl SpongeLanes for Portable {
    type Many = Portable;
    type Chain = Portable;

    #[inline(always)]
    fn many(self) -> Portable {
        self
    }

    #[inline(always)]
    fn chain(self) -> Portable {
        self
    }
}
