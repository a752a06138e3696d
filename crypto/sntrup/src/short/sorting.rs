//! A sorting network of 32-bit integers, whose comparisons do not depend on the data.
//!
//! Each column is sorted, then neighbouring columns are merged, until all columns, one after
//! another, are one sorted sequence. Merging is bitonic (K. E. Batcher, "Sorting networks and their
//! applications", 1968): a sorted sequence is compared with a reversed one, element by element;
//! comparators at half, a quarter, ... of the length sort the two bitonic sequences that this
//! leaves. Lengths are an odd number times a power of two; runs of that odd length are sorted by a
//! minimal network ("The Art of Computer Programming", volume 3, section 5.3.4).
//!
//! The arrangement in rows and columns is derived for this crate. It is not proved but tested: by
//! zeros and ones with every threshold at random places, and by random words.

use core::marker::PhantomData;

use lanes::IntegerLanes;

use crate::params::ParameterSet;

/// A sorting network on `ROWS` rows of integers, one integer in each lane: 16 [`SORT_ROWS`]
/// integers in all. A column is one lane of all rows.
///
/// [`SORT_ROWS`]: ParameterSet::SORT_ROWS
pub(super) struct Columns<P, L> {
    lanes: L,
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet, L: IntegerLanes> Columns<P, L> {
    /// Rows of [`lanes::Lanes::PAIRS`] integers.
    const ROWS: usize = 16 / L::PAIRS * P::SORT_ROWS;
    /// The odd part of the number of rows.
    const ODD: usize = Self::ROWS >> Self::ROWS.trailing_zeros();
    /// Runs of [`Self::ODD`] rows that are sorted in registers: AVX-512 has 32, others 16.
    const RUNS: usize = match Self::ODD {
        1 => L::PAIRS,
        3 => L::PAIRS / 2,
        _ => L::PAIRS / 4,
    };
    /// Rows that are sorted in registers.
    const BLOCK: usize = Self::ODD * Self::RUNS;

    /// The network on lanes.
    pub(super) fn new(lanes: L) -> Self {
        const { assert!(Self::ROWS.is_multiple_of(Self::BLOCK)) };
        Columns { lanes, parameter_set: PhantomData }
    }

    /// Loads row number `row`.
    #[inline(always)]
    fn load(&self, words: &[u32], row: usize) -> L::U32 {
        self.lanes.load_u32(&words[row * L::PAIRS..])
    }

    /// Stores row number `row`.
    #[inline(always)]
    fn store(&self, words: &mut [u32], row: usize, v: L::U32) {
        self.lanes.store_u32(&mut words[row * L::PAIRS..], v);
    }

    /// A comparator in each lane: afterwards row i has the smaller integers, and row j the larger.
    #[inline(always)]
    fn compare_exchange<const N: usize>(&self, rows: &mut [L::U32; N], i: usize, j: usize) {
        let (a, b) = (rows[i], rows[j]);
        rows[i] = self.lanes.min_u32(a, b);
        rows[j] = self.lanes.max_u32(a, b);
    }

    /// Sorts `words`; read column by column, they ascend.
    #[inline(always)]
    pub(super) fn sort(&self, words: &mut [u32]) {
        let words = &mut words[..Self::ROWS * L::PAIRS];
        self.sort_blocks(words, true);
        // Merge sorted runs of rows two by two, within the columns.
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
            self.merge_bitonic(words, run);
            run *= 2;
        }

        // Merge sorted columns to sorted sequences of two columns, of four, ...
        self.merge_columns::<2>(words);
        self.merge_columns::<4>(words);
        if L::PAIRS >= 8 {
            self.merge_columns::<8>(words);
        }
        if L::PAIRS >= 16 {
            self.merge_columns::<16>(words);
        }
    }

