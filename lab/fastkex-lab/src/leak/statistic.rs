//! Tests whether two sets of times have the same distribution: Welch's t-test of their means and of
//! their spreads, on all times and on the times below percentiles of both (Reparaz, Balasch and
//! Verbauwhede, "Dude, is my code constant time?", section 2).

use std::collections::BTreeMap;

use serde::Serialize;

/// An absolute t from here on is rare by chance: one line in some thousands.
pub(crate) const SUSPICIOUS: f64 = 4.5;

/// An absolute t from here on does not occur by chance.
pub(crate) const CLEAR: f64 = 10.0;

/// The least number of times in each class for a verdict.
pub(crate) const ENOUGH: usize = 1000;

/// Steps in which slow times are left out. Interruptions are among the slowest times, so the mean
/// of all times is imprecise. A difference at any single step shows in the mean of some share.
const SHARES: u32 = 100;

/// Limit of t, as an infinite t of equal times could not be written as JSON.
const LARGEST: f64 = 1e6;

/// The quantity that a t-test compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Of {
    /// Times.
    Mean,
    /// Squared distances of times from the mean of their class.
    Spread,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Comparison {
    /// The t statistic with the largest absolute value. Positive if the second class takes longer,
    /// or has a larger spread.
    pub(crate) t: f64,
    pub(crate) of: Of,
    /// The share of times, fastest first, for which t was computed.
    pub(crate) share: f64,
    /// The second class's mean time less the first's, over this share.
    #[serde(skip)]
    pub(crate) difference: f64,
    /// The standard error of this difference.
    #[serde(skip)]
    pub(crate) error: f64,
}

/// The verdict of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    TooFew,
    Nothing,
    Suspicious,
    Leak,
}

impl Comparison {
    /// Returns the verdict. The smaller class has `samples` times.
    pub(crate) fn verdict(&self, samples: usize) -> Verdict {
        match self.t.abs() {
            _ if samples < ENOUGH => Verdict::TooFew,
            t if t >= CLEAR => Verdict::Leak,
            t if t >= SUSPICIOUS => Verdict::Suspicious,
            _ => Verdict::Nothing,
        }
    }
}

/// Sums of powers of a class's smallest times. An origin is subtracted first, as large times would
/// cost precision.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: f64,
    powers: [f64; 4],
}

/// A mean, and the variance of this mean.
struct Estimate {
    mean: f64,
    variance: f64,
}

impl Sums {
    /// Adds a time that occurs `count` times.
    fn add(&mut self, x: f64, count: f64) {
        let square = x * x;
        self.count += count;
        for (sum, power) in self.powers.iter_mut().zip([x, square, square * x, square * square]) {
            *sum += count * power;
        }
    }

    fn estimate(&self, of: Of) -> Estimate {
        let n = self.count;
        let [mean, second, third, fourth] = self.powers.map(|sum| sum / n);
        let square = mean * mean;
        let spread = (second - square).max(0.0);
        let (mean, variance) = match of {
            Of::Mean => (mean, spread),
            Of::Spread => {
                let fourth =
                    fourth - 4.0 * mean * third + 6.0 * square * second - 3.0 * square * square;
                (spread, (fourth - spread * spread).max(0.0))
            }
        };
        Estimate { mean, variance: variance / (n - 1.0) }
    }
}

/// The result of Welch's t-test of two classes.
struct Test {
    t: f64,
    difference: f64,
    error: f64,
}

fn welch(sums: &[Sums; 2], of: Of) -> Test {
    let [a, b] = sums.map(|sums| sums.estimate(of));
    let (difference, error) = (b.mean - a.mean, (a.variance + b.variance).sqrt());
    // Equal times have no variance.
    let t = if difference == 0.0 { 0.0 } else { difference / error };
    Test { t: t.clamp(-LARGEST, LARGEST), difference, error }
}

/// Distinct times in ascending order, each with its number of occurrences.
type Runs = Vec<(u64, f64)>;

fn runs(mut times: Vec<u64>) -> Runs {
    times.sort_unstable();
    times.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as f64)).collect()
}

