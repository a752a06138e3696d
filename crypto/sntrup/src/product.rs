//! One multiplier for R/q and R/3: products modulo 96 factors of degree m, with points as lanes.
//!
//! All six sets have q = 1 mod 6. Let z be a primitive 6th root of unity modulo q, g a generator and d_i = g^i. The product
//! of two polynomials of degree below p is computed modulo
//!
//! ```text
//! prod_{i<16} (x^{6m} - d_i^6)  =  prod_{i<16} prod_{k<6} (x^m - d_i z^k)          (degree 96 m >= 2p - 1)
//! ```
//!
//! so no coefficient is doubled and no ring is extended. A transform holds, for each group of points, for each k, the residue
//! modulo x^m - d_i z^k, two coefficients a pair and one point a lane. R/3 uses the same code: a product of two polynomials
//! with coefficients -1, 0, 1 has coefficients below q/2, so it is exact modulo q.
//!
//! Ranges: inputs of [`Forward`] lie in `-(q-1)/2 ..= (q-1)/2`, as do the outputs of [`Fold`]. [`Base`] takes what [`Forward`]
//! gives, not products. `docs/SOUNDNESS.md` has the ranges in between, and `proof` their proofs.

use core::marker::PhantomData;

use lanes::{Kernel, Lanes, Word};
use zerocopy::FromZeros;
use zeroize::optimization_barrier;

use crate::params::{Array, ParameterSet};

/// Points of the outer transform: one lane each.
const POINTS: usize = 16;
/// Rows that the inner transform mixes.
const ROWS: usize = 6;
/// Words in a row of constants: a pair for each point.
const ROW_WORDS: usize = 2 * POINTS;
/// The largest m / 2 of all parameter sets.
const MAX_HALF: usize = 14;

/// A polynomial's coefficients, padded with zeros to 8 blocks.
#[derive(Clone, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Coefficients<P: ParameterSet, W: Word = i16>(pub(crate) P::Padded<W>);

/// A polynomial's residues, in the order of the lanes that made them: of no use to other lanes.
#[derive(Clone, FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Transform<P: ParameterSet, W: Word = i16>(pub(crate) P::Wide<W>);

/// Memory that the kernels need between their steps.
#[derive(FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Workspace<P: ParameterSet, W: Word = i16>(pub(crate) P::Wide<W>, P::Wide<W>);

/// What holds secrets, and can be used again without them.
pub(crate) trait Erase {
    /// Overwrites it with zeros.
    fn erase(&mut self);
}

/// Overwrites `elements` with zeros so that the compiler cannot leave it out.
#[inline(always)]
pub(crate) fn wipe<E: Copy + Default>(elements: &mut [E]) {
    elements.fill(E::default());
    optimization_barrier(elements);
}

impl<P: ParameterSet, W: Word> Coefficients<P, W> {
    pub(crate) fn zero() -> Self {
        Coefficients(P::Padded::filled(W::default()))
    }

    /// All the words, those above p being zero.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[W] {
        self.0.as_ref()
    }

    /// All the words: those above p must be zero again in the end.
    #[inline(always)]
    pub(crate) fn words_mut(&mut self) -> &mut [W] {
        self.0.as_mut()
    }

    /// The p coefficients.
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[W] {
        &self.0.as_ref()[..P::P]
    }

    #[inline(always)]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [W] {
        &mut self.0.as_mut()[..P::P]
    }
}

impl<P: ParameterSet, W: Word> Erase for Coefficients<P, W> {
    fn erase(&mut self) {
        wipe(self.0.as_mut());
    }
}

impl<P: ParameterSet, W: Word> Drop for Coefficients<P, W> {
    fn drop(&mut self) {
        self.erase();
    }
}

impl<P: ParameterSet, W: Word> Transform<P, W> {
    pub(crate) fn zero() -> Self {
        Transform(P::Wide::filled(W::default()))
    }

    /// Becomes the transform of `a`.
    pub(crate) fn set<L: Lanes<Word = W>>(
        &mut self,
        lanes: L,
        a: &Coefficients<P, W>,
        space: &mut Workspace<P, W>,
    ) {
        lanes.run(Forward { out: self, a, space });
    }

