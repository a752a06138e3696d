//! Measures the duration of operations, and describes the machine.
//!
//! A *sample* is a series of calls that lasts some microseconds. The time-stamp counter and the
//! monotonic clock time the whole series. Before and after each sample, the crate times additions
//! that take one core cycle each ([`lanes::clock`]). They convert ticks to core cycles, whatever
//! the clock rate is at the moment; ticks during which other threads ran are left out. The result
//! is the lowest quartile of all samples, which is well reproducible even on a busy machine.
//! Nanoseconds are plain elapsed time; on processors other than x86-64 they are the only result.
//!
//! ```
//! use measure::{Options, measure};
//! let mut numbers: Vec<u32> = (0..1000).collect();
//! let options = Options { time: std::time::Duration::from_millis(20), ..Options::default() };
//! let reversal = measure(&options, 1, || numbers.reverse());
//! println!("{:.0} ns, spread {:.1} %", reversal.nanoseconds, 100.0 * reversal.spread);
//! ```
//!
//! To compare operations, pass them to [`measure_in_turn`]: disturbances of the machine then affect
//! all of them.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod format;
mod machine;
mod stack;
mod statistics;
mod subject;

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

pub use format::{Align, Table, bytes, duration, grouped, percent, rate};
pub use machine::{Machine, load, machine};
pub use stack::stack_high_water;
pub use statistics::{Quartiles, quantile, sorted};
pub use subject::Subject;

/// The method of measurement, in one sentence for reports.
pub const METHOD: &str = "core cycles are time-stamp ticks while the thread ran, divided by the ticks of a cycle of dependent \
     additions timed before and after each sample; time is elapsed time; both are lowest quartiles";

/// A spread above this value deserves a warning: the machine was busy.
pub const LARGE_SPREAD: f64 = 0.1;

/// Limits of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The time for one subject; a fifth of it is for warming up. It includes preparing inputs and
    /// dropping results. Every subject is sampled at least [`Options::MIN_SAMPLES`] times, however
    /// long that takes.
    pub time: Duration,
    /// The maximum number of samples of one subject.
    pub samples: usize,
    /// The time before each sample during which the vector units are not used; a sample is then one
    /// call.
    pub rest: Option<Duration>,
}

impl Options {
    /// The number of samples that are taken even if no time is left for them.
    pub const MIN_SAMPLES: usize = 3;
}

impl Default for Options {
    /// Returns a quarter of a second and at most 4096 samples.
    fn default() -> Self {
        Options { time: Duration::from_millis(250), samples: 4096, rest: None }
    }
}

/// The duration of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Core cycles of one operation, while its thread ran; `None` without a time-stamp counter.
    pub core_cycles: Option<f64>,
    /// Nanoseconds of one operation, on the monotonic clock.
    pub nanoseconds: f64,
    /// The variation of the samples: the difference of third and first quartile, divided by the
    /// first. It refers to core cycles, or to nanoseconds if there are no core cycles.
    pub spread: f64,
    /// The number of samples taken.
    pub samples: usize,
}

impl Measurement {
    /// Returns the number of operations per second.
    pub fn per_second(&self) -> f64 {
        1e9 / self.nanoseconds
    }

    /// True if the samples differ so much that the measurement should be repeated.
    pub fn is_noisy(&self) -> bool {
        self.spread > LARGE_SPREAD
    }
}

/// Measures `operation`, of which one call does `operations_per_call` operations. `nanoseconds` and
/// `core_cycles` of the result are for one operation.
///
/// Results of the calls are dropped outside of the measured time.
///
/// # Panics
/// `operations_per_call` is zero.
pub fn measure<T>(
    options: &Options,
    operations_per_call: usize,
    operation: impl FnMut() -> T,
) -> Measurement {
    measure_one(options, Subject::new(operations_per_call, operation))
}

/// Measures `operation`. Each call of it consumes a value that `prepare` makes outside of the
/// measured time.
///
/// # Panics
/// `operations_per_call` is zero.
pub fn measure_prepared<I, T>(
    options: &Options,
    operations_per_call: usize,
    prepare: impl FnMut() -> I,
    operation: impl FnMut(I) -> T,
) -> Measurement {
    measure_one(options, Subject::prepared(operations_per_call, prepare, operation))
}

fn measure_one(options: &Options, subject: Subject<'_>) -> Measurement {
    measure_in_turn(options, vec![subject])[0]
}

/// Measures several subjects, a few samples of each in turn, so that their ratios are valid even if
/// the absolute numbers vary. The results are in the order of the subjects. Each subject has its
/// own time limit from `options`.
pub fn measure_in_turn(options: &Options, mut subjects: Vec<Subject<'_>>) -> Vec<Measurement> {
    let mut runs: Vec<_> = subjects.iter_mut().map(|subject| Run::new(options, subject)).collect();
    while runs.iter().any(|run| !run.done(options)) {
        for run in &mut runs {
            run.turn(options);
        }
    }
    runs.iter().map(Run::measurement).collect()
}

/// The minimum duration of a sample. The time to read the clocks, about twenty nanoseconds, is
/// negligible in it.
const SAMPLE_NANOSECONDS: f64 = 20e3;

/// The maximum number of samples in a turn, and the time after which a turn ends.
const TURN_SAMPLES: usize = 16;
const TURN: Duration = Duration::from_millis(1);

/// A subject being measured.
struct Run<'a, 'b> {
    subject: &'a mut Subject<'b>,
    /// The number of calls in a sample.
    calls: usize,
    spent: Duration,
    core_cycles: Vec<f64>,
    nanoseconds: Vec<f64>,
}

