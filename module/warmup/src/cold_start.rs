//! Measures how slow vector units are after a pause.

use core::fmt;
use core::time::Duration;
use std::time::Instant;

use fork::{PerProcess, Process};
use lanes::{Backend, rest};

use crate::touch::work;

/// Times of some microseconds of vector work, with units that are awake and with units that sleep.
#[derive(Clone, Copy, Debug)]
pub struct ColdStart {
    /// Directly after other vector work: the lower quartile.
    pub warm: Duration,
    /// After a pause: the lower quartile.
    pub cold: Duration,
}

/// A pause longer than the time after which units sleep.
const IDLE: Duration = Duration::from_micros(1500);
/// Number of samples of each kind. Other threads and virtual machines disturb some of them, and
/// only ever lengthen them, so the lower quartile is compared.
const SAMPLES: usize = 31;
/// Rounds of work in a sample: a few microseconds, less than units take to wake up.
const ROUNDS: usize = 2000;
/// From this ratio on, in percent, there is a penalty: sleeping units are several times slower,
/// more than noise.
const PENALTY_PERCENT: u128 = 150;

impl ColdStart {
    /// Measures it the first time, in some 50 milliseconds. Children of fork inherit the result.
    pub fn of(backend: Backend) -> &'static ColdStart {
        // Not behind a lock, since a child could inherit one held by a thread that it does not
        // have.
        static MEASURED: PerProcess<ColdStart> = PerProcess::new();
        let measure = |known: Option<&ColdStart>| {
            known.copied().unwrap_or_else(|| ColdStart::measure(backend))
        };
        MEASURED.get_or_make(Process::current(), measure)
    }

    /// Whether units are slow after a pause.
    pub fn has_penalty(&self) -> bool {
        self.cold.as_nanos() * 100 > self.warm.as_nanos() * PENALTY_PERCENT
    }

    fn measure(backend: Backend) -> ColdStart {
        let timed = || {
            let started = Instant::now();
            work(backend, ROUNDS);
            started.elapsed()
        };
        let (mut warm, mut cold) = ([Duration::ZERO; SAMPLES], [Duration::ZERO; SAMPLES]);
        for i in 0..SAMPLES {
            rest(IDLE);
            cold[i] = timed();
            warm[i] = timed();
        }
        ColdStart { warm: lower_quartile(warm), cold: lower_quartile(cold) }
    }
}

impl fmt::Display for ColdStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratio = self.cold.as_secs_f64() / self.warm.as_secs_f64();
        let threshold = PENALTY_PERCENT as f64 / 100.0;
        let verdict = if self.has_penalty() { "helps" } else { "has no measurable benefit" };
        write!(
            f,
            "vector work takes {ratio:.1} times as long after a rest: warm-up {verdict} \
             (it does from {threshold:.1} on)"
        )
    }
}

fn lower_quartile(mut times: [Duration; SAMPLES]) -> Duration {
    times.sort_unstable();
    times[SAMPLES / 4]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_penalty_from_noise() {
        let cold_start = |warm, cold| ColdStart {
            warm: Duration::from_nanos(warm),
            cold: Duration::from_nanos(cold),
        };
        assert!(!cold_start(4000, 4400).has_penalty());
        assert!(!cold_start(4000, 6000).has_penalty());
        assert!(cold_start(4000, 14_000).has_penalty());
        let said = cold_start(4000, 4400).to_string();
        assert!(said.contains("1.1 times") && said.contains("no measurable benefit"), "{said}");
        let said = cold_start(4000, 14_000).to_string();
        assert!(said.contains("3.5 times") && said.contains("warm-up helps"), "{said}");
    }

    #[test]
    fn disturbed_samples_do_not_count() {
        let mut times = [Duration::from_micros(4); SAMPLES];
        times[..SAMPLES / 2].fill(Duration::from_millis(3));
        assert_eq!(lower_quartile(times), Duration::from_micros(4));
    }

    #[test]
    fn work_takes_time() {
        for backend in Backend::available() {
            let measured = ColdStart::measure(backend);
            assert!(measured.warm > Duration::from_nanos(100), "{}: {measured}", backend.name());
            assert!(measured.cold > Duration::from_nanos(100), "{}: {measured}", backend.name());
        }
    }
}
