//! Proofs by execution: the arithmetic on lanes of intervals and of polynomials, and every
//! operation of every backend against the integers. `docs/SOUNDNESS.md` says what follows from
//! which.

mod basis;
mod definition;
mod operations;
mod ranges;
mod values;

use lanes::{Kernel, Lanes};

use crate::ntt::{inverse_ntt, ntt};
use crate::poly::Poly;
use crate::product::{Factor, Scale, prepare, row};

/// [`ntt`] as a kernel.
struct Ntt<'a, W>(&'a mut Poly<W>);

impl<L: Lanes> Kernel<L> for Ntt<'_, L::Word> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        ntt(lanes, self.0);
    }
}

/// [`inverse_ntt`] as a kernel.
struct InverseNtt<'a, W>(&'a mut Poly<W>);

impl<L: Lanes> Kernel<L> for InverseNtt<'_, L::Word> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        inverse_ntt(lanes, self.0);
    }
}

/// [`prepare`] and [`row`] as a kernel: the sum of the products of polynomials.
struct SumOfProducts<'a, W> {
    a: &'a [Poly<W>],
    b: &'a [Poly<W>],
    scale: Scale,
    to: &'a mut Poly<W>,
}

impl<L: Lanes> Kernel<L> for SumOfProducts<'_, L::Word> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let mut factors = vec![Factor::zero(); self.b.len()];
        for (b, factor) in self.b.iter().zip(&mut factors) {
            prepare(lanes, b, self.scale, factor);
        }
        row(lanes, self.a, &factors, self.to);
    }
}
