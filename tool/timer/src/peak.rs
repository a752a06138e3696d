//! The search for a server's maximum load. The number of clients increases; each client starts a
//! new connection as soon as the last one has ended (ENG25519, section 4.4).

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use output::Failure;

use crate::connection::Target;
use crate::results::{Peak, PeakStep, Series};
use crate::runner::{Watch, turn_until};
use crate::workload::Workload;

/// The limits of the search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// The time for each number of clients.
    pub step: Duration,
    /// The maximum number of clients at once.
    pub clients: usize,
}

/// The result of a search.
pub struct Found {
    /// The peak of each candidate.
    pub peaks: Vec<Peak>,
    /// True if the search of all candidates was completed.
    pub complete: bool,
    /// The failure of the server that ended the search, if any.
    pub gave_up: Option<Failure>,
}

/// The minimum growth of the rate that counts as growth.
const GROWTH: f64 = 1.03;
/// The number of steps without growth after which the search ends.
const STEPS_WITHOUT_GAIN: usize = 2;

/// Doubles the number of clients until the rate has not grown twice, or until the maximum is
/// reached. The candidates take turns.
///
/// # Errors
/// The first connection of a candidate fails.
pub fn search<E: Workload>(
    targets: &[Target<E>],
    search: &Search,
    watch: Watch<'_>,
) -> Result<Found, Failure> {
    let mut peaks = Vec::new();
    for target in targets {
        let found = target.preflight()?;
        let Series { label, group, certificate, .. } = found;
        peaks.push(Peak { label, group, certificate, steps: Vec::new(), first_failure: None });
    }
    let mut clients = 1;
    while clients <= search.clients && peaks.iter().any(grows) {
        for (target, peak) in targets.iter().zip(&mut peaks) {
            if !grows(peak) {
                continue;
            }
            let until = Instant::now() + search.step;
            let turn = turn_until(target, usize::MAX, clients, Some(until), watch);
            if peak.first_failure.is_none() {
                peak.first_failure = turn.first_failure.map(|failure| failure.to_string());
            }
            if watch.stop.load(Ordering::Relaxed) || turn.hopeless.is_some() {
                return Ok(Found { peaks, complete: false, gave_up: turn.hopeless });
            }
            peak.steps.push(PeakStep {
                clients,
                served: turn.sample.connections,
                failures: turn.sample.failures,
                seconds: turn.sample.seconds,
                server_seconds: turn.sample.server_seconds,
            });
        }
        clients *= 2;
    }
    Ok(Found { peaks, complete: true, gave_up: None })
}

/// True if more clients can still increase the rate.
fn grows(peak: &Peak) -> bool {
    let Some(earlier) = peak.steps.len().checked_sub(STEPS_WITHOUT_GAIN) else { return true };
    let best = |steps: &[PeakStep]| steps.iter().map(PeakStep::per_minute).fold(0.0, f64::max);
    let (before, after) = peak.steps.split_at(earlier);
    before.is_empty() || best(after) > GROWTH * best(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak(rates: &[usize]) -> Peak {
        let step = |(index, served): (usize, &usize)| PeakStep {
            clients: 1 << index,
            served: *served,
            failures: 0,
            seconds: 1.0,
            server_seconds: None,
        };
        Peak {
            label: "X25519".into(),
            group: "X25519".into(),
            certificate: "Ed25519".into(),
            steps: rates.iter().enumerate().map(step).collect(),
            first_failure: None,
        }
    }

    #[test]
    fn growth_ends_after_two_steps_without() {
        assert!(grows(&peak(&[])) && grows(&peak(&[100])) && grows(&peak(&[100, 50])));
        assert!(grows(&peak(&[100, 101, 104])));
        assert!(!grows(&peak(&[100, 101, 102])));
        assert!(!grows(&peak(&[100, 200, 201, 202])));
        let best = peak(&[100, 300, 200]).best().unwrap().clients;
        assert_eq!(best, 2);
    }
}
