//! Inverses in R/q and R/3 by constant-time division steps (Bernstein and Yang, "Fast constant-time gcd computation and
//! modular inversion", section 6): 2p - 1 steps whatever the input.
//!
//! Polynomials are reversed on entry, so that a step divides by x instead of cutting the top. Control (`delta`, the decision to
//! exchange) lives in lanes and masks like the data.

use core::marker::PhantomData;

use lanes::{Kernel, Lanes, Word};

use crate::params::ParameterSet;
use crate::product::{Coefficients, wipe};
use crate::r3::Planes;

/// Words before the first coefficient: a vector may be written one word lower than it was read.
const SLACK: usize = 32;

/// Replaces `a`, not zero, by 1 / (3 a) in R/q, which is a field.
pub(crate) fn rq_invert_triple<P: ParameterSet, L: Lanes<Word = i16>>(
    lanes: L,
    a: &mut Coefficients<P>,
) {
    let mut state = RqState::<P, i16>::new(a, const { Constants::<P>::THIRD });
    lanes.run(RqDivisionSteps(&mut state));
    let v = &state.v[SLACK..SLACK + P::P];
    for (x, &y) in a.as_mut_slice().iter_mut().zip(v.iter().rev()) {
        *x = y;
    }
}

struct Constants<P>(P);

impl<P: ParameterSet> Constants<P> {
    /// 1/3 modulo q, centred.
    const THIRD: i16 = {
        let q = P::Q as i32;
        let third = if q % 3 == 1 { (2 * q + 1) / 3 } else { (q + 1) / 3 };
        (if third > q / 2 { third - q } else { third }) as i16
    };
    /// 2^32 modulo q, centred: what takes a residue into Montgomery form.
    const SQUARE: i16 = {
        let q = P::Q as i64;
        let square = (1 << 32) % q;
        (if square > q / 2 { square - q } else { square }) as i16
    };
}

/// On the heap: some applications give their threads little stack. Each part has [`ParameterSet::WIDE`] words.
struct RqState<P, W: Word> {
    f: Vec<W>,
    g: Vec<W>,
    v: Vec<W>,
    r: Vec<W>,
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet> RqState<P, i16> {
    fn new(a: &Coefficients<P>, scale: i16) -> Self {
        let part = || vec![0; P::WIDE];
        let mut state =
            RqState { f: part(), g: part(), v: part(), r: part(), parameter_set: PhantomData };
        state.f[SLACK] = 1;
        state.f[SLACK + P::P - 1] = -1;
        state.f[SLACK + P::P] = -1;
        let g = &mut state.g[SLACK..];
        for (x, &y) in g.iter_mut().zip(a.as_slice().iter().rev()) {
            *x = y;
        }
        state.r[SLACK] = scale;
        state
    }
}

impl<P, W: Word> Drop for RqState<P, W> {
    fn drop(&mut self) {
        for part in [&mut self.f, &mut self.g, &mut self.v, &mut self.r] {
            wipe(part);
        }
    }
}

/// Replaces v by its quotient with the constant that f ends as.
struct RqDivisionSteps<'a, P, W: Word>(&'a mut RqState<P, W>);

impl<P: ParameterSet, L: Lanes> Kernel<L> for RqDivisionSteps<'_, P, L::Word> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let q = P::MODULUS;
        // Of known length, so that the bounds of every access below are.
        let f = &mut self.0.f[..P::WIDE];
        let g = &mut self.0.g[..P::WIDE];
        let v = &mut self.0.v[..P::WIDE];
        let r = &mut self.0.r[..P::WIDE];
        let one = lanes.splat(1);
        let mut delta = one;
        for step in 0..2 * P::P - 1 {
            let f0 = lanes.freeze(lanes.broadcast(&f[SLACK..]), q);
            let g0 = lanes.freeze(lanes.broadcast(&g[SLACK..]), q);
            let exchange = lanes.and(lanes.nonzero(g0), lanes.positive(delta));
            let negated = lanes.sub(lanes.splat(0), delta);
            delta = lanes.add(lanes.select(exchange, negated, delta), one);
            let of_g = lanes.select(exchange, g0, f0);
            let of_f = lanes.select(exchange, f0, g0);
            let of_g_prepared = lanes.prepare(of_g, q);
            let of_f_prepared = lanes.prepare(of_f, q);

            // f and g shrink, v and r grow by a coefficient a step.
            let left = 2 * P::P - step;
            let length = if left < P::P + 1 { left } else { P::P + 1 };
            for index in 0..length.div_ceil(L::WORDS) {
                let at = SLACK + index * L::WORDS;
                let (x, y) = (lanes.load(&f[at..]), lanes.load(&g[at..]));
                let new_f = lanes.select(exchange, y, x);
                let old = lanes.select(exchange, x, y);
                let plus = lanes.montgomery(old, of_g, of_g_prepared, q);
                let minus = lanes.montgomery(new_f, of_f, of_f_prepared, q);
                lanes.store(&mut f[at..], new_f);
                lanes.store(&mut g[at - 1..], lanes.sub(plus, minus));
            }
            // The division by x dropped a word below the first, which is zero modulo q.
            g[SLACK - 1] = L::Word::default();

            let length = if step + 2 < P::P + 1 { step + 2 } else { P::P + 1 };
            for index in (0..length.div_ceil(L::WORDS)).rev() {
                let at = SLACK + index * L::WORDS;
                let (x, y) = (lanes.load(&v[at - 1..]), lanes.load(&r[at..]));
                let new_v = lanes.select(exchange, y, x);
                let old = lanes.select(exchange, x, y);
                let plus = lanes.montgomery(old, of_g, of_g_prepared, q);
                let minus = lanes.montgomery(new_v, of_f, of_f_prepared, q);
                lanes.store(&mut v[at..], new_v);
                lanes.store(&mut r[at..], lanes.sub(plus, minus));
            }
        }

        // 1 / f_0 = f_0^(q - 2), in Montgomery form.
        let square = lanes.splat(const { Constants::<P>::SQUARE });
        let f0 = lanes.freeze(lanes.broadcast(&f[SLACK..]), q);
        let base = lanes.montgomery(f0, square, lanes.prepare(square, q), q);
        let base_prepared = lanes.prepare(base, q);
        let exponent = (P::Q - 2) as u32;
        let mut inverse = base;
        for bit in (0..exponent.ilog2()).rev() {
            inverse = lanes.montgomery(inverse, inverse, lanes.prepare(inverse, q), q);
            if exponent >> bit & 1 == 1 {
                inverse = lanes.montgomery(inverse, base, base_prepared, q);
            }
        }
        let inverse_prepared = lanes.prepare(inverse, q);
        for index in 0..P::P.div_ceil(L::WORDS) {
            let at = SLACK + index * L::WORDS;
            let x = lanes.montgomery(lanes.load(&v[at..]), inverse, inverse_prepared, q);
            lanes.store(&mut v[at..], lanes.freeze(x, q));
        }
    }
}