fn count(runs: &Runs) -> f64 {
    runs.iter().map(|(_, count)| count).sum()
}

/// Delays times as the clock would show the delay. The clock may advance in steps. So a time
/// between two frequent times is split between them, which keeps the mean.
fn delayed(runs: &Runs, delay: u64, frequent: &[u64]) -> Runs {
    let mut all = BTreeMap::new();
    for &(time, count) in runs {
        let late = time + delay;
        let after = frequent.partition_point(|&other| other < late);
        let (above, below) = (frequent.get(after), frequent[..after].last());
        if let (Some(&above), Some(&below)) = (above, below) {
            let part = (late - below) as f64 / (above - below) as f64;
            *all.entry(below).or_insert(0.0) += count * (1.0 - part);
            *all.entry(above).or_insert(0.0) += count * part;
        } else {
            *all.entry(late).or_insert(0.0) += count;
        }
    }
    all.retain(|_, count| *count > 0.0);
    all.into_iter().collect()
}

/// Times of two classes.
pub(crate) struct Classes([Runs; 2]);

impl Classes {
    pub(crate) fn new(times: [Vec<u64>; 2]) -> Self {
        Classes(times.map(runs))
    }

    /// Returns the number of times in the smaller class.
    pub(crate) fn samples(&self) -> usize {
        self.0.iter().map(count).fold(f64::INFINITY, f64::min) as usize
    }

    /// Returns the median of the first class.
    pub(crate) fn median(&self) -> Option<u64> {
        let mut left = count(&self.0[0]) / 2.0;
        let in_middle = |&&(_, count): &&(u64, f64)| {
            left -= count;
            left <= 0.0
        };
        self.0[0].iter().find(in_middle).map(|&(time, _)| time)
    }

    /// Compares the two classes.
    pub(crate) fn compare(&self) -> Comparison {
        compare(&self.0[0], &self.0[1])
    }

    /// Returns the times that occur often. If the clock advances in steps, these are the steps,
    /// except rare ones.
    fn frequent(&self) -> Vec<u64> {
        /// The ratio of a usual time's frequency to the lowest frequency here.
        const RARER: f64 = 16.0;
        let mut counts = BTreeMap::new();
        for &(time, count) in self.0.iter().flatten() {
            *counts.entry(time).or_insert(0.0) += count;
        }
        let all: f64 = counts.values().sum();
        let usual: f64 = counts.values().map(|count| count * count).sum::<f64>() / all;
        counts.retain(|_, count| *count * RARER >= usual);
        counts.into_keys().collect()
    }

    /// Returns the least delay of all times of the second class that would be a clear leak.
    pub(crate) fn least_visible_delay(&self) -> u64 {
        const LONGEST: u64 = 1 << 40;
        let ([first, second], frequent) = (&self.0, self.frequent());
        let is_clear = |delay| compare(first, &delayed(second, delay, &frequent)).t.abs() >= CLEAR;
        let mut enough = 1;
        while !is_clear(enough) && enough < LONGEST {
            enough *= 2;
        }
        let mut less = enough / 2;
        while enough - less > 1 {
            let middle = less.midpoint(enough);
            if is_clear(middle) {
                enough = middle;
            } else {
                less = middle;
            }
        }
        enough
    }
}

fn compare(first: &Runs, second: &Runs) -> Comparison {
    let all = count(first) + count(second);
    let origin = first.get(first.len() / 2).map_or(0.0, |&(time, _)| time as f64);
    let mut shares = (1..=SHARES).map(share).chain([1.0]).peekable();
    let mut result = Comparison { t: 0.0, of: Of::Mean, share: 1.0, difference: 0.0, error: 0.0 };
    let mut sums = [Sums::default(); 2];
    let (mut left, mut right) = (first.iter().peekable(), second.iter().peekable());
    // Merges both classes in ascending order. After each share of the times, the sums so far are
    // compared.
    while let Some(time) =
        [left.peek(), right.peek()].into_iter().flatten().map(|&&(time, _)| time).min()
    {
        let x = time as f64 - origin;
        for (sums, runs) in sums.iter_mut().zip([&mut left, &mut right]) {
            if let Some(&(_, count)) = runs.next_if(|&&(other, _)| other == time) {
                sums.add(x, count);
            }
        }
        let is_last = left.peek().is_none() && right.peek().is_none();
        let so_far = if is_last { 1.0 } else { (sums[0].count + sums[1].count) / all };
        let mut reached = None;
        while let Some(share) = shares.next_if(|&share| share <= so_far) {
            reached = Some(share);
        }
        let Some(share) = reached.filter(|_| sums.iter().all(|sums| sums.count >= 2.0)) else {
            continue;
        };
        let (means, spreads) = (welch(&sums, Of::Mean), welch(&sums, Of::Spread));
        let Test { difference, error, .. } = means;
        for (t, of) in [(means.t, Of::Mean), (spreads.t, Of::Spread)] {
            if t.abs() > result.t.abs() {
                result = Comparison { t, of, share, difference, error };
            }
        }
    }
    result
}

