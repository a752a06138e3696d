//! Inversion in R/3, on bit planes.
//!
//! A row is a polynomial, f or g, and from coefficient 2p downwards its cofactor, v or r: a step
//! treats both alike, and what f and g lose, v and r gain. A row stands in strands: coefficient i
//! is bit i / n of strand i mod n, so that a division by x renames the strands and moves the bits
//! of only one. Which multiple of f a step subtracts from g depends on their lowest coefficients:
//! for the next 64 steps on the lowest 64, the window.
//!
//! A row may be multiplied by -1, cofactor and all, so a step makes g - c f whether it exchanges
//! them or not.

use kem_common::wipe;
use lanes::{BitLanes, Hardware, Kernel, Trits};

use crate::params::ParameterSet;
use crate::product::Coefficients;

/// Replaces `a` by 1 / a in R/3, and says whether it could: if not, which is not secret, `a` is
/// left undefined.
#[must_use]
pub(crate) fn r3_invert<P: ParameterSet, L: Hardware>(lanes: L, a: &mut Coefficients<P>) -> bool {
    lanes.run(Invert(a))
}

/// Words of 64 bits that hold a row of any set, in vectors of any length.
const MAX_WORDS: usize = 40;
/// Strands of a row, at most.
const MAX_STRANDS: usize = 40;

/// Steps that are decided by the lowest coefficients of f and g: as many coefficients as steps.
const WINDOW: usize = 64;

/// A row in memory. Its first bits are the highest ones of words.
struct Row {
    nonzero: [u64; MAX_WORDS],
    sign: [u64; MAX_WORDS],
}

impl Row {
    const ZERO: Row = Row { nonzero: [0; MAX_WORDS], sign: [0; MAX_WORDS] };

    /// Makes the coefficient at a place plus or minus one.
    #[inline(always)]
    fn set(&mut self, (word, bit): (usize, usize), negative: bool) {
        self.nonzero[word] |= 1 << (63 - bit);
        self.sign[word] |= u64::from(negative) << (63 - bit);
    }
}

impl Drop for Row {
    #[inline(always)]
    fn drop(&mut self) {
        wipe(&mut self.nonzero);
        wipe(&mut self.sign);
    }
}

/// The layout of rows in strands: a strand is a vector.
struct Strands<P, L>(P, L);

impl<P: ParameterSet, L: BitLanes> Strands<P, L> {
    const COUNT: usize = (2 * P::P + 1).div_ceil(64 * L::BIT_WORDS);

    /// Word and bit of a coefficient.
    #[inline(always)]
    fn place(coefficient: usize) -> (usize, usize) {
        let (strand, bit) = (coefficient % Self::COUNT, coefficient / Self::COUNT);
        (strand * L::BIT_WORDS + bit / 64, bit % 64)
    }
}

struct Invert<'a, P: ParameterSet>(&'a mut Coefficients<P>);

impl<P: ParameterSet, L: BitLanes<Word = i16>> Kernel<L> for Invert<'_, P> {
    type Output = bool;

    #[inline(always)]
    fn run(self, lanes: L) -> bool {
        let a = self.0.as_mut_slice();
        let (mut f, mut g) = (Row::ZERO, Row::ZERO);
        f.set(Strands::<P, L>::place(0), false);
        f.set(Strands::<P, L>::place(P::P - 1), true);
        f.set(Strands::<P, L>::place(P::P), true);
        // r = 1 comes divided by x: a step divides g after it has exchanged, v multiplies before.
        g.set(Strands::<P, L>::place(2 * P::P), false);
        read::<P, L>(lanes, &mut g, a);

        let mut negated_delta = -1;
        let mut left = 2 * P::P - 1;
        while left > 0 {
            let steps = left.min(WINDOW);
            negated_delta = division_steps::<P, L>(lanes, &mut f, &mut g, negated_delta, steps);
            left -= steps;
        }
        write::<P, L>(a, &f);
        negated_delta == 0
    }
}

/// Adds `a`, reversed, to a row.
#[inline(always)]
fn read<P: ParameterSet, L: BitLanes<Word = i16>>(lanes: L, row: &mut Row, a: &[i16]) {
    let n = Strands::<P, L>::COUNT;
    let mut coefficients = [0; 64];
    for strand in 0..n {
        for word in 0..P::P.div_ceil(64 * n) {
            for bit in 0..64 {
                let i = (64 * word + bit) * n + strand;
                coefficients[63 - bit] = if i < P::P { a[P::P - 1 - i] } else { 0 };
            }
            let [nonzero, negative] = lanes.bit_planes(&coefficients);
            row.nonzero[strand * L::BIT_WORDS + word] |= nonzero;
            row.sign[strand * L::BIT_WORDS + word] |= negative;
        }
    }
    wipe(&mut coefficients);
}

