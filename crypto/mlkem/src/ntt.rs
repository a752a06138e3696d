//! The number-theoretic transform and its inverse (FIPS 203, algorithms 9 and 10).
//!
//! A transform takes two passes over groups of eight vectors: three layers between vectors that
//! are 32 words apart, then four layers inside blocks of 32 words. Layers inside a vector exchange
//! blocks of words with the neighbouring vector first, so that each butterfly has its operands in
//! two vectors. The words are put back in order at the end, because the matrix is sampled in the
//! standard order.

use lanes::Lanes;

use crate::params::{MODULUS, N, Q};
use crate::poly::Poly;

/// A primitive root of unity of order 256 modulo q.
const ZETA: i64 = 17;
/// Vectors in a group.
const GROUP: usize = 8;
/// Words between the vectors of a group in the pass between vectors.
const STRIDE: usize = N / GROUP;
/// Layers whose butterflies lie inside a block of [`STRIDE`] words.
const INNER: usize = 4;

/// `base^exponent mod q`.
const fn power(base: i64, mut exponent: u32) -> i64 {
    let mut result = 1;
    while exponent > 0 {
        result = result * base % Q as i64;
        exponent -= 1;
    }
    result
}

/// The representative of `a * 2^16` modulo q of least absolute value: a factor for
/// [`Lanes::montgomery`].
pub(crate) const fn montgomery_factor(a: i64) -> i16 {
    let a = (a % Q as i64 * 65536 % Q as i64 + Q as i64) % Q as i64;
    (if a > Q as i64 / 2 { a - Q as i64 } else { a }) as i16
}

/// The seven lowest bits of `i` in reverse order.
const fn reversed(i: usize) -> u32 {
    (i as u32).reverse_bits() >> 25
}

/// The factors of a layer's butterflies and the same prepared, in the order of the lanes.
struct Factors<const COUNT: usize> {
    factors: [i16; COUNT],
    prepared: [i16; COUNT],
}

impl<const COUNT: usize> Factors<COUNT> {
    const ZERO: Self = Factors { factors: [0; COUNT], prepared: [0; COUNT] };

    const fn set(&mut self, i: usize, value: i64) {
        self.factors[i] = montgomery_factor(value);
        self.prepared[i] = self.factors[i].wrapping_mul(MODULUS.inverse);
    }
}

/// zeta^BitRev7(i), or its inverse.
const fn twiddle(i: usize, inverse: bool) -> i64 {
    power(ZETA, if inverse { 256 - reversed(i) } else { reversed(i) })
}

const fn twiddles(inverse: bool) -> Factors<{ N / 2 }> {
    let mut table = Factors::ZERO;
    let mut i = 1;
    while i < N / 2 {
        table.set(i, twiddle(i, inverse));
        i += 1;
    }
    table
}

/// By the number of the butterfly's block, counted over all layers as in the standard.
static FORWARD: Factors<{ N / 2 }> = twiddles(false);
static INVERSE: Factors<{ N / 2 }> = twiddles(true);

/// The factors of the layers of 16, 8, 4 and 2 words that lie inside vectors of `words` words, lane
/// by lane. Other layers are left zero.
const fn lane_twiddles(words: usize, inverse: bool) -> [Factors<{ N / 2 }>; INNER] {
    let mut tables = [const { Factors::ZERO }; INNER];
    // The coefficient in each place, exchanged as the transform does it.
    let mut places = [0; N];
    let mut i = 0;
    while i < N {
        places[i] = i;
        i += 1;
    }
    let mut layer = 0;
    while layer < INNER {
        let distance = (STRIDE / 2) >> layer;
        if distance < words {
            let mut i = 0;
            while i < N {
                let first = (i / words).is_multiple_of(2);
                if first && i & distance != 0 {
                    let other = i + words - distance;
                    let place = places[i];
                    places[i] = places[other];
                    places[other] = place;
                }
                i += 1;
            }
            let mut i = 0;
            while i < N {
                if (i / words).is_multiple_of(2) {
                    assert!(places[i + words] == places[i] + distance);
                    let block = N / 2 / distance + places[i] / (2 * distance);
                    tables[layer].set(i / (2 * words) * words + i % words, twiddle(block, inverse));
                }
                i += 1;
            }
        }
        layer += 1;
    }
    tables
}

type LaneTwiddles = [Factors<{ N / 2 }>; INNER];

static FORWARD_8: LaneTwiddles = lane_twiddles(8, false);
static FORWARD_16: LaneTwiddles = lane_twiddles(16, false);
static FORWARD_32: LaneTwiddles = lane_twiddles(32, false);
static INVERSE_8: LaneTwiddles = lane_twiddles(8, true);
static INVERSE_16: LaneTwiddles = lane_twiddles(16, true);
static INVERSE_32: LaneTwiddles = lane_twiddles(32, true);