    /// Becomes the product of two transforms.
    pub(crate) fn set_product<L: Lanes<Word = W>>(
        &mut self,
        lanes: L,
        a: &Self,
        b: &Self,
        space: &mut Workspace<P, W>,
    ) {
        lanes.run(Base { out: self, a: Some(a), b, space });
    }

    /// Multiplies by another transform.
    pub(crate) fn multiply_by<L: Lanes<Word = W>>(
        &mut self,
        lanes: L,
        b: &Self,
        space: &mut Workspace<P, W>,
    ) {
        lanes.run(Base { out: self, a: None, b, space });
    }

    /// Writes the polynomial whose transform this is, reduced to R/q, to `out`. The transform is used up.
    pub(crate) fn invert<L: Lanes<Word = W>>(
        &mut self,
        lanes: L,
        out: &mut Coefficients<P, W>,
        space: &mut Workspace<P, W>,
    ) {
        lanes.run(Inverse { a: self, space });
        lanes.run(Fold { out, space });
    }
}

impl<P: ParameterSet, W: Word> Erase for Transform<P, W> {
    fn erase(&mut self) {
        wipe(self.0.as_mut());
    }
}

impl<P: ParameterSet, W: Word> Drop for Transform<P, W> {
    fn drop(&mut self) {
        self.erase();
    }
}

impl<P: ParameterSet, W: Word> Workspace<P, W> {
    pub(crate) fn new() -> Self {
        Workspace(P::Wide::filled(W::default()), P::Wide::filled(W::default()))
    }
}

impl<P: ParameterSet, W: Word> Erase for Workspace<P, W> {
    fn erase(&mut self) {
        wipe(self.0.as_mut());
        wipe(self.1.as_mut());
    }
}

impl<P: ParameterSet, W: Word> Drop for Workspace<P, W> {
    fn drop(&mut self) {
        self.erase();
    }
}

/// Multiplies polynomials, with all the memory that takes.
pub(crate) struct Multiplier<P: ParameterSet, W: Word = i16> {
    a: Transform<P, W>,
    b: Transform<P, W>,
    space: Workspace<P, W>,
}

impl<P: ParameterSet, W: Word> Multiplier<P, W> {
    pub(crate) fn new() -> Self {
        Multiplier { a: Transform::zero(), b: Transform::zero(), space: Workspace::new() }
    }

    /// Multiplies `a` by `b` in R/q.
    pub(crate) fn multiply_by<L: Lanes<Word = W>>(
        &mut self,
        lanes: L,
        a: &mut Coefficients<P, W>,
        b: &Coefficients<P, W>,
    ) {
        self.b.set(lanes, b, &mut self.space);
        self.a.set(lanes, a, &mut self.space);
        self.a.multiply_by(lanes, &self.b, &mut self.space);
        self.a.invert(lanes, a, &mut self.space);
    }
}

/// The multiplier's constants. Factors of Montgomery products carry 2^16 so that the reduction cancels it.
#[repr(C, align(64))]
struct Tables {
    /// `[r][j]`: d_i^(6 * 2j + r), d_i^(6 * (2j + 1) + r), for -4 <= j < 4.
    forward: [[[i16; ROW_WORDS]; 8]; ROWS],
    /// `[r][i]`: the inverse Vandermonde matrix's columns 2i and 2i + 1, with the twist d_i^-r and the scale folded in.
    inverse: [[[i16; ROW_WORDS]; 8]; ROWS],
    /// `[k]`: d_i z^k, and the same prepared.
    root: [[i16; ROW_WORDS]; ROWS],
    root_prepared: [[i16; ROW_WORDS]; ROWS],
    /// z^2, a primitive third root of unity, and the same prepared.
    omega: i16,
    omega_prepared: i16,
}

/// Arithmetic modulo q at compile time.
struct Field {
    q: i64,
}

impl Field {
    const fn reduce(&self, a: i64) -> i64 {
        a.rem_euclid(self.q)
    }

    const fn power(&self, base: i64, exponent: i64) -> i64 {
        let mut exponent = exponent.rem_euclid(self.q - 1);
        let mut base = self.reduce(base);
        let mut result = 1;
        while exponent > 0 {
            if exponent % 2 == 1 {
                result = result * base % self.q;
            }
            base = base * base % self.q;
            exponent /= 2;
        }
        result
    }