/// Takes the inverse out of the last f: what v is, reversed, divided by what is left of f.
#[inline(always)]
fn write<P: ParameterSet, L: BitLanes>(a: &mut [i16], f: &Row) {
    let n = Strands::<P, L>::COUNT;
    let sign = top_bit(f.sign[0]);
    for strand in 0..n {
        for word in 0..(P::P + 2).div_ceil(64 * n) {
            let mut nonzero = f.nonzero[strand * L::BIT_WORDS + word];
            let mut negative = nonzero & (f.sign[strand * L::BIT_WORDS + word] ^ sign);
            // v's lowest coefficient has come down to 2.
            for bit in 0..64 {
                let i = (P::P + 1).wrapping_sub((64 * word + bit) * n + strand);
                if i < P::P {
                    a[i] = (nonzero >> 63) as i16 - 2 * (negative >> 63) as i16;
                }
                nonzero <<= 1;
                negative <<= 1;
            }
        }
    }
}

/// The lowest coefficients of a row, the very lowest one in the highest bit.
#[inline(always)]
fn window<P: ParameterSet, L: BitLanes>(lanes: L, row: &Row) -> Trits<u64> {
    let n = Strands::<P, L>::COUNT;
    let mut window = Trits { nonzero: 0, sign: 0 };
    for strand in 0..n {
        let word = strand * L::BIT_WORDS;
        window.nonzero |= lanes.spread_bits(row.nonzero[word], n) >> strand;
        window.sign |= lanes.spread_bits(row.sign[word], n) >> strand;
    }
    window
}

/// Runs at most [`WINDOW`] steps and returns minus the new delta.
#[inline(always)]
fn division_steps<P: ParameterSet, L: BitLanes>(
    lanes: L,
    f_row: &mut Row,
    g_row: &mut Row,
    mut negated_delta: i64,
    steps: usize,
) -> i64 {
    let n = Strands::<P, L>::COUNT;
    let (mut low_f, mut low_g) = (window::<P, L>(lanes, f_row), window::<P, L>(lanes, g_row));
    let zero = lanes.splat_bits(0);
    let zero = Trits { nonzero: zero, sign: zero };
    let (mut f, mut g) = ([zero; MAX_STRANDS], [zero; MAX_STRANDS]);
    for i in 0..n {
        f[i] = load(lanes, f_row, i);
        g[i] = load(lanes, g_row, i);
    }

    for _ in 0..steps {
        let decision = decide(&mut low_f, &mut low_g, &mut negated_delta);
        let nonzero = lanes.choice(decision.nonzero);
        let sign = lanes.splat_bits(decision.sign);
        let exchange = lanes.choice(decision.exchange);
        let mut first = zero;
        for i in 0..n {
            let difference = lanes.subtract_multiple(g[i], f[i], nonzero, sign);
            f[i] = Trits {
                nonzero: lanes.choose_bits(exchange, g[i].nonzero, f[i].nonzero),
                sign: lanes.choose_bits(exchange, g[i].sign, f[i].sign),
            };
            if i == 0 {
                first = difference;
            } else {
                g[i - 1] = difference;
            }
        }
        g[n - 1] = Trits {
            nonzero: lanes.forward_bits(first.nonzero),
            sign: lanes.forward_bits(first.sign),
        };
    }

    for i in 0..n {
        store(lanes, f_row, i, f[i]);
        store(lanes, g_row, i, g[i]);
    }
    negated_delta
}

/// The decisions of a division step, as masks.
struct Decision {
    /// Whether c is not zero.
    nonzero: u64,
    /// Whether c is negative, if it is not zero.
    sign: u64,
    /// Whether f becomes what g was.
    exchange: u64,
}

/// A step on the windows: f's lowest coefficient is not zero, and g - c f has none for c = g / f.
///
/// Steps wait for each other here, so the difference is written out: nothing but what needs it
/// waits for the sign.
#[inline(always)]
fn decide(f: &mut Trits<u64>, g: &mut Trits<u64>, negated_delta: &mut i64) -> Decision {
    let differ = f.sign ^ g.sign;
    let opposite = top_bit(differ);
    let nonzero = top_bit(g.nonzero);
    let exchange = nonzero & top_bit(*negated_delta as u64);
    // 1 - delta if they are exchanged, else 1 + delta.
    *negated_delta = (*negated_delta ^ exchange as i64).wrapping_add(!exchange as i64);

    let multiple = f.nonzero & nonzero;
    let either = g.nonzero ^ multiple;
    let alike = g.nonzero & (differ ^ opposite);
    let change = multiple & !(differ ^ g.nonzero ^ opposite);
    f.nonzero ^= (f.nonzero ^ g.nonzero) & exchange;
    f.sign ^= differ & exchange;
    *g = Trits { nonzero: (either | alike) << 1, sign: (g.sign ^ change) << 1 };
    Decision { nonzero, sign: opposite, exchange }
}

/// The highest bit in every bit.
#[inline(always)]
fn top_bit(word: u64) -> u64 {
    (word as i64 >> 63) as u64
}

#[inline(always)]
fn load<L: BitLanes>(lanes: L, row: &Row, strand: usize) -> Trits<L::Bits> {
    let at = strand * L::BIT_WORDS;
    Trits { nonzero: lanes.load_bits(&row.nonzero[at..]), sign: lanes.load_bits(&row.sign[at..]) }
}

#[inline(always)]
fn store<L: BitLanes>(lanes: L, row: &mut Row, strand: usize, v: Trits<L::Bits>) {
    let at = strand * L::BIT_WORDS;
    lanes.store_bits(&mut row.nonzero[at..], v.nonzero);
    lanes.store_bits(&mut row.sign[at..], v.sign);
}
