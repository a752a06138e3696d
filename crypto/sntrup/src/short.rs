//! Sampling: Short (weight w) by sorting, and uniform Small.

use core::marker::PhantomData;

use lanes::{Hardware, IntegerLanes, Kernel};
use zerocopy::FromZeros;

use crate::params::{Array, ParameterSet};
use crate::product::{Coefficients, Erase, wipe};

/// What sampling works with; erased on drop.
#[derive(FromZeros)]
pub(crate) struct SamplingSpace<P: ParameterSet> {
    words: P::Sorted<u32>,
    pairs: P::Sorted<i16>,
    trits: P::Sorted<i16>,
}

impl<P: ParameterSet> SamplingSpace<P> {
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

/// Fills `sample` with the Short of given random bytes: the low bits of the first w words are even, those of the others 1, and
/// sorting on the high bits permutes them.
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
            // What fills the columns up comes last.
            words[P::P..].fill(u32::MAX);
        }
        let sort = Columns::<P, L>::new(lanes);
        sort.sort(words.as_mut());
        sort.store_trits(words.as_ref(), pairs.as_mut(), trits.as_mut());
        self.sample.as_mut_slice().copy_from_slice(&trits.as_ref()[..P::P]);
    }
}

/// Sorting by a network, whose comparisons do not depend on the data. The integers stand in rows, one in each lane; each column is
/// sorted, then neighbouring columns are merged until all of them, one below the other, are one sorted sequence.
///
/// Merging is bitonic (Batcher): a sequence and a reversed one are compared element by element, which leaves two sequences to be
/// cleaned by comparisons at half, a quarter, ... of their length. What odd length is left in the end is sorted outright.
struct Columns<P, L> {
    lanes: L,
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet, L: IntegerLanes> Columns<P, L> {
    const ROWS: usize = 16 / L::PAIRS * P::SORT_ROWS;
    /// The odd part of the number of rows.
    const ODD: usize = Self::ROWS >> Self::ROWS.trailing_zeros();
    /// Runs of [`Self::ODD`] rows that registers hold: 32 with AVX-512, else 16.
    const RUNS: usize = match Self::ODD {
        1 => L::PAIRS,
        3 => L::PAIRS / 2,
        _ => L::PAIRS / 4,
    };
    const BLOCK: usize = Self::ODD * Self::RUNS;

    fn new(lanes: L) -> Self {
        const { assert!(Self::ROWS.is_multiple_of(Self::BLOCK)) };
        Columns { lanes, parameter_set: PhantomData }
    }

    #[inline(always)]
    fn load(&self, words: &[u32], row: usize) -> L::U32 {
        self.lanes.load_u32(&words[row * L::PAIRS..])
    }

    #[inline(always)]
    fn store(&self, words: &mut [u32], row: usize, v: L::U32) {
        self.lanes.store_u32(&mut words[row * L::PAIRS..], v);
    }

    #[inline(always)]
    fn order<const N: usize>(&self, rows: &mut [L::U32; N], i: usize, j: usize) {
        let (a, b) = (rows[i], rows[j]);
        rows[i] = self.lanes.min_u32(a, b);
        rows[j] = self.lanes.max_u32(a, b);
    }

    #[inline(always)]
    fn sort(&self, words: &mut [u32]) {
        let words = &mut words[..Self::ROWS * L::PAIRS];
        self.blocks(words, true);
        // Sorted runs, merged two by two within the columns.
        let mut run = Self::BLOCK;
        while run < Self::ROWS {
            for first in (0..Self::ROWS).step_by(2 * run) {
                for i in 0..run {
                    let (top, bottom) = (first + i, first + 2 * run - 1 - i);
                    let (a, b) = (self.load(words, top), self.load(words, bottom));
                    self.store(words, top, self.lanes.min_u32(a, b));
                    self.store(words, bottom, self.lanes.max_u32(a, b));
                }
            }
            self.clean(words, run);
            run *= 2;
        }

        // Sequences of one column, merged to sequences of two, four, ...
        self.merge_columns::<2>(words);
        self.merge_columns::<4>(words);
        if L::PAIRS >= 8 {
            self.merge_columns::<8>(words);
        }
        if L::PAIRS >= 16 {
            self.merge_columns::<16>(words);
        }
    }

    /// Merges sequences of half of `GROUP` columns to sequences of `GROUP` columns.
    #[inline(always)]
    fn merge_columns<const GROUP: usize>(&self, words: &mut [u32]) {
        const { assert!(L::PAIRS >= 4 && L::PAIRS <= 16) };
        // Four rows at a time: two with their mirror images, then the first level of the cleaning.
        let half = Self::ROWS / 2;
        for i in 0..half / 2 {
            let at = [i, half - 1 - i, half + i, Self::ROWS - 1 - i];
            let mut rows = [self.load(words, at[0]); 4];
            for t in 1..4 {
                rows[t] = self.load(words, at[t]);
            }
            let mut merged = rows;
            for t in 0..4 {
                let reversed = self.lanes.reverse_u32(rows[3 - t], GROUP);
                merged[t] = self.halves(rows[t], reversed, GROUP / 2);
            }
            let mut distance = GROUP / 4;
            while distance > 0 {
                for t in 0..4 {
                    let swapped = self.lanes.swap_u32(merged[t], distance);
                    merged[t] = self.halves(merged[t], swapped, distance);
                }
                distance /= 2;
            }
            self.order(&mut merged, 0, 2);
            self.order(&mut merged, 1, 3);
            for t in 0..4 {
                self.store(words, at[t], merged[t]);
            }
        }
        self.clean(words, half);
    }

    /// The smaller of each two in lanes without the bit `bit`, the larger in those with it.
    #[inline(always)]
    fn halves(&self, a: L::U32, b: L::U32, bit: usize) -> L::U32 {
        self.lanes.pick_u32(self.lanes.min_u32(a, b), self.lanes.max_u32(a, b), bit)
    }

    /// Sorts the bitonic runs of `run` rows that the columns consist of.
    #[inline(always)]
    fn clean(&self, words: &mut [u32], run: usize) {
        let mut run = run;
        while run / Self::BLOCK >= 8 {
            self.levels::<8>(words, run);
            run /= 8;
        }
        if run / Self::BLOCK == 4 {
            self.levels::<4>(words, run);
        }
        if run / Self::BLOCK == 2 {
            self.levels::<2>(words, run);
        }
        self.blocks(words, false);
    }

    /// Comparisons at `run / 2`, `run / 4`, ... down to `run / T` rows, `T` rows at a time in registers.
    #[inline(always)]
    fn levels<const T: usize>(&self, words: &mut [u32], run: usize) {
        let stride = run / T;
        for first in (0..Self::ROWS).step_by(run) {
            for i in 0..stride {
                let mut rows = [self.load(words, first + i); T];
                for t in 1..T {
                    rows[t] = self.load(words, first + i + t * stride);
                }
                let mut half = T / 2;
                while half > 0 {
                    for t in 0..T {
                        if t & half == 0 {
                            self.order(&mut rows, t, t + half);
                        }
                    }
                    half /= 2;
                }
                for t in 0..T {
                    self.store(words, first + i + t * stride, rows[t]);
                }
            }
        }
    }

    /// Sorts each [`Self::BLOCK`] rows, bitonic ones unless `any`.
    #[inline(always)]
    fn blocks(&self, words: &mut [u32], any: bool) {
        /// Networks of the fewest comparisons.
        const ONE: &[(usize, usize)] = &[];
        const THREE: &[(usize, usize)] = &[(0, 2), (0, 1), (1, 2)];
        const FIVE: &[(usize, usize)] =
            &[(0, 3), (1, 4), (0, 2), (1, 3), (0, 1), (2, 4), (1, 2), (3, 4), (2, 3)];
        const SEVEN: &[(usize, usize)] = &[
            (0, 6),
            (2, 3),
            (4, 5),
            (0, 2),
            (1, 4),
            (3, 6),
            (0, 1),
            (2, 5),
            (3, 4),
            (1, 2),
            (4, 6),
            (2, 3),
            (4, 5),
            (1, 2),
            (3, 4),
            (5, 6),
        ];
        for block in words.chunks_exact_mut(Self::BLOCK * L::PAIRS) {
            match (Self::ODD, Self::RUNS) {
                (1, 16) => self.block::<1, 16>(block, any, ONE),
                (1, 8) => self.block::<1, 8>(block, any, ONE),
                (1, _) => self.block::<1, 4>(block, any, ONE),
                (3, 8) => self.block::<3, 8>(block, any, THREE),
                (3, 4) => self.block::<3, 4>(block, any, THREE),
                (3, _) => self.block::<3, 2>(block, any, THREE),
                (5, 4) => self.block::<5, 4>(block, any, FIVE),
                (5, 2) => self.block::<5, 2>(block, any, FIVE),
                (5, _) => self.block::<5, 1>(block, any, FIVE),
                (7, 4) => self.block::<7, 4>(block, any, SEVEN),
                (7, 2) => self.block::<7, 2>(block, any, SEVEN),
                (7, _) => self.block::<7, 1>(block, any, SEVEN),
                _ => const { assert!(Self::ODD <= 7) },
            }
        }
    }

    /// Sorts `RUNS` runs of `ODD` rows, one after the other, in registers. `network` sorts `ODD` rows with the fewest
    /// comparisons.
    #[inline(always)]
    fn block<const ODD: usize, const RUNS: usize>(
        &self,
        words: &mut [u32],
        any: bool,
        network: &[(usize, usize)],
    ) {
        let mut rows = [[self.load(words, 0); ODD]; RUNS];
        for t in 0..RUNS {
            for i in 0..ODD {
                rows[t][i] = self.load(words, t * ODD + i);
            }
        }
        if any {
            self.sort_runs(&mut rows, network);
            self.merge_runs::<ODD, RUNS, 1>(&mut rows, network);
            self.merge_runs::<ODD, RUNS, 2>(&mut rows, network);
            self.merge_runs::<ODD, RUNS, 4>(&mut rows, network);
            self.merge_runs::<ODD, RUNS, 8>(&mut rows, network);
        } else {
            self.clean_runs::<ODD, RUNS, RUNS>(&mut rows, network);
        }
        for t in 0..RUNS {
            for i in 0..ODD {
                self.store(words, t * ODD + i, rows[t][i]);
            }
        }
    }

    /// Merges sorted sequences of `LENGTH` runs two by two.
    #[inline(always)]
    fn merge_runs<const ODD: usize, const RUNS: usize, const LENGTH: usize>(
        &self,
        rows: &mut [[L::U32; ODD]; RUNS],
        network: &[(usize, usize)],
    ) {
        if LENGTH < RUNS {
            for t in 0..RUNS {
                if t & LENGTH == 0 {
                    for i in 0..ODD {
                        // With its mirror image.
                        self.order_runs(rows, (t, i), (t ^ (2 * LENGTH - 1), ODD - 1 - i));
                    }
                }
            }
            self.clean_runs::<ODD, RUNS, LENGTH>(rows, network);
        }
    }

    /// Sorts bitonic sequences of `LENGTH` runs.
    #[inline(always)]
    fn clean_runs<const ODD: usize, const RUNS: usize, const LENGTH: usize>(
        &self,
        rows: &mut [[L::U32; ODD]; RUNS],
        network: &[(usize, usize)],
    ) {
        self.order_at::<ODD, RUNS, 8>(rows, LENGTH);
        self.order_at::<ODD, RUNS, 4>(rows, LENGTH);
        self.order_at::<ODD, RUNS, 2>(rows, LENGTH);
        self.order_at::<ODD, RUNS, 1>(rows, LENGTH);
        self.sort_runs(rows, network);
    }

    /// Comparisons at a distance of `DISTANCE` runs, if that is less than `length`.
    #[inline(always)]
    fn order_at<const ODD: usize, const RUNS: usize, const DISTANCE: usize>(
        &self,
        rows: &mut [[L::U32; ODD]; RUNS],
        length: usize,
    ) {
        if DISTANCE < length {
            for t in 0..RUNS {
                if t & DISTANCE == 0 {
                    for i in 0..ODD {
                        self.order_runs(rows, (t, i), (t + DISTANCE, i));
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn order_runs<const ODD: usize, const RUNS: usize>(
        &self,
        rows: &mut [[L::U32; ODD]; RUNS],
        i: (usize, usize),
        j: (usize, usize),
    ) {
        let (a, b) = (rows[i.0][i.1], rows[j.0][j.1]);
        rows[i.0][i.1] = self.lanes.min_u32(a, b);
        rows[j.0][j.1] = self.lanes.max_u32(a, b);
    }

    #[inline(always)]
    fn sort_runs<const ODD: usize, const RUNS: usize>(
        &self,
        rows: &mut [[L::U32; ODD]; RUNS],
        network: &[(usize, usize)],
    ) {
        for t in 0..RUNS {
            for &(i, j) in network {
                self.order(&mut rows[t], i, j);
            }
        }
    }

    /// The two lowest bits of each integer, less one, in the order of the sorted sequence, to `trits`; `pairs` is used on the way.
    #[inline(always)]
    fn store_trits(&self, words: &[u32], pairs: &mut [L::Word], trits: &mut [L::Word]) {
        let count = Self::ROWS / 2;
        for t in 0..count {
            let (a, b) = (self.load(words, 2 * t), self.load(words, 2 * t + 1));
            self.lanes.store(&mut pairs[t * L::WORDS..], self.lanes.trits(a, b));
        }
        for index in 0..count.div_ceil(L::PAIRS) {
            let t =
                if (index + 1) * L::PAIRS > count { count - L::PAIRS } else { index * L::PAIRS };
            self.lanes.transpose(&pairs[t * L::WORDS..], &mut trits[2 * t..], Self::ROWS);
        }
    }
}

/// Fills `sample` with the uniform Small of given random bytes.
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

#[cfg(test)]
mod tests {
    use lanes::{Backend, Dispatch};

    use super::*;
    use crate::every_set::{Claim, for_every_set};
    use crate::params::ParameterSet;

    struct SortWords<'a, P>(&'a mut [u32], PhantomData<P>);

    impl<P: ParameterSet> Dispatch for SortWords<'_, P> {
        type Output = Vec<u32>;

        /// Sorts, and reads the columns one below the other.
        fn on<L: Hardware>(self, lanes: L) -> Vec<u32> {
            lanes.run(Sort(self.0, PhantomData::<P>));
            let rows = self.0.len() / L::PAIRS;
            (0..self.0.len()).map(|i| self.0[i % rows * L::PAIRS + i / rows]).collect()
        }
    }

    struct Sort<'a, P>(&'a mut [u32], PhantomData<P>);

    impl<P: ParameterSet, L: IntegerLanes> Kernel<L> for Sort<'_, P> {
        type Output = ();

        #[inline(always)]
        fn run(self, lanes: L) {
            Columns::<P, L>::new(lanes).sort(self.0);
        }
    }

    struct Sorts;

    impl Claim for Sorts {
        fn check<P: ParameterSet>(&self) {
            let length = 16 * P::SORT_ROWS;
            assert!(length >= P::P);
            let mut state = 1u32;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state
            };
            for backend in Backend::available() {
                // A network sorts everything if it sorts zeros and ones: thresholds in random order, and random words.
                for round in 0..3 * length {
                    let mut words: Vec<u32> = (0..length)
                        .map(|_| match round % 3 {
                            0 => u32::from((next() >> 8) as usize % length < round / 3),
                            1 => next() >> 30,
                            _ => next(),
                        })
                        .collect();
                    let mut expected = words.clone();
                    expected.sort_unstable();
                    let sorted = backend.run(SortWords(&mut words, PhantomData::<P>));
                    assert_eq!(sorted, expected, "{} {} {round}", P::NAME, backend.name());
                }
            }
        }
    }

    #[test]
    fn sorts() {
        for_every_set(&Sorts);
    }
}