/// Returns the share of times in step `i`. Steps are finer towards the slow times.
fn share(i: u32) -> f64 {
    1.0 - 0.5f64.powf(f64::from(10 * i) / f64::from(SHARES))
}

#[cfg(test)]
mod tests {
    use artifacts::Numbers;

    use super::*;

    /// A model of an operation of 20000 ticks on a machine with other work.
    struct Machine(Numbers);

    impl Machine {
        fn next(&mut self) -> u64 {
            self.0.bits() >> 33
        }

        fn time(&mut self) -> u64 {
            let jitter: u64 = (0..8).map(|_| self.next() % 64).sum();
            let interrupted = self.next().is_multiple_of(100);
            20_000 + jitter + if interrupted { 50_000 + self.next() % 100_000 } else { 0 }
        }

        /// Returns two classes of `count` times. The second takes `more` ticks longer once in
        /// `once_in` times.
        fn classes(&mut self, count: usize, more: u64, once_in: u64) -> [Vec<u64>; 2] {
            let mut classes = [Vec::new(), Vec::new()];
            for _ in 0..count {
                classes[0].push(self.time());
                let leaks = self.next().is_multiple_of(once_in);
                let time = self.time();
                classes[1].push(if leaks { time + more } else { time });
            }
            classes
        }
    }

    fn compared(first: &[u64], second: &[u64]) -> Comparison {
        Classes::new([first.to_vec(), second.to_vec()]).compare()
    }

    #[test]
    fn equal_classes_are_no_leak() {
        let suspicious = (0..200)
            .map(|seed| Classes::new(Machine(Numbers::new(seed)).classes(2_000, 0, 1)).compare())
            .filter(|comparison| comparison.verdict(ENOUGH) != Verdict::Nothing)
            .inspect(|comparison| assert_ne!(comparison.verdict(ENOUGH), Verdict::Leak));
        assert!(suspicious.count() <= 1);
    }

    #[test]
    fn a_leaking_function_is_found() {
        // A branch that takes a fraction of a percent, and a branch that is rarely taken, each as
        // the slower and as the faster class.
        for (more, once_in) in [(20, 1), (500, 20)] {
            let [a, b] = Machine(Numbers::new(1)).classes(20_000, more, once_in);
            let (slower, faster) = (compared(&a, &b), compared(&b, &a));
            for comparison in [slower, faster] {
                assert_eq!(
                    comparison.verdict(ENOUGH),
                    Verdict::Leak,
                    "{more}, {once_in}: {comparison:?}"
                );
            }
            assert!(slower.t > 0.0 && slower.difference > 0.0, "{more}, {once_in}: {slower:?}");
            assert!(faster.t < 0.0 && faster.difference < 0.0, "{more}, {once_in}: {faster:?}");
        }
        // With the slowest times included, interruptions would hide the leak.
        let sums = Machine(Numbers::new(1)).classes(20_000, 20, 1).map(|times| {
            let mut sums = Sums::default();
            times.iter().for_each(|&time| sums.add(time as f64 - 20_000.0, 1.0));
            sums
        });
        assert!(welch(&sums, Of::Mean).t.abs() < SUSPICIOUS);
    }

