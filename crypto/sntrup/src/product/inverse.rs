//! The inverse transform: from residues to the coefficients of a product of degree below 16 blocks.

use lanes::{Kernel, Lanes};

use super::dft::{dft, load_rows};
use super::layout::{POINTS, ROWS, Size};
use super::polynomial::{Transform, Workspace};
use super::tables::Constants;
use crate::params::ParameterSet;

/// Writes the coefficients of the product whose transform `a` is, times 2^16, to the first buffer
/// of `space`, and overwrites `a`.
///
/// Takes products of [`super::PointwiseProduct`]. Proved for all inputs in `crate::proof::ranges`
/// and `crate::proof::values`.
pub(crate) struct Inverse<'a, P: ParameterSet, L: Lanes> {
    pub(crate) a: &'a mut Transform<P, L::Word>,
    pub(crate) space: &'a mut Workspace<P, L::Word>,
}

impl<P: ParameterSet, L: Lanes> Kernel<L> for Inverse<'_, P, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let (a, space) = (self.a.0.as_mut(), self.space.0.as_mut());
        inverse::<P, L, 1>(lanes, a, space, P::REDUCTIONS.after_inverse);
    }
}

/// Writes the 16 blocks of the polynomial whose transform `a` is to `points`, and overwrites `a`.
/// If `reduced`, the coefficients are reduced.
///
/// First the inverse DFT of the six rows; then, for each row, the inverse of the 16 x 16
/// Vandermonde matrix of the points, with all scales in it; then a transposition, as the points
/// were lanes.
///
/// If blocks are shorter than vectors, `points` is accessed one vector beyond its end, and `a` has
/// at least `PAIRS` vectors for each group of points.
#[inline(always)]
pub(crate) fn inverse<P: ParameterSet, L: Lanes, const PART: usize>(
    lanes: L,
    a: &mut [L::Word],
    points: &mut [L::Word],
    reduced: bool,
) {
    let tables = const { &Constants::<P>::TABLES };
    let (block, half) = const { (Size::<P, PART>::BLOCK, Size::<P, PART>::HALF) };
    // `points` gets, for each coefficient of each row, the values at the 16 points.
    for group in 0..POINTS / L::PAIRS {
        for s in 0..half {
            let rows = load_rows::<P, L, PART>(lanes, a, group, s);
            let rows = dft::<P, L>(lanes, rows, true);
            for r in 0..ROWS {
                let even = (r * 2 * half + 2 * s) * POINTS;
                let (low, high) = points[even..even + 2 * POINTS].split_at_mut(POINTS);
                let start = group * L::PAIRS;
                lanes.store_split(&mut low[start..], &mut high[start..], rows[r]);
            }
        }
    }

    // The transform is in `points` now, so its memory is free. In `columns`, lane j is block j, and
    // a pair is two coefficients.
    let columns = a;
    for r in 0..ROWS {
        for group in 0..POINTS / L::PAIRS {
            let first = group * L::WORDS;
            let mut matrix = [lanes.splat(0); POINTS / 2];
            for i in 0..POINTS / 2 {
                matrix[i] = lanes.constants(&tables.inverse[r][i][first..]);
            }
            for s in 0..half {
                let mut halves = [lanes.zero(); 2];
                for h in 0..2 {
                    let row = (r * 2 * half + 2 * s + h) * POINTS;
                    for i in 0..POINTS / 2 {
                        let pair = &points[row + 2 * i..];
                        halves[h] = lanes.dot_broadcast(halves[h], matrix[i], pair);
                    }
                }
                let mut x = lanes.reduce(halves[0], halves[1], P::MODULUS);
                if reduced {
                    x = lanes.barrett(x, P::MODULUS);
                }
                let start = (group * ROWS * half + r * half + s) * L::WORDS;
                lanes.store(&mut columns[start..], x);
            }
        }
    }

    let pairs = ROWS * half;
    for group in 0..POINTS / L::PAIRS {
        for index in 0..pairs.div_ceil(L::PAIRS) {
            let t = if (index + 1) * L::PAIRS > pairs {
                pairs.saturating_sub(L::PAIRS)
            } else {
                index * L::PAIRS
            };
            let from = &columns[(group * pairs + t) * L::WORDS..];
            let to = &mut points[group * L::PAIRS * block + 2 * t..];
            lanes.transpose(from, to, block);
        }
    }
}
