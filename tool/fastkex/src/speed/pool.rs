//! `fastkex speed --pool`: measures the time to get a key, for each way to generate it.

use std::hint;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use kex::{Backend, Kem, Sntrup};
use keypool::{Batch, KeyPairs, Pool, Pools, Refill, Settings};
use measure::{Align, Table};
use serde::Serialize;

use crate::measuring::{self, progress_bar};
use crate::sets::{self, ForFamily, for_family};
use output::Failure;

/// The compared ways to get a key.
const MODES: [Mode; 4] = [
    Mode { name: "off", enabled: false, batch: Batch::Growing, refill: Refill::Inline },
    Mode { name: "32 inline", enabled: true, batch: Batch::Fixed(32), refill: Refill::Inline },
    Mode { name: "growth inline", enabled: true, batch: Batch::Growing, refill: Refill::Inline },
    Mode { name: "background", enabled: true, batch: Batch::Growing, refill: Refill::Background },
];

/// The numbers of threads that take keys at the same time.
const THREADS: [usize; 4] = [1, 2, 4, 8];
/// A moderate load, at which no waiting is expected: a part of the rate that one thread reaches
/// without pauses.
const PART_OF_FULL_LOAD: f64 = 0.5;
/// A low load, in keys per second. Below this rate, inline growth should not be noticeable.
const SLOW: f64 = 60.0;
/// The part of the time in which keys are taken before the measurement, so that the pool has seen
/// demand.
const WARM_UP: f64 = 0.2;

struct Mode {
    name: &'static str,
    enabled: bool,
    batch: Batch,
    refill: Refill,
}

/// One line of the result.
#[derive(Serialize)]
pub(super) struct Row {
    algorithm: &'static str,
    operation: &'static str,
    backend: &'static str,
    pool: &'static str,
    threads: usize,
    /// The requested rate in keys per second: `None` for as many as possible.
    load: Option<f64>,
    /// The rate at which keys were taken, in keys per second.
    per_second: f64,
    keys: usize,
    p50_nanoseconds: u64,
    p99_nanoseconds: u64,
    p999_nanoseconds: u64,
    max_nanoseconds: u64,
}

/// Returns the parameter sets that a list on the command line stands for.
///
/// # Errors
/// The list names a parameter set that has no pool, or none that has one.
pub(super) fn selected(list: &[String]) -> Result<Vec<&'static str>, Failure> {
    let without_pool = |name: &&str| list.iter().any(|item| item == name);
    let refused = sets::ML_KEM.iter().find(|name| without_pool(name));
    let mut names = sets::selected(list);
    names.retain(|name| sets::STREAMLINED.contains(name));
    if refused.is_none() && !names.is_empty() {
        return Ok(names);
    }
    let problem = match refused {
        Some(name) => format!("--pool: {name} has no pool"),
        None => "--pool measures pools of a parameter set".to_owned(),
    };
    Err(Failure::new(format!("{problem}: expected one of {}", sets::STREAMLINED.join(", "))))
}

/// Measures every mode.
pub(super) fn rows(
    algorithms: &[&'static str],
    backend: Backend,
    time: Duration,
) -> Result<Vec<Row>, Failure> {
    let lines = algorithms.len() * MODES.len() * (THREADS.len() + 2);
    let progress = progress_bar(lines, time);
    let mut rows = Vec::new();
    for name in algorithms {
        for_family(name, OfSet { backend, time, progress: &progress, rows: &mut rows })
            .ok_or_else(|| Failure::new(format!("unknown parameter set {name}")))??;
    }
    progress.finish_and_clear();
    Ok(rows)
}

struct OfSet<'a> {
    backend: Backend,
    time: Duration,
    progress: &'a ProgressBar,
    rows: &'a mut Vec<Row>,
}

impl ForFamily for OfSet<'_> {
    type Output = Result<(), Failure>;

    fn streamlined<P: sntrup::Operations>(self) -> Result<(), Failure> {
        self.measure::<Sntrup<P>>(P::NAME)
    }

    fn ml_kem<P: mlkem::Operations>(self) -> Result<(), Failure> {
        Err(Failure::new(format!("{} has no pool", P::NAME)))
    }
}

impl OfSet<'_> {
    fn measure<K: Kem>(self, name: &'static str) -> Result<(), Failure> {
        for mode in &MODES {
            let mut full = 0.0;
            let loads = THREADS.map(|threads| (threads, Load::Full));
            let slower = [(1, Load::Part(PART_OF_FULL_LOAD)), (1, Load::Rate(SLOW))];
            for (threads, load) in loads.into_iter().chain(slower) {
                let load = match load {
                    Load::Full => None,
                    Load::Part(part) => Some(part * full),
                    Load::Rate(rate) => Some(rate),
                };
                self.progress.set_message(format!("{name} pool {}", mode.name));
                let row = measure::<K>(name, mode, self.backend, threads, load, self.time)?;
                if threads == 1 && load.is_none() {
                    full = row.per_second;
                }
                self.rows.push(row);
                self.progress.inc(1);
            }
        }
        Ok(())
    }
}