    const fn centred(&self, a: i64) -> i16 {
        let a = self.reduce(a);
        (if a > self.q / 2 { a - self.q } else { a }) as i16
    }

    /// The smallest generator of the multiplicative group.
    const fn generator(&self) -> i64 {
        let mut candidate = 2;
        'candidates: loop {
            let mut rest = self.q - 1;
            let mut factor = 2;
            while rest > 1 {
                if rest % factor == 0 {
                    if self.power(candidate, (self.q - 1) / factor) == 1 {
                        candidate += 1;
                        continue 'candidates;
                    }
                    while rest % factor == 0 {
                        rest /= factor;
                    }
                }
                factor += 1;
            }
            return candidate;
        }
    }

    /// `[j][i]`: coefficient of y^j in the Lagrange polynomial that is 1 at point i and 0 at the others.
    const fn lagrange(&self, points: &[i64; POINTS]) -> [[i64; POINTS]; POINTS] {
        let mut result = [[0; POINTS]; POINTS];
        let mut i = 0;
        while i < POINTS {
            let mut numerator = [0i64; POINTS + 1];
            numerator[0] = 1;
            let mut denominator = 1;
            let mut other = 0;
            while other < POINTS {
                if other != i {
                    let mut degree = POINTS;
                    while degree > 0 {
                        numerator[degree] =
                            self.reduce(numerator[degree - 1] - numerator[degree] * points[other]);
                        degree -= 1;
                    }
                    numerator[0] = self.reduce(-numerator[0] * points[other]);
                    denominator = self.reduce(denominator * (points[i] - points[other]));
                }
                other += 1;
            }
            let scale = self.power(denominator, -1);
            let mut j = 0;
            while j < POINTS {
                result[j][i] = numerator[j] * scale % self.q;
                j += 1;
            }
            i += 1;
        }
        result
    }
}

impl Tables {
    const fn new(modulus: lanes::Modulus) -> Self {
        let field = Field { q: modulus.q as i64 };
        let montgomery = 1 << 16;
        let generator = field.generator();
        // Its powers, so that each of the many below is looked up. Point i is the i-th.
        let mut powers = [1; 1 << 13];
        let mut i = 1;
        while i < field.q as usize {
            powers[i] = powers[i - 1] * generator % field.q;
            i += 1;
        }
        let sixth = (field.q as usize - 1) / 6;
        let zeta = powers[sixth];
        let mut sixths = [0; POINTS];
        let mut i = 0;
        while i < POINTS {
            sixths[i] = powers[6 * i];
            i += 1;
        }
        let vandermonde = field.lagrange(&sixths);
        // The base product and the inverse's own reduction each divide by 2^16; the DFT multiplies by 6.
        let scale = field.reduce(field.reduce(montgomery * montgomery) * field.power(6, -1));

        let omega = field.centred(zeta * zeta % field.q * montgomery);
        let mut tables = Tables {
            forward: [[[0; ROW_WORDS]; 8]; ROWS],
            inverse: [[[0; ROW_WORDS]; 8]; ROWS],
            root: [[0; ROW_WORDS]; ROWS],
            root_prepared: [[0; ROW_WORDS]; ROWS],
            omega,
            omega_prepared: omega.wrapping_mul(modulus.inverse),
        };
        let mut r = 0;
        while r < ROWS {
            let mut word = 0;
            while word < ROW_WORDS {
                let (lane, half) = (word / 2, word % 2);
                let mut j = 0;
                while j < 8 {
                    let exponent = 6 * (2 * j + half) as i64 - 48 + r as i64;
                    let power = powers[(lane as i64 * exponent).rem_euclid(field.q - 1) as usize];
                    tables.forward[r][j][word] = field.centred(power * montgomery);
                    j += 1;
                }
                let mut i = 0;
                while i < 8 {
                    let column = 2 * i + half;
                    let exponent = -((column * r) as i64);
                    let twist = powers[exponent.rem_euclid(field.q - 1) as usize];
                    tables.inverse[r][i][word] =
                        field.centred(vandermonde[lane][column] * twist % field.q * scale);
                    i += 1;
                }
                tables.root[r][word] = field.centred(powers[lane + r * sixth] * montgomery);
                tables.root_prepared[r][word] = tables.root[r][word].wrapping_mul(modulus.inverse);
                word += 1;
            }
            r += 1;
        }
        tables
    }
}

