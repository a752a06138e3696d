//! Lanes of plain Rust: eight words, which compilers map to a 128-bit register where there is one.

mod bit_fields;
mod bits;
mod field;
mod hash;
mod integers;
mod sponge;

use crate::{Kernel, Lanes, Modulus, sealed::Sealed};

/// The backend that every machine has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Portable;

const PAIRS: usize = 4;
const WORDS: usize = 2 * PAIRS;

type I16 = [i16; WORDS];
type I32 = [i32; PAIRS];

impl Sealed for Portable {}

#[inline(always)]
fn high(a: i16, b: i16) -> i16 {
    ((i32::from(a) * i32::from(b)) >> 16) as i16
}

#[inline(always)]
fn high_rounded(a: i16, b: i16) -> i16 {
    ((i32::from(a) * i32::from(b) + (1 << 14)) >> 15) as i16
}

/// Moves `x`, a sum of at most one and a half moduli, into the centred range, without a comparison.
#[inline(always)]
fn correct(x: i16, q: i16) -> i16 {
    let half = q / 2;
    let x = x.wrapping_sub(q & (half.wrapping_sub(x) >> 15));
    x.wrapping_add(q & (x.wrapping_add(half) >> 15))
}

impl Lanes for Portable {
    type Word = i16;
    type I16 = I16;
    type I32 = I32;

    const PAIRS: usize = PAIRS;

