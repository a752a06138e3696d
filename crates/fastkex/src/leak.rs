//! `fastkex leak`: whether time tells anything about secrets, on this machine.

mod collect;
mod control;
mod experiments;
mod report;
mod statistic;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use indicatif::ProgressBar;
use rand_core::TryRng;
use random::OperationRandom;
use reference::drbg::{Drbg, SEED_BYTES};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;
use sntrup::{Backend, ParameterSet};

use crate::json;
use crate::measuring::{self, backends, progress_bar};
use crate::sets::{self, ForSet, for_set};
use cli::{Failure, Outcome};
use collect::{FEWEST, Limit, MOST};
use control::{CONTROLS, Control};
use experiments::{OPERATIONS, Setting, experiments};
use report::Row;
use statistic::Verdict;

/// Look for secrets in the times of operations, by statistics
///
/// Each operation is timed with inputs of two classes in random order, and the two sets of times are compared (Welch's t-test of means
/// and of spreads, with and without the slowest times). Before that, two comparisons of bytes show that a leak is found here, and
/// that none is where there is none. The exit status is 1 if an operation leaks. Finding nothing proves nothing: more seconds see more.
#[derive(Args, Debug)]
pub(crate) struct Leak {
    /// Print one JSON array instead of a table
    #[arg(long)]
    json: bool,
    /// Parameter sets, apart by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = sets::parser(), default_value = "sntrup761")]
    algorithm: Vec<String>,
    /// Instruction sets, apart by commas: portable, avx2, avx512 [default: all that this machine has]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = measuring::backend)]
    backend: Vec<Backend>,
    /// Operations, apart by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = PossibleValuesParser::new(OPERATIONS))]
    operation: Vec<String>,
    /// Seconds for each line of the table; some thousand times are taken in any case
    #[arg(long, value_name = "SECONDS", value_parser = measuring::seconds, default_value = "3")]
    seconds: Duration,
    /// Times for each line of the table, instead of seconds
    #[arg(long, value_name = "NUMBER", value_parser = samples, conflicts_with = "seconds")]
    samples: Option<usize>,
    /// Only show that a leak is found here, and that none is where there is none
    #[arg(long, conflicts_with_all = ["algorithm", "backend", "operation", "seconds", "samples"])]
    self_check: bool,
}

/// Times of each control: some hundredths of a second.
const CONTROL_SAMPLES: usize = 1 << 17;

/// Parses a number of times.
fn samples(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (FEWEST..=MOST).contains(number));
    number.ok_or_else(|| format!("expected a number from {FEWEST} to {MOST}"))
}

impl Leak {
    pub(crate) fn run(&self) -> Outcome {
        let stop = Arc::new(AtomicBool::new(false));
        // The first ^C ends measuring, the second one this program.
        flag::register_conditional_default(SIGINT, Arc::clone(&stop))
            .and_then(|_| flag::register(SIGINT, Arc::clone(&stop)))
            .map_err(Failure::about("signals"))?;
        let mut seed = [0; SEED_BYTES];
        OperationRandom::new().try_fill_bytes(&mut seed).map_err(Failure::new)?;
        let mut random = Drbg::new(&seed);

        let mut rows = controls(&stop, &mut random)?;
        if !stop.load(Ordering::Relaxed) {
            check(&rows)?;
            if !self.json {
                report::print_controls(&rows);
            }
        }
        let controls = rows.len();
        if !self.self_check {
            self.experiments(&stop, &mut random, &mut rows)?;
        }
        if self.json {
            println!("{}", json::text(&rows)?);
        } else if !self.self_check {
            report::print(&rows[controls..]);
        }
        if stop.load(Ordering::Relaxed) {
            eprintln!("fastkex: incomplete: interrupted");
            // Ends this process as the signal would have without us.
            emulate_default_handler(SIGINT).map_err(Failure::about("signals"))?;
        }
        Ok(rows[controls..].iter().all(|row| row.verdict != Verdict::Leak))
    }

    fn experiments(
        &self,
        stop: &AtomicBool,
        random: &mut Drbg,
        rows: &mut Vec<Row>,
    ) -> Result<(), Failure> {
        let (algorithms, backends) = (sets::selected(&self.algorithm), backends(&self.backend));
        let lines: usize = algorithms
            .iter()
            .filter_map(|name| for_set(name, Lines(&self.operation)))
            .map(|lines| lines * backends.len())
            .sum();
        let (time, samples) = match self.samples {
            Some(samples) => (Duration::MAX, samples),
            None => (self.seconds, MOST),
        };
        let progress = &progress_bar(lines, time);
        for name in algorithms {
            for &backend in &backends {
                let limit = Limit { time, samples, stop };
                let setting = Setting { backend, limit, random };
                let of_set = OfSet { setting, operations: &self.operation, progress, rows };
                for_set(name, of_set)
                    .ok_or_else(|| Failure::new(format!("unknown parameter set {name}")))??;
            }
        }
        progress.finish_and_clear();
        Ok(())
    }
}

fn controls(stop: &AtomicBool, random: &mut Drbg) -> Result<Vec<Row>, Failure> {
    let limit = Limit { time: Duration::MAX, samples: CONTROL_SAMPLES, stop };
    let mut row = |control: &Control| {
        let times = control.run(&limit, random).map_err(Failure::about(control.operation))?;
        Ok(Row::new(None, control.operation, control::CLASSES, times))
    };
    CONTROLS.iter().map(&mut row).collect()
}

/// Whether controls came out as they must.
fn check(rows: &[Row]) -> Result<(), Failure> {
    for (row, control) in rows.iter().zip(CONTROLS) {
        if (row.verdict == Verdict::Leak) != control.leaks {
            return Err(Failure::new(format!(
                "the self-check failed, so nothing can be said: {} of the {} ({:+.1})",
                if control.leaks { "no clear t came" } else { "a clear t came" },
                control.operation,
                row.comparison.t
            )));
        }
    }
    Ok(())
}

/// Whether an operation is asked for.
fn is_selected(operations: &[String], operation: &str) -> bool {
    operations.is_empty() || operations.iter().any(|other| other == operation)
}

/// Counts the experiments with these operations.
struct Lines<'a>(&'a [String]);

impl ForSet for Lines<'_> {
    type Output = usize;

    fn run<P: ParameterSet>(self) -> usize {
        let selected = |experiment: &&_| {
            let experiments::Experiment::<P> { operation, .. } = experiment;
            is_selected(self.0, operation)
        };
        experiments::<P>().iter().filter(selected).count()
    }
}

struct OfSet<'a> {
    setting: Setting<'a>,
    operations: &'a [String],
    progress: &'a ProgressBar,
    rows: &'a mut Vec<Row>,
}

impl ForSet for OfSet<'_> {
    type Output = Result<(), Failure>;

    fn run<P: ParameterSet>(mut self) -> Result<(), Failure> {
        let backend = self.setting.backend.name();
        for experiment in experiments::<P>() {
            if !is_selected(self.operations, experiment.operation) {
                continue;
            }
            if self.setting.limit.is_stopped() {
                break;
            }
            self.progress.set_message(format!("{} {} {backend}", P::NAME, experiment.operation));
            let times = (experiment.run)(&mut self.setting).map_err(Failure::about(format!(
                "{} {}",
                P::NAME,
                experiment.operation
            )))?;
            let of = Some((P::NAME, backend));
            self.rows.push(Row::new(of, experiment.operation, experiment.classes, times));
            self.progress.inc(1);
        }
        Ok(())
    }
}
