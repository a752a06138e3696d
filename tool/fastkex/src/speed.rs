//! `fastkex speed`: measures the duration of each operation on this machine.

mod curves;
mod handshakes;
mod pool;

use std::fmt::Display;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use measure::{Align, Measurement, Options, Table, measure, measure_prepared};
use serde::Serialize;
use sntrup::{Backend, Error, PreparedEncapsulation};

use crate::json;
use crate::kem::{Kem, MlKem, Streamlined};
use crate::measuring::{
    self, backends, core_cycles, measure_fallible, noting, progress_bar, random, warn_of_noise,
};
use crate::sets::{self, ForFamily, for_family};
use output::{Failure, Outcome};

/// Measure every operation on this machine
///
/// Key pairs (keygen) and preparations of encapsulations (prepare) are made in batches; the time is
/// given for one item of a batch. The default takes some seconds. `--algorithm all` also measures
/// the other parameter sets and the curves, and takes nine times as long.
#[derive(Args, Debug)]
pub(crate) struct Speed {
    /// Print JSON instead of a table: one array, with --handshakes one object
    #[arg(long)]
    json: bool,
    /// Comma-separated parameter sets and curves
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::curves::parser(), default_value = "sntrup761")]
    algorithm: Vec<String>,
    /// Comma-separated instruction sets: portable, avx2, avx512 [default: all that this machine
    /// has]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = measuring::backend)]
    backend: Vec<Backend>,
    /// Comma-separated sizes of batches
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = measuring::batch, default_value = "1,32,256")]
    batch: Vec<usize>,
    /// Seconds for each line of the table [default: 0.25; with --handshakes 1.2]
    #[arg(long, value_name = "SECONDS", value_parser = measuring::seconds)]
    seconds: Option<Duration>,
    /// Let the vector units rest for 2 ms before each operation. Some processors put them to sleep,
    /// and are slow until they wake
    #[arg(long)]
    cold: bool,
    /// Measure instead the time to get a key from a pool, on the fastest of the instruction sets.
    /// Compares no pool, batches of 32 and growing batches made by the caller when the pool is
    /// empty, and growing batches made in the background
    #[arg(long, conflicts_with_all = ["batch", "cold"])]
    pool: bool,
    /// Measure instead the processor time of TLS 1.3 handshakes in this process, by group and
    /// certificate: without the module, with the module loaded but not used, and with the module
    #[arg(long, conflicts_with_all = ["batch", "cold", "pool", "algorithm", "backend"])]
    handshakes: bool,
    #[command(flatten)]
    handshake: handshakes::Arguments,
}

/// The time for each line.
const TIME: Duration = Duration::from_millis(250);
/// The rest of the vector units before each operation, if a cold start is measured (ENG25519,
/// tables 6 and 7).
const REST: Duration = Duration::from_millis(2);

/// One line of the result. The documentation of `--json` explains the names of the operations.
#[derive(Serialize)]
struct Row {
    algorithm: &'static str,
    operation: &'static str,
    backend: &'static str,
    /// The number of operations in a call.
    batch: usize,
    /// True if the vector units rested before each operation.
    cold: bool,
    #[serde(flatten)]
    measurement: Measurement,
}

impl Speed {
    pub(crate) fn run(&self) -> Outcome {
        if self.handshakes {
            let time = self.seconds.unwrap_or(handshakes::TIME);
            return handshakes::run(&self.handshake, time, self.json);
        }
        let seconds = self.seconds.unwrap_or(TIME);
        let algorithms = sets::selected(&self.algorithm);
        let curves = crate::curves::selected(&self.algorithm);
        let backends = backends(&self.backend);
        if self.pool {
            let algorithms = pool::selected(&self.algorithm)?;
            let backend = backends.last().copied().unwrap_or(Backend::best());
            let rows = pool::rows(&algorithms, backend, seconds)?;
            if self.json {
                output::line(json::text(&rows)?)?;
            } else {
                pool::print(&rows)?;
            }
            return Ok(true);
        }
        let mut batches = self.batch.clone();
        batches.sort_unstable();
        batches.dedup();

        let of_set = |name: &&'static str| for_family(name, Lines { batches: batches.len() });
        let of_sets: usize = algorithms.iter().filter_map(of_set).sum();
        let of_curves = curves.len() * (batches.len() + 2);
        let lines = backends.len() * (of_sets + of_curves);
        let progress = progress_bar(lines, seconds);
        let mut rows = Vec::with_capacity(lines);
        let rest = self.cold.then_some(REST);
        let options = Options { time: seconds, rest, ..Options::default() };
        let (backends, progress) = (&backends[..], &progress);
        for name in algorithms {
            let measuring =
                Measuring { algorithm: name, options, backends, progress, rows: &mut rows };
            for_family(name, OfSet { measuring, batches: &batches })
                .ok_or_else(|| Failure::new(format!("unknown parameter set {name}")))??;
        }
        for curve in curves {
            let algorithm = curve.name();
            curve.measure(
                Measuring { algorithm, options, backends, progress, rows: &mut rows },
                &batches,
            )?;
        }
        progress.finish_and_clear();
        if self.json {
            output::line(json::text(&rows)?)?;
        } else {
            print_table(&rows)?;
        }
        Ok(true)
    }
}

/// The parameters that measurements of one algorithm share.
struct Measuring<'a> {
    algorithm: &'static str,
    options: Options,
    backends: &'a [Backend],
    progress: &'a ProgressBar,
    rows: &'a mut Vec<Row>,
}

