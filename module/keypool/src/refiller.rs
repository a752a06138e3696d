//! The background thread that refills pools.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{OnceLock, Weak};

use fork::{Control, NotStarted, Process, WorkerThread};

use crate::clock::Time;

/// A pool of any kind, as the background thread sees it.
pub(crate) trait AnyPool: Send + Sync {
    /// Makes a batch if there is demand and room for it.
    fn refill(&self, process: Process) -> RefillReport;
    /// Erases expired items.
    fn erase_expired(&self, process: Process);
    /// Erases the whole stock.
    fn flush(&self);
}

/// The result of refilling a pool.
#[derive(Default)]
pub(crate) struct RefillReport {
    /// Whether a batch was made.
    pub(crate) made_batch: bool,
    /// Number of items handed out so far.
    pub(crate) served: u64,
    /// Number of items in stock.
    pub(crate) stock: usize,
}

/// The background thread of some pools, started when it is first needed; each process has its own.
pub(crate) struct Refiller {
    pools: OnceLock<Vec<Weak<dyn AnyPool>>>,
    max_age: Duration,
    /// When expired items were last erased in all pools, as [`Time::to_bits`].
    swept: AtomicU64,
    thread: WorkerThread,
}

/// Interval between two passes while there is demand.
const MIN_INTERVAL: Duration = Duration::from_millis(1);
/// Expired items are erased this many times within `max_age`.
const SWEEPS: u32 = 4;
/// The interval doubles while there is no demand. Beyond this the thread sleeps until it is woken.
const MAX_INTERVAL: Duration = Duration::from_millis(128);

impl Refiller {
    pub(crate) fn new(max_age: Duration) -> Self {
        Refiller {
            pools: OnceLock::new(),
            max_age,
            swept: AtomicU64::new(0),
            thread: WorkerThread::new("fastkex-refill"),
        }
    }

    /// Sets the pools. Only the first call has an effect.
    pub(crate) fn set_pools(&self, pools: Vec<Weak<dyn AnyPool>>) {
        self.pools.get_or_init(|| pools);
    }

    /// Erases expired items in all pools, unless that was done recently; then it costs a
    /// comparison.
    #[inline]
    pub(crate) fn sweep(&self, process: Process, now: Time) {
        let swept = self.swept.load(Ordering::Relaxed);
        if Time::from_bits(swept).is_none_or(|swept| now.since(swept) > self.max_age / SWEEPS) {
            self.sweep_now(process, now, swept);
        }
    }

    #[cold]
    fn sweep_now(&self, process: Process, now: Time, before: u64) {
        let (new, relaxed) = (now.to_bits(), Ordering::Relaxed);
        // The first call only starts the clock. If several threads come at once, one of them
        // erases.
        if self.swept.compare_exchange(before, new, relaxed, relaxed).is_ok() && before != 0 {
            self.erase_expired(process);
        }
    }

    fn erase_expired(&self, process: Process) {
        let pools = self.pools.get().into_iter().flatten().filter_map(Weak::upgrade);
        pools.for_each(|pool| pool.erase_expired(process));
    }

    /// Wakes the thread if it sleeps; otherwise costs one read of memory.
    #[inline]
    pub(crate) fn wake_if_parked(&self, process: Process) {
        self.thread.wake_if_parked(process);
    }

    /// Wakes the thread for a pass at once, and starts it if necessary.
    #[cold]
    pub(crate) fn wake(&self, process: Process) -> Result<(), NotStarted> {
        self.thread.start_or_wake(process, || {
            let pools = self.pools.get().cloned().unwrap_or_default();
            let max_age = self.max_age;
            move |control: &Control| run(&pools, control, max_age, process)
        })
    }

    /// Stops this process's thread and waits until it has ended.
    pub(crate) fn stop(&self) {
        self.thread.stop();
    }
}

fn run(pools: &[Weak<dyn AnyPool>], control: &Control, max_age: Duration, process: Process) {
    let mut served = 0;
    let mut interval = MIN_INTERVAL;
    while !control.should_stop() {
        let (mut made_batch, mut stock, mut served_now) = (false, 0, 0);
        for pool in pools.iter().filter_map(Weak::upgrade) {
            let report = pool.refill(process);
            made_batch |= report.made_batch;
            stock += report.stock;
            served_now += report.served;
        }
        if served_now != served {
            (served, interval) = (served_now, MIN_INTERVAL);
        } else if !made_batch {
            interval *= 2;
        }
        if made_batch {
            continue;
        }
        if interval <= MAX_INTERVAL {
            control.wait(interval);
            continue;
        }
        control.park((stock > 0).then_some(max_age));
        interval = MAX_INTERVAL;
        pools.iter().filter_map(Weak::upgrade).for_each(|pool| pool.erase_expired(process));
    }
}