/// A group of vectors.
type Group<L> = [<L as Lanes>::I16; GROUP];

/// Reads a group of vectors that are `stride` words apart.
#[inline(always)]
fn load<L: Lanes>(lanes: L, from: &[L::Word], stride: usize) -> Group<L> {
    let mut v = [lanes.splat(0); GROUP];
    for i in 0..GROUP {
        v[i] = lanes.load(&from[i * stride..]);
    }
    v
}

/// Writes a group of vectors.
#[inline(always)]
fn store<L: Lanes>(lanes: L, to: &mut [L::Word], v: Group<L>, stride: usize) {
    for i in 0..GROUP {
        lanes.store(&mut to[i * stride..], v[i]);
    }
}

/// A butterfly's factor for all lanes, and the same prepared.
#[inline(always)]
fn uniform<L: Lanes>(lanes: L, table: &Factors<{ N / 2 }>, block: usize) -> [L::I16; 2] {
    [lanes.splat(table.factors[block]), lanes.splat(table.prepared[block])]
}

/// The factors of a layer's vector, and the same prepared.
#[inline(always)]
fn of_lanes<L: Lanes>(lanes: L, table: &Factors<{ N / 2 }>, from: usize) -> [L::I16; 2] {
    [lanes.constants(&table.factors[from..]), lanes.constants(&table.prepared[from..])]
}

/// `a + z * b` and `a - z * b`.
#[inline(always)]
fn butterfly<L: Lanes>(lanes: L, a: L::I16, b: L::I16, [z, z_q]: [L::I16; 2]) -> [L::I16; 2] {
    let product = lanes.montgomery(b, z, z_q, MODULUS);
    [lanes.add(a, product), lanes.sub(a, product)]
}

/// `a + b` and `z * (a - b)`.
#[inline(always)]
fn inverse_butterfly<L: Lanes>(
    lanes: L,
    a: L::I16,
    b: L::I16,
    [z, z_q]: [L::I16; 2],
) -> [L::I16; 2] {
    let difference = lanes.sub(a, b);
    [lanes.add(a, b), lanes.montgomery(difference, z, z_q, MODULUS)]
}

/// A layer of butterflies between vectors `distance` vectors apart. `first` is the number of the
/// first butterfly block.
#[inline(always)]
fn outer_layer<L: Lanes>(lanes: L, v: &mut Group<L>, distance: usize, first: usize) {
    for block in 0..GROUP / (2 * distance) {
        let z = uniform(lanes, &FORWARD, first + block);
        for i in 2 * block * distance..(2 * block + 1) * distance {
            [v[i], v[i + distance]] = butterfly(lanes, v[i], v[i + distance], z);
        }
    }
}

/// As [`outer_layer`], for the inverse transform.
#[inline(always)]
fn inverse_outer_layer<L: Lanes>(lanes: L, v: &mut Group<L>, distance: usize, first: usize) {
    for block in 0..GROUP / (2 * distance) {
        let z = uniform(lanes, &INVERSE, first + block);
        for i in 2 * block * distance..(2 * block + 1) * distance {
            [v[i], v[i + distance]] = inverse_butterfly(lanes, v[i], v[i + distance], z);
        }
    }
}

/// The pass of three layers between vectors.
#[inline(always)]
fn outer<L: Lanes>(lanes: L, v: &mut Group<L>) {
    outer_layer(lanes, v, 4, 1);
    outer_layer(lanes, v, 2, 2);
    outer_layer(lanes, v, 1, 4);
}

/// The same for the inverse transform.
#[inline(always)]
fn inverse_outer<L: Lanes>(lanes: L, v: &mut Group<L>) {
    inverse_outer_layer(lanes, v, 1, 4);
    inverse_outer_layer(lanes, v, 2, 2);
    inverse_outer_layer(lanes, v, 4, 1);
}

/// A layer of the inner pass, of blocks of `2^(4 - layer)` words, in a group that begins at word
/// `start`.
#[inline(always)]
fn inner_layer<L: Lanes>(lanes: L, v: &mut Group<L>, start: usize, layer: usize) {
    let distance = (STRIDE / 2) >> layer;
    if distance >= L::WORDS {
        outer_layer(lanes, v, distance / L::WORDS, N / 2 / distance + start / (2 * distance));
        return;
    }
    let table = &lane_table::<L>(false)[layer];
    for i in (0..GROUP).step_by(2) {
        let [a, b] = lanes.exchange(v[i], v[i + 1], distance);
        let z = of_lanes(lanes, table, start / 2 + i / 2 * L::WORDS);
        [v[i], v[i + 1]] = butterfly(lanes, a, b, z);
    }
}

