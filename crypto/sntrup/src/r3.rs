//! R/3 = (Z/3)\[x\]/(x^p - x - 1): reduction, bit planes, and the test for invertibility.

use kem_common::{Array, wipe};
use lanes::{BitLanes, Hardware, Kernel, Lanes, Trits};

use crate::params::ParameterSet;
use crate::product::Coefficients;

/// Takes every coefficient modulo 3, to -1, 0 or 1.
pub(crate) struct Reduce<'a, P: ParameterSet, L: Lanes>(
    pub(crate) &'a mut Coefficients<P, L::Word>,
);

impl<P: ParameterSet, L: Lanes> Kernel<L> for Reduce<'_, P, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        for chunk in self.0.words_mut().chunks_exact_mut(L::WORDS) {
            let x = lanes.load(chunk);
            lanes.store(chunk, lanes.freeze3(x));
        }
    }
}

/// Replaces a small polynomial by the Short that begins with w ones, if the mask is all ones. The
/// mask is all ones or zero.
pub(crate) struct ReplaceByFixed<'a, P: ParameterSet>(
    pub(crate) &'a mut Coefficients<P>,
    pub(crate) i16,
);

impl<P: ParameterSet, L: Lanes> Kernel<L> for ReplaceByFixed<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: L) {
        let mask = self.1;
        let (ones, zeros) = self.0.as_mut_slice().split_at_mut(P::W);
        for x in ones {
            *x ^= mask & (*x ^ 1);
        }
        for x in zeros {
            *x &= !mask;
        }
    }
}

/// Coefficients -1, 0, 1 as two bit planes; bit i belongs to x^i.
#[derive(Clone)]
pub(crate) struct Planes<P: ParameterSet> {
    /// One for each coefficient that is not zero.
    pub(crate) nonzero: P::Plane,
    /// One for each coefficient -1.
    pub(crate) negative: P::Plane,
}

impl<P: ParameterSet> Planes<P> {
    pub(crate) fn zero() -> Self {
        Planes { nonzero: P::Plane::filled(0), negative: P::Plane::filled(0) }
    }

    /// Becomes the planes of `coefficients`.
    #[inline(always)]
    pub(crate) fn set<L: BitLanes<Word = i16>>(
        &mut self,
        lanes: L,
        coefficients: &Coefficients<P>,
    ) {
        let (nonzero, negative) = (self.nonzero.as_mut(), self.negative.as_mut());
        let words = coefficients.words();
        let whole = words.len() / 64;
        for i in 0..whole.min(P::PLANE_WORDS) {
            [nonzero[i], negative[i]] = lanes.bit_planes(&words[64 * i..]);
        }
        if whole < P::PLANE_WORDS {
            let mut rest = [0; 64];
            rest[..words.len() % 64].copy_from_slice(&words[64 * whole..]);
            [nonzero[whole], negative[whole]] = lanes.bit_planes(&rest);
            wipe(&mut rest);
        }
    }
}

impl<P: ParameterSet> Drop for Planes<P> {
    #[inline(always)]
    fn drop(&mut self) {
        wipe(self.nonzero.as_mut());
        wipe(self.negative.as_mut());
    }
}

/// Whether no small factor of x^p - x - 1 divides `g`. The factors left out divide a uniform g with
/// probability below 2^-82 together; the batch's inversion detects them.
///
/// A g that is not invertible is discarded, so the answer is not secret.
pub(crate) fn is_invertible_by_small_factors<P: ParameterSet, L: Hardware>(
    lanes: L,
    g: &Coefficients<P>,
) -> bool {
    lanes.run(SmallFactors(g))
}

struct SmallFactors<'a, P: ParameterSet>(&'a Coefficients<P>);

/// More than the linear forms of any set.
const MAX_FORMS: usize = 96;

/// Vectors of forms to be worked out together, so that their sums stay in registers.
const TILE: usize = 5;

impl<P: ParameterSet, L: BitLanes<Word = i16>> Kernel<L> for SmallFactors<'_, P> {
    type Output = bool;

    #[inline(always)]
    fn run(self, lanes: L) -> bool {
        let mut g = Planes::<P>::zero();
        g.set(lanes, self.0);

        // Forms are lanes. The last tile may repeat some of the one before.
        let vectors = const { P::RESIDUES.div_ceil(L::BIT_WORDS) };
        let tiles = const { P::RESIDUES.div_ceil(L::BIT_WORDS).div_ceil(TILE) };
        let tile = const {
            let vectors = P::RESIDUES.div_ceil(L::BIT_WORDS);
            vectors.div_ceil(vectors.div_ceil(TILE))
        };
        let (mut terms, mut minus) = ([0; MAX_FORMS], [0; MAX_FORMS]);
        for index in 0..tiles {
            let first = (index * tile).min(vectors - tile) * L::BIT_WORDS;
            let zero = lanes.splat_bits(0);
            let mut sums = [Trits { nonzero: zero, sign: zero }; TILE];
            for word in 0..P::PLANE_WORDS {
                let nonzero = lanes.splat_bits(g.nonzero.as_ref()[word]);
                let negative = lanes.splat_bits(g.negative.as_ref()[word]);
                let forms = &P::RESIDUE_FORMS[word * 2 * P::RESIDUE_ROW..][..2 * P::RESIDUE_ROW];
                for i in 0..tile {
                    let at = first + i * L::BIT_WORDS;
                    let of_nonzero = lanes.load_bits(&forms[at..]);
                    let of_negative = lanes.load_bits(&forms[P::RESIDUE_ROW + at..]);
                    let product = Trits {
                        nonzero: lanes.and_bits(nonzero, of_nonzero),
                        sign: lanes.xor_bits(negative, of_negative),
                    };
                    sums[i] = lanes.add_trits(sums[i], product);
                }
            }
            for i in 0..tile {
                let at = first + i * L::BIT_WORDS;
                lanes.store_bits(&mut terms[at..], sums[i].nonzero);
                let both = lanes.and_bits(sums[i].nonzero, sums[i].sign);
                lanes.store_bits(&mut minus[at..], both);
            }
        }

        // terms - 2 minus = terms + minus modulo 3; the sum is at most 128.
        let mut residues = [0; MAX_FORMS];
        for i in 0..P::RESIDUE_ROW {
            let sum = terms[i].count_ones() + minus[i].count_ones();
            residues[i] = sum - 3 * ((sum * 0x5556) >> 16);
        }
        let mut rest = &residues[..];
        let mut invertible = true;
        for factor in P::SMALL_FACTORS {
            let (of_factor, others) = rest.split_at(factor.len() - 1);
            rest = others;
            let mut bits = 0;
            for residue in of_factor {
                bits |= residue;
            }
            invertible &= bits != 0;
        }
        wipe(&mut terms);
        wipe(&mut minus);
        wipe(&mut residues);
        invertible
    }
}
/// Zero if a small polynomial has weight w, else not.
pub(crate) fn weight_mismatch<P: ParameterSet>(a: &Coefficients<P>) -> i16 {
    a.as_slice().iter().fold(0, |weight, &x| weight + (x & 1)) - P::W as i16
}
