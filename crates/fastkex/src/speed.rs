//! `fastkex speed`: how long each operation takes on this machine.

use std::time::Duration;

use clap::Args;
use getrandom::SysRng;
use indicatif::{ProgressBar, ProgressStyle};
use measure::{Align, Measurement, Options, Table, measure, measure_prepared};
use serde::Serialize;
use sntrup::{Backend, Error, ExpandedKey, KeyPair, ParameterSet, PreparedEncapsulation};

use crate::sets::{self, ForSet, for_set};
use cli::{Failure, Outcome};

/// Measure every operation on this machine
///
/// Keys (keygen) and preparations for encapsulating (prepare) are made in batches, and the time is that of one of them. The default
/// takes some seconds; `--algorithm all` measures the other parameter sets, too, and takes six times as long.
#[derive(Args, Debug)]
pub(crate) struct Speed {
    /// Print one JSON array instead of a table
    #[arg(long)]
    json: bool,
    /// Parameter sets, apart by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = sets::parser(), default_value = "sntrup761")]
    algorithm: Vec<String>,
    /// Instruction sets, apart by commas: portable, avx2, avx512 [default: all that this machine has]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = backend)]
    backend: Vec<Backend>,
    /// Sizes of batches, apart by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = batch, default_value = "1,32,256")]
    batch: Vec<usize>,
    /// Seconds for each line of the table
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "0.25")]
    seconds: Duration,
}

/// The random source, which is the provider's.
pub(crate) fn random() -> SysRng {
    SysRng
}

/// Keys in the largest batch that is measured.
pub(crate) const MAX_BATCH: usize = 65536;

/// Parses the name of a backend that this machine has.
pub(crate) fn backend(name: &str) -> Result<Backend, sntrup::BackendError> {
    Backend::named(name)
}

/// Parses the size of a batch.
pub(crate) fn batch(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|size| (1..=MAX_BATCH).contains(size));
    size.ok_or_else(|| format!("expected a number from 1 to {MAX_BATCH}"))
}

/// Parses the time for a measurement.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.001..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected a number from 0.001 to 3600".to_owned())
}

/// The backends asked for, or all of this machine; each once, slowest first.
fn backends(asked_for: &[Backend]) -> Vec<Backend> {
    let wanted = |backend: &Backend| {
        asked_for.is_empty() || asked_for.iter().any(|other| other.name() == backend.name())
    };
    Backend::available().filter(wanted).collect()
}

/// One line of the result. Operations have names of the same kind in the documentation of `--json`.
#[derive(Serialize)]
struct Row {
    algorithm: &'static str,
    operation: &'static str,
    backend: &'static str,
    /// Operations in a call.
    batch: usize,
    #[serde(flatten)]
    measurement: Measurement,
}

impl Speed {
    pub(crate) fn run(&self) -> Outcome {
        let algorithms = sets::selected(&self.algorithm);
        let backends = backends(&self.backend);
        let mut batches = self.batch.clone();
        batches.sort_unstable();
        batches.dedup();

        let lines = algorithms.len() * backends.len() * (2 * batches.len() + 4);
        let progress = progress_bar(lines, self.seconds);
        let mut rows = Vec::with_capacity(lines);
        for name in algorithms {
            let options = Options { time: self.seconds, ..Options::default() };
            let measuring =
                Measuring { options, backends: &backends, progress: &progress, rows: &mut rows };
            for_set(name, OfSet { measuring, batches: &batches })
                .ok_or_else(|| Failure::new(format!("unknown parameter set {name}")))??;
        }
        progress.finish_and_clear();
        if self.json {
            let json = serde_json::to_string_pretty(&rows)
                .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))?;
            println!("{json}");
        } else {
            print_table(&rows);
        }
        Ok(true)
    }
}

/// A bar on standard error for `steps` of some time each, if that is a terminal and the whole takes long.
pub(crate) fn progress_bar(steps: usize, each: Duration) -> ProgressBar {
    const LONG: Duration = Duration::from_secs(2);
    if each.saturating_mul(steps as u32) < LONG {
        return ProgressBar::hidden();
    }
    // Hides itself where standard error is no terminal.
    let bar = ProgressBar::new(steps as u64);
    match ProgressStyle::with_template("{wide_bar} {pos}/{len}  {msg:36}  {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// What measurements of one parameter set have in common.
struct Measuring<'a> {
    options: Options,
    backends: &'a [Backend],
    progress: &'a ProgressBar,
    rows: &'a mut Vec<Row>,
}

impl Measuring<'_> {
    /// Adds a row for each backend, one after another.
    fn add<P: ParameterSet>(
        &mut self,
        operation: &'static str,
        batch: usize,
        mut how: impl FnMut(&Options, Backend) -> Result<Measurement, Error>,
    ) -> Result<(), Failure> {
        for &backend in self.backends {
            self.progress.set_message(format!("{} {operation} {}", P::NAME, backend.name()));
            let measurement = how(&self.options, backend)
                .map_err(Failure::about(format!("{} {operation}", P::NAME)))?;
            let (algorithm, backend) = (P::NAME, backend.name());
            self.rows.push(Row { algorithm, operation, backend, batch, measurement });
            self.progress.inc(1);
        }
        Ok(())
    }
}