/// As [`inner_layer`], for the inverse transform.
#[inline(always)]
fn inverse_inner_layer<L: Lanes>(lanes: L, v: &mut Group<L>, start: usize, layer: usize) {
    let distance = (STRIDE / 2) >> layer;
    if distance >= L::WORDS {
        let first = N / 2 / distance + start / (2 * distance);
        inverse_outer_layer(lanes, v, distance / L::WORDS, first);
        return;
    }
    let table = &lane_table::<L>(true)[layer];
    for i in (0..GROUP).step_by(2) {
        let z = of_lanes(lanes, table, start / 2 + i / 2 * L::WORDS);
        let [a, b] = inverse_butterfly(lanes, v[i], v[i + 1], z);
        [v[i], v[i + 1]] = lanes.exchange(a, b, distance);
    }
}

/// The factors of the layers inside a vector.
#[inline(always)]
fn lane_table<L: Lanes>(inverse: bool) -> &'static LaneTwiddles {
    match (L::WORDS, inverse) {
        (8, false) => &FORWARD_8,
        (16, false) => &FORWARD_16,
        (_, false) => &FORWARD_32,
        (8, true) => &INVERSE_8,
        (16, true) => &INVERSE_16,
        (_, true) => &INVERSE_32,
    }
}

/// The pass of four layers inside blocks of 32 words.
#[inline(always)]
fn inner<L: Lanes>(lanes: L, v: &mut Group<L>, start: usize) {
    for layer in 0..INNER {
        inner_layer(lanes, v, start, layer);
    }
    for i in (0..GROUP).step_by(2) {
        [v[i], v[i + 1]] = lanes.join_pairs(v[i], v[i + 1]);
    }
}

/// The same for the inverse transform, with a reduction before its sums could overflow.
#[inline(always)]
fn inverse_inner<L: Lanes>(lanes: L, v: &mut Group<L>, start: usize) {
    for i in (0..GROUP).step_by(2) {
        [v[i], v[i + 1]] = lanes.split_pairs(v[i], v[i + 1]);
    }
    for layer in (1..INNER).rev() {
        inverse_inner_layer(lanes, v, start, layer);
    }
    for i in 0..GROUP {
        v[i] = lanes.barrett(v[i], MODULUS);
    }
    inverse_inner_layer(lanes, v, start, 0);
}

/// Transforms a polynomial whose coefficients have absolute values up to q.
#[inline(always)]
pub(crate) fn ntt<L: Lanes>(lanes: L, f: &mut Poly<L::Word>) {
    if L::WORDS == STRIDE {
        let mut v = load(lanes, &f.0, STRIDE);
        outer(lanes, &mut v);
        inner(lanes, &mut v, 0);
        store(lanes, &mut f.0, v, STRIDE);
        return;
    }
    for start in (0..STRIDE).step_by(L::WORDS) {
        let mut v = load(lanes, &f.0[start..], STRIDE);
        outer(lanes, &mut v);
        store(lanes, &mut f.0[start..], v, STRIDE);
    }
    for start in (0..N).step_by(GROUP * L::WORDS) {
        let mut v = load(lanes, &f.0[start..], L::WORDS);
        inner(lanes, &mut v, start);
        store(lanes, &mut f.0[start..], v, L::WORDS);
    }
}

/// The inverse transform, times 128: of a [`crate::product::row`]'s result.
#[inline(always)]
pub(crate) fn inverse_ntt<L: Lanes>(lanes: L, f: &mut Poly<L::Word>) {
    if L::WORDS == STRIDE {
        let mut v = load(lanes, &f.0, STRIDE);
        inverse_inner(lanes, &mut v, 0);
        inverse_outer(lanes, &mut v);
        store(lanes, &mut f.0, v, STRIDE);
        return;
    }
    for start in (0..N).step_by(GROUP * L::WORDS) {
        let mut v = load(lanes, &f.0[start..], L::WORDS);
        inverse_inner(lanes, &mut v, start);
        store(lanes, &mut f.0[start..], v, L::WORDS);
    }
    for start in (0..STRIDE).step_by(L::WORDS) {
        let mut v = load(lanes, &f.0[start..], STRIDE);
        inverse_outer(lanes, &mut v);
        store(lanes, &mut f.0[start..], v, STRIDE);
    }
}

/// gamma of each pair, zeta^(2 BitRev7(i) + 1), times a constant.
pub(crate) const fn gamma(i: usize) -> i64 {
    power(ZETA, 2 * reversed(i) + 1)
}

/// 1/128 modulo q: what the inverse transform leaves out.
pub(crate) const fn inverse_of_128() -> i64 {
    power(128, Q as u32 - 2)
}
