//! R/q: coefficients as words.

use core::marker::PhantomData;

use lanes::{Hardware, Kernel, Lanes, Word};

use crate::params::ParameterSet;
use crate::product::{Coefficients, wipe};

/// Words before the first coefficient: a vector may be written one word lower than it was read.
const SLACK: usize = 32;

/// Replaces `a`, not zero, by 1 / (3 a) in R/q, which is a field.
pub(crate) fn rq_invert_triple<P: ParameterSet, L: Hardware>(lanes: L, a: &mut Coefficients<P>) {
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
