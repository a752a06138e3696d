use super::Portable;
use crate::{HashLanes, NarrowLanes, U64Lanes, sealed::Sealed};

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

impl HashLanes for Portable {
    type Narrow = PortableNarrow;

    #[inline(always)]
    fn narrow(self) -> PortableNarrow {
        PortableNarrow
    }

    #[inline(always)]
    fn splat_u64(self, value: u64) -> u64 {
        value
    }

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

    #[inline(always)]
    fn transpose_blocks(self, blocks: &[&[u8; 128]], to: &mut [u64]) {
        let (words, _) = blocks[0].as_chunks();
        for i in 0..16 {
            to[i] = u64::from_be_bytes(words[i]);
        }
    }
}

/// Narrow vectors in plain Rust.
#[derive(Clone, Copy, Debug)]
pub struct PortableNarrow;

impl Sealed for PortableNarrow {}

impl U64Lanes for PortableNarrow {
    type U64 = [u64; 2];

    const U64S: usize = 2;

    #[inline(always)]
    fn load_u64(self, from: &[u64]) -> [u64; 2] {
        [from[0], from[1]]
    }

    #[inline(always)]
    fn store_u64(self, to: &mut [u64], v: [u64; 2]) {
        to[..2].copy_from_slice(&v);
    }

    #[inline(always)]
    fn add_u64(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])]
    }

    #[inline(always)]
    fn xor_u64(self, a: [u64; 2], b: [u64; 2], c: [u64; 2]) -> [u64; 2] {
        [a[0] ^ b[0] ^ c[0], a[1] ^ b[1] ^ c[1]]
    }

    #[inline(always)]
    fn rotate_u64<const N: i32>(self, a: [u64; 2]) -> [u64; 2] {
        [a[0].rotate_right(N as u32), a[1].rotate_right(N as u32)]
    }

    #[inline(always)]
    fn shift_u64<const N: i32>(self, a: [u64; 2]) -> [u64; 2] {
        [a[0] >> N, a[1] >> N]
    }
}

impl NarrowLanes for PortableNarrow {
    #[inline(always)]
    fn load_big_endian(self, from: &[u8]) -> [u64; 2] {
        let (words, _) = from.as_chunks();
        [u64::from_be_bytes(words[0]), u64::from_be_bytes(words[1])]
    }

    #[inline(always)]
    fn straddle_u64(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
        [a[1], b[0]]
    }
}
