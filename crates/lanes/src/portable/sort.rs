use super::{PAIRS, Portable};
use crate::SortLanes;

type U32 = [u32; PAIRS];

/// All ones if `a < b`, else zero: the borrow of a subtraction.
#[inline(always)]
fn less(a: u32, b: u32) -> u32 {
    (u64::from(a).wrapping_sub(u64::from(b)) >> 32) as u32
}

impl SortLanes for Portable {
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
}
