//! A comparison of groups: measures them, and prints and writes the results.

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};
use measure::Machine;
use timer::results::{Plan, Run, Scene, What};
use timer::{Search, Target, Watch, Workload, run, search};

use super::report;
use crate::interrupt::Interrupt;
use output::{Failure, Outcome};

/// A run of the timer, with all other facts that its report states.
pub struct Comparison {
    /// The workload.
    pub what: What,
    /// The server's name.
    pub target: String,
    /// The client's name.
    pub client: String,
    /// The servers, if they belong to a scene.
    pub scene: Option<Scene>,
    /// The machine as it was before this process was confined to a processor.
    pub machine: Machine,
    /// The interrupt that ends the measurement.
    pub interrupt: Interrupt,
    /// True if an interrupt ends the process after the report. Otherwise the caller ends it.
    pub ends_here: bool,
    /// The file for all samples.
    pub json: Option<PathBuf>,
}

impl Comparison {
    /// Takes samples, prints the report and writes the file. Returns `false` if a connection failed
    /// or the run is incomplete.
    ///
    /// # Errors
    /// No connection succeeds, or the result cannot be written.
    pub fn run<E: Workload>(&self, targets: &[Target<E>], plan: &Plan) -> Outcome {
        let all = targets.len() * plan.samples * (plan.warm_up + plan.connections);
        let bar = bar(all as u64, "{pos}/{len} connections  {msg:24}  {eta} left");
        let progress = |made: usize, label: &str| {
            if !bar.is_hidden() {
                bar.set_message(label.to_owned());
                bar.inc(made as u64);
            }
        };
        let mut found = self.blank(*plan);
        let ended = run(targets, plan, Watch { progress: &progress, stop: self.interrupt.flag() });
        bar.finish_and_clear();
        let ended = ended?;
        found.series = ended.series;
        found.complete = ended.complete;
        self.publish(&found, ended.gave_up)
    }

    /// Does the same as [`Comparison::run`] for the search for peaks.
    ///
    /// # Errors
    /// The same as [`Comparison::run`].
    pub fn search<E: Workload>(&self, targets: &[Target<E>], wanted: &Search) -> Outcome {
        // The number of steps is not known in advance; this is the maximum.
        let steps = wanted.clients.ilog2() as usize + 1;
        let seconds = (targets.len() * steps) as f64 * wanted.step.as_secs_f64();
        let bar = bar(seconds as u64, "{msg:40}  at most {eta} left");
        let progress = |_: usize, label: &str| {
            if !bar.is_hidden() {
                bar.set_message(label.to_owned());
                bar.set_position(bar.elapsed().as_secs().min(seconds as u64));
            }
        };
        let plan = Plan { samples: 0, connections: 0, warm_up: 0, concurrency: wanted.clients };
        let mut found = self.blank(plan);
        let ended =
            search(targets, wanted, Watch { progress: &progress, stop: self.interrupt.flag() });
        bar.finish_and_clear();
        let ended = ended?;
        found.peaks = ended.peaks;
        found.complete = ended.complete;
        self.publish(&found, ended.gave_up)
    }

    fn blank(&self, plan: Plan) -> Run {
        Run {
            what: self.what,
            target: self.target.clone(),
            client: self.client.clone(),
            scene: self.scene.clone(),
            machine: self.machine.clone(),
            load: measure::load(),
            plan,
            complete: false,
            series: Vec::new(),
            peaks: Vec::new(),
        }
    }

    /// Prints and writes the results, complete or not. Then reports why they are incomplete.
    fn publish(&self, found: &Run, gave_up: Option<Failure>) -> Outcome {
        output::line(report::text(found))?;
        if let Some(file) = &self.json {
            // Compact JSON, because there is a number for each connection.
            let text = serde_json::to_string(found).map_err(Failure::new)? + "\n";
            std::fs::write(file, text).map_err(Failure::about(file.display()))?;
        }
        if let Some(failure) = gave_up {
            return Err(Failure::new(format!("incomplete: {failure}")));
        }
        if self.ends_here {
            self.interrupt.end()?;
        }
        Ok(found.complete && found.failures() == 0)
    }
}

/// Returns a progress bar on standard error, if that is a terminal.
fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    match ProgressStyle::with_template(&format!("{{wide_bar}} {template}")) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
