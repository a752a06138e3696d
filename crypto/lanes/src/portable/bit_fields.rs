//! Words as fields of bits in plain Rust.

use super::{I16, Portable, WORDS, high, high_rounded};
use crate::BitFieldLanes;

impl BitFieldLanes for Portable {
    #[inline(always)]
    fn mul_low(self, mut a: I16, b: I16) -> I16 {
        for i in 0..WORDS {
            a[i] = a[i].wrapping_mul(b[i]);
        }
        a
    }

    #[inline(always)]
    fn mul_high(self, mut a: I16, b: I16) -> I16 {
        for i in 0..WORDS {
            a[i] = high(a[i], b[i]);
        }
        a
    }

    #[inline(always)]
    fn mul_rounded(self, mut a: I16, b: I16) -> I16 {
        for i in 0..WORDS {
            a[i] = high_rounded(a[i], b[i]);
        }
        a
    }

    #[inline(always)]
    fn shift_left<const N: u32>(self, mut a: I16) -> I16 {
        for i in 0..WORDS {
            a[i] <<= N;
        }
        a
    }

    #[inline(always)]
    fn shift_right<const N: u32>(self, mut a: I16) -> I16 {
        for i in 0..WORDS {
            a[i] = (a[i] as u16 >> N) as i16;
        }
        a
    }

    #[inline(always)]
    fn unpack<const BITS: usize>(self, from: &[u8]) -> I16 {
        // Eight fields of `BITS` bits are as many bytes.
        let mut bytes = [0; 16];
        bytes[..BITS].copy_from_slice(&from[..BITS]);
        let fields = u128::from_le_bytes(bytes);
        let mut v = [0; WORDS];
        for i in 0..WORDS {
            v[i] = ((fields >> (BITS * i)) as u16 & ((1 << BITS) - 1)) as i16;
        }
        v
    }

    #[inline(always)]
    fn pack<const BITS: usize>(self, to: &mut [u8], a: I16) {
        let mut fields = 0;
        for i in 0..WORDS {
            fields |= u128::from(a[i] as u16) << (BITS * i);
        }
        to[..BITS].copy_from_slice(&fields.to_le_bytes()[..BITS]);
    }

    #[inline(always)]
    fn append_below_vartime(
        self,
        from: &[u8],
        bound: i16,
        to: &mut [i16],
        mut count: usize,
    ) -> usize {
        let wanted = to.len() - crate::SLACK_WORDS;
        let (groups, _) = from.as_chunks::<3>();
        for &[a, b, c] in groups {
            let [a, b, c] = [a, b, c].map(i16::from);
            for field in [a | (b & 15) << 8, b >> 4 | c << 4] {
                to[count] = field;
                count += usize::from(field < bound);
            }
            if count >= wanted {
                return wanted;
            }
        }
        count
    }
}
