//! Sampling: Short, of weight w, by sorting; and uniform Small.

mod sorting;

use kem_common::{Array, Erase, wipe};
use lanes::{Hardware, Kernel};
use zerocopy::FromZeros;

use self::sorting::Columns;
use crate::params::ParameterSet;
use crate::product::Coefficients;

/// Memory for sampling. Erased on drop.
#[derive(FromZeros)]
pub(crate) struct SamplingSpace<P: ParameterSet> {
    words: P::Sorted<u32>,
    pairs: P::Sorted<i16>,
    trits: P::Sorted<i16>,
}

impl<P: ParameterSet> SamplingSpace<P> {
    /// Memory of zeros.
    pub(crate) fn new() -> Self {
        SamplingSpace {
            words: P::Sorted::filled(0),
            pairs: P::Sorted::filled(0),
            trits: P::Sorted::filled(0),
        }
    }
}

impl<P: ParameterSet> Erase for SamplingSpace<P> {
    fn erase(&mut self) {
        wipe(self.words.as_mut());
        wipe(self.pairs.as_mut());
        wipe(self.trits.as_mut());
    }
}

impl<P: ParameterSet> Drop for SamplingSpace<P> {
    fn drop(&mut self) {
        self.erase();
    }
}

/// Fills `sample` with the Short of the given 4p random bytes: exactly w coefficients are 1 or -1,
/// and the others are 0.
///
/// The two lowest bits of a 32-bit word give a coefficient: those of the first w words are 0 or 2,
/// of the others 1. Sorting the words permutes them by their random high bits (round-3
/// specification, section 4).
pub(crate) fn short_derand<P: ParameterSet, L: Hardware>(
    lanes: L,
    sample: &mut Coefficients<P>,
    bytes: &P::SampleBytes,
    space: &mut SamplingSpace<P>,
) {
    lanes.run(Short { sample, bytes, space });
}

struct Short<'a, P: ParameterSet> {
    sample: &'a mut Coefficients<P>,
    bytes: &'a P::SampleBytes,
    space: &'a mut SamplingSpace<P>,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for Short<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let SamplingSpace { words, pairs, trits } = self.space;
        {
            let words = words.as_mut();
            let (fours, _) = self.bytes.as_ref().as_chunks::<4>();
            for i in 0..P::W {
                words[i] = u32::from_le_bytes(fours[i]) & !1;
            }
            for i in P::W..P::P {
                words[i] = u32::from_le_bytes(fours[i]) & !3 | 1;
            }
            // Padding of the columns: the largest words come last.
            words[P::P..].fill(u32::MAX);
        }
        let sort = Columns::<P, L>::new(lanes);
        sort.sort(words.as_mut());
        sort.store_trits(words.as_ref(), pairs.as_mut(), trits.as_mut());
        self.sample.as_mut_slice().copy_from_slice(&trits.as_ref()[..P::P]);
    }
}

/// Fills `sample` with the Small of the given 4p random bytes: each coefficient is -1, 0 or 1, from
/// 30 bits of its word (round-3 specification, section 4).
pub(crate) fn small_derand<P: ParameterSet, L: Hardware>(
    lanes: L,
    sample: &mut Coefficients<P>,
    bytes: &P::SampleBytes,
) {
    lanes.run(Small { sample, bytes });
}

struct Small<'a, P: ParameterSet> {
    sample: &'a mut Coefficients<P>,
    bytes: &'a P::SampleBytes,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for Small<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let bytes = self.bytes.as_ref();
        let sample = self.sample.words_mut();
        for i in 0..P::P.div_ceil(L::PAIRS) {
            // The last vector overlaps its neighbour.
            let first = if (i + 1) * L::PAIRS > P::P { P::P - L::PAIRS } else { i * L::PAIRS };
            let random = lanes.load_four_bytes(&bytes[4 * first..]);
            let random = lanes.and_u32(random, lanes.splat_u32((1 << 30) - 1));
            let triple = lanes.add_u32(random, lanes.add_u32(random, random));
            let trit = lanes.sub_u32(lanes.shift_right_u32(triple, 30), lanes.splat_u32(1));
            lanes.store_words(&mut sample[first..], trit);
        }
    }
}
