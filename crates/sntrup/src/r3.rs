//! R/3 = (Z/3)\[x\]/(x^p - x - 1): reduction, bit planes, and the test for invertibility.

use lanes::{Kernel, Lanes};

use crate::params::{Array, ParameterSet};
use crate::product::{Coefficients, wipe};

/// Takes every coefficient modulo 3, to -1, 0 or 1.
pub(crate) struct Reduce<'a, P: ParameterSet, L: Lanes>(
    pub(crate) &'a mut Coefficients<P, L::Word>,
);

impl<P: ParameterSet, L: Lanes> Kernel<L> for Reduce<'_, P, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        for chunk in self.0.words_mut().chunks_exact_mut(L::WORDS) {
            let x = lanes.load(chunk);
            lanes.store(chunk, lanes.freeze3(x));
        }
    }
}

/// Coefficients -1, 0, 1 as two bit planes; bit i belongs to x^i.
#[derive(Clone)]
pub(crate) struct Planes<P: ParameterSet> {
    /// Where the coefficient is not zero.
    pub(crate) nonzero: P::Plane,
    /// Where it is -1.
    pub(crate) negative: P::Plane,
}

impl<P: ParameterSet> Planes<P> {
    pub(crate) fn zero() -> Self {
        Planes { nonzero: P::Plane::filled(0), negative: P::Plane::filled(0) }
    }

    /// The planes of `coefficients`, the first of them at bit 0.
    pub(crate) fn of(coefficients: impl Iterator<Item = i16>) -> Self {
        let mut planes = Self::zero();
        let (nonzero, negative) = (planes.nonzero.as_mut(), planes.negative.as_mut());
        for (i, x) in coefficients.enumerate() {
            nonzero[i / 64] |= (x as u64 & 1) << (i % 64);
            negative[i / 64] |= (x as u64 >> 63) << (i % 64);
        }
        planes
    }

    /// The value of a linear form modulo 3: 0, 1 or 2.
    fn apply(&self, [nonzero, negative]: &[P::Plane; 2]) -> u32 {
        let (mut terms, mut minus) = (0, 0);
        for i in 0..P::PLANE_WORDS {
            let both = self.nonzero.as_ref()[i] & nonzero.as_ref()[i];
            let sign = self.negative.as_ref()[i] ^ negative.as_ref()[i];
            terms += both.count_ones();
            minus += (both & sign).count_ones();
        }
        // terms - 2 minus = terms + minus modulo 3; the sum is below 2^12.
        let sum = terms + minus;
        sum - 3 * ((sum * 0x5556) >> 16)
    }

    /// The coefficient at bit `i`.
    #[inline(always)]
    pub(crate) fn coefficient(&self, i: usize) -> i16 {
        let bit = |plane: &P::Plane| (plane.as_ref()[i / 64] >> (i % 64) & 1) as i16;
        bit(&self.nonzero) - 2 * bit(&self.negative)
    }
}

impl<P: ParameterSet> Drop for Planes<P> {
    fn drop(&mut self) {
        wipe(self.nonzero.as_mut());
        wipe(self.negative.as_mut());
    }
}

/// Whether no small factor of x^p - x - 1 divides `g`. The factors left out divide a uniform g with probability below
/// 2^-82 together; the batch's inversion detects them.
///
/// A g that is not invertible is thrown away, so the answer is not secret.
pub(crate) fn is_invertible_by_small_factors<P: ParameterSet>(g: &Coefficients<P>) -> bool {
    let g = Planes::<P>::of(g.as_slice().iter().copied());
    let mut forms = P::RESIDUE_FORMS;
    let mut invertible = true;
    for factor in P::SMALL_FACTORS {
        let (of_factor, rest) = forms.split_at(factor.len() - 1);
        forms = rest;
        let residue = of_factor.iter().fold(0, |bits, form| bits | g.apply(form));
        invertible &= residue != 0;
    }
    invertible
}
