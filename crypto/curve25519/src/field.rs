//! Integers modulo p = 2^255 - 19, one at a time: five limbs of 51 bits, products of 128.
//!
//! An element is *reduced* if its limbs are below 2^51 + 2^17: so are those that products and lanes
//! give. Factors may have limbs up to 2^54, so that one sum or difference, or two as the functions
//! say, need no carries.

use secret::Secret;
use zerocopy::FromZeros;
use zeroize::{Zeroize, Zeroizing};

/// Bytes of an encoded element.
pub(crate) const BYTES: usize = 32;
/// Limbs of an element.
pub(crate) const LIMBS: usize = 5;
/// Bits of a limb.
pub(crate) const LIMB_BITS: u32 = 51;
/// The bits of a limb.
pub(crate) const MASK: u64 = (1 << LIMB_BITS) - 1;

/// An element, lowest limb first.
#[derive(Clone, Copy, Default, FromZeros)]
pub(crate) struct Fe(pub(crate) [u64; LIMBS]);

impl Zeroize for Fe {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// All ones if the two are equal, else zero, in a way that the compiler does not turn into a
/// branch.
#[inline(always)]
pub(crate) fn equal_mask(a: u64, b: u64) -> u64 {
    let difference = a ^ b;
    let nonzero = (difference | difference.wrapping_neg()) >> 63;
    lanes::scalar(nonzero).wrapping_sub(1)
}

#[inline(always)]
const fn product(a: u64, b: u64) -> u128 {
    a as u128 * b as u128
}

/// Bits by which sums of products are shifted, so that a limb ends where a word does.
const SHIFT: u32 = 64 - LIMB_BITS;

/// The limb in a sum of products.
#[inline(always)]
const fn low(sum: u128) -> u64 {
    sum as u64 >> SHIFT
}

/// The carry of a sum of products.
#[inline(always)]
const fn high(sum: u128) -> u64 {
    (sum >> 64) as u64
}

impl Fe {
    pub(crate) const ZERO: Fe = Fe([0; LIMBS]);
    pub(crate) const ONE: Fe = Fe::small(1);

    /// A small number.
    pub(crate) const fn small(value: u32) -> Fe {
        Fe([value as u64, 0, 0, 0, 0])
    }

    /// Reads an encoding, without the highest bit. Those of p to 2^255 - 1 are taken for what they
    /// are modulo p.
    pub(crate) const fn from_bytes(bytes: &[u8; BYTES]) -> Fe {
        let mut words = [0; 4];
        let mut i = 0;
        while i < BYTES {
            words[i / 8] |= (bytes[i] as u64) << (8 * (i % 8));
            i += 1;
        }
        let [w0, w1, w2, w3] = words;
        Fe([
            w0 & MASK,
            (w0 >> 51 | w1 << 13) & MASK,
            (w1 >> 38 | w2 << 26) & MASK,
            (w2 >> 25 | w3 << 39) & MASK,
            (w3 >> 12) & MASK,
        ])
    }

    /// The canonical encoding of an element with limbs up to 2^54.
    pub(crate) const fn to_bytes(self) -> [u8; BYTES] {
        let [f0, f1, f2, f3, f4] = self.frozen();
        let words = [f0 | f1 << 51, f1 >> 13 | f2 << 38, f2 >> 26 | f3 << 25, f3 >> 39 | f4 << 12];
        let mut bytes = [0; BYTES];
        let mut i = 0;
        while i < BYTES {
            bytes[i] = (words[i / 8] >> (8 * (i % 8))) as u8;
            i += 1;
        }
        bytes
    }

    /// [`Fe::to_bytes`] of a secret, written where it belongs: what is returned may leave copies on
    /// the stack.
    pub(crate) fn write(self, to: &mut [u8; BYTES]) {
        let limbs = Zeroizing::new(self.frozen());
        let [f0, f1, f2, f3, f4] = *limbs;
        let (words, _) = to.as_chunks_mut::<8>();
        words[0] = (f0 | f1 << 51).to_le_bytes();
        words[1] = (f1 >> 13 | f2 << 38).to_le_bytes();
        words[2] = (f2 >> 26 | f3 << 25).to_le_bytes();
        words[3] = (f3 >> 39 | f4 << 12).to_le_bytes();
    }

