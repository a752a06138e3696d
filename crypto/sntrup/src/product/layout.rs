//! Sizes of the multiplier, and the places of words in its memory.

use core::marker::PhantomData;

use lanes::Lanes;

use crate::params::ParameterSet;

/// Points d_i of the outer transform, one in each lane.
pub(super) const POINTS: usize = 16;
/// Length of the inner transform, a discrete Fourier transform: its inputs and outputs are rows.
pub(super) const ROWS: usize = 6;
/// Words in a vector of constants: a pair for each point.
pub(super) const ROW_WORDS: usize = 2 * POINTS;
/// The largest m / 2 of all parameter sets, in pairs of words.
pub(super) const MAX_HALF: usize = 14;

/// Sizes of the multiplier for polynomials of one `PART`-th of the length: it works modulo 96
/// factors of degree `M`. `PART` is 1 for products of ring elements; the nodes of the inversion
/// ([`crate::recip`]) use 2, 4 and 8.
pub(crate) struct Size<P, const PART: usize>(PhantomData<P>);

impl<P: ParameterSet, const PART: usize> Size<P, PART> {
    /// Pairs of words in a residue: half of [`Self::M`].
    pub(crate) const HALF: usize = P::M.div_ceil(2 * PART);
    /// Coefficients of a residue.
    pub(crate) const M: usize = 2 * Self::HALF;
    /// Coefficients of a block, as [`ParameterSet::BLOCK`].
    pub(crate) const BLOCK: usize = ROWS * Self::M;
}

/// Offset in words of vector `index` of those that cover `length` words. The last vector overlaps
/// its neighbour; a single vector may reach beyond the end.
#[inline(always)]
pub(super) const fn vector_offset<L: Lanes>(index: usize, length: usize) -> usize {
    let start = index * L::WORDS;
    if start + L::WORDS > length { length.saturating_sub(L::WORDS) } else { start }
}

/// Offset in words of pair `s` of row `r` of group `group` of points in a transform.
#[inline(always)]
pub(super) const fn pair_offset<P: ParameterSet, L: Lanes, const PART: usize>(
    group: usize,
    r: usize,
    s: usize,
) -> usize {
    ((group * ROWS + r) * Size::<P, PART>::HALF + s) * L::WORDS
}
