//! Division steps on the lowest coefficients, in registers.

use core::marker::PhantomData;

use lanes::{Kernel, Lanes, Word};
use secret::Secret;

use crate::params::ParameterSet;
use crate::product::Size;

/// Leaves of the tree of division steps.
pub(crate) const LEAVES: usize = 16;
/// Words in a row: the longest vector of any lanes.
pub(crate) const ROW: usize = 32;

/// All ones but for one word, which the vectors from word s on have at ROW - 1 - s, and those from
/// word ROW on nowhere.
const BUT_ONE: [i16; 2 * ROW] = {
    let mut words = [-1; 2 * ROW];
    words[ROW - 1] = 0;
    words
};

/// One in the last word.
const LAST: [i16; ROW] = {
    let mut words = [0; ROW];
    words[ROW - 1] = 1;
    words
};

pub(crate) struct Steps<P>(PhantomData<P>);

impl<P: ParameterSet> Steps<P> {
    /// Division steps of a leaf.
    pub(crate) const LEAF: usize = (2 * P::P - 1).div_ceil(LEAVES);
    /// Words of a matrix entry.
    pub(crate) const CAPACITY: usize = 8 * Size::<P, 8>::BLOCK;
}

/// State that one leaf passes to the next.
pub(crate) struct Control<W: Word> {
    /// -delta in every word.
    pub(crate) minus_delta: Secret<[W]>,
    /// f's lowest coefficient in every word.
    pub(crate) f0: Secret<[W]>,
}

pub(crate) struct LeafMatrix<W: Word> {
    pub(crate) entries: [Secret<[W]>; 4],
}

impl<W: Word> LeafMatrix<W> {
    pub(crate) fn new<P: ParameterSet>() -> Self {
        let part = || Secret::<[W]>::slice(Steps::<P>::CAPACITY + ROW);
        LeafMatrix { entries: [part(), part(), part(), part()] }
    }
}

pub(crate) struct Leaf<'a, P: ParameterSet, W: Word> {
    pub(crate) f: &'a [W],
    pub(crate) g: &'a [W],
    pub(crate) control: &'a mut Control<W>,
    pub(crate) matrix: &'a mut LeafMatrix<W>,
    pub(crate) parameter_set: PhantomData<P>,
}

/// The most vectors in a column.
const MOST: usize = 20;

/// A part of the state: f and u, g and q, v, or r.
type Column<L> = [<L as Lanes>::I16; MOST];

struct State<L: Lanes> {
    f: Column<L>,
    g: Column<L>,
    v: Column<L>,
    r: Column<L>,
    f0: L::I16,
    f0_prepared: L::I16,
    g0: L::I16,
    minus_delta: L::I16,
    dropped: L::I16,
}

#[inline(always)]
fn load<L: Lanes>(lanes: L, vectors: usize, from: &[L::Word]) -> Column<L> {
    let mut column = [lanes.splat(0); MOST];
    for i in 0..vectors {
        column[i] = lanes.load(&from[i * L::WORDS..]);
    }
    column
}

#[inline(always)]
fn store<P: ParameterSet, L: Lanes>(
    lanes: L,
    vectors: usize,
    to: &mut [L::Word],
    column: &Column<L>,
) {
    for i in 0..vectors {
        let x = lanes.barrett(column[i], P::MODULUS);
        lanes.store(&mut to[i * L::WORDS..], x);
    }
}