struct Constants<P>(PhantomData<P>);

impl<P: ParameterSet> Constants<P> {
    const TABLES: Tables = Tables::new(P::MODULUS);
}

/// The multiplier for polynomials of one `PART`-th of the length: modulo 96 factors of degree `M`.
pub(crate) struct Size<P, const PART: usize>(PhantomData<P>);

impl<P: ParameterSet, const PART: usize> Size<P, PART> {
    /// Half the length of the base products: they work on pairs.
    pub(crate) const HALF: usize = P::M.div_ceil(2 * PART);
    pub(crate) const M: usize = 2 * Self::HALF;
    /// As [`ParameterSet::BLOCK`].
    pub(crate) const BLOCK: usize = ROWS * Self::M;
}

/// Start of the `index`-th of the vectors that cover `length` words; the last one overlaps its neighbour, and a single one may
/// reach beyond the end.
#[inline(always)]
const fn tile<L: Lanes>(index: usize, length: usize) -> usize {
    let start = index * L::WORDS;
    if start + L::WORDS > length { length.saturating_sub(L::WORDS) } else { start }
}

/// Start of pair `s` of row `r` of point group `group` in a transform, in words.
#[inline(always)]
const fn at<P: ParameterSet, L: Lanes, const PART: usize>(
    group: usize,
    r: usize,
    s: usize,
) -> usize {
    ((group * ROWS + r) * Size::<P, PART>::HALF + s) * L::WORDS
}

/// The DFT of length 6 over `rows`, z^3 = -1, by one of length 3 on sums and one on differences.
#[inline(always)]
fn dft<P: ParameterSet, L: Lanes>(lanes: L, rows: [L::I16; 6], inverse: bool) -> [L::I16; 6] {
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

/// The transform of a polynomial.
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

/// Writes the transform of `a`, of 8 blocks, to `out`. If it is `LONG` it has 16 blocks, and the transform is that of
/// `a / x^(8 * BLOCK)`. `reduced` says whether the rows need a reduction before their DFT.
///
/// Where blocks are shorter than vectors, `a` and `pairs` are accessed one vector and two vectors beyond their ends.
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
    // Neighbours in `pairs` are the same coefficient of blocks 2j and 2j + 1.
    for j in 0..columns {
        let (even, odd) = (2 * j * block, (2 * j + 1) * block);
        for index in 0..block.div_ceil(L::WORDS) {
            let t = tile::<L>(index, block);
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
                lanes.store(&mut out[at::<P, L, PART>(group, r, s)..], row);
            }
        }
    }

    for group in 0..POINTS / L::PAIRS {
        for s in 0..half {
            let rows = load_rows::<P, L, PART>(lanes, out, group, s);
            let rows = dft::<P, L>(lanes, rows, false);
            for r in 0..ROWS {
                let row = lanes.barrett(rows[r], P::MODULUS);
                lanes.store(&mut out[at::<P, L, PART>(group, r, s)..], row);
            }
        }
    }
}

#[inline(always)]
fn load_rows<P: ParameterSet, L: Lanes, const PART: usize>(
    lanes: L,
    transform: &[L::Word],
    group: usize,
    s: usize,
) -> [L::I16; ROWS] {
    let mut rows = [lanes.splat(0); ROWS];
    for r in 0..ROWS {
        rows[r] = lanes.load(&transform[at::<P, L, PART>(group, r, s)..]);
    }
    rows
}

/// Multiplies the transforms `a`, or what `out` is, and `b`: 96 products modulo x^m - d_i z^k.
pub(crate) struct Base<'a, P: ParameterSet, L: Lanes> {
    pub(crate) out: &'a mut Transform<P, L::Word>,
    pub(crate) a: Option<&'a Transform<P, L::Word>>,
    pub(crate) b: &'a Transform<P, L::Word>,
    pub(crate) space: &'a mut Workspace<P, L::Word>,
}