enum Load {
    Full,
    Part(f64),
    Rate(f64),
}

/// The time for each key that a thread took, in nanoseconds, and the total duration of the thread's
/// work.
type Taken = Result<(Vec<u64>, Duration), kex::Error>;

fn measure<K: Kem>(
    name: &'static str,
    mode: &Mode,
    backend: Backend,
    threads: usize,
    load: Option<f64>,
    time: Duration,
) -> Result<Row, Failure> {
    let settings = Settings {
        enabled: mode.enabled,
        batch: mode.batch,
        refill: mode.refill,
        ..Settings::default()
    };
    let mut builder = Pools::builder(backend, settings);
    let pool: Arc<Pool<KeyPairs<K>>> = builder.add(name);
    let _pools = builder.finish();

    let period = load.map(|rate| Duration::from_secs_f64(threads as f64 / rate));
    let start = Barrier::new(threads);
    let taken: Vec<Taken> = thread::scope(|scope| {
        let take = || {
            start.wait();
            take(&pool, time.mul_f64(WARM_UP), period)?;
            take(&pool, time, period)
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Err(kex::Error::RandomSource)))
            .collect()
    });

    let (mut nanoseconds, mut per_second) = (Vec::new(), 0.0);
    for of_thread in taken {
        let (of_thread, took) = of_thread.map_err(Failure::about(name))?;
        per_second += of_thread.len() as f64 / took.as_secs_f64();
        nanoseconds.extend(of_thread);
    }
    nanoseconds.sort_unstable();
    let at = |part: f64| {
        let last = nanoseconds.len().saturating_sub(1);
        nanoseconds.get((part * last as f64).round() as usize).copied().unwrap_or(0)
    };
    Ok(Row {
        algorithm: name,
        operation: "take",
        backend: backend.name(),
        pool: mode.name,
        threads,
        load,
        per_second,
        keys: nanoseconds.len(),
        p50_nanoseconds: at(0.5),
        p99_nanoseconds: at(0.99),
        p999_nanoseconds: at(0.999),
        max_nanoseconds: at(1.0),
    })
}

/// Takes keys for some time: one in each period, or one after another.
fn take<K: Kem>(pool: &Pool<KeyPairs<K>>, time: Duration, period: Option<Duration>) -> Taken {
    let mut nanoseconds = Vec::new();
    let started = Instant::now();
    let mut due = started;
    while started.elapsed() < time {
        if let Some(period) = period {
            wait_until(due);
            due += period;
        }
        let asked = Instant::now();
        let pair = pool.take()?;
        nanoseconds.push(asked.elapsed().as_nanos() as u64);
        drop(pair);
    }
    Ok((nanoseconds, started.elapsed()))
}

/// Waits until `due`. Sleeps as long as possible, and then spins, because a sleep ends some tens of
/// microseconds late.
fn wait_until(due: Instant) {
    const LATE: Duration = Duration::from_micros(200);
    loop {
        match due.checked_duration_since(Instant::now()) {
            None => return,
            Some(left) if left > LATE => thread::sleep(left - LATE),
            Some(_) => hint::spin_loop(),
        }
    }
}

/// Prints the results.
pub(super) fn print(rows: &[Row]) -> Result<(), Failure> {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("algorithm", Left),
        ("pool", Left),
        ("threads", Right),
        ("asked for", Right),
        ("keys per second", Right),
        ("p50", Right),
        ("p99", Right),
        ("p99.9", Right),
        ("longest", Right),
        ("keys", Right),
    ]);
    for row in rows {
        let time = |nanoseconds: u64| measure::duration(nanoseconds as f64);
        table.row([
            row.algorithm.to_owned(),
            row.pool.to_owned(),
            row.threads.to_string(),
            row.load.map_or_else(|| "all".to_owned(), |rate| format!("{}/s", measure::rate(rate))),
            measure::rate(row.per_second),
            time(row.p50_nanoseconds),
            time(row.p99_nanoseconds),
            time(row.p999_nanoseconds),
            time(row.max_nanoseconds),
            row.keys.to_string(),
        ]);
    }
    output::line(format_args!("{table}\n"))?;
    let backend = rows.first().map_or("none", |row| row.backend);
    output::line(format_args!(
        "Time from asking for a key to having it, with two readings of the clock in it, on {backend}. {}",
        measuring::footer("elapsed time of each key", &measure::machine())
    ))
}
