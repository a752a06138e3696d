//! Some processors put their vector units to sleep when they have not been used for about 675 microseconds, and for the next 14 run
//! vector instructions several times slower (ENG25519, section 4.2). A server that makes a handshake every millisecond pays that every time.
//!
//! [`WarmUp`] has a thread that touches the units every half millisecond, but only where that helps: on a processor that has the
//! fault ([`ColdStart`]), and while there are so many handshakes that the units would fall asleep between them, not so many that
//! they never do. At any other time the thread sleeps, and before the first such time there is none.

#![forbid(unsafe_code)]

mod cold_start;
mod settings;
mod touch;

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use fork::{Control, PerProcess, Process, WorkerThread};
use lanes::Backend;

pub use cold_start::ColdStart;
pub use settings::{Load, Mode, Settings};

/// Keeps the vector units awake while that helps.
pub struct WarmUp {
    backend: Backend,
    settings: Settings,
    counts: PerProcess<Arc<Counts>>,
    thread: WorkerThread,
}

/// Between touches: less than the time after which units sleep, by what timers are late.
const PERIOD: Duration = Duration::from_micros(500);
/// After so many handshakes the load is looked at.
const LOAD_STEP: u64 = 64;
/// The thread looks at it after so many touches.
const TOUCHES_PER_CHECK: u32 = 200;

/// What one process counts.
struct Counts {
    handshakes: AtomicU64,
    started: Instant,
    /// When the latest step was, in nanoseconds after the start.
    step: AtomicU64,
    /// The thread is at work, or there is no use in waking it.
    is_running: AtomicBool,
    touches: AtomicU64,
}

impl WarmUp {
    /// For vector units that `backend` uses. Nothing is started before there is a load.
    pub fn new(backend: Backend, settings: Settings) -> Self {
        let thread = WorkerThread::new("fastkex-warm-up");
        WarmUp { backend, settings, counts: PerProcess::new(), thread }
    }

    /// Counts a handshake.
    #[inline]
    pub fn handshake(&self) {
        if self.settings.mode == Mode::Off {
            return;
        }
        let process = Process::current();
        let counts = self.counts(process);
        let before = counts.handshakes.fetch_add(1, Ordering::Relaxed);
        if before % LOAD_STEP == LOAD_STEP - 1 {
            self.check_load(process, counts);
        }
    }

    /// How often this process's thread has touched the units.
    pub fn touches(&self) -> u64 {
        let counts = self.counts.get(Process::current());
        counts.map_or(0, |counts| counts.touches.load(Ordering::Relaxed))
    }

    fn counts(&self, process: Process) -> &Arc<Counts> {
        self.counts.get_or_make(process, |_| {
            Arc::new(Counts {
                handshakes: AtomicU64::new(0),
                started: Instant::now(),
                step: AtomicU64::new(0),
                is_running: AtomicBool::new(false),
                touches: AtomicU64::new(0),
            })
        })
    }

    /// Wakes the thread if the latest handshakes came at a rate that asks for it.
    #[cold]
    fn check_load(&self, process: Process, counts: &Arc<Counts>) {
        let now = counts.started.elapsed().as_nanos() as u64;
        let elapsed =
            Duration::from_nanos(now.saturating_sub(counts.step.swap(now, Ordering::Relaxed)));
        if !self.settings.load.has(LOAD_STEP, elapsed)
            || counts.is_running.swap(true, Ordering::Relaxed)
        {
            return;
        }
        let (backend, settings) = (self.backend, self.settings);
        // Where no thread can be had, the flag stays, and nobody asks again.
        let _ = self.thread.start_or_wake(process, || {
            let counts = Arc::clone(counts);
            move |control: &Control| run(backend, settings, &counts, control)
        });
    }
}

impl Drop for WarmUp {
    fn drop(&mut self) {
        self.thread.stop();
    }
}

fn run(backend: Backend, settings: Settings, counts: &Counts, control: &Control) {
    if settings.mode == Mode::Auto && !ColdStart::of(backend).has_penalty() {
        return;
    }
    while !control.should_stop() {
        let (before, started) = (counts.handshakes.load(Ordering::Relaxed), Instant::now());
        for _ in 0..TOUCHES_PER_CHECK {
            touch::touch(backend);
            counts.touches.fetch_add(1, Ordering::Relaxed);
            control.wait(PERIOD);
            if control.should_stop() {
                return;
            }
        }
        let handshakes = counts.handshakes.load(Ordering::Relaxed) - before;
        if !settings.load.has(handshakes, started.elapsed()) {
            counts.is_running.store(false, Ordering::Relaxed);
            control.park(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warm_up(mode: Mode) -> WarmUp {
        let load = Load { from: 200, below: 20_000 };
        WarmUp::new(Backend::best(), Settings { mode, load })
    }

    /// Handshakes with pauses between them, until there have been touches or the time is over.
    fn serve(warm_up: &WarmUp, pause: Duration, time: Duration) -> u64 {
        let (started, before) = (Instant::now(), warm_up.touches());
        while started.elapsed() < time && warm_up.touches() == before {
            warm_up.handshake();
            std::thread::sleep(pause);
        }
        warm_up.touches() - before
    }

    const MEDIUM: Duration = Duration::from_micros(300);
    const LOW: Duration = Duration::from_millis(10);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn touches_under_medium_load_only() {
        let warm_up = warm_up(Mode::On);
        assert_eq!(serve(&warm_up, LOW, Duration::from_secs(1)), 0);
        assert!(serve(&warm_up, MEDIUM, LONG) > 0);
        // When there are no more handshakes, it soon falls asleep, and stays so.
        let sleeps = || {
            let before = warm_up.touches();
            std::thread::sleep(Duration::from_millis(200));
            warm_up.touches() == before
        };
        assert!((0..100).any(|_| sleeps()));
        assert!(serve(&warm_up, MEDIUM, LONG) > 0, "woken again");
    }

    #[test]
    fn off_is_off() {
        assert_eq!(serve(&warm_up(Mode::Off), MEDIUM, Duration::from_millis(300)), 0);
    }

    #[test]
    fn automatic_is_where_there_is_a_penalty() {
        let touches = serve(&warm_up(Mode::Auto), MEDIUM, Duration::from_secs(2));
        if ColdStart::of(Backend::best()).has_penalty() {
            assert!(touches > 0);
        } else {
            assert_eq!(touches, 0);
        }
    }
}
