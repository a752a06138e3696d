//! Reduction of a product modulo x^p - x - 1.

use lanes::{Kernel, Lanes, Word};

use super::layout::vector_offset;
use super::polynomial::{Coefficients, Workspace};
use crate::params::ParameterSet;

/// Reduces the product in the first buffer of `space` modulo x^p - x - 1 and modulo q, and writes
/// it to `out`: coefficient i is c_i + c_{i+p} + c_{i+p-1}, as x^p = x + 1.
///
/// Takes what [`super::Inverse`] gives, and gives coefficients of absolute value at most
/// (q - 1) / 2, which [`super::Forward`] takes. Proved for all inputs in `crate::proof::ranges` and
/// `crate::proof::values`.
pub(crate) struct Fold<'a, P: ParameterSet, W: Word> {
    pub(crate) out: &'a mut Coefficients<P, W>,
    pub(crate) space: &'a mut Workspace<P, W>,
}

impl<P: ParameterSet, L: Lanes> Kernel<L> for Fold<'_, P, L::Word> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let product = self.space.0.as_mut();
        let out = self.out.0.as_mut();
        // From the top down: c_{p-1} is not part of c_0, so it is cleared before the first vector,
        // after its last use by the others.
        for index in (0..P::P.div_ceil(L::WORDS)).rev() {
            let i = vector_offset::<L>(index, P::P);
            if index == 0 {
                product[P::P - 1] = L::Word::default();
            }
            let x = lanes.load(&product[i..]);
            let y = lanes.load(&product[i + P::P..]);
            let z = lanes.load(&product[i + P::P - 1..]);
            let sum = lanes.add(x, lanes.add(y, z));
            lanes.store(&mut out[i..], lanes.freeze(sum, P::MODULUS));
        }
        out[P::P..].fill(L::Word::default());
    }
}
