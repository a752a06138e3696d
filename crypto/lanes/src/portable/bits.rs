//! Bit planes in plain Rust.

use super::Portable;
use crate::{BitLanes, Trits};

impl BitLanes for Portable {
    type Bits = u64;
    type Choice = u64;

    const BIT_WORDS: usize = 1;

    #[inline(always)]
    fn load_bits(self, from: &[u64]) -> u64 {
        from[0]
    }

    #[inline(always)]
    fn store_bits(self, to: &mut [u64], v: u64) {
        to[0] = v;
    }

    #[inline(always)]
    fn splat_bits(self, value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn and_bits(self, a: u64, b: u64) -> u64 {
        a & b
    }

    #[inline(always)]
    fn xor_bits(self, a: u64, b: u64) -> u64 {
        a ^ b
    }

    #[inline(always)]
    fn add_trits(self, a: Trits<u64>, b: Trits<u64>) -> Trits<u64> {
        let differ = a.sign ^ b.sign;
        // If b is not zero, the sign is b's if a is zero, and the other one if a is the same.
        let change = b.nonzero & (differ ^ a.nonzero);
        let nonzero = (a.nonzero ^ b.nonzero) | (a.nonzero & !differ);
        Trits { nonzero, sign: a.sign ^ change }
    }

    #[inline(always)]
    fn subtract_multiple(self, a: Trits<u64>, b: Trits<u64>, choice: u64, sign: u64) -> Trits<u64> {
        let differ = a.sign ^ b.sign ^ sign;
        let of_b = b.nonzero & choice;
        // As above, b's sign being the opposite.
        let change = of_b & !(differ ^ a.nonzero);
        Trits { nonzero: (a.nonzero ^ of_b) | (a.nonzero & differ), sign: a.sign ^ change }
    }

    #[inline(always)]
    fn bit_planes(self, from: &[i16]) -> [u64; 2] {
        let (mut nonzero, mut negative) = (0, 0);
        for &x in from[..64].iter().rev() {
            nonzero = nonzero << 1 | x as u64 & 1;
            negative = negative << 1 | x as u64 >> 63;
        }
        [nonzero, negative]
    }

    #[inline(always)]
    fn forward_bits(self, a: u64) -> u64 {
        a << 1
    }

    #[inline(always)]
    fn choice(self, mask: u64) -> u64 {
        mask
    }

    #[inline(always)]
    fn choose_bits(self, choice: u64, a: u64, b: u64) -> u64 {
        b ^ (choice & (a ^ b))
    }
}
