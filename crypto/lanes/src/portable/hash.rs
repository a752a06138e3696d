//! 64-bit integers in plain Rust, for SHA-512.

use super::Portable;
use crate::{HashLanes, PairLanes, RoundLanes, U64Lanes, sealed::Sealed};

impl U64Lanes for Portable {
    type U64 = u64;

    const U64S: usize = 1;

    #[inline(always)]
    fn load_u64(self, from: &[u64]) -> u64 {
        from[0]
    }

    #[inline(always)]
    fn store_u64(self, to: &mut [u64], v: u64) {
        to[0] = v;
    }

    #[inline(always)]
    fn splat_u64(self, value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn add_u64(self, a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn xor_u64(self, a: u64, b: u64, c: u64) -> u64 {
        a ^ b ^ c
    }

    #[inline(always)]
    fn rotate_u64<const N: i32>(self, a: u64) -> u64 {
        a.rotate_right(N as u32)
    }

    #[inline(always)]
    fn shift_u64<const N: i32>(self, a: u64) -> u64 {
        a >> N
    }
}

impl RoundLanes for Portable {
    #[inline(always)]
    fn choose_u64(self, mask: u64, a: u64, b: u64) -> u64 {
        b ^ (mask & (a ^ b))
    }

    #[inline(always)]
    fn majority_u64(self, a: u64, b: u64, c: u64) -> u64 {
        b ^ ((a ^ b) & (b ^ c))
    }

    #[inline(always)]
    fn pin_u64(self, a: u64) -> u64 {
        crate::scalar(a)
    }
}

impl HashLanes for Portable {
    type One = Pairs<2>;
    type Two = Pairs<4>;
    type Couple = Pairs<2>;

    const FASTER_IN_TWO: bool = false;

    #[inline(always)]
    fn one(self) -> Pairs<2> {
        Pairs
    }

    #[inline(always)]
    fn two(self) -> Pairs<4> {
        Pairs
    }

    #[inline(always)]
    fn couple(self) -> Pairs<2> {
        Pairs
    }

    #[inline(always)]
    fn transpose_blocks(self, blocks: &[&[u8; 128]], to: &mut [u64]) {
        let (words, _) = blocks[0].as_chunks();
        for i in 0..16 {
            to[i] = u64::from_be_bytes(words[i]);
        }
    }
}

/// Vectors of `N` integers in plain Rust.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<const N: usize>;

impl<const N: usize> Sealed for Pairs<N> {}

impl<const N: usize> U64Lanes for Pairs<N> {
    type U64 = [u64; N];

    const U64S: usize = N;

    #[inline(always)]
    fn load_u64(self, from: &[u64]) -> [u64; N] {
        *from.first_chunk().unwrap()
    }

    #[inline(always)]
    fn store_u64(self, to: &mut [u64], v: [u64; N]) {
        to[..N].copy_from_slice(&v);
    }

    #[inline(always)]
    fn splat_u64(self, value: u64) -> [u64; N] {
        [value; N]
    }

    #[inline(always)]
    fn add_u64(self, mut a: [u64; N], b: [u64; N]) -> [u64; N] {
        for i in 0..N {
            a[i] = a[i].wrapping_add(b[i]);
        }
        a
    }

    #[inline(always)]
    fn xor_u64(self, mut a: [u64; N], b: [u64; N], c: [u64; N]) -> [u64; N] {
        for i in 0..N {
            a[i] ^= b[i] ^ c[i];
        }
        a
    }

    #[inline(always)]
    fn rotate_u64<const BITS: i32>(self, mut a: [u64; N]) -> [u64; N] {
        for i in 0..N {
            a[i] = a[i].rotate_right(BITS as u32);
        }
        a
    }

    #[inline(always)]
    fn shift_u64<const BITS: i32>(self, mut a: [u64; N]) -> [u64; N] {
        for i in 0..N {
            a[i] >>= BITS;
        }
        a
    }
}

impl<const N: usize> PairLanes for Pairs<N> {
    #[inline(always)]
    fn load_big_endian(self, blocks: &[&[u8; 128]], at: usize) -> [u64; N] {
        let mut words = [0; N];
        for i in 0..N {
            let bytes = &blocks[i / 2][at + 8 * (i % 2)..];
            words[i] = u64::from_be_bytes(*bytes.first_chunk().unwrap());
        }
        words
    }

    #[inline(always)]
    fn constants_u64(self, from: &[u64]) -> [u64; N] {
        let mut words = [0; N];
        for i in 0..N {
            words[i] = from[i % 2];
        }
        words
    }

    #[inline(always)]
    fn straddle_u64(self, a: [u64; N], b: [u64; N]) -> [u64; N] {
        let mut words = [0; N];
        for i in 0..N {
            words[i] = if i % 2 == 0 { a[i + 1] } else { b[i - 1] };
        }
        words
    }

    #[inline(always)]
    fn store_in_turn(self, to: &mut [u64], v: [u64; N]) {
        for i in 0..N {
            to[i % 2 * (N / 2) + i / 2] = v[i];
        }
    }
}

impl<const N: usize> RoundLanes for Pairs<N> {
    #[inline(always)]
    fn choose_u64(self, mask: [u64; N], mut a: [u64; N], b: [u64; N]) -> [u64; N] {
        for i in 0..N {
            a[i] = b[i] ^ (mask[i] & (a[i] ^ b[i]));
        }
        a
    }

    #[inline(always)]
    fn majority_u64(self, mut a: [u64; N], b: [u64; N], c: [u64; N]) -> [u64; N] {
        for i in 0..N {
            a[i] = b[i] ^ ((a[i] ^ b[i]) & (b[i] ^ c[i]));
        }
        a
    }

    #[inline(always)]
    fn pin_u64(self, a: [u64; N]) -> [u64; N] {
        a
    }
}
