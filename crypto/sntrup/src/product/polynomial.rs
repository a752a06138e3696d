//! Memory for polynomials, their transforms, and the work of the kernels.

use kem_common::{Array, Erase, wipe};
use lanes::Word;
use zerocopy::FromZeros;

use crate::params::ParameterSet;

/// The p coefficients of an element of R/q or R/3, followed by zeros up to 8 blocks:
/// [`ParameterSet::PADDED`] words. Erased on drop.
#[derive(Clone, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Coefficients<P: ParameterSet, W: Word = i16>(pub(crate) P::Padded<W>);

/// The residues of a polynomial modulo the 96 factors: [`ParameterSet::WIDE`] words. Their order
/// depends on the width of the lanes that computed them, so only the same lanes can read them.
/// Erased on drop.
#[derive(Clone, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Transform<P: ParameterSet, W: Word = i16>(pub(crate) P::Wide<W>);

/// Scratch memory of the kernels: two buffers of [`ParameterSet::WIDE`] words. The first one also
/// carries the product from [`super::Inverse`] to [`super::Fold`]. Erased on drop.
#[derive(FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Workspace<P: ParameterSet, W: Word = i16>(
    pub(crate) P::Wide<W>,
    pub(super) P::Wide<W>,
);

impl<P: ParameterSet, W: Word> Coefficients<P, W> {
    /// The polynomial zero.
    pub(crate) fn zero() -> Self {
        Coefficients(P::Padded::filled(W::default()))
    }

    /// All words, of which those from p on are zero.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[W] {
        self.0.as_ref()
    }

    /// All words. The caller leaves zeros in those from p on.
    #[inline(always)]
    pub(crate) fn words_mut(&mut self) -> &mut [W] {
        self.0.as_mut()
    }

    /// The p coefficients.
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[W] {
        &self.0.as_ref()[..P::P]
    }

    /// The p coefficients, to be written.
    #[inline(always)]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [W] {
        &mut self.0.as_mut()[..P::P]
    }
}

impl<P: ParameterSet, W: Word> Erase for Coefficients<P, W> {
    fn erase(&mut self) {
        wipe(self.0.as_mut());
    }
}

impl<P: ParameterSet, W: Word> Drop for Coefficients<P, W> {
    fn drop(&mut self) {
        self.erase();
    }
}

impl<P: ParameterSet, W: Word> Transform<P, W> {
    /// The transform of zero.
    pub(crate) fn zero() -> Self {
        Transform(P::Wide::filled(W::default()))
    }
}

impl<P: ParameterSet, W: Word> Erase for Transform<P, W> {
    fn erase(&mut self) {
        wipe(self.0.as_mut());
    }
}

impl<P: ParameterSet, W: Word> Drop for Transform<P, W> {
    fn drop(&mut self) {
        self.erase();
    }
}

impl<P: ParameterSet, W: Word> Workspace<P, W> {
    /// A workspace of zeros.
    pub(crate) fn new() -> Self {
        Workspace(P::Wide::filled(W::default()), P::Wide::filled(W::default()))
    }
}

impl<P: ParameterSet, W: Word> Erase for Workspace<P, W> {
    fn erase(&mut self) {
        wipe(self.0.as_mut());
        wipe(self.1.as_mut());
    }
}

impl<P: ParameterSet, W: Word> Drop for Workspace<P, W> {
    fn drop(&mut self) {
        self.erase();
    }
}