impl<P: ParameterSet, L: Lanes> Kernel<L> for Base<'_, P, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let half = Size::<P, 1>::HALF;
        let (out, b) = (self.out.0.as_mut(), self.b.0.as_ref());
        let length = half * L::WORDS;
        let mut factors = Factors::<L>::new(self.space.0.as_mut(), length);
        let mut next_factors = Factors::<L>::new(self.space.1.as_mut(), length);

        // A product's factors are arranged while the one before is computed.
        const { assert!(POINTS.is_multiple_of(L::PAIRS)) };
        let count = POINTS / L::PAIRS * ROWS;
        factors.set::<P>(lanes, 0, self.a.map_or(&*out, |a| a.0.as_ref()), b);
        for index in 0..count {
            if index + 1 < count {
                let a = self.a.map_or(&*out, |a| a.0.as_ref());
                next_factors.set::<P>(lanes, index + 1, a, b);
            }
            let out = &mut out[index * length..(index + 1) * length];
            // Four output pairs at a time: eight accumulators stay in registers.
            let mut u = 0;
            while u + 4 <= half {
                factors.outputs::<P, 4>(lanes, u, out);
                u += 4;
            }
            match half % 4 {
                1 => factors.outputs::<P, 1>(lanes, u, out),
                2 => factors.outputs::<P, 2>(lanes, u, out),
                3 => factors.outputs::<P, 3>(lanes, u, out),
                _ => {}
            }
            core::mem::swap(&mut factors, &mut next_factors);
        }
    }
}

/// The factors of one base product, arranged for sums of products of pairs.
struct Factors<'a, L: Lanes> {
    /// The first one, the words of each pair exchanged.
    swapped: &'a mut [L::Word],
    /// The second one, extended downwards by its product with the root: coefficients -m .. m.
    extended: &'a mut [L::Word],
    /// The same, one coefficient lower.
    straddled: &'a mut [L::Word],
}

impl<'a, L: Lanes> Factors<'a, L> {
    /// In `memory`, for factors of `length` words.
    #[inline(always)]
    fn new(memory: &'a mut [L::Word], length: usize) -> Self {
        let (swapped, rest) = memory.split_at_mut(length);
        let (extended, rest) = rest.split_at_mut(2 * length);
        Factors { swapped, extended, straddled: &mut rest[..2 * length] }
    }

    /// Arranges the factors of the `index`-th product of the transforms.
    #[inline(always)]
    fn set<P: ParameterSet>(&mut self, lanes: L, index: usize, a: &[L::Word], b: &[L::Word]) {
        let tables = const { &Constants::<P>::TABLES };
        let half = Size::<P, 1>::HALF;
        let length = half * L::WORDS;
        let (group, k) = (index / ROWS, index % ROWS);
        let root = lanes.constants(&tables.root[k][group * L::WORDS..]);
        let root_prepared = lanes.constants(&tables.root_prepared[k][group * L::WORDS..]);
        let a = &a[index * length..(index + 1) * length];
        let b = &b[index * length..(index + 1) * length];
        let mut before = lanes.splat(0);
        for t in 0..half {
            let at = t * L::WORDS;
            let x = lanes.montgomery(lanes.load(&b[at..]), root, root_prepared, P::MODULUS);
            lanes.store(&mut self.swapped[at..], lanes.swap(lanes.load(&a[at..])));
            lanes.store(&mut self.extended[at..], x);
            lanes.store(&mut self.straddled[at..], lanes.straddle(before, x));
            before = x;
        }
        for t in 0..half {
            let at = (half + t) * L::WORDS;
            let x = lanes.load(&b[t * L::WORDS..]);
            lanes.store(&mut self.extended[at..], x);
            lanes.store(&mut self.straddled[at..], lanes.straddle(before, x));
            before = x;
        }
    }

    /// Writes `COUNT` pairs of the product, from pair `first` on, to `out`.
    #[inline(always)]
    fn outputs<P: ParameterSet, const COUNT: usize>(
        &self,
        lanes: L,
        first: usize,
        out: &mut [L::Word],
    ) {
        let half = Size::<P, 1>::HALF;
        let mut even = [lanes.zero(); COUNT];
        let mut odd = [lanes.zero(); COUNT];
        let mut t = 0;
        while t + 4 <= half {
            self.accumulate::<COUNT, 4>(lanes, half + first - t, t, &mut even, &mut odd);
            t += 4;
        }
        while t < half {
            self.accumulate::<COUNT, 1>(lanes, half + first - t, t, &mut even, &mut odd);
            t += 1;
        }
        for v in 0..COUNT {
            let mut x = lanes.reduce(even[v], odd[v], P::MODULUS);
            if P::REDUCTIONS.after_base {
                x = lanes.barrett(x, P::MODULUS);
            }
            lanes.store(&mut out[(first + v) * L::WORDS..], x);
        }
    }