    /// Merges sorted sequences of `GROUP / 2` columns two by two, to sequences of `GROUP` columns.
    #[inline(always)]
    fn merge_columns<const GROUP: usize>(&self, words: &mut [u32]) {
        const { assert!(L::PAIRS >= 4 && L::PAIRS <= 16) };
        // Four rows at a time: two rows and their mirror images, then the first level of the
        // bitonic merge within the columns.
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
                merged[t] = self.min_max(rows[t], reversed, GROUP / 2);
            }
            let mut distance = GROUP / 4;
            while distance > 0 {
                for t in 0..4 {
                    let swapped = self.lanes.swap_u32(merged[t], distance);
                    merged[t] = self.min_max(merged[t], swapped, distance);
                }
                distance /= 2;
            }
            self.compare_exchange(&mut merged, 0, 2);
            self.compare_exchange(&mut merged, 1, 3);
            for t in 0..4 {
                self.store(words, at[t], merged[t]);
            }
        }
        self.merge_bitonic(words, half);
    }

    /// The smaller integers in lanes whose number has no bit `bit`, the larger ones in the others.
    #[inline(always)]
    fn min_max(&self, a: L::U32, b: L::U32, bit: usize) -> L::U32 {
        self.lanes.pick_u32(self.lanes.min_u32(a, b), self.lanes.max_u32(a, b), bit)
    }

    /// Sorts the bitonic sequences of `run` rows that the columns consist of.
    #[inline(always)]
    fn merge_bitonic(&self, words: &mut [u32], run: usize) {
        let mut run = run;
        while run / Self::BLOCK >= 8 {
            self.compare_exchange_levels::<8>(words, run);
            run /= 8;
        }
        if run / Self::BLOCK == 4 {
            self.compare_exchange_levels::<4>(words, run);
        }
        if run / Self::BLOCK == 2 {
            self.compare_exchange_levels::<2>(words, run);
        }
        self.sort_blocks(words, false);
    }

    /// Comparators at distances of `run / 2`, `run / 4`, ... down to `run / T` rows, with `T` rows
    /// at a time in registers.
    #[inline(always)]
    fn compare_exchange_levels<const T: usize>(&self, words: &mut [u32], run: usize) {
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
                            self.compare_exchange(&mut rows, t, t + half);
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

    /// Sorts each [`Self::BLOCK`] rows. They are bitonic sequences unless `unsorted`.
    #[inline(always)]
    fn sort_blocks(&self, words: &mut [u32], unsorted: bool) {
        /// Networks for 1, 3, 5 and 7 inputs with the least possible number of comparators:
        /// 0, 3, 9 and 16 (Knuth, "The Art of Computer Programming", volume 3, section 5.3.4).
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
                (1, 16) => self.sort_block::<1, 16>(block, unsorted, ONE),
                (1, 8) => self.sort_block::<1, 8>(block, unsorted, ONE),
                (1, _) => self.sort_block::<1, 4>(block, unsorted, ONE),
                (3, 8) => self.sort_block::<3, 8>(block, unsorted, THREE),
                (3, 4) => self.sort_block::<3, 4>(block, unsorted, THREE),
                (3, _) => self.sort_block::<3, 2>(block, unsorted, THREE),
                (5, 4) => self.sort_block::<5, 4>(block, unsorted, FIVE),
                (5, 2) => self.sort_block::<5, 2>(block, unsorted, FIVE),
                (5, _) => self.sort_block::<5, 1>(block, unsorted, FIVE),
                (7, 4) => self.sort_block::<7, 4>(block, unsorted, SEVEN),
                (7, 2) => self.sort_block::<7, 2>(block, unsorted, SEVEN),
                (7, _) => self.sort_block::<7, 1>(block, unsorted, SEVEN),
                _ => const { assert!(Self::ODD <= 7) },
            }
        }
    }

    /// Sorts `RUNS` adjacent runs of `ODD` rows each, in registers. `network` sorts `ODD` rows.
    #[inline(always)]
    fn sort_block<const ODD: usize, const RUNS: usize>(
        &self,
        words: &mut [u32],
        unsorted: bool,
        network: &[(usize, usize)],
    ) {
        let mut rows = [[self.load(words, 0); ODD]; RUNS];
        for t in 0..RUNS {
            for i in 0..ODD {
                rows[t][i] = self.load(words, t * ODD + i);
            }
        }
        if unsorted {
            self.sort_runs(&mut rows, network);
            self.merge_runs::<ODD, RUNS, 1>(&mut rows, network);
            self.merge_runs::<ODD, RUNS, 2>(&mut rows, network);
            self.merge_runs::<ODD, RUNS, 4>(&mut rows, network);
            self.merge_runs::<ODD, RUNS, 8>(&mut rows, network);
        } else {
            self.merge_bitonic_runs::<ODD, RUNS, RUNS>(&mut rows, network);
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
                        // The first sequence, and the second one reversed.
                        self.compare_exchange_runs(
                            rows,
                            (t, i),
                            (t ^ (2 * LENGTH - 1), ODD - 1 - i),
                        );
                    }
                }
            }
            self.merge_bitonic_runs::<ODD, RUNS, LENGTH>(rows, network);
        }
    }

    /// Sorts bitonic sequences of `LENGTH` runs.
    #[inline(always)]
    fn merge_bitonic_runs<const ODD: usize, const RUNS: usize, const LENGTH: usize>(
        &self,
        rows: &mut [[L::U32; ODD]; RUNS],
        network: &[(usize, usize)],
    ) {
        self.compare_exchange_at::<ODD, RUNS, 8>(rows, LENGTH);
        self.compare_exchange_at::<ODD, RUNS, 4>(rows, LENGTH);
        self.compare_exchange_at::<ODD, RUNS, 2>(rows, LENGTH);
        self.compare_exchange_at::<ODD, RUNS, 1>(rows, LENGTH);
        self.sort_runs(rows, network);
    }

    /// Comparators at a distance of `DISTANCE` runs, if that is less than `length`.
    #[inline(always)]
    fn compare_exchange_at<const ODD: usize, const RUNS: usize, const DISTANCE: usize>(
        &self,
        rows: &mut [[L::U32; ODD]; RUNS],
        length: usize,
    ) {
        if DISTANCE < length {
            for t in 0..RUNS {
                if t & DISTANCE == 0 {
                    for i in 0..ODD {
                        self.compare_exchange_runs(rows, (t, i), (t + DISTANCE, i));
                    }
                }
            }
        }
    }

    /// [`Self::compare_exchange`] on rows given by run and row within the run.
    #[inline(always)]
    fn compare_exchange_runs<const ODD: usize, const RUNS: usize>(
        &self,
        rows: &mut [[L::U32; ODD]; RUNS],
        i: (usize, usize),
        j: (usize, usize),
    ) {
        let (a, b) = (rows[i.0][i.1], rows[j.0][j.1]);
        rows[i.0][i.1] = self.lanes.min_u32(a, b);
        rows[j.0][j.1] = self.lanes.max_u32(a, b);
    }

    /// Sorts each run of `ODD` rows.
    #[inline(always)]
    fn sort_runs<const ODD: usize, const RUNS: usize>(
        &self,
        rows: &mut [[L::U32; ODD]; RUNS],
        network: &[(usize, usize)],
    ) {
        for t in 0..RUNS {
            for &(i, j) in network {
                self.compare_exchange(&mut rows[t], i, j);
            }
        }
    }

    /// Writes the two lowest bits of each integer, minus one, to `trits`, in the order of the
    /// sorted sequence. `pairs` is overwritten.
    #[inline(always)]
    pub(super) fn store_trits(&self, words: &[u32], pairs: &mut [L::Word], trits: &mut [L::Word]) {
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

#[cfg(test)]
mod tests {
    use lanes::{Backend, Dispatch, Hardware, Kernel};

    use super::*;
    use crate::every_set::{Claim, for_every_set};
    use crate::params::ParameterSet;

    struct SortWords<'a, P>(&'a mut [u32], PhantomData<P>);

    impl<P: ParameterSet> Dispatch for SortWords<'_, P> {
        type Output = Vec<u32>;

        /// Sorts, and reads the words column by column.
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
                // Zeros and ones with every threshold, few values, and random words. A network
                // sorts all inputs if it sorts all sequences of zeros and ones (Knuth, 5.3.4,
                // theorem Z).
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