impl<'a, 'b> Run<'a, 'b> {
    /// Warms up, and determines the number of calls in a sample.
    fn new(options: &Options, subject: &'a mut Subject<'b>) -> Self {
        let start = Instant::now();
        let mut calls = 1;
        loop {
            let nanoseconds = subject.read(calls).nanoseconds;
            if options.rest.is_some() || start.elapsed() >= options.time / 5 {
                break;
            }
            if nanoseconds < SAMPLE_NANOSECONDS {
                // The number grows in steps, because a first call is slower than later ones.
                let enough = calls as f64 * SAMPLE_NANOSECONDS / nanoseconds.max(1.0);
                calls = (2 * calls).max(enough as usize / 2);
            }
        }
        let spent = start.elapsed();
        Run { subject, calls, spent, core_cycles: Vec::new(), nanoseconds: Vec::new() }
    }

    fn done(&self, options: &Options) -> bool {
        let samples = self.nanoseconds.len();
        samples >= options.samples.max(Options::MIN_SAMPLES)
            || (self.spent >= options.time && samples >= Options::MIN_SAMPLES)
    }

    /// Takes several samples, because the first one finds the caches full of other subjects' data.
    /// Long samples end the turn earlier: for them the caches do not matter.
    fn turn(&mut self, options: &Options) {
        let start = Instant::now();
        for _ in 0..TURN_SAMPLES {
            if self.done(options) || start.elapsed() > TURN {
                break;
            }
            self.sample(options);
        }
    }

    fn sample(&mut self, options: &Options) {
        let start = Instant::now();
        if let Some(time) = options.rest {
            lanes::rest(time);
        }
        let before = ticks_per_cycle();
        let reading = self.subject.read(self.calls);
        let after = ticks_per_cycle();
        let operations = (self.calls * self.subject.operations_per_call()) as f64;
        self.nanoseconds.push(reading.nanoseconds / operations);
        // An interrupt can only make a calibration too long, never too short.
        if let (Some(ticks), Some(before), Some(after)) = (reading.ticks, before, after) {
            self.core_cycles.push(ticks / before.min(after) / operations);
        }
        self.spent += start.elapsed();
    }

    fn measurement(&self) -> Measurement {
        let nanoseconds = Quartiles::of(&self.nanoseconds).expect("at least one sample is taken");
        let core_cycles = Quartiles::of(&self.core_cycles);
        let Quartiles { first, third, .. } = core_cycles.as_ref().unwrap_or(&nanoseconds);
        Measurement {
            core_cycles: core_cycles.as_ref().map(|cycles| cycles.first),
            nanoseconds: nanoseconds.first,
            spread: (third - first) / first,
            samples: self.nanoseconds.len(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn ticks() -> Option<u64> {
    Some(lanes::clock::ticks())
}

#[cfg(target_arch = "x86_64")]
fn ticks_per_cycle() -> Option<f64> {
    Some(lanes::clock::ticks_per_cycle())
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> Option<u64> {
    None
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks_per_cycle() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn briefly() -> Options {
        Options { time: Duration::from_millis(10), samples: 100, rest: None }
    }

    #[test]
    fn operations_divide_a_call() {
        // The same work, declared as one operation and as a thousand.
        let work = || (0..20_000u32).fold(0u32, |sum, x| std::hint::black_box(sum ^ x));
        let subjects = vec![Subject::new(1, work), Subject::new(1000, work)];
        let [one, many] = measure_in_turn(&briefly(), subjects)[..] else { unreachable!() };
        assert!(one.nanoseconds / many.nanoseconds > 100.0, "{one:?} {many:?}");
        assert_eq!(one.core_cycles.is_some(), cfg!(target_arch = "x86_64"));
        for measurement in [one, many] {
            assert!(measurement.spread >= 0.0 && measurement.per_second() > 0.0);
            assert!((Options::MIN_SAMPLES..=100).contains(&measurement.samples));
        }
    }

    #[test]
    fn samples_are_bounded_both_ways() {
        let few = Options { samples: 5, ..Options::default() };
        assert_eq!(measure(&few, 1, || std::hint::black_box(3u32)).samples, 5);
        let none = Options { time: Duration::ZERO, samples: 0, rest: None };
        let slow = measure(&none, 1, || std::thread::sleep(Duration::from_millis(1)));
        assert_eq!(slow.samples, Options::MIN_SAMPLES);
        assert!(slow.nanoseconds >= 1e6, "{slow:?}");
    }

    #[test]
    fn resting_is_not_timed() {
        const REST: Duration = Duration::from_millis(20);
        let rested = Options { time: Duration::ZERO, samples: 0, rest: Some(REST) };
        let (start, mut calls) = (Instant::now(), 0);
        let measurement = measure(&rested, 1, || calls += 1);
        assert!(measurement.nanoseconds < REST.as_nanos() as f64, "{measurement:?}");
        assert_eq!(calls, 4, "one to warm up, three samples");
        assert!(start.elapsed() >= 3 * REST);
    }

    #[test]
    fn preparing_is_not_timed() {
        const PREPARING: Duration = Duration::from_millis(20);
        let (mut prepared, mut used) = (0, 0);
        let prepare = || {
            std::thread::sleep(PREPARING);
            prepared += 1;
        };
        let none = Options { time: Duration::ZERO, samples: 0, rest: None };
        let measurement = measure_prepared(&none, 1, prepare, |()| used += 1);
        assert!(measurement.nanoseconds < PREPARING.as_nanos() as f64, "{measurement:?}");
        assert_eq!((prepared, used), (4, 4), "one to warm up, three samples");
    }
}
