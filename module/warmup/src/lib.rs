//! Keeps vector units awake where the processor puts them to sleep. Some processors do so after
//! about 675 microseconds without use, and for the next 14 run vector instructions several times
//! slower (ENG25519, section 4.2). A server with a handshake every millisecond pays for that in
//! each of them.
//!
//! [`WarmUp`] has a thread that uses the units every half millisecond, but only where that helps:
//! on a processor with the penalty ([`ColdStart`]), and while there are enough handshakes that the
//! units would sleep between them, but not so many that they never do. At other times the thread
//! sleeps, and before the first such load there is none.

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

/// Counts handshakes and keeps the vector units awake under medium load.
pub struct WarmUp {
    backend: Backend,
    settings: Settings,
    counts: PerProcess<Arc<Counts>>,
    thread: WorkerThread,
}

/// Interval between touches: less than the time after which units sleep, with a margin for late
/// timers.
const PERIOD: Duration = Duration::from_micros(500);
/// The load is computed after every this many handshakes.
const LOAD_STEP: u64 = 64;
/// The thread computes the load after this many touches.
const TOUCHES_PER_CHECK: u32 = 200;

/// Counters of one process.
struct Counts {
    handshakes: AtomicU64,
    started: Instant,
    /// When the load was last computed, in nanoseconds since `started`.
    step: AtomicU64,
    /// The thread is running, or could not be started.
    is_running: AtomicBool,
    touches: AtomicU64,
}

impl WarmUp {
    /// For the vector units that `backend` uses. No thread is started before there is a load.
    pub fn new(backend: Backend, settings: Settings) -> Self {
        let thread = WorkerThread::new("fastkex-warm-up");
        WarmUp { backend, settings, counts: PerProcess::new(), thread }
    }

    /// Counts a handshake, and may start the thread.
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

    /// Number of touches by this process's thread.
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

    /// Wakes the thread if the rate of the latest handshakes is medium load.
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
        // If the thread cannot be started, the flag stays set and it is not tried again.
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

    /// Counts handshakes with pauses until there have been touches or the time is over.
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
        // Without handshakes the thread soon sleeps, and stays asleep.
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
