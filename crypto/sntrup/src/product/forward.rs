//! The forward transform: from coefficients to residues modulo 96 factors.

use lanes::{Kernel, Lanes};

use super::dft::{dft, load_rows};
use super::layout::{POINTS, ROWS, Size, pair_offset, vector_offset};
use super::polynomial::{Coefficients, Transform, Workspace};
use super::tables::Constants;
use crate::params::ParameterSet;

/// Writes the transform of `a` to `out`.
///
/// Takes coefficients of absolute value at most (q - 1) / 2, and gives words of absolute value at
/// most `TRANSFORM` of the table in `docs/SOUNDNESS.md`. Proved for all inputs in
/// `crate::proof::ranges` (no word overflows) and `crate::proof::values` (residues are right).
pub(crate) struct Forward<'a, P: ParameterSet, L: Lanes> {
    pub(crate) out: &'a mut Transform<P, L::Word>,
    pub(crate) a: &'a Coefficients<P, L::Word>,
    pub(crate) space: &'a mut Workspace<P, L::Word>,
}

impl<P: ParameterSet, L: Lanes> Kernel<L> for Forward<'_, P, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let (out, a, space) = (self.out.0.as_mut(), self.a.0.as_ref(), self.space.0.as_mut());
        forward::<P, L, 1, false>(lanes, out, a, space, false);
    }
}

/// Writes the transform of `a`, of 8 blocks, to `out`. If `LONG`, `a` has 16 blocks, and the
/// transform is that of `a / x^(8 * BLOCK)`. If `reduced`, rows are reduced before their DFT.
///
/// First, for each row r, a constant matrix of 16 points times 8 (or 16) blocks:
/// `E_r[i] = sum_j d_i^(6 j + r) a_{j,r}`. Then, for each point, the DFT of the six rows.
///
/// If blocks are shorter than vectors, `a` and `pairs` are accessed one vector and two vectors
/// beyond their ends.
#[inline(always)]
pub(crate) fn forward<P: ParameterSet, L: Lanes, const PART: usize, const LONG: bool>(
    lanes: L,
    out: &mut [L::Word],
    a: &[L::Word],
    pairs: &mut [L::Word],
    reduced: bool,
) {
    let tables = const { &Constants::<P>::TABLES };
    let (block, half) = const { (Size::<P, PART>::BLOCK, Size::<P, PART>::HALF) };
    let stride = if block < L::WORDS { L::WORDS } else { block };
    let columns = if LONG { 8 } else { 4 };
    // In `pairs`, the same coefficient of blocks 2j and 2j + 1 lie side by side.
    for j in 0..columns {
        let (even, odd) = (2 * j * block, (2 * j + 1) * block);
        for index in 0..block.div_ceil(L::WORDS) {
            let t = vector_offset::<L>(index, block);
            let x = lanes.load(&a[even + t..]);
            let y = lanes.load(&a[odd + t..]);
            lanes.store_interleaved(&mut pairs[2 * j * stride + 2 * t..], x, y);
        }
    }

    for r in 0..ROWS {
        for group in 0..POINTS / L::PAIRS {
            let first = group * L::WORDS;
            let mut matrix = [lanes.splat(0); 8];
            for j in 0..columns {
                matrix[j] = lanes.constants(&tables.forward[r][8 - columns + j][first..]);
            }
            for s in 0..half {
                let t = 2 * (2 * half * r + 2 * s);
                let mut halves = [lanes.zero(); 2];
                for (h, acc) in halves.iter_mut().enumerate() {
                    for j in 0..columns {
                        let pair = &pairs[2 * j * stride + t + 2 * h..];
                        *acc = lanes.dot_broadcast(*acc, matrix[j], pair);
                    }
                }
                let mut row = lanes.reduce(halves[0], halves[1], P::MODULUS);
                if reduced {
                    row = lanes.barrett(row, P::MODULUS);
                }
                lanes.store(&mut out[pair_offset::<P, L, PART>(group, r, s)..], row);
            }
        }
    }

    for group in 0..POINTS / L::PAIRS {
        for s in 0..half {
            let rows = load_rows::<P, L, PART>(lanes, out, group, s);
            let rows = dft::<P, L>(lanes, rows, false);
            for r in 0..ROWS {
                let row = lanes.barrett(rows[r], P::MODULUS);
                lanes.store(&mut out[pair_offset::<P, L, PART>(group, r, s)..], row);
            }
        }
    }
}
