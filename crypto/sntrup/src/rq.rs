//! R/q = (Z/q)\[x\]/(x^p - x - 1): rounding, and the way back to R/3.

use lanes::{Kernel, Lanes};

use crate::params::ParameterSet;
use crate::product::Coefficients;

/// Rounds every coefficient to the nearest multiple of 3.
pub(crate) struct Round<'a, P: ParameterSet, L: Lanes>(pub(crate) &'a mut Coefficients<P, L::Word>);

impl<P: ParameterSet, L: Lanes> Kernel<L> for Round<'_, P, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        for chunk in self.0.words_mut().chunks_exact_mut(L::WORDS) {
            let x = lanes.load(chunk);
            lanes.store(chunk, lanes.sub(x, lanes.freeze3(x)));
        }
    }
}

/// Multiplies by 3 in R/q, then takes the centred coefficients modulo 3.
pub(crate) struct TripleToSmall<'a, P: ParameterSet, L: Lanes>(
    pub(crate) &'a mut Coefficients<P, L::Word>,
);

impl<P: ParameterSet, L: Lanes> Kernel<L> for TripleToSmall<'_, P, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        for chunk in self.0.words_mut().chunks_exact_mut(L::WORDS) {
            let x = lanes.load(chunk);
            let triple = lanes.freeze(lanes.add(x, lanes.add(x, x)), P::MODULUS);
            lanes.store(chunk, lanes.freeze3(triple));
        }
    }
}
