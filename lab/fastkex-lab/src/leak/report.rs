//! The rows and table of `fastkex-lab leak`.

use measure::{Align, Table, grouped};
use output::Failure;
use serde::Serialize;

use super::collect::Times;
use super::statistic::{CLEAR, Classes, Comparison, Of, SUSPICIOUS, Verdict};

/// One line of the result.
#[derive(Serialize)]
pub(crate) struct Row {
    /// `None` for a control.
    algorithm: Option<&'static str>,
    backend: Option<&'static str>,
    operation: &'static str,
    classes: &'static str,
    /// The number of times in the smaller class.
    samples: usize,
    /// True if the measurement was not stopped early.
    complete: bool,
    /// The unit of `median` and the following fields: core cycles, or nanoseconds on machines
    /// without a time-stamp counter.
    unit: &'static str,
    /// The median of the first class.
    median: Option<f64>,
    /// The second class's mean time less the first's, over the share of times with the largest t.
    difference: f64,
    /// The standard error of this difference.
    error: f64,
    /// The least constant delay of one class that would have been a leak, or `None` if there
    /// already is one.
    visible: Option<f64>,
    #[serde(flatten)]
    pub(crate) comparison: Comparison,
    pub(crate) verdict: Verdict,
}

impl Row {
    /// Makes the row for `times`, of an algorithm and a backend, or of a control.
    pub(crate) fn new(
        of: Option<(&'static str, &'static str)>,
        operation: &'static str,
        classes: &'static str,
        times: Times,
    ) -> Self {
        let unit = if times.ticks_per_cycle.is_some() { "core cycles" } else { "nanoseconds" };
        let ticks = times.ticks_per_cycle.unwrap_or(1.0);
        let sorted = Classes::new(times.classes);
        let (comparison, samples) = (sorted.compare(), sorted.samples());
        let verdict = comparison.verdict(samples);
        let can_tell = matches!(verdict, Verdict::Nothing | Verdict::Suspicious);
        let visible = can_tell.then(|| sorted.least_visible_delay() as f64 / ticks);
        Row {
            algorithm: of.map(|(algorithm, _)| algorithm),
            backend: of.map(|(_, backend)| backend),
            operation,
            classes,
            samples,
            complete: times.is_complete,
            unit,
            median: sorted.median().map(|median| median as f64 / ticks),
            difference: comparison.difference / ticks,
            error: comparison.error / ticks,
            visible,
            comparison,
            verdict,
        }
    }

    /// Names the times and the moment that t refers to.
    fn of(&self) -> String {
        let of = match self.comparison.of {
            Of::Mean => "means",
            Of::Spread => "spreads",
        };
        match 100.0 * self.comparison.share {
            100.0 => format!("{of} of all"),
            share => format!("{of} of fastest {share:.1} %"),
        }
    }

    fn verdict_text(&self) -> String {
        let verdict = match self.verdict {
            Verdict::TooFew => "too few",
            Verdict::Nothing => "",
            Verdict::Suspicious => "suspicious",
            Verdict::Leak => "LEAK",
        };
        let incomplete = if self.complete { "" } else { "incomplete" };
        [verdict, incomplete]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Prints one line with the results of the controls.
pub(crate) fn print_controls(rows: &[Row]) -> Result<(), Failure> {
    let said: Vec<_> = rows
        .iter()
        .map(|row| {
            let found = if row.verdict == Verdict::Leak { "found" } else { "not found" };
            format!(
                "the {} is {found} (t = {:+.1}, {} times each)",
                row.operation, row.comparison.t, row.samples
            )
        })
        .collect();
    output::line(format_args!("Self-check: {}.", said.join(", ")))
}

/// Formats a number of cycles, with a digit after the point if it is small.
fn cycles(number: f64) -> String {
    if number.abs() < 100.0 { format!("{number:.1}") } else { grouped(number) }
}

/// Prints a table with an explanation.
pub(crate) fn print(rows: &[Row]) -> Result<(), Failure> {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("algorithm", Left),
        ("backend", Left),
        ("operation", Left),
        ("classes", Left),
        ("times each", Right),
        (rows.first().map_or("core cycles", |row| row.unit), Right),
        ("difference", Right),
        ("visible", Right),
        ("largest t", Right),
        ("of", Left),
        ("", Left),
    ]);
    for row in rows {
        table.row([
            row.algorithm.unwrap_or_default().to_owned(),
            row.backend.unwrap_or_default().to_owned(),
            row.operation.to_owned(),
            row.classes.to_owned(),
            row.samples.to_string(),
            row.median.map_or_else(|| "-".to_owned(), grouped),
            format!("{} ± {}", cycles(row.difference), cycles(row.error)),
            row.visible.map_or_else(|| "-".to_owned(), cycles),
            format!("{:+.1}", row.comparison.t),
            row.of(),
            row.verdict_text(),
        ]);
    }
    output::line(format_args!("\n{table}\n"))?;
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    output::line(format_args!(
        "{} of {} leak, {} suspicious. A leak is an absolute t of {CLEAR} or more; from {SUSPICIOUS} on it is suspicious: repeat it, with more \
         --seconds.",
        count(Verdict::Leak),
        rows.len(),
        match count(Verdict::Suspicious) {
            1 => "1 is".to_owned(),
            number => format!("{number} are"),
        }
    ))?;
    output::line(format_args!(
        "The difference, with its standard error, is that of the classes' means where t is largest; visible is the least delay of one class that would have been a \
         leak.\nMachine: {}.",
        measure::machine()
    ))?;
    if cfg!(debug_assertions) {
        output::line("Warning: this program is no release build: it may leak where one does not.")?;
    }
    Ok(())
}