    #[inline(never)]
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }

    #[inline(always)]
    fn load(self, from: &[i16]) -> I16 {
        let mut v = [0; WORDS];
        v.copy_from_slice(&from[..WORDS]);
        v
    }

    #[inline(always)]
    fn store(self, to: &mut [i16], v: I16) {
        to[..WORDS].copy_from_slice(&v);
    }

    #[inline(always)]
    fn constants(self, from: &[i16]) -> I16 {
        self.load(from)
    }

    #[inline(always)]
    fn splat(self, value: i16) -> I16 {
        [value; WORDS]
    }

    #[inline(always)]
    fn broadcast(self, from: &[i16]) -> I16 {
        [from[0]; WORDS]
    }

    #[inline(always)]
    fn broadcast_pair(self, from: &[i16]) -> I16 {
        let mut v = [from[0]; WORDS];
        for i in 0..PAIRS {
            v[2 * i + 1] = from[1];
        }
        v
    }

    #[inline(always)]
    fn first(self, a: I16) -> I16 {
        [a[0]; WORDS]
    }

    #[inline(always)]
    fn advance(self, mut a: I16, b: I16) -> I16 {
        a.copy_within(1.., 0);
        a[WORDS - 1] = b[0];
        a
    }

    #[inline(always)]
    fn add(self, mut a: I16, b: I16) -> I16 {
        for i in 0..WORDS {
            a[i] = a[i].wrapping_add(b[i]);
        }
        a
    }

    #[inline(always)]
    fn sub(self, mut a: I16, b: I16) -> I16 {
        for i in 0..WORDS {
            a[i] = a[i].wrapping_sub(b[i]);
        }
        a
    }

    #[inline(always)]
    fn select(self, mask: I16, mut a: I16, b: I16) -> I16 {
        for i in 0..WORDS {
            a[i] = b[i] ^ (mask[i] & (a[i] ^ b[i]));
        }
        a
    }

    #[inline(always)]
    fn and(self, mut a: I16, b: I16) -> I16 {
        for i in 0..WORDS {
            a[i] &= b[i];
        }
        a
    }

    #[inline(always)]
    fn nonzero(self, mut a: I16) -> I16 {
        for i in 0..WORDS {
            a[i] = (a[i] | a[i].wrapping_neg()) >> 15;
        }
        a
    }

    #[inline(always)]
    fn negative(self, mut a: I16) -> I16 {
        for i in 0..WORDS {
            a[i] >>= 15;
        }
        a
    }

    #[inline(always)]
    fn no_multiple(self, mut a_q: I16) -> I16 {
        // The multiples of q in question are -q, 0 and q.
        for i in 0..WORDS {
            a_q[i] = (1 - a_q[i].wrapping_abs()) >> 15;
        }
        a_q
    }

    #[inline(always)]
    fn positive(self, mut a: I16) -> I16 {
        for i in 0..WORDS {
            a[i] = (a[i].wrapping_neg() & !a[i]) >> 15;
        }
        a
    }

    #[inline(always)]
    fn montgomery(self, mut a: I16, b: I16, b_q: I16, q: Modulus) -> I16 {
        for i in 0..WORDS {
            let t = a[i].wrapping_mul(b_q[i]);
            a[i] = high(a[i], b[i]).wrapping_sub(high(t, q.q));
        }
        a
    }

    #[inline(always)]
    fn prepare(self, mut a: I16, q: Modulus) -> I16 {
        for i in 0..WORDS {
            a[i] = a[i].wrapping_mul(q.inverse);
        }
        a
    }

    #[inline(always)]
    fn barrett(self, mut a: I16, q: Modulus) -> I16 {
        for i in 0..WORDS {
            let t = high_rounded(a[i], q.reciprocal);
            a[i] = a[i].wrapping_sub(t.wrapping_mul(q.q));
        }
        a
    }

    #[inline(always)]
    fn freeze(self, a: I16, q: Modulus) -> I16 {
        let mut a = self.barrett(a, q);
        for i in 0..WORDS {
            a[i] = correct(a[i], q.q);
        }
        a
    }

    #[inline(always)]
    fn freeze3(self, mut a: I16) -> I16 {
        for i in 0..WORDS {
            let t = high_rounded(a[i], crate::THIRD);
            a[i] = a[i].wrapping_sub(t.wrapping_mul(3));
        }
        a
    }

    #[inline(always)]
    fn zero(self) -> I32 {
        [0; PAIRS]
    }

    #[inline(always)]
    fn dot(self, mut acc: I32, a: I16, b: I16) -> I32 {
        for i in 0..PAIRS {
            let even = i32::from(a[2 * i]) * i32::from(b[2 * i]);
            let odd = i32::from(a[2 * i + 1]) * i32::from(b[2 * i + 1]);
            acc[i] = acc[i].wrapping_add(even.wrapping_add(odd));
        }
        acc
    }

    #[inline(always)]
    fn reduce(self, even: I32, odd: I32, q: Modulus) -> I16 {
        let mut low = [0i16; WORDS];
        let mut result = [0i16; WORDS];
        for i in 0..PAIRS {
            low[2 * i] = even[i] as i16;
            low[2 * i + 1] = odd[i] as i16;
            result[2 * i] = (even[i] >> 16) as i16;
            result[2 * i + 1] = (odd[i] >> 16) as i16;
        }
        for i in 0..WORDS {
            let t = low[i].wrapping_mul(q.inverse);
            result[i] = result[i].wrapping_sub(high(t, q.q));
        }
        result
    }

    #[inline(always)]
    fn swap(self, mut a: I16) -> I16 {
        for i in 0..PAIRS {
            a.swap(2 * i, 2 * i + 1);
        }
        a
    }

    #[inline(always)]
    fn straddle(self, a: I16, b: I16) -> I16 {
        let mut v = [0; WORDS];
        for i in 0..PAIRS {
            v[2 * i] = a[2 * i + 1];
            v[2 * i + 1] = b[2 * i];
        }
        v
    }

    #[inline(always)]
    fn store_interleaved(self, to: &mut [i16], a: I16, b: I16) {
        for i in 0..WORDS {
            to[2 * i] = a[i];
            to[2 * i + 1] = b[i];
        }
    }

    #[inline(always)]
    fn exchange(self, a: I16, b: I16, distance: usize) -> [I16; 2] {
        let (mut first, mut second) = (a, b);
        for i in 0..WORDS {
            if i & distance != 0 {
                first[i] = b[i ^ distance];
                second[i ^ distance] = a[i];
            }
        }
        [first, second]
    }

    #[inline(always)]
    fn store_split(self, first: &mut [i16], second: &mut [i16], a: I16) {
        for i in 0..PAIRS {
            first[i] = a[2 * i];
            second[i] = a[2 * i + 1];
        }
    }
}
