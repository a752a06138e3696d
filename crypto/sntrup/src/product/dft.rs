//! The inner transform: a discrete Fourier transform of length 6, on rows.

use lanes::Lanes;

use super::layout::{ROWS, pair_offset};
use super::tables::Constants;
use crate::params::ParameterSet;

/// The discrete Fourier transform of length 6 of `rows`, or six times its inverse.
///
/// As z^3 = -1, it is a transform of length 3 of the sums x_r + x_{r+3}, and another one of the
/// differences (Good's prime-factor algorithm: I. J. Good, "The interaction algorithm and
/// practical Fourier analysis", 1958). Each of these takes one product by the third root of unity.
#[inline(always)]
pub(super) fn dft<P: ParameterSet, L: Lanes>(
    lanes: L,
    rows: [L::I16; 6],
    inverse: bool,
) -> [L::I16; 6] {
    let tables = const { &Constants::<P>::TABLES };
    let omega = lanes.splat(tables.omega);
    let omega_prepared = lanes.splat(tables.omega_prepared);
    let [x0, x1, x2, x3, x4, x5] = rows;
    let (e0, o0) = (lanes.add(x0, x3), lanes.sub(x0, x3));
    let (e1, o1) = (lanes.add(x1, x4), lanes.sub(x4, x1));
    let (e2, o2) = (lanes.add(x2, x5), lanes.sub(x2, x5));
    let t = lanes.montgomery(lanes.sub(e1, e2), omega, omega_prepared, P::MODULUS);
    let u = lanes.montgomery(lanes.sub(o1, o2), omega, omega_prepared, P::MODULUS);
    let f0 = lanes.add(e0, lanes.add(e1, e2));
    let f1 = lanes.add(lanes.sub(e0, e2), t);
    let f2 = lanes.sub(lanes.sub(e0, e1), t);
    let g0 = lanes.add(o0, lanes.add(o1, o2));
    let g1 = lanes.add(lanes.sub(o0, o2), u);
    let g2 = lanes.sub(lanes.sub(o0, o1), u);
    if inverse { [f0, g1, f2, g0, f1, g2] } else { [f0, g2, f1, g0, f2, g1] }
}

/// Loads pair `s` of all rows of a group of points.
#[inline(always)]
pub(super) fn load_rows<P: ParameterSet, L: Lanes, const PART: usize>(
    lanes: L,
    transform: &[L::Word],
    group: usize,
    s: usize,
) -> [L::I16; ROWS] {
    let mut rows = [lanes.splat(0); ROWS];
    for r in 0..ROWS {
        rows[r] = lanes.load(&transform[pair_offset::<P, L, PART>(group, r, s)..]);
    }
    rows
}
