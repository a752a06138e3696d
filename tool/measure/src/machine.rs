//! The description of the machine.

use std::fmt;
use std::fs;

use lanes::Backend;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// The machine and date of a measurement. Facts that the system does not report are `unknown`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name, as it reports it, with its family and model: `AMD EPYC, family 26,
    /// model 2`. Virtual machines may give several processors the same name.
    pub processor: String,
    /// The number of processors that this process may use.
    pub processors: usize,
    /// The kernel's release.
    pub kernel: String,
    /// The operating system's name.
    pub operating_system: String,
    /// The compiler that built this program.
    pub rustc: String,
    /// The day, in UTC.
    pub date: String,
    /// The backends of this machine, slowest first.
    pub backends: Vec<String>,
}

/// Returns the description of this machine, with today's date.
pub fn machine() -> Machine {
    Machine {
        processor: processor(|name| field("/proc/cpuinfo", name, ':')),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        kernel: read("/proc/sys/kernel/osrelease").map_or_else(unknown, |text| text.trim().into()),
        operating_system: field("/etc/os-release", "PRETTY_NAME", '='),
        rustc: build_info::RUSTC.into(),
        date: OffsetDateTime::now_utc().date().to_string(),
        backends: Backend::available().map(|backend| backend.name().into()).collect(),
    }
}

/// Returns the load average over the last minute: the number of processes that run or wait to run.
/// `None` if the system does not report it.
pub fn load() -> Option<f64> {
    read("/proc/loadavg")?.split_whitespace().next()?.parse().ok()
}

/// Composes the name of the processor from the lines of `/proc/cpuinfo`, `unknown` if absent.
fn processor(line: impl Fn(&str) -> String) -> String {
    let [name, family, model] = ["model name", "cpu family", "model"].map(line);
    if [&family, &model].contains(&&unknown()) {
        name
    } else {
        format!("{name}, family {family}, model {model}")
    }
}

impl Machine {
    /// Returns the processor's name for names of files: `amd-epyc-family-26-model-2`.
    pub fn processor_in_file_names(&self) -> String {
        let lower = self.processor.to_lowercase();
        let words =
            lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("-")
    }
}

fn unknown() -> String {
    "unknown".into()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Returns the value in the first line `name separator value`, without quotes.
fn field(path: &str, name: &str, separator: char) -> String {
    let value = read(path).and_then(|text| {
        let mut lines = text.lines().filter_map(|line| line.split_once(separator));
        lines
            .find(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim().trim_matches('"').to_owned())
    });
    value.unwrap_or_else(unknown)
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { processor, processors, kernel, operating_system, rustc, date, backends } =
            self;
        let plural = if *processors == 1 { "" } else { "s" };
        write!(
            f,
            "{processor} ({processors} processor{plural}; {}), Linux {kernel}, {operating_system}, {rustc}, {date}",
            backends.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known() {
        let machine = machine();
        assert!(machine.rustc.starts_with("rustc 1."), "{machine:?}");
        assert!(machine.processors >= 1);
        assert_eq!(machine.backends[0], "portable");
        assert_ne!(machine.kernel, "unknown");
        // 2026-01-31
        let numbers: Vec<u32> = machine.date.split('-').map(|part| part.parse().unwrap()).collect();
        assert!(matches!(numbers[..], [2024..=9999, 1..=12, 1..=31]), "{machine:?}");
        assert_eq!(machine.to_string().lines().count(), 1);
        assert!(load().is_some_and(|load| load >= 0.0));
    }

    #[test]
    fn a_missing_file_or_line_is_unknown() {
        assert_eq!(field("/nonexistent", "model name", ':'), "unknown");
        assert_eq!(field("/proc/cpuinfo", "no such line", ':'), "unknown");
    }

    #[test]
    fn processors_are_told_apart() {
        let amd = |name: &str| match name {
            "model name" => "AMD EPYC".to_owned(),
            "cpu family" => "26".to_owned(),
            _ => "2".to_owned(),
        };
        let machine = Machine { processor: processor(amd), ..machine() };
        assert_eq!(machine.processor, "AMD EPYC, family 26, model 2");
        assert_eq!(machine.processor_in_file_names(), "amd-epyc-family-26-model-2");
        assert_eq!(processor(|_| unknown()), "unknown");
    }
}
