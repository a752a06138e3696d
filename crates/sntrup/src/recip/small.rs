//! R/3: coefficients as bit planes.

use lanes::{Hardware, Kernel, Lanes};

use crate::params::ParameterSet;
use crate::product::Coefficients;
use crate::r3::Planes;

/// Replaces `a` by 1 / a in R/3, and says whether it could: if not, which is not secret, `a` is left undefined.
#[must_use]
pub(crate) fn r3_invert<P: ParameterSet, L: Hardware>(lanes: L, a: &mut Coefficients<P>) -> bool {
    let mut f = Planes::<P>::zero();
    for (i, negative) in [(0, 0), (P::P - 1, 1), (P::P, 1)] {
        f.nonzero.as_mut()[i / 64] |= 1 << (i % 64);
        f.negative.as_mut()[i / 64] |= negative << (i % 64);
    }
    let mut r = Planes::<P>::zero();
    r.nonzero.as_mut()[0] = 1;
    let mut state =
        R3State { f, g: planes(a.as_slice().iter().rev().copied()), v: Planes::zero(), r };
    let delta = lanes.run(R3DivisionSteps(&mut state));
    let sign = coefficient(&state.f, 0);
    for (i, x) in a.as_mut_slice().iter_mut().enumerate() {
        *x = sign * coefficient(&state.v, P::P - 1 - i);
    }
    delta == 0
}

fn planes<P: ParameterSet>(coefficients: impl Iterator<Item = i16>) -> Planes<P> {
    let mut planes = Planes::<P>::zero();
    let (nonzero, negative) = (planes.nonzero.as_mut(), planes.negative.as_mut());
    for (i, x) in coefficients.enumerate() {
        nonzero[i / 64] |= (x as u64 & 1) << (i % 64);
        negative[i / 64] |= (x as u64 >> 63) << (i % 64);
    }
    planes
}

/// The coefficient at bit `i`.
#[inline(always)]
fn coefficient<P: ParameterSet>(planes: &Planes<P>, i: usize) -> i16 {
    let bit = |plane: &P::Plane| (plane.as_ref()[i / 64] >> (i % 64) & 1) as i16;
    bit(&planes.nonzero) - 2 * bit(&planes.negative)
}

struct R3State<P: ParameterSet> {
    f: Planes<P>,
    g: Planes<P>,
    v: Planes<P>,
    r: Planes<P>,
}

/// Runs the steps and returns the last `delta`, zero if and only if g was invertible.
struct R3DivisionSteps<'a, P: ParameterSet>(&'a mut R3State<P>);

impl<P: ParameterSet, L: Lanes> Kernel<L> for R3DivisionSteps<'_, P> {
    type Output = i64;

    #[inline(always)]
    fn run(self, _: L) -> i64 {
        let R3State { f, g, v, r } = self.0;
        let mut delta = 1i64;
        for _ in 0..2 * P::P - 1 {
            shift_up(v.nonzero.as_mut());
            shift_up(v.negative.as_mut());
            let g_nonzero = g.nonzero.as_ref()[0] & 1;
            let positive = (delta.wrapping_neg() as u64) >> 63;
            let exchange = (g_nonzero & positive).wrapping_neg();
            let mask = exchange as i64;
            delta = (delta ^ mask).wrapping_sub(mask) + 1;

            exchange_planes(exchange, f, g);
            exchange_planes(exchange, v, r);
            // f_0 is not zero: g <- g - g_0 / f_0 * f.
            let g0 = g.nonzero.as_ref()[0] & 1;
            let sign = (f.negative.as_ref()[0] ^ g.negative.as_ref()[0] ^ 1) & 1;
            add_multiple(g, f, g0.wrapping_neg(), sign.wrapping_neg());
            add_multiple(r, v, g0.wrapping_neg(), sign.wrapping_neg());
            shift_down(g.nonzero.as_mut());
            shift_down(g.negative.as_mut());
        }
        delta
    }
}

#[inline(always)]
fn shift_up(plane: &mut [u64]) {
    for i in (1..plane.len()).rev() {
        plane[i] = plane[i] << 1 | plane[i - 1] >> 63;
    }
    plane[0] <<= 1;
}

#[inline(always)]
fn shift_down(plane: &mut [u64]) {
    let last = plane.len() - 1;
    for i in 0..last {
        plane[i] = plane[i] >> 1 | plane[i + 1] << 63;
    }
    plane[last] >>= 1;
}

#[inline(always)]
fn exchange_planes<P: ParameterSet>(mask: u64, a: &mut Planes<P>, b: &mut Planes<P>) {
    for (x, y) in [(&mut a.nonzero, &mut b.nonzero), (&mut a.negative, &mut b.negative)] {
        for (x, y) in x.as_mut().iter_mut().zip(y.as_mut()) {
            let difference = (*x ^ *y) & mask;
            *x ^= difference;
            *y ^= difference;
        }
    }
}

/// `a + c * b`, where c is not zero if `nonzero` is all ones and negative if `negative` is.
#[inline(always)]
fn add_multiple<P: ParameterSet>(a: &mut Planes<P>, b: &Planes<P>, nonzero: u64, negative: u64) {
    let (a0, a1) = (a.nonzero.as_mut(), a.negative.as_mut());
    let (b0, b1) = (b.nonzero.as_ref(), b.negative.as_ref());
    for i in 0..P::PLANE_WORDS {
        let y0 = b0[i] & nonzero;
        let y1 = (b1[i] ^ negative) & y0;
        let (x0, x1) = (a0[i], a1[i]);
        a0[i] = (x0 ^ y0) | (x0 & !(x1 ^ y1));
        a1[i] = (x1 | y1) ^ (x0 & y0);
    }
}