/// Replaces `a` by 1 / a in R/3, and says whether it could: if not, which is not secret, `a` is left undefined.
#[must_use]
pub(crate) fn r3_invert<P: ParameterSet, L: Lanes<Word = i16>>(
    lanes: L,
    a: &mut Coefficients<P>,
) -> bool {
    let mut f = Planes::<P>::zero();
    for (i, negative) in [(0, 0), (P::P - 1, 1), (P::P, 1)] {
        f.nonzero.as_mut()[i / 64] |= 1 << (i % 64);
        f.negative.as_mut()[i / 64] |= negative << (i % 64);
    }
    let mut r = Planes::<P>::zero();
    r.nonzero.as_mut()[0] = 1;
    let mut state =
        R3State { f, g: Planes::of(a.as_slice().iter().rev().copied()), v: Planes::zero(), r };
    let delta = lanes.run(R3DivisionSteps(&mut state));
    let sign = state.f.coefficient(0);
    for (i, x) in a.as_mut_slice().iter_mut().enumerate() {
        *x = sign * state.v.coefficient(P::P - 1 - i);
    }
    delta == 0
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

#[cfg(test)]
mod tests {
    use lanes::{Backend, Dispatch};

    use super::*;
    use crate::params::*;
    use crate::product::Multiplier;
    use crate::r3::{Reduce, is_invertible_by_small_factors};

    /// 3 times an element's claimed inverse times the element, in R/q.
    struct CheckLarge<'a, P: ParameterSet>(&'a Coefficients<P>);

    impl<P: ParameterSet> Dispatch for CheckLarge<'_, P> {
        type Output = Vec<i16>;

        fn on<L: Lanes<Word = i16>>(self, lanes: L) -> Vec<i16> {
            let mut third = self.0.clone();
            rq_invert_triple(lanes, &mut third);
            Multiplier::<P, L>::new().multiply_by(lanes, &mut third, self.0);
            let q = i32::from(P::Q);
            third.as_slice().iter().map(|&x| (3 * i32::from(x)).rem_euclid(q) as i16).collect()
        }
    }

    struct CheckSmall<'a, P: ParameterSet>(&'a Coefficients<P>);

    impl<P: ParameterSet> Dispatch for CheckSmall<'_, P> {
        type Output = Option<Vec<i16>>;

        fn on<L: Lanes<Word = i16>>(self, lanes: L) -> Option<Vec<i16>> {
            let mut one = self.0.clone();
            if !r3_invert(lanes, &mut one) {
                return None;
            }
            Multiplier::<P, L>::new().multiply_by(lanes, &mut one, self.0);
            lanes.run(Reduce::<P, L>(&mut one));
            Some(one.as_slice().to_vec())
        }
    }

    fn is_one(a: &[i16]) -> bool {
        a.iter().enumerate().all(|(i, &x)| x == i16::from(i == 0))
    }

    fn check<P: ParameterSet>(state: &mut u64) {
        let mut next = |range: i16| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((*state >> 33) % (2 * range as u64 + 1)) as i16 - range
        };
        for backend in Backend::available() {
            for round in 0..6 {
                let mut large = Coefficients::<P>::zero();
                let mut small = Coefficients::<P>::zero();
                large.as_mut_slice().fill_with(|| next(if round < 3 { 1 } else { P::Q / 2 }));
                small.as_mut_slice().fill_with(|| next(1));
                assert!(is_one(&backend.run(CheckLarge(&large))), "{} R/q", P::NAME);
                let one = backend.run(CheckSmall(&small));
                assert_eq!(one.is_some(), is_invertible_by_small_factors(&small), "{}", P::NAME);
                assert!(one.is_none_or(|one| is_one(&one)), "{} R/3", P::NAME);
            }
        }
    }

    #[test]
    fn an_element_times_its_inverse_is_one() {
        let state = &mut 1;
        check::<Sntrup653>(state);
        check::<Sntrup761>(state);
        check::<Sntrup857>(state);
        check::<Sntrup953>(state);
        check::<Sntrup1013>(state);
        check::<Sntrup1277>(state);
    }
}
