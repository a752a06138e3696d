//! Products of transformed polynomials (FIPS 203, algorithms 11 and 12).

use lanes::Lanes;
use zerocopy::FromZeros;

use crate::ntt::{gamma, inverse_of_128, montgomery_factor};
use crate::params::{MODULUS, N};
use crate::poly::Poly;

/// A transformed polynomial b, prepared as a factor. Of each pair (b0, b1), it has (b0, gamma b1)
/// for the product's first coefficient and (b1, b0) for the second one, all multiplied by 2^16 and
/// the [`Scale`].
#[derive(Clone, Copy, PartialEq, Eq, FromZeros)]
#[repr(C)]
pub(crate) struct Factor<W> {
    first: Poly<W>,
    second: Poly<W>,
}

#[cfg(test)]
impl<W: lanes::Word> Factor<W> {
    /// The factor 0.
    pub(crate) fn zero() -> Self {
        Factor { first: Poly::zero(), second: Poly::zero() }
    }
}

impl<W: lanes::Word> kem_common::Erase for Factor<W> {
    fn erase(&mut self) {
        kem_common::wipe(&mut self.first.0);
        kem_common::wipe(&mut self.second.0);
    }
}

/// A constant by which a factor is multiplied.
#[derive(Clone, Copy)]
pub(crate) enum Scale {
    /// 1.
    One,
    /// 1/128, for products to which the inverse transform is applied.
    ForInverse,
}

/// Constants for [`prepare`]: (c, c gamma) for each pair, where c is the scale times 2^32.
const fn constants(scale: Scale) -> ([i16; N], [i16; N]) {
    let c = match scale {
        Scale::One => 65536,
        Scale::ForInverse => inverse_of_128() * 65536,
    };
    let (mut constants, mut prepared) = ([0; N], [0; N]);
    let mut i = 0;
    while i < N {
        let factor = if i % 2 == 0 { 1 } else { gamma(i / 2) };
        constants[i] = montgomery_factor(c % 3329 * factor);
        prepared[i] = constants[i].wrapping_mul(MODULUS.inverse);
        i += 1;
    }
    (constants, prepared)
}

static ONE: ([i16; N], [i16; N]) = constants(Scale::One);
static FOR_INVERSE: ([i16; N], [i16; N]) = constants(Scale::ForInverse);

/// Prepares a transformed polynomial as a factor.
#[inline(always)]
pub(crate) fn prepare<L: Lanes>(
    lanes: L,
    b: &Poly<L::Word>,
    scale: Scale,
    to: &mut Factor<L::Word>,
) {
    let (constants, prepared) = match scale {
        Scale::One => &ONE,
        Scale::ForInverse => &FOR_INVERSE,
    };
    let (one, one_q) = (lanes.splat(constants[0]), lanes.splat(prepared[0]));
    for i in (0..N).step_by(L::WORDS) {
        let pairs = lanes.load(&b.0[i..]);
        let (c, c_q) = (lanes.constants(&constants[i..]), lanes.constants(&prepared[i..]));
        lanes.store(&mut to.first.0[i..], lanes.montgomery(pairs, c, c_q, MODULUS));
        let second = lanes.swap(lanes.montgomery(pairs, one, one_q, MODULUS));
        lanes.store(&mut to.second.0[i..], second);
    }
}

/// Writes the sum of the products of `a`'s polynomials, with coefficients in `0..q`, and as many
/// factors.
#[inline(always)]
pub(crate) fn row<L: Lanes>(
    lanes: L,
    a: &[Poly<L::Word>],
    b: &[Factor<L::Word>],
    to: &mut Poly<L::Word>,
) {
    for i in (0..N).step_by(L::WORDS) {
        let (mut first, mut second) = (lanes.zero(), lanes.zero());
        for (a, b) in a.iter().zip(b) {
            let pairs = lanes.load(&a.0[i..]);
            first = lanes.dot(first, pairs, lanes.load(&b.first.0[i..]));
            second = lanes.dot(second, pairs, lanes.load(&b.second.0[i..]));
        }
        lanes.store(&mut to.0[i..], lanes.reduce(first, second, MODULUS));
    }
}