    #[test]
    fn a_difference_of_spread_alone_is_found() {
        let mut machine = Machine(Numbers::new(3));
        let mut sums = [Sums::default(); 2];
        for _ in 0..20_000 {
            sums[0].add((machine.next() % 101) as f64 - 50.0, 1.0);
            sums[1].add((2 * (machine.next() % 101)) as f64 - 100.0, 1.0);
        }
        assert!(welch(&sums, Of::Mean).t.abs() < SUSPICIOUS);
        assert!(welch(&sums, Of::Spread).t > CLEAR);
    }

    /// Compares the estimates with their definition.
    #[test]
    fn sums_of_powers_are_moments() {
        let times = [3.0, 5.0, 4.0, 11.0, 7.0];
        let mut sums = Sums::default();
        times.iter().for_each(|&x| sums.add(x, 1.0));
        let moments = |values: &[f64]| {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let squares: Vec<f64> = values.iter().map(|x| (x - mean) * (x - mean)).collect();
            (mean, squares.iter().sum::<f64>() / (n - 1.0) / n, squares)
        };
        let (mean, variance, squares) = moments(&times);
        let (spread, of_spread, _) = moments(&squares);
        for (of, mean, variance) in [(Of::Mean, mean, variance), (Of::Spread, spread, of_spread)] {
            let estimate = sums.estimate(of);
            assert!((estimate.mean - mean).abs() < 1e-9, "{of:?}: {} {mean}", estimate.mean);
            assert!(
                (estimate.variance - variance).abs() < 1e-9,
                "{of:?}: {} {variance}",
                estimate.variance
            );
        }
    }

    #[test]
    fn the_least_visible_delay_is_found_and_half_of_it_is_not() {
        let [a, b] = Machine(Numbers::new(5)).classes(20_000, 0, 1);
        // A clock that advances in steps, with rare exceptions.
        for step in [1, 26] {
            let on_clock = |times: &[u64], delay: u64| -> Vec<u64> {
                let read = |(i, time): (usize, &u64)| {
                    let rounded = (time + delay) / step * step;
                    rounded + if i.is_multiple_of(500) { i as u64 % step } else { 0 }
                };
                times.iter().enumerate().map(read).collect()
            };
            let with_delay = |delay: u64| Classes::new([on_clock(&a, 0), on_clock(&b, delay)]);
            let delay = with_delay(0).least_visible_delay();
            assert!((5..20).contains(&delay), "{step}: {delay}");
            // The delay is added before the clock is read.
            let verdict = |delay| with_delay(delay).compare().verdict(ENOUGH);
            assert_eq!(verdict(2 * delay), Verdict::Leak, "{step}: {delay}");
            assert_ne!(verdict(delay / 2), Verdict::Leak, "{step}: {delay}");
        }
    }

    #[test]
    fn delays_keep_number_and_mean_of_times() {
        let runs = vec![(26, 300.0), (52, 100.0), (55, 1.0), (78, 200.0)];
        let classes = Classes([runs.clone(), runs.clone()]);
        assert_eq!(classes.frequent(), [26, 52, 78]);
        let late = delayed(&runs, 13, &classes.frequent());
        assert_eq!(late.iter().map(|&(time, _)| time).collect::<Vec<_>>(), [26, 52, 78, 91]);
        let mean = |runs: &Runs| {
            runs.iter().map(|&(time, count)| time as f64 * count).sum::<f64>() / count(runs)
        };
        assert!((count(&late) - count(&runs)).abs() < 1e-9);
        assert!((mean(&late) - mean(&runs) - 13.0).abs() < 1e-9);
    }

    #[test]
    fn few_or_equal_times_say_nothing() {
        assert_eq!(compared(&[], &[]).t, 0.0);
        assert_eq!(compared(&[1, 2, 3], &[]).t, 0.0);
        let clear = compared(&[7; ENOUGH], &[8; ENOUGH]);
        assert_eq!(clear.verdict(ENOUGH - 1), Verdict::TooFew);
        assert_eq!(clear.verdict(ENOUGH), Verdict::Leak, "{clear:?}");
        assert_eq!(compared(&[7; ENOUGH], &[7; ENOUGH]).t, 0.0);
    }
}