/// Notes an error of a random source that fails while it is measured.
fn noting<T>(error: &mut Option<Error>, result: Result<T, Error>) -> Option<T> {
    result.map_err(|other| *error = Some(other)).ok()
}

/// A measurement of `operation`, unless it fails.
pub(crate) fn measure_fallible<T>(
    options: &Options,
    operations_per_call: usize,
    mut operation: impl FnMut() -> Result<T, Error>,
) -> Result<Measurement, Error> {
    let mut error = None;
    let measurement = measure(options, operations_per_call, || noting(&mut error, operation()));
    error.map_or(Ok(measurement), Err)
}

struct OfSet<'a> {
    measuring: Measuring<'a>,
    batches: &'a [usize],
}

impl ForSet for OfSet<'_> {
    type Output = Result<(), Failure>;

    fn run<P: ParameterSet>(self) -> Result<(), Failure> {
        let OfSet { mut measuring, batches } = self;
        let mut random = random();

        for &batch in batches {
            measuring.add::<P>("keygen", batch, |options, backend| {
                measure_fallible(options, batch, || {
                    KeyPair::<P>::generate_batch(backend, batch, &mut random)
                })
            })?;
        }

        let best = Backend::best();
        let pair = KeyPair::<P>::generate(best, &mut random).map_err(Failure::new)?;
        let (public, secret) = pair.into_parts();
        measuring.add::<P>("encapsulate", 1, |options, backend| {
            measure_fallible(options, 1, || public.encapsulate(backend, &mut random))
        })?;
        for &batch in batches {
            measuring.add::<P>("prepare", batch, |options, backend| {
                measure_fallible(options, batch, || {
                    PreparedEncapsulation::<P>::generate_batch(backend, batch, &mut random)
                })
            })?;
        }
        measuring.add::<P>("encapsulate-prepared", 1, |options, backend| {
            let mut error = None;
            let prepare = || {
                let prepared = PreparedEncapsulation::<P>::generate(backend, &mut random);
                noting(&mut error, prepared)
            };
            let measurement = measure_prepared(options, 1, prepare, |prepared| {
                prepared.map(|prepared| prepared.encapsulate(&public))
            });
            error.map_or(Ok(measurement), Err)
        })?;

        let (ciphertext, _) = public.encapsulate(best, &mut random).map_err(Failure::new)?;
        measuring.add::<P>("decapsulate", 1, |options, backend| {
            Ok(measure(options, 1, || secret.decapsulate(backend, &ciphertext)))
        })?;
        measuring.add::<P>("decapsulate-expanded", 1, |options, backend| {
            let expanded: ExpandedKey<P> = secret.expand(backend);
            Ok(measure(options, 1, || expanded.decapsulate(&ciphertext)))
        })
    }
}

fn print_table(rows: &[Row]) {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("algorithm", Left),
        ("operation", Left),
        ("batch", Right),
        ("backend", Left),
        ("core cycles", Right),
        ("time", Right),
        ("per second", Right),
        ("spread", Right),
    ]);
    for Row { algorithm, operation, backend, batch, measurement } in rows {
        table.row([
            (*algorithm).to_owned(),
            (*operation).to_owned(),
            batch.to_string(),
            (*backend).to_owned(),
            core_cycles(measurement.core_cycles),
            measure::duration(measurement.nanoseconds),
            measure::rate(measurement.per_second()),
            measure::percent(measurement.spread),
        ]);
    }
    println!("{table}\n");
    println!("Of one key, one preparation or one operation. {}", footer());
    let noisy = rows.iter().filter(|row| row.measurement.is_noisy()).count();
    warn_of_noise(noisy, rows.len());
}

/// Core cycles for people.
pub(crate) fn core_cycles(cycles: Option<f64>) -> String {
    cycles.map_or_else(|| "-".to_owned(), measure::grouped)
}

/// How and where was measured.
pub(crate) fn footer() -> String {
    format!("Measured: {}.\nMachine: {}.", measure::METHOD, measure::machine())
}

/// Says what makes numbers untrustworthy.
pub(crate) fn warn_of_noise(noisy: usize, all: usize) {
    if noisy > 0 {
        println!(
            "Warning: in {noisy} of {all} lines the samples differ by more than {}: the machine was busy. Repeat, or give more --seconds.",
            measure::percent(measure::LARGE_SPREAD)
        );
    }
    if cfg!(debug_assertions) {
        println!("Warning: this program was built without optimisation: its numbers mean nothing.");
    }
}
