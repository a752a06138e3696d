//! Polynomials in memory.

use lanes::{Lanes, Word};
use zerocopy::FromZeros;

use crate::params::{MODULUS, N, Q};

/// 256 coefficients, or the same polynomial transformed: 128 pairs, each a residue modulo
/// X^2 - gamma.
#[derive(Clone, Copy, PartialEq, Eq, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Poly<W>(pub(crate) [W; N]);

impl<W: Word> Poly<W> {
    /// The polynomial 0.
    pub(crate) fn zero() -> Self {
        Poly([W::default(); N])
    }
}

/// The representative of each word in `0..q`, for any words.
#[inline(always)]
pub(crate) fn canonical<L: Lanes>(lanes: L, a: L::I16) -> L::I16 {
    let a = lanes.barrett(a, MODULUS);
    lanes.add(a, lanes.and(lanes.negative(a), lanes.splat(Q)))
}

/// Adds a polynomial to another.
#[inline(always)]
pub(crate) fn add<L: Lanes>(lanes: L, to: &mut Poly<L::Word>, b: &Poly<L::Word>) {
    for i in (0..N).step_by(L::WORDS) {
        let sum = lanes.add(lanes.load(&to.0[i..]), lanes.load(&b.0[i..]));
        lanes.store(&mut to.0[i..], sum);
    }
}

/// Replaces each coefficient by a representative that is not far above q/2.
#[inline(always)]
pub(crate) fn reduce<L: Lanes>(lanes: L, a: &mut Poly<L::Word>) {
    for i in (0..N).step_by(L::WORDS) {
        let reduced = lanes.barrett(lanes.load(&a.0[i..]), MODULUS);
        lanes.store(&mut a.0[i..], reduced);
    }
}

/// Subtracts a polynomial from another: `to = a - to`.
#[inline(always)]
pub(crate) fn subtract_from<L: Lanes>(lanes: L, to: &mut Poly<L::Word>, a: &Poly<L::Word>) {
    for i in (0..N).step_by(L::WORDS) {
        let difference = lanes.sub(lanes.load(&a.0[i..]), lanes.load(&to.0[i..]));
        lanes.store(&mut to.0[i..], difference);
    }
}