    /// Adds the products with `STEPS` pairs of the first factor; `other` is the second factor's pair that goes with pair `t`.
    #[inline(always)]
    fn accumulate<const COUNT: usize, const STEPS: usize>(
        &self,
        lanes: L,
        other: usize,
        t: usize,
        even: &mut [L::I32; COUNT],
        odd: &mut [L::I32; COUNT],
    ) {
        let swapped = &self.swapped[t * L::WORDS..(t + STEPS) * L::WORDS];
        let (first, last) = ((other + 1 - STEPS) * L::WORDS, (other + COUNT) * L::WORDS);
        let (extended, straddled) = (&self.extended[first..last], &self.straddled[first..last]);
        for step in 0..STEPS {
            let x = lanes.load(&swapped[step * L::WORDS..]);
            for v in 0..COUNT {
                let at = (STEPS - 1 - step + v) * L::WORDS;
                even[v] = lanes.dot(even[v], x, lanes.load(&straddled[at..]));
                odd[v] = lanes.dot(odd[v], x, lanes.load(&extended[at..]));
            }
        }
    }
}

/// Writes sums of products of transforms to `out`: sum number i is that of `a[i][j] * b[j]`, or of `x * a[i][j] * b[j]` where
/// `raised[i][j]`, over all j. Transforms are below q, the sums centred.
#[inline(always)]
pub(crate) fn sums<
    P: ParameterSet,
    L: Lanes,
    const PART: usize,
    const SUMS: usize,
    const TERMS: usize,
>(
    lanes: L,
    out: [&mut [L::Word]; SUMS],
    a: [[&[L::Word]; TERMS]; SUMS],
    b: [&[L::Word]; TERMS],
    raised: [[bool; TERMS]; SUMS],
) {
    let half = Size::<P, PART>::HALF;
    let tables = const { &Constants::<P>::TABLES };
    for index in 0..POINTS / L::PAIRS * ROWS {
        let (group, k) = (index / ROWS, index % ROWS);
        let root = lanes.constants(&tables.root[k][group * L::WORDS..]);
        let root_prepared = lanes.constants(&tables.root_prepared[k][group * L::WORDS..]);
        let mut even = [[lanes.zero(); MAX_HALF]; SUMS];
        let mut odd = even;
        for term in 0..TERMS {
            let mut extended = [lanes.splat(0); 2 * MAX_HALF];
            let mut straddled = [lanes.splat(0); 2 * MAX_HALF];
            for t in 0..half {
                let x = lanes.load(&b[term][at::<P, L, PART>(group, k, t)..]);
                extended[half + t] = x;
                extended[t] = lanes.montgomery(x, root, root_prepared, P::MODULUS);
            }
            for t in 1..2 * half {
                straddled[t] = lanes.straddle(extended[t - 1], extended[t]);
            }
            for sum in 0..SUMS {
                for t in 0..half {
                    let x = lanes.swap(lanes.load(&a[sum][term][at::<P, L, PART>(group, k, t)..]));
                    for u in 0..half {
                        let i = half + u - t;
                        let (y, z) = if raised[sum][term] {
                            (extended[i - 1], straddled[i])
                        } else {
                            (straddled[i], extended[i])
                        };
                        even[sum][u] = lanes.dot(even[sum][u], x, y);
                        odd[sum][u] = lanes.dot(odd[sum][u], x, z);
                    }
                }
            }
        }
        for sum in 0..SUMS {
            for u in 0..half {
                let x = lanes.reduce(even[sum][u], odd[sum][u], P::MODULUS);
                let to = &mut out[sum][at::<P, L, PART>(group, k, u)..];
                lanes.store(to, lanes.freeze(x, P::MODULUS));
            }
        }
    }
}

/// From a transform to the product's coefficients, in `space`; the transform's memory is used on the way.
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