    /// The limbs of the representative below p.
    #[inline(always)]
    const fn frozen(self) -> [u64; LIMBS] {
        let mut f = self.carried().carried().0;
        // Now below 2p: the quotient by p is the carry out of f + 19.
        let mut quotient = (f[0] + 19) >> LIMB_BITS;
        let mut i = 1;
        while i < LIMBS {
            quotient = (f[i] + quotient) >> LIMB_BITS;
            i += 1;
        }
        f[0] += 19 * quotient;
        let mut i = 0;
        while i < LIMBS - 1 {
            f[i + 1] += f[i] >> LIMB_BITS;
            f[i] &= MASK;
            i += 1;
        }
        f[LIMBS - 1] &= MASK;
        f
    }

    /// Reduced, for limbs below 2^63.
    pub(crate) const fn carried(self) -> Fe {
        let mut f = self.0;
        let mut carry = 0;
        let mut i = 0;
        while i < LIMBS {
            f[i] += carry;
            carry = f[i] >> LIMB_BITS;
            f[i] &= MASK;
            i += 1;
        }
        f[0] += 19 * carry;
        Fe(f)
    }

    /// Sum, limb by limb.
    #[inline(always)]
    pub(crate) const fn add(self, other: Fe) -> Fe {
        let ([a0, a1, a2, a3, a4], [b0, b1, b2, b3, b4]) = (self.0, other.0);
        Fe([a0 + b0, a1 + b1, a2 + b2, a3 + b3, a4 + b4])
    }

    /// Difference, for limbs below 2^53 - 76. Adds 2^53 to those of `self` at most.
    #[inline(always)]
    pub(crate) const fn sub(self, other: Fe) -> Fe {
        const LOW: u64 = 4 * (MASK - 18);
        const HIGH: u64 = 4 * MASK;
        let ([a0, a1, a2, a3, a4], [b0, b1, b2, b3, b4]) = (self.0, other.0);
        Fe([a0 + LOW - b0, a1 + HIGH - b1, a2 + HIGH - b2, a3 + HIGH - b3, a4 + HIGH - b4])
    }

    /// Negative, as [`Fe::sub`].
    #[inline(always)]
    pub(crate) const fn neg(self) -> Fe {
        Fe::ZERO.sub(self)
    }

    /// Product of factors with limbs below 2^54; reduced.
    #[inline(always)]
    pub(crate) const fn mul(self, other: Fe) -> Fe {
        let ([a0, a1, a2, a3, a4], [b0, b1, b2, b3, b4]) = (self.shifted(9), other.shifted(4));
        let (c1, c2, c3, c4) = (19 * b1, 19 * b2, 19 * b3, 19 * b4);
        Fe::of_products([
            product(a0, b0) + product(a1, c4) + product(a2, c3) + product(a3, c2) + product(a4, c1),
            product(a0, b1) + product(a1, b0) + product(a2, c4) + product(a3, c3) + product(a4, c2),
            product(a0, b2) + product(a1, b1) + product(a2, b0) + product(a3, c4) + product(a4, c3),
            product(a0, b3) + product(a1, b2) + product(a2, b1) + product(a3, b0) + product(a4, c4),
            product(a0, b4) + product(a1, b3) + product(a2, b2) + product(a3, b1) + product(a4, b0),
        ])
    }

    /// Square of an element with limbs below 2^54; reduced.
    #[inline(always)]
    pub(crate) const fn square(self) -> Fe {
        let ([a0, a1, a2, a3, a4], [b0, b1, b2, b3, b4]) = (self.shifted(9), self.shifted(4));
        let (d0, d1) = (2 * b0, 2 * b1);
        let (c3, c4) = (19 * b3, 19 * b4);
        Fe::of_products([
            product(a0, b0) + product(a1, 2 * c4) + product(a2, 2 * c3),
            product(a1, d0) + product(a2, 2 * c4) + product(a3, c3),
            product(a2, d0) + product(a1, b1) + product(a3, 2 * c4),
            product(a3, d0) + product(a2, d1) + product(a4, c4),
            product(a4, d0) + product(a3, d1) + product(a2, b2),
        ])
    }

    /// Product with a factor below 2^17, for limbs below 2^54; reduced.
    #[inline(always)]
    pub(crate) const fn mul_small(self, factor: u32) -> Fe {
        let ([a0, a1, a2, a3, a4], b) = (self.0, (factor as u64) << SHIFT);
        Fe::of_products([
            product(a0, b),
            product(a1, b),
            product(a2, b),
            product(a3, b),
            product(a4, b),
        ])
    }

    #[inline(always)]
    const fn shifted(self, bits: u32) -> [u64; LIMBS] {
        let [a0, a1, a2, a3, a4] = self.0;
        [a0 << bits, a1 << bits, a2 << bits, a3 << bits, a4 << bits]
    }

