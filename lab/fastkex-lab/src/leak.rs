//! `fastkex-lab leak`: a search for secrets in execution times on this machine.

mod collect;
mod control;
mod experiments;
mod report;
mod statistic;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use rand_core::TryRng;
use random::OperationRandom;
use reference::drbg::{Drbg, SEED_BYTES};
use sntrup::Backend;

use collect::{FEWEST, Limit, MOST};
use control::{CONTROLS, Control};
use experiments::{Experiment, OPERATIONS, Setting, experiments};
use fastkex::curves::{self, Curve};
use fastkex::interrupt::Interrupt;
use fastkex::json;
use fastkex::measuring::{self, backends, progress_bar};
use fastkex::sets;
use output::{Failure, Outcome};
use report::Row;
use statistic::Verdict;

/// Look for secrets in the times of operations, by statistics
///
/// Each operation is timed with inputs of two classes in random order, and the two sets of times
/// are compared (Welch's t-test of means and of spreads, with and without the slowest times).
/// Before that, two comparisons of bytes serve as a self-check: a leak must be found in one, and
/// none in the other. The exit status is 1 if an operation leaks. Finding nothing proves nothing:
/// more seconds detect smaller leaks.
#[derive(Args, Debug)]
pub(crate) struct Leak {
    /// Print one JSON array instead of a table
    #[arg(long)]
    json: bool,
    /// Parameter sets, x25519 and ed25519, comma-separated. Key generation of ML-KEM is not timed:
    /// the time to sample its matrix depends on a public seed
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = curves::parser(), default_value = "sntrup761")]
    algorithm: Vec<String>,
    /// Instruction sets, comma-separated: portable, avx2, avx512 [default: all that this machine
    /// has]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = measuring::backend)]
    backend: Vec<Backend>,
    /// Operations, comma-separated [default: all]
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

/// Times of each control, which take some hundredths of a second.
const CONTROL_SAMPLES: usize = 1 << 17;

/// Parses a number of times.
fn samples(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (FEWEST..=MOST).contains(number));
    number.ok_or_else(|| format!("expected a number from {FEWEST} to {MOST}"))
}

impl Leak {
    pub(crate) fn run(&self) -> Outcome {
        let chosen = if self.self_check { Vec::new() } else { self.chosen()? };
        let interrupt = Interrupt::heed()?;
        let stop = interrupt.flag();
        let mut seed = [0; SEED_BYTES];
        OperationRandom::new().try_fill_bytes(&mut seed).map_err(Failure::new)?;
        let mut random = Drbg::new(&seed);

        let mut rows = controls(stop, &mut random)?;
        if !stop.load(Ordering::Relaxed) {
            check(&rows)?;
            if !self.json {
                report::print_controls(&rows)?;
            }
        }
        let controls = rows.len();
        if !self.self_check {
            self.experiments(&chosen, stop, &mut random, &mut rows)?;
        }
        if self.json {
            output::line(json::text(&rows)?)?;
        } else if !self.self_check {
            report::print(&rows[controls..])?;
        }
        interrupt.end()?;
        Ok(rows[controls..].iter().all(|row| row.verdict != Verdict::Leak))
    }

    /// Returns the selected experiments by algorithm.
    fn chosen(&self) -> Result<Vec<(&'static str, Vec<Experiment>)>, Failure> {
        let (sets, curves) = (sets::selected(&self.algorithm), curves::selected(&self.algorithm));
        let mut chosen = Vec::new();
        for name in sets.into_iter().chain(curves.into_iter().map(Curve::name)) {
            let experiments = experiments(name)
                .ok_or_else(|| Failure::new(format!("unknown algorithm {name}")))?;
            let wanted = |experiment: &Experiment| self.is_selected(experiment.operation);
            chosen.push((name, experiments.into_iter().filter(wanted).collect::<Vec<_>>()));
        }
        if chosen.iter().all(|(_, experiments)| experiments.is_empty()) {
            let message = format!(
                "--operation {}: not one of --algorithm {}",
                self.operation.join(","),
                self.algorithm.join(",")
            );
            return Err(Failure::new(message));
        }
        Ok(chosen)
    }

    fn experiments(
        &self,
        chosen: &[(&'static str, Vec<Experiment>)],
        stop: &AtomicBool,
        random: &mut Drbg,
        rows: &mut Vec<Row>,
    ) -> Result<(), Failure> {
        let backends = backends(&self.backend);
        let lines = chosen.iter().map(|(_, some)| some.len() * backends.len()).sum();
        let (time, samples) = match self.samples {
            Some(samples) => (Duration::MAX, samples),
            None => (self.seconds, MOST),
        };
        let progress = &progress_bar(lines, time);
        for (name, experiments) in chosen {
            for &backend in &backends {
                let limit = Limit { time, samples, stop };
                let mut setting = Setting { backend, limit, random };
                for Experiment { operation, classes, run } in experiments {
                    if setting.limit.is_stopped() {
                        break;
                    }
                    progress.set_message(format!("{name} {operation} {}", backend.name()));
                    let times =
                        run(&mut setting).map_err(Failure::about(format!("{name} {operation}")))?;
                    rows.push(Row::new(Some((name, backend.name())), operation, classes, times));
                    progress.inc(1);
                }
            }
        }
        progress.finish_and_clear();
        Ok(())
    }

    /// Returns true if an operation is selected.
    fn is_selected(&self, operation: &str) -> bool {
        self.operation.is_empty() || self.operation.iter().any(|other| other == operation)
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

/// Checks the verdicts of the controls.
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
