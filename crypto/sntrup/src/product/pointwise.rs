//! Products of transforms, residue by residue.

use lanes::{Kernel, Lanes};

use super::layout::{MAX_HALF, POINTS, ROWS, Size, pair_offset};
use super::polynomial::{Transform, Workspace};
use super::tables::Constants;
use crate::params::ParameterSet;

/// Writes the product of two transforms to `out`, divided by 2^16: 96 products modulo
/// x^m - d_i z^k. Where `a` is `None`, `out` is the first factor.
///
/// Both factors are what [`super::Forward`] gives; products must not be multiplied again before
/// they went through [`super::Inverse`] and [`super::Fold`]. Words are at most `PRODUCT` of the
/// table in `docs/SOUNDNESS.md` in absolute value. Proved for all inputs in `crate::proof::ranges`
/// and `crate::proof::values`.
pub(crate) struct PointwiseProduct<'a, P: ParameterSet, L: Lanes> {
    pub(crate) out: &'a mut Transform<P, L::Word>,
    pub(crate) a: Option<&'a Transform<P, L::Word>>,
    pub(crate) b: &'a Transform<P, L::Word>,
    pub(crate) space: &'a mut Workspace<P, L::Word>,
}

impl<P: ParameterSet, L: Lanes> Kernel<L> for PointwiseProduct<'_, P, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let half = Size::<P, 1>::HALF;
        let (out, b) = (self.out.0.as_mut(), self.b.0.as_ref());
        let length = half * L::WORDS;
        let mut factors = Factors::<L>::new(self.space.0.as_mut(), length);
        let mut next_factors = Factors::<L>::new(self.space.1.as_mut(), length);

        // The factors of the next residue are arranged while this one's product is computed.
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
                factors.write_pairs::<P, 4>(lanes, u, out);
                u += 4;
            }
            match half % 4 {
                1 => factors.write_pairs::<P, 1>(lanes, u, out),
                2 => factors.write_pairs::<P, 2>(lanes, u, out),
                3 => factors.write_pairs::<P, 3>(lanes, u, out),
                _ => {}
            }
            core::mem::swap(&mut factors, &mut next_factors);
        }
    }
}

/// The factors of one product of residues, arranged for sums of products of pairs.
struct Factors<'a, L: Lanes> {
    /// The first factor, the words of each pair exchanged.
    swapped: &'a mut [L::Word],
    /// The second factor, extended downwards by its product with the root: coefficients -m .. m.
    extended: &'a mut [L::Word],
    /// The same, one coefficient lower.
    straddled: &'a mut [L::Word],
}

impl<'a, L: Lanes> Factors<'a, L> {
    /// Takes 5 * `length` words of `memory` for factors of `length` words.
    #[inline(always)]
    fn new(memory: &'a mut [L::Word], length: usize) -> Self {
        let (swapped, rest) = memory.split_at_mut(length);
        let (extended, rest) = rest.split_at_mut(2 * length);
        Factors { swapped, extended, straddled: &mut rest[..2 * length] }
    }

    /// Arranges the factors of residue number `index` of the transforms `a` and `b`.
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
    fn write_pairs<P: ParameterSet, const COUNT: usize>(
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
            if P::REDUCTIONS.after_pointwise {
                x = lanes.barrett(x, P::MODULUS);
            }
            lanes.store(&mut out[(first + v) * L::WORDS..], x);
        }
    }

    /// Adds the products with `STEPS` pairs of the first factor, from pair `t` on. `other` is the
    /// pair of the second factor that is multiplied by pair `t`.
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

/// Writes sums of products of transforms to `out`, divided by 2^16: sum number i is that of
/// `a[i][j] * b[j]` over all j, or of `x * a[i][j] * b[j]` where `raised[i][j]`.
///
/// Takes transforms whose words are below q in absolute value, and gives centred words: at most
/// (q - 1) / 2 in absolute value. Proved for the whole inversion in `crate::proof::ranges`,
/// and tested at random points in `crate::recip::mod_q::node`.
#[inline(always)]
pub(crate) fn multiply_accumulate<
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
                let x = lanes.load(&b[term][pair_offset::<P, L, PART>(group, k, t)..]);
                extended[half + t] = x;
                extended[t] = lanes.montgomery(x, root, root_prepared, P::MODULUS);
            }
            for t in 1..2 * half {
                straddled[t] = lanes.straddle(extended[t - 1], extended[t]);
            }
            for sum in 0..SUMS {
                for t in 0..half {
                    let x = lanes
                        .swap(lanes.load(&a[sum][term][pair_offset::<P, L, PART>(group, k, t)..]));
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
                let to = &mut out[sum][pair_offset::<P, L, PART>(group, k, u)..];
                lanes.store(to, lanes.freeze(x, P::MODULUS));
            }
        }
    }
}