    /// Carries sums of products, times 2^13: what is above 51 bits is then a word. The sums are
    /// below 2^115, the last one below 2^111. Twice, each to the next at once, which takes less
    /// time than from one to the next; reduced.
    #[inline(always)]
    const fn of_products(sums: [u128; LIMBS]) -> Fe {
        let [r0, r1, r2, r3, r4] = sums;
        Fe([
            low(r0) + 19 * high(r4),
            low(r1) + high(r0),
            low(r2) + high(r1),
            low(r3) + high(r2),
            low(r4) + high(r3),
        ])
        .carried_at_once()
    }

    /// Reduced, for any limbs.
    #[inline(always)]
    const fn carried_at_once(self) -> Fe {
        let [f0, f1, f2, f3, f4] = self.0;
        Fe([
            (f0 & MASK) + 19 * (f4 >> LIMB_BITS),
            (f1 & MASK) + (f0 >> LIMB_BITS),
            (f2 & MASK) + (f1 >> LIMB_BITS),
            (f3 & MASK) + (f2 >> LIMB_BITS),
            (f4 & MASK) + (f3 >> LIMB_BITS),
        ])
    }

    /// Squared `count` times.
    #[inline(always)]
    const fn square_times(self, count: u32) -> Fe {
        let mut f = self;
        let mut i = 0;
        while i < count {
            f = f.square();
            i += 1;
        }
        f
    }

    /// The powers 2^250 - 1 and 11, with which the others begin.
    const fn powers(self) -> (Fe, Fe) {
        let f2 = self.square();
        let f9 = f2.square_times(2).mul(self);
        let f11 = f9.mul(f2);
        // The number of ones in the exponent.
        let f5 = f11.square().mul(f9);
        let f10 = f5.square_times(5).mul(f5);
        let f20 = f10.square_times(10).mul(f10);
        let f40 = f20.square_times(20).mul(f20);
        let f50 = f40.square_times(10).mul(f10);
        let f100 = f50.square_times(50).mul(f50);
        let f200 = f100.square_times(100).mul(f100);
        (f200.square_times(50).mul(f50), f11)
    }

    /// The inverse, and zero of zero: the power p - 2.
    pub(crate) const fn invert(self) -> Fe {
        let (f250, f11) = self.powers();
        f250.square_times(5).mul(f11)
    }

    /// The power (p - 5) / 8, from which a square root follows.
    pub(crate) const fn power_for_root(self) -> Fe {
        let (f250, _) = self.powers();
        f250.square_times(2).mul(self)
    }

    /// All ones if the element is zero, else zero.
    pub(crate) fn is_zero(self) -> u64 {
        let mut bits = 0;
        for limb in self.frozen() {
            bits |= limb;
        }
        equal_mask(bits, 0)
    }

    /// The lowest bit of the canonical representative.
    pub(crate) const fn is_odd(self) -> bool {
        self.frozen()[0] & 1 == 1
    }

    /// Takes `other` where `mask` is all ones.
    #[inline(always)]
    pub(crate) fn assign(&mut self, other: &Fe, mask: u64) {
        let mask = lanes::scalar(mask);
        for i in 0..LIMBS {
            self.0[i] ^= mask & (self.0[i] ^ other.0[i]);
        }
    }

    /// Exchanges the two where `mask` is all ones.
    #[inline(always)]
    pub(crate) fn swap(a: &mut Fe, b: &mut Fe, mask: u64) {
        // A compiler that knew what the mask can be might jump.
        let mask = lanes::scalar(mask);
        for i in 0..LIMBS {
            let difference = mask & (a.0[i] ^ b.0[i]);
            a.0[i] ^= difference;
            b.0[i] ^= difference;
        }
    }
}

/// Inverts all elements together, which takes three products each and one inversion (Montgomery's
/// trick). Zeros stay.
pub(crate) fn invert_all(elements: &mut [Fe]) {
    let mut before = Secret::<[Fe]>::slice(elements.len());
    let mut all = Fe::ONE;
    for (element, before) in elements.iter_mut().zip(&mut *before) {
        *before = all;
        let mut factor = *element;
        factor.assign(&Fe::ONE, element.is_zero());
        all = all.mul(factor);
    }
    let mut inverse = all.invert();
    for (element, before) in elements.iter_mut().zip(&*before).rev() {
        let zero = element.is_zero();
        let mut factor = *element;
        factor.assign(&Fe::ONE, zero);
        *element = inverse.mul(*before);
        element.assign(&Fe::ZERO, zero);
        inverse = inverse.mul(factor);
    }
    all.zeroize();
    inverse.zeroize();
}
