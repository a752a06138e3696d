//! Integers in plain Rust, for sampling, sorting and coding.

use super::{PAIRS, Portable};
use crate::IntegerLanes;

type U32 = [u32; PAIRS];

/// All ones if `a < b`, else zero: the borrow of a subtraction.
#[inline(always)]
fn less(a: u32, b: u32) -> u32 {
    (u64::from(a).wrapping_sub(u64::from(b)) >> 32) as u32
}

impl IntegerLanes for Portable {
    type U32 = U32;

    #[inline(always)]
    fn load_u32(self, from: &[u32]) -> U32 {
        let mut v = [0; PAIRS];
        v.copy_from_slice(&from[..PAIRS]);
        v
    }

    #[inline(always)]
    fn store_u32(self, to: &mut [u32], v: U32) {
        to[..PAIRS].copy_from_slice(&v);
    }

    #[inline(always)]
    fn min_u32(self, mut a: U32, b: U32) -> U32 {
        for i in 0..PAIRS {
            a[i] ^= (a[i] ^ b[i]) & !less(a[i], b[i]);
        }
        a
    }

    #[inline(always)]
    fn max_u32(self, mut a: U32, b: U32) -> U32 {
        for i in 0..PAIRS {
            a[i] ^= (a[i] ^ b[i]) & less(a[i], b[i]);
        }
        a
    }

    #[inline(always)]
    fn reverse_u32(self, a: U32, group: usize) -> U32 {
        let mut v = a;
        for i in 0..PAIRS {
            v[i] = a[i ^ (group - 1)];
        }
        v
    }

    #[inline(always)]
    fn swap_u32(self, a: U32, distance: usize) -> U32 {
        let mut v = a;
        for i in 0..PAIRS {
            v[i] = a[i ^ distance];
        }
        v
    }

    #[inline(always)]
    fn pick_u32(self, mut a: U32, b: U32, bit: usize) -> U32 {
        for i in 0..PAIRS {
            if i & bit != 0 {
                a[i] = b[i];
            }
        }
        a
    }

    #[inline(always)]
    fn trits(self, a: U32, b: U32) -> [i16; 2 * PAIRS] {
        let mut v = [0; 2 * PAIRS];
        for i in 0..PAIRS {
            v[2 * i] = (a[i] & 3) as i16 - 1;
            v[2 * i + 1] = (b[i] & 3) as i16 - 1;
        }
        v
    }

    #[inline(always)]
    fn splat_u32(self, value: u32) -> U32 {
        [value; PAIRS]
    }

    #[inline(always)]
    fn load_four_bytes(self, from: &[u8]) -> U32 {
        let mut v = [0; PAIRS];
        for i in 0..PAIRS {
            let four = [from[4 * i], from[4 * i + 1], from[4 * i + 2], from[4 * i + 3]];
            v[i] = u32::from_le_bytes(four);
        }
        v
    }

    #[inline(always)]
    fn load_two_bytes(self, from: &[u8]) -> U32 {
        let mut v = [0; PAIRS];
        for i in 0..PAIRS {
            v[i] = u32::from(from[2 * i]) | u32::from(from[2 * i + 1]) << 8;
        }
        v
    }

    #[inline(always)]
    fn load_bytes(self, from: &[u8]) -> U32 {
        let mut v = [0; PAIRS];
        for i in 0..PAIRS {
            v[i] = u32::from(from[i]);
        }
        v
    }

    #[inline(always)]
    fn store_two_bytes(self, to: &mut [u8], a: U32) {
        for i in 0..PAIRS {
            to[2 * i] = a[i] as u8;
            to[2 * i + 1] = (a[i] >> 8) as u8;
        }
    }

    #[inline(always)]
    fn store_bytes(self, to: &mut [u8], a: U32) {
        for i in 0..PAIRS {
            to[i] = a[i] as u8;
        }
    }

    #[inline(always)]
    fn load_words(self, from: &[i16]) -> U32 {
        let mut v = [0; PAIRS];
        for i in 0..PAIRS {
            v[i] = u32::from(from[i] as u16);
        }
        v
    }

    #[inline(always)]
    fn store_words(self, to: &mut [i16], a: U32) {
        for i in 0..PAIRS {
            to[i] = a[i] as i16;
        }
    }

    #[inline(always)]
    fn merge(self, pairs: [i16; 2 * PAIRS], factor: i16) -> U32 {
        let mut v = [0; PAIRS];
        for i in 0..PAIRS {
            let second = i32::from(pairs[2 * i + 1]) * i32::from(factor);
            v[i] = (i32::from(pairs[2 * i]) + second) as u32;
        }
        v
    }

    #[inline(always)]
    fn pairs(self, a: U32) -> [i16; 2 * PAIRS] {
        let mut v = [0; 2 * PAIRS];
        for i in 0..PAIRS {
            v[2 * i] = a[i] as i16;
            v[2 * i + 1] = (a[i] >> 16) as i16;
        }
        v
    }

    #[inline(always)]
    fn add_u32(self, mut a: U32, b: U32) -> U32 {
        for i in 0..PAIRS {
            a[i] = a[i].wrapping_add(b[i]);
        }
        a
    }

    #[inline(always)]
    fn sub_u32(self, mut a: U32, b: U32) -> U32 {
        for i in 0..PAIRS {
            a[i] = a[i].wrapping_sub(b[i]);
        }
        a
    }

    #[inline(always)]
    fn and_u32(self, mut a: U32, b: U32) -> U32 {
        for i in 0..PAIRS {
            a[i] &= b[i];
        }
        a
    }

    #[inline(always)]
    fn or_u32(self, mut a: U32, b: U32) -> U32 {
        for i in 0..PAIRS {
            a[i] |= b[i];
        }
        a
    }

    #[inline(always)]
    fn mul_u32(self, mut a: U32, b: U32) -> U32 {
        for i in 0..PAIRS {
            a[i] = a[i].wrapping_mul(b[i]);
        }
        a
    }

    #[inline(always)]
    fn mul_high_u32(self, mut a: U32, b: U32) -> U32 {
        for i in 0..PAIRS {
            a[i] = ((u64::from(a[i]) * u64::from(b[i])) >> 32) as u32;
        }
        a
    }

    #[inline(always)]
    fn shift_left_u32(self, mut a: U32, bits: u32) -> U32 {
        for i in 0..PAIRS {
            a[i] <<= bits;
        }
        a
    }

    #[inline(always)]
    fn shift_right_u32(self, mut a: U32, bits: u32) -> U32 {
        for i in 0..PAIRS {
            a[i] >>= bits;
        }
        a
    }
}
