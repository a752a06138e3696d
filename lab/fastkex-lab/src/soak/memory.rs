//! Memory of processes over time.

use std::fmt;

use serde::Serialize;

use output::Failure;
use testbed::{Server, children, resident_bytes, wait_for};

/// The number of samples in a run.
pub(crate) const SAMPLES: u64 = 40;
/// The number of samples in which memory may still grow.
const WARM_UP: usize = 10;
/// Accepted growth from the maximum in the warm-up to the end, as allocators and caches may still
/// grow: a share and a constant. A run of the default length finds a leak of a kilobyte for each
/// thousand handshakes.
const GROWTH: f64 = 0.03;
const GROWTH_BYTES: u64 = 2 << 20;
const MEBIBYTE: f64 = (1 << 20) as f64;

/// Processes and their memory samples.
pub(crate) struct Memory {
    processes: Vec<u32>,
    samples: Vec<Sample>,
}

/// The memory of all processes at one time.
#[derive(Clone, Serialize)]
pub(crate) struct Sample {
    handshakes: u64,
    seconds: f64,
    /// `null` for a process that has ended.
    resident_bytes: Vec<Option<u64>>,
}

impl Memory {
    /// Watches a server's workers and this process, which comes last.
    pub(crate) fn of_workers(server: &Server, workers: u64) -> Result<Self, Failure> {
        let all = || Some(children(server.id())).filter(|found| found.len() as u64 == workers);
        let found = wait_for(all);
        let mut processes = found.ok_or_else(|| Failure::new("the workers do not appear"))?;
        processes.push(std::process::id());
        Ok(Self { processes, samples: Vec::new() })
    }

    pub(crate) fn sample(&mut self, handshakes: u64, seconds: f64) -> Sample {
        let resident_bytes = self.processes.iter().map(|process| resident_bytes(*process));
        let sample = Sample { handshakes, seconds, resident_bytes: resident_bytes.collect() };
        self.samples.push(sample.clone());
        sample
    }

    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let workers = self.processes.len() - 1;
        let worker = |process| format!("worker {process}");
        let names = self.processes[..workers].iter().map(worker);
        names.chain(["this client".into()]).collect()
    }

    /// Returns the heading of the table.
    pub(crate) fn heading(&self) -> String {
        let mut line = format!("{:>12}{:>10}", "handshakes", "seconds");
        self.names().iter().for_each(|name| line += &format!("{name:>18}"));
        format!("{line}\n{}", "-".repeat(line.len()))
    }

    /// Describes the errors of all processes.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let judge = |(index, name): (usize, &String)| {
            let series: Vec<_> =
                self.samples.iter().map(|sample| sample.resident_bytes[index]).collect();
            wrong_with(&series).map(|what| format!("{name}: {what}"))
        };
        self.names().iter().enumerate().filter_map(judge).collect()
    }
}

/// Describes an error in the memory of a process.
fn wrong_with(series: &[Option<u64>]) -> Option<String> {
    let Some(bytes) = series.iter().copied().collect::<Option<Vec<u64>>>() else {
        return Some("it has ended".into());
    };
    let warm = bytes.iter().take(WARM_UP).max()?;
    let last = bytes.last()?;
    let most = (*warm as f64 * (1.0 + GROWTH)) as u64 + GROWTH_BYTES;
    (*last > most).then(|| {
        let (warm, last) = (*warm as f64 / MEBIBYTE, *last as f64 / MEBIBYTE);
        format!("memory grew from {warm:.1} MiB, once warm, to {last:.1} MiB")
    })
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:12}{:10.1}", self.handshakes, self.seconds)?;
        for bytes in &self.resident_bytes {
            match bytes {
                Some(bytes) => write!(f, "{:18.1}", *bytes as f64 / MEBIBYTE)?,
                None => write!(f, "{:>18}", "ended")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns 20 MiB in the warm-up, then `step` more bytes from sample to sample.
    fn series(step: u64) -> Vec<Option<u64>> {
        let grown = |index: u64| (20 << 20) + step * index.saturating_sub(WARM_UP as u64);
        (0..SAMPLES).map(|index| Some(grown(index))).collect()
    }

    #[test]
    fn growth_is_found_and_a_little_is_borne_with() {
        assert_eq!(wrong_with(&series(0)), None);
        assert_eq!(wrong_with(&series(50_000)), None);
        let expected = "memory grew from 20.0 MiB, once warm, to 22.8 MiB";
        assert_eq!(wrong_with(&series(100_000)).as_deref(), Some(expected));
        // Growth in the warm-up is accepted.
        let mut early = series(0);
        early[0] = Some(10 << 20);
        assert_eq!(wrong_with(&early), None);
    }

    #[test]
    fn a_process_that_ended_is_wrong() {
        let mut series = series(0);
        series[30] = None;
        assert_eq!(wrong_with(&series).as_deref(), Some("it has ended"));
    }
}
