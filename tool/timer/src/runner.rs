//! Takes samples of several candidates in turns.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use output::Failure;

use crate::connection::Target;
use crate::processor::Spent;
use crate::results::{Plan, Sample, Series};
use crate::workload::Workload;

/// Progress callback and cancel flag.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Called at intervals with the number of connections since the last call, and the label of
    /// their candidate.
    pub progress: &'a (dyn Fn(usize, &str) + Sync),
    /// Set to end the run: no more connections are made.
    pub stop: &'a AtomicBool,
}

/// The result of a run.
pub struct Ended {
    /// The measurements.
    pub series: Vec<Series>,
    /// True if all requested measurements were made.
    pub complete: bool,
    /// The failure of the server that ended the run, if any.
    pub gave_up: Option<Failure>,
}

/// The number of consecutive failures after which the run ends.
const HOPELESS: usize = 10;
/// The number of connections between two progress reports.
const REPORT: usize = 16;

/// Makes one connection of each target to record its parameters, then takes samples in turns. The
/// order changes each time, so that changes of the machine over time affect all targets equally.
///
/// # Errors
/// The first connection of a target fails.
pub fn run<E: Workload>(
    targets: &[Target<E>],
    plan: &Plan,
    watch: Watch<'_>,
) -> Result<Ended, Failure> {
    let mut series = targets.iter().map(Target::preflight).collect::<Result<Vec<_>, _>>()?;
    let mut order: Vec<_> = (0..targets.len()).collect();
    let mut gave_up = None;
    'samples: for _ in 0..plan.samples {
        for &index in &order {
            let (target, series) = (&targets[index], &mut series[index]);
            for (connections, counts) in [(plan.warm_up, false), (plan.connections, true)] {
                let turn = turn(target, connections, plan.concurrency, watch);
                if series.first_failure.is_none() {
                    series.first_failure = turn.first_failure.map(|failure| failure.to_string());
                }
                if counts && turn.sample.connections + turn.sample.failures > 0 {
                    series.samples.push(turn.sample);
                }
                gave_up = turn.hopeless;
                if gave_up.is_some() || watch.stop.load(Ordering::Relaxed) {
                    break 'samples;
                }
            }
        }
        order.rotate_left(1);
    }
    let asked_for = |series: &Series| {
        let all = series.connections() + series.failures();
        series.samples.len() == plan.samples && all == plan.samples * plan.connections
    };
    Ok(Ended { complete: series.iter().all(asked_for), series, gave_up })
}

/// The result of a turn.
pub(crate) struct Turn {
    pub(crate) sample: Sample,
    pub(crate) first_failure: Option<Failure>,
    pub(crate) hopeless: Option<Failure>,
}

/// State that the threads of a turn share.
struct Shared<'a, E> {
    target: &'a Target<E>,
    watch: Watch<'a>,
    /// The number of connections still to be made.
    left: AtomicUsize,
    /// The time after which no new connection begins.
    until: Option<Instant>,
    failures: Mutex<Failures>,
}

#[derive(Default)]
struct Failures {
    in_a_row: usize,
    first: Option<Failure>,
    hopeless: Option<Failure>,
}

/// Makes `connections` connections in `concurrency` threads.
pub(crate) fn turn<E: Workload>(
    target: &Target<E>,
    connections: usize,
    concurrency: usize,
    watch: Watch<'_>,
) -> Turn {
    turn_until(target, connections, concurrency, None, watch)
}

/// Does the same as [`turn`], but begins no connection after `until`.
pub(crate) fn turn_until<E: Workload>(
    target: &Target<E>,
    connections: usize,
    concurrency: usize,
    until: Option<Instant>,
    watch: Watch<'_>,
) -> Turn {
    let shared = Shared {
        target,
        watch,
        left: AtomicUsize::new(connections),
        until,
        failures: Mutex::default(),
    };
    let server = || target.server_seconds.as_ref().and_then(|seconds| seconds());
    let (server_before, before, start) = (server(), Spent::now(), Instant::now());
    let mut sample = Sample::default();
    if concurrency <= 1 {
        shared.work(&mut sample);
    } else {
        let parts = thread::scope(|scope| {
            let work = || {
                let mut part = Sample::default();
                shared.work(&mut part);
                part
            };
            let threads: Vec<_> = (0..concurrency).map(|_| scope.spawn(work)).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect::<Vec<_>>()
        });
        for part in parts {
            sample.connections += part.connections;
            sample.failures += part.failures;
            sample.microseconds.extend(part.microseconds);
        }
    }
    sample.seconds = start.elapsed().as_secs_f64();
    let spent = Spent::now().since(before);
    sample.user_seconds = spent.user_seconds;
    sample.kernel_seconds = spent.kernel_seconds;
    sample.server_seconds = server().zip(server_before).map(|(after, before)| after - before);
    let failures = shared.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    Turn { sample, first_failure: failures.first, hopeless: failures.hopeless }
}

impl<E: Workload> Shared<'_, E> {
    /// Makes connections until none is left.
    fn work(&self, sample: &mut Sample) {
        let mut unreported = 0;
        while self.take() {
            match self.target.make() {
                Ok(time) => {
                    sample.connections += 1;
                    sample.microseconds.push(time.as_micros().try_into().unwrap_or(u32::MAX));
                    self.failures().in_a_row = 0;
                }
                Err(failure) => {
                    sample.failures += 1;
                    self.note(failure);
                }
            }
            unreported += 1;
            if unreported == REPORT {
                (self.watch.progress)(unreported, &self.target.candidate.label);
                unreported = 0;
            }
        }
        (self.watch.progress)(unreported, &self.target.candidate.label);
    }

    /// True if the caller is to make another connection. Takes it off the number that is left.
    fn take(&self) -> bool {
        let over = self.watch.stop.load(Ordering::Relaxed)
            || self.until.is_some_and(|until| Instant::now() >= until)
            || self.failures().hopeless.is_some();
        !over
            && self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                .is_ok()
    }

    fn note(&self, failure: Failure) {
        let mut failures = self.failures();
        failures.in_a_row += 1;
        let text = failure.to_string();
        failures.first.get_or_insert(failure);
        if failures.in_a_row == HOPELESS {
            let message = format!("{HOPELESS} connections in a row failed; the last: {text}");
            failures.hopeless = Some(Failure::new(message));
        }
    }

    fn failures(&self) -> std::sync::MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