impl<P: ParameterSet, L: Lanes> Kernel<L> for Leaf<'_, P, L::Word> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let n = const { Steps::<P>::LEAF };
        let vectors = n.div_ceil(L::WORDS);
        let zero = lanes.splat(0);
        let f0 = lanes.broadcast(self.f);
        let mut state = State::<L> {
            f: load(lanes, vectors, &self.f[1..]),
            g: load(lanes, vectors, &self.g[1..]),
            v: [zero; MOST],
            r: [zero; MOST],
            f0,
            f0_prepared: lanes.prepare(f0, P::MODULUS),
            g0: lanes.broadcast(self.g),
            minus_delta: lanes.load(&self.control.minus_delta),
            dropped: zero,
        };
        let last = vectors - 1;
        let one = lanes.constants(&LAST[ROW - L::WORDS..]);
        let but_last = lanes.constants(&BUT_ONE[ROW - L::WORDS..]);
        state.f[last] = lanes.add(lanes.and(state.f[last], but_last), one);
        state.g[last] = lanes.and(state.g[last], but_last);
        state.r[last] = one;

        if L::WORDS == ROW {
            phase::<P, L>(lanes, vectors, last, &mut state);
            if vectors > 1 {
                phase::<P, L>(lanes, vectors, vectors - 2, &mut state);
            }
            if vectors > 2 {
                phase::<P, L>(lanes, vectors, vectors - 3, &mut state);
            }
            if vectors > 3 {
                phase::<P, L>(lanes, vectors, vectors - 4, &mut state);
            }
            if vectors > 4 {
                phase::<P, L>(lanes, vectors, vectors - 5, &mut state);
            }
        } else {
            // More vectors than registers: loops stay loops.
            let vectors = core::hint::black_box(vectors);
            for low in (0..vectors).rev() {
                phase::<P, L>(lanes, vectors, low, &mut state);
            }
        }

        lanes.store(&mut self.control.minus_delta, state.minus_delta);
        lanes.store(&mut self.control.f0, state.f0);
        let capacity = const { Steps::<P>::CAPACITY };
        let low = capacity - vectors * L::WORDS;
        let [u, v, q, r] = &mut self.matrix.entries;
        store::<P, L>(lanes, vectors, &mut u[low..], &state.f);
        store::<P, L>(lanes, vectors, &mut v[low..], &state.v);
        // The words that the last step shifted out belong to the matrix.
        let g0 = lanes.barrett(state.g0, P::MODULUS);
        lanes.store(&mut q[low..], g0);
        store::<P, L>(lanes, vectors, &mut q[low + 1..], &state.g);
        let dropped = lanes.barrett(state.dropped, P::MODULUS);
        lanes.store(&mut r[low..], dropped);
        store::<P, L>(lanes, vectors, &mut r[low + 1..], &state.r);
        for entry in &mut self.matrix.entries {
            entry[..capacity - n].fill(L::Word::default());
        }
    }
}

#[inline(always)]
fn phase<P: ParameterSet, L: Lanes>(lanes: L, vectors: usize, low: usize, state: &mut State<L>) {
    let left = const { Steps::<P>::LEAF } - (vectors - 1 - low) * L::WORDS;
    let steps = if left < L::WORDS { left } else { L::WORDS };
    for step in 0..steps {
        let first = low == vectors - 1 && step == 0;
        let clear = if first { ROW } else { ROW - L::WORDS + step };
        division_step::<P, L>(lanes, vectors, low, clear, state);
    }
    if low > 0 {
        state.r[low - 1] = lanes.advance(lanes.splat(0), state.dropped);
    }
}

#[inline(always)]
fn division_step<P: ParameterSet, L: Lanes>(
    lanes: L,
    vectors: usize,
    low: usize,
    clear: usize,
    state: &mut State<L>,
) {
    let State { f, g, v, r, f0, f0_prepared, g0, minus_delta, dropped } = state;

    let g0_prepared = lanes.prepare(*g0, P::MODULUS);
    let exchange = lanes.and(lanes.no_multiple(g0_prepared), lanes.negative(*minus_delta));
    let negated = lanes.sub(lanes.splat(0), *minus_delta);
    *minus_delta = lanes.sub(lanes.select(exchange, negated, *minus_delta), lanes.splat(1));
    let factors = [*f0, *f0_prepared, *g0, g0_prepared];
    *f0 = lanes.select(exchange, *g0, *f0);
    *f0_prepared = lanes.select(exchange, g0_prepared, *f0_prepared);

    f[low] = lanes.and(f[low], lanes.constants(&BUT_ONE[clear..]));
    let lowest = column_step::<P, L>(lanes, vectors, 0, f, g, factors, exchange);
    *g0 = lanes.first(lowest);
    *dropped = column_step::<P, L>(lanes, vectors, low, v, r, factors, exchange);
}

/// A step of a column's vectors from `low` on; returns the lowest words before the division by x.
#[inline(always)]
fn column_step<P: ParameterSet, L: Lanes>(
    lanes: L,
    vectors: usize,
    low: usize,
    f: &mut Column<L>,
    g: &mut Column<L>,
    factors: [L::I16; 4],
    exchange: L::I16,
) -> L::I16 {
    let lowest = combine::<P, L>(lanes, [f[low], g[low]], factors);
    f[low] = lanes.select(exchange, g[low], f[low]);
    let mut below = lowest;
    for i in low + 1..vectors {
        let new = combine::<P, L>(lanes, [f[i], g[i]], factors);
        f[i] = lanes.select(exchange, g[i], f[i]);
        g[i - 1] = lanes.advance(below, new);
        below = new;
    }
    g[vectors - 1] = lanes.advance(below, lanes.splat(0));
    lowest
}

/// f0 g - g0 f.
#[inline(always)]
fn combine<P: ParameterSet, L: Lanes>(
    lanes: L,
    [f, g]: [L::I16; 2],
    [f0, f0_prepared, g0, g0_prepared]: [L::I16; 4],
) -> L::I16 {
    let plus = lanes.montgomery(g, f0, f0_prepared, P::MODULUS);
    let minus = lanes.montgomery(f, g0, g0_prepared, P::MODULUS);
    lanes.sub(plus, minus)
}