/// Writes the 16 blocks of the polynomial whose transform `a` is to `points`, and uses up the transform. `reduced` says whether
/// the coefficients are to be reduced.
///
/// Where blocks are shorter than vectors, `points` is accessed one vector beyond its end, and `a` has at least `PAIRS` vectors
/// for each group of points.
#[inline(always)]
pub(crate) fn inverse<P: ParameterSet, L: Lanes, const PART: usize>(
    lanes: L,
    a: &mut [L::Word],
    points: &mut [L::Word],
    reduced: bool,
) {
    let tables = const { &Constants::<P>::TABLES };
    let (block, half) = const { (Size::<P, PART>::BLOCK, Size::<P, PART>::HALF) };
    // `points`: for each coefficient of each row, the values at the 16 points.
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

    // All of the transform is in `points` now. `columns`: lane j is block j, two coefficients a pair.
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

/// Reduces the product in `space` modulo x^p - x - 1: c_i + c_{i+p} + c_{i+p-1}.
pub(crate) struct Fold<'a, P: ParameterSet, W: Word> {
    pub(crate) out: &'a mut Coefficients<P, W>,
    pub(crate) space: &'a mut Workspace<P, W>,
}

impl<P: ParameterSet, L: Lanes> Kernel<L> for Fold<'_, P, L::Word> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let product = self.space.0.as_mut();
        let out = self.out.0.as_mut();
        // From the top, so that c_{p-1}, which the first vector must not fold into c_0, can be cleared after its use.
        for index in (0..P::P.div_ceil(L::WORDS)).rev() {
            let i = tile::<L>(index, P::P);
            if index == 0 {
                product[P::P - 1] = L::Word::default();
            }
            let x = lanes.load(&product[i..]);
            let y = lanes.load(&product[i + P::P..]);
            let z = lanes.load(&product[i + P::P - 1..]);
            let sum = lanes.add(x, lanes.add(y, z));
            lanes.store(&mut out[i..], lanes.freeze(sum, P::MODULUS));
        }
        out[P::P..].fill(L::Word::default());
    }
}

#[cfg(test)]
mod tests {
    use lanes::{Backend, Dispatch, Hardware};

    use super::*;
    use crate::every_set::{Claim, for_every_set};
    use crate::params::ParameterSet;

    /// c = a b modulo q and x^p - x - 1, centred, from the definition.
    fn schoolbook<P: ParameterSet>(a: &[i16], b: &[i16]) -> Vec<i16> {
        let q = i64::from(P::Q);
        let mut wide = vec![0i64; 2 * P::P];
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate() {
                wide[i + j] += i64::from(x) * i64::from(y);
            }
        }
        for i in (P::P..2 * P::P).rev() {
            wide[i - P::P] += wide[i];
            wide[i - P::P + 1] += wide[i];
        }
        let field = Field { q };
        wide[..P::P].iter().map(|&x| field.centred(x)).collect()
    }

    struct Multiply<'a, P: ParameterSet>(&'a Coefficients<P>, &'a Coefficients<P>);

    impl<P: ParameterSet> Dispatch for Multiply<'_, P> {
        type Output = Coefficients<P>;

        fn on<L: Hardware>(self, lanes: L) -> Coefficients<P> {
            let mut product = self.0.clone();
            Multiplier::<P>::new().multiply_by(lanes, &mut product, self.1);
            product
        }
    }

    struct Products;

    impl Claim for Products {
        fn check<P: ParameterSet>(&self) {
            let mut state = 1u64;
            let mut next = |range: i16| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                ((state >> 33) % (2 * range as u64 + 1)) as i16 - range
            };
            let half = P::Q / 2;
            for round in 0..12 {
                let (mut a, mut b) = (Coefficients::<P>::zero(), Coefficients::<P>::zero());
                for (a, b) in a.as_mut_slice().iter_mut().zip(b.as_mut_slice()) {
                    (*a, *b) = match round {
                        0 => (half, half),
                        1 => (-half, half),
                        2..6 => (next(1), next(1)),
                        6..9 => (next(half), next(1)),
                        _ => (next(half), next(half)),
                    };
                }
                let expected = schoolbook::<P>(a.as_slice(), b.as_slice());
                for backend in Backend::available() {
                    let c = backend.run(Multiply(&a, &b));
                    assert_eq!(c.as_slice(), expected, "{} {} {round}", P::NAME, backend.name());
                    assert!(c.0.as_ref()[P::P..].iter().all(|&x| x == 0));
                }
            }
        }
    }

    #[test]
    fn products_are_those_of_the_definition() {
        for_every_set(&Products);
    }
}