impl Measuring<'_> {
    /// Measures an operation on each backend, one after another, and adds a row for each.
    fn add<E: Display>(
        &mut self,
        operation: &'static str,
        batch: usize,
        mut how: impl FnMut(&Options, Backend) -> Result<Measurement, E>,
    ) -> Result<(), Failure> {
        let algorithm = self.algorithm;
        for &backend in self.backends {
            self.progress.set_message(format!("{algorithm} {operation} {}", backend.name()));
            let measurement = how(&self.options, backend)
                .map_err(Failure::about(format!("{algorithm} {operation}")))?;
            let backend = backend.name();
            let cold = self.options.rest.is_some();
            self.rows.push(Row { algorithm, operation, backend, batch, cold, measurement });
            self.progress.inc(1);
        }
        Ok(())
    }
}

/// The number of lines of a parameter set on one backend.
struct Lines {
    /// The number of sizes of batches.
    batches: usize,
}

impl ForFamily for Lines {
    type Output = usize;

    fn streamlined<P: sntrup::Operations>(self) -> usize {
        2 * self.batches + 5
    }

    fn ml_kem<P: mlkem::Operations>(self) -> usize {
        self.batches + 4
    }
}

struct OfSet<'a> {
    measuring: Measuring<'a>,
    batches: &'a [usize],
}

impl ForFamily for OfSet<'_> {
    type Output = Result<(), Failure>;

    fn streamlined<P: sntrup::Operations>(self) -> Result<(), Failure> {
        let OfSet { mut measuring, batches } = self;
        keygen::<Streamlined<P>>(&mut measuring, batches)?;
        encapsulations::<Streamlined<P>>(&mut measuring)?;
        preparations::<P>(&mut measuring, batches)?;
        decapsulations::<Streamlined<P>>(&mut measuring)
    }

    fn ml_kem<P: mlkem::Operations>(self) -> Result<(), Failure> {
        let OfSet { mut measuring, batches } = self;
        keygen::<MlKem<P>>(&mut measuring, batches)?;
        encapsulations::<MlKem<P>>(&mut measuring)?;
        decapsulations::<MlKem<P>>(&mut measuring)
    }
}

fn keygen<K: Kem>(measuring: &mut Measuring<'_>, batches: &[usize]) -> Result<(), Failure> {
    for &batch in batches {
        measuring.add("keygen", batch, |options, backend| {
            measure_fallible(options, batch, || K::generate_batch(backend, batch, &mut random()))
        })?;
    }
    Ok(())
}

fn key<K: Kem>() -> Result<(K::PublicKey, K::SecretKey), Failure> {
    let pair = K::generate(Backend::best(), &mut random()).map_err(Failure::new)?;
    Ok(K::into_parts(pair))
}

fn encapsulations<K: Kem>(measuring: &mut Measuring<'_>) -> Result<(), Failure> {
    let (public, _) = key::<K>()?;
    measuring.add("encapsulate", 1, |options, backend| {
        measure_fallible(options, 1, || K::encapsulate(&public, backend, &mut random()))
    })?;
    let bytes = K::public_key_bytes(&public);
    measuring.add("encapsulate-from-bytes", 1, |options, backend| {
        measure_fallible(options, 1, || {
            let public = K::read_public_key(backend, bytes)?;
            K::encapsulate(&public, backend, &mut random())
        })
    })
}

/// Measures encapsulations in two parts, of which only Streamlined NTRU Prime can do one before it
/// knows the public key.
fn preparations<P: sntrup::Operations>(
    measuring: &mut Measuring<'_>,
    batches: &[usize],
) -> Result<(), Failure> {
    let (public, _) = key::<Streamlined<P>>()?;
    for &batch in batches {
        measuring.add("prepare", batch, |options, backend| {
            measure_fallible(options, batch, || {
                PreparedEncapsulation::<P>::generate_batch(backend, batch, &mut random())
            })
        })?;
    }
    measuring.add("encapsulate-prepared", 1, |options, backend| {
        let mut error = None;
        let prepare = || {
            let prepared = PreparedEncapsulation::<P>::generate(backend, &mut random());
            noting(&mut error, prepared)
        };
        let measurement = measure_prepared(options, 1, prepare, |prepared| {
            prepared.map(|prepared| prepared.encapsulate(&public))
        });
        error.map_or(Ok(measurement), Err)
    })
}

fn decapsulations<K: Kem>(measuring: &mut Measuring<'_>) -> Result<(), Failure> {
    let (public, secret) = key::<K>()?;
    let (ciphertext, _) =
        K::encapsulate(&public, Backend::best(), &mut random()).map_err(Failure::new)?;
    measuring.add("decapsulate", 1, |options, backend| {
        Ok::<_, Error>(measure(options, 1, || K::decapsulate(&secret, backend, &ciphertext)))
    })?;
    measuring.add("decapsulate-expanded", 1, |options, backend| {
        let expanded = K::expand(&secret, backend);
        Ok::<_, Error>(measure(options, 1, || K::decapsulate_expanded(&expanded, &ciphertext)))
    })
}

fn print_table(rows: &[Row]) -> Result<(), Failure> {
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
    for Row { algorithm, operation, backend, batch, measurement, .. } in rows {
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
    output::line(format_args!("{table}\n"))?;
    let when = match rows.first() {
        Some(row) if row.cold => ", after 2 ms without vector instructions",
        _ => "",
    };
    output::line(format_args!(
        "Of one key, one preparation or one operation{when}. {}",
        measuring::footer(measure::METHOD, &measure::machine())
    ))?;
    let noisy = rows.iter().filter(|row| row.measurement.is_noisy()).count();
    warn_of_noise(noisy, rows.len())
}
