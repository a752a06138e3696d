//! Code that all commands for measuring operations share: arguments, the random source, the footer
//! of tables, and warnings.

use output::Failure;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use measure::{Machine, Measurement, Options, measure};
use random::OperationRandom;
use sntrup::Backend;

/// Returns the random source of one operation, of the same type as the provider's.
pub fn random() -> OperationRandom {
    OperationRandom::new()
}

/// The number of keys in the largest batch that can be measured.
pub const MAX_BATCH: usize = 65536;

/// Parses the name of a backend that this machine has.
pub fn backend(name: &str) -> Result<Backend, sntrup::BackendError> {
    Backend::named(name)
}

/// Parses the size of a batch.
pub fn batch(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|size| (1..=MAX_BATCH).contains(size));
    size.ok_or_else(|| format!("expected a number from 1 to {MAX_BATCH}"))
}

/// Parses the time for a measurement.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.001..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected a number from 0.001 to 3600".to_owned())
}

/// Returns the requested backends, or all of this machine; each once, slowest first.
pub fn backends(asked_for: &[Backend]) -> Vec<Backend> {
    let wanted = |backend: &Backend| {
        asked_for.is_empty() || asked_for.iter().any(|other| other.name() == backend.name())
    };
    Backend::available().filter(wanted).collect()
}

/// Returns a progress bar on standard error for `steps` steps that take `each`. It is hidden if
/// standard error is not a terminal or the total time is short.
pub fn progress_bar(steps: usize, each: Duration) -> ProgressBar {
    const LONG: Duration = Duration::from_secs(2);
    if each.saturating_mul(steps as u32) < LONG {
        return ProgressBar::hidden();
    }
    // The bar hides itself if standard error is not a terminal.
    let bar = ProgressBar::new(steps as u64);
    match ProgressStyle::with_template("{wide_bar} {pos}/{len}  {msg:36}  {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Stores the error of an operation that fails while it is measured; returns the value of a
/// successful one.
pub fn noting<T, E>(error: &mut Option<E>, result: Result<T, E>) -> Option<T> {
    result.map_err(|other| *error = Some(other)).ok()
}

/// Measures `operation`; returns its error if it fails.
pub fn measure_fallible<T, E>(
    options: &Options,
    operations_per_call: usize,
    mut operation: impl FnMut() -> Result<T, E>,
) -> Result<Measurement, E> {
    let mut error = None;
    let measurement = measure(options, operations_per_call, || noting(&mut error, operation()));
    error.map_or(Ok(measurement), Err)
}

/// Formats core cycles for people.
pub fn core_cycles(cycles: Option<f64>) -> String {
    cycles.map_or_else(|| "-".to_owned(), measure::grouped)
}

/// Returns a text that names the method and the machine of a measurement.
pub fn footer(method: &str, machine: &Machine) -> String {
    format!("Measured: {method}.\nMachine: {machine}.")
}

/// Prints warnings about conditions that make the numbers unreliable.
pub fn warn_of_noise(noisy: usize, all: usize) -> Result<(), Failure> {
    if noisy > 0 {
        output::line(format_args!(
            "Warning: in {noisy} of {all} lines the samples differ by more than {}: the machine was busy. Repeat, or give more --seconds.",
            measure::percent(measure::LARGE_SPREAD)
        ))?;
    }
    if cfg!(debug_assertions) {
        output::line("Warning: this program is no release build: its numbers mean little.")?;
    }
    Ok(())
}
