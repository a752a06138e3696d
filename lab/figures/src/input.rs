//! Files that timers and measurements have written.

use std::fs;
use std::path::{Path, PathBuf};

use output::Failure;
use serde_json::Value;
use timer::results::{HandshakeCosts, Peak, Run, Sample, Series};

use crate::{Batches, Figure, costs, runs};

/// The contents of several files.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// Runs, each with its file name.
    pub runs: Vec<(String, Run)>,
    /// Measurements of batches, each with its file name.
    pub batches: Vec<(String, Batches)>,
    /// Processor times of handshakes, each with its file name.
    pub costs: Vec<(String, HandshakeCosts)>,
}

const EXPECTED: &str = "not what --json of 'fastkex time', 'fastkex speed --handshakes', 'fastkex-lab scene' or 'fastkex-lab plot batches' writes";

impl Input {
    /// Reads files. Each holds a run, measurements of batches or of handshakes, or an array of
    /// these.
    ///
    /// # Errors
    /// A file cannot be read, has another format, or holds nothing to draw.
    pub fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut all = Input::default();
        for path in paths {
            all.add(path)?;
        }
        Ok(all)
    }

    fn add(&mut self, path: &Path) -> Result<(), Failure> {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(Failure::about(&name))?;
        let other = |error: serde_json::Error| Failure::new(format!("{name}: {EXPECTED}: {error}"));
        let values = match serde_json::from_str(&text).map_err(other)? {
            Value::Array(values) => values,
            value => vec![value],
        };
        if values.is_empty() {
            return Err(Failure::new(format!("{name}: holds no measurements")));
        }
        let file =
            path.file_name().map_or_else(|| name.clone(), |file| file.to_string_lossy().into());
        for value in values {
            let wrong = if value.get("points").is_some() {
                let batches: Batches = serde_json::from_value(value).map_err(other)?;
                let problem = batches.problem();
                self.batches.push((file.clone(), batches));
                problem
            } else if value.get("rows").is_some() {
                let costs: HandshakeCosts = serde_json::from_value(value).map_err(other)?;
                let problem = costs::problem(&costs);
                self.costs.push((file.clone(), costs));
                problem
            } else {
                let run: Run = serde_json::from_value(value).map_err(other)?;
                let problem = problem(&run);
                self.runs.push((file.clone(), run));
                problem
            };
            if let Some(problem) = wrong {
                return Err(Failure::new(format!("{name}: {problem}")));
            }
        }
        Ok(())
    }

    /// Draws all figures, with distinct names.
    ///
    /// # Errors
    /// A figure cannot be drawn.
    pub fn figures(&self) -> Result<Vec<Figure>, Failure> {
        let mut all = Vec::new();
        let of_runs = self.runs.iter().map(|(_, run)| runs::figures(run));
        let of_batches =
            self.batches.iter().map(|(_, batches)| batches.figure().map(|figure| vec![figure]));
        let of_costs =
            self.costs.iter().map(|(_, costs)| costs::figure(costs).map(|figure| vec![figure]));
        let counts = [self.runs.len(), self.batches.len(), self.costs.len()];
        let numbers = counts.iter().flat_map(|&count| (1..=count).map(move |i| (i, count > 1)));
        for (figures, (number, several)) in of_runs.chain(of_batches).chain(of_costs).zip(numbers) {
            for figure in figures.map_err(Failure::about("cannot draw"))? {
                let name = if several { format!("{number}-{}", figure.name) } else { figure.name };
                all.push(Figure { name, ..figure });
            }
        }
        Ok(all)
    }
}

/// Returns the reason if a run cannot be shown.
fn problem(run: &Run) -> Option<&'static str> {
    let good = |seconds: f64| seconds >= 0.0 && seconds.is_finite();
    let sample = |sample: &Sample| {
        let times = [sample.seconds, sample.user_seconds, sample.kernel_seconds];
        let server = sample.server_seconds.into_iter();
        times.into_iter().chain(server).all(good) && sample.microseconds.len() <= sample.connections
    };
    let series = |series: &Series| series.samples.iter().all(sample);
    let peak = |peak: &Peak| {
        let times = peak.steps.iter().flat_map(|step| [Some(step.seconds), step.server_seconds]);
        times.flatten().all(good)
    };
    if run.series.is_empty() && run.peaks.is_empty() {
        Some("holds no measurements")
    } else if !run.series.iter().all(series) || !run.peaks.iter().all(peak) {
        Some("holds negative times, or more times than connections")
    } else {
        None
    }
}
