//! The thread that makes batches in the background.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{OnceLock, Weak};

use fork::{Companion, Control, NoThread, Process};

use crate::clock::Time;

/// A pool, to the thread that refills it.
pub(crate) trait Member: Send + Sync {
    /// Makes a batch if there is demand and room.
    fn tend(&self, process: Process) -> Tended;
    /// Erases what is too old.
    fn expire(&self, process: Process);
    /// Erases everything.
    fn flush(&self);
}

/// What there was to do for a pool.
#[derive(Default)]
pub(crate) struct Tended {
    /// A batch was made.
    pub(crate) worked: bool,
    /// Items handed out so far.
    pub(crate) served: u64,
    /// Items in stock.
    pub(crate) stock: usize,
}

/// A thread for some pools, started when it is first needed; each process has its own.
pub(crate) struct Refiller {
    members: OnceLock<Vec<Weak<dyn Member>>>,
    max_age: Duration,
    /// When all pools were last searched for items that are too old, as [`Time::to_bits`].
    swept: AtomicU64,
    thread: Companion,
}

/// Between looks, while there is demand.
const SHORTEST_NAP: Duration = Duration::from_millis(1);
/// Searches for what is too old, in the time that an item may become.
const SWEEPS: u32 = 4;
/// When nothing has been taken for so long, the thread sleeps until it is woken.
const LONGEST_NAP: Duration = Duration::from_millis(128);

impl Refiller {
    pub(crate) fn new(max_age: Duration) -> Self {
        Refiller {
            members: OnceLock::new(),
            max_age,
            swept: AtomicU64::new(0),
            thread: Companion::new("fastkex-refill"),
        }
    }

    /// Sets the pools; only the first time.
    pub(crate) fn attend(&self, members: Vec<Weak<dyn Member>>) {
        self.members.get_or_init(|| members);
    }

    /// Erases what is too old in all pools, if that was not done a moment ago. Costs a comparison if it was.
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
        // The first call only begins to count. Of threads that come at once, one does it.
        if self.swept.compare_exchange(before, new, relaxed, relaxed).is_ok() && before != 0 {
            self.expire(process);
        }
    }

    fn expire(&self, process: Process) {
        let members = self.members.get().into_iter().flatten().filter_map(Weak::upgrade);
        members.for_each(|member| member.expire(process));
    }

    /// Wakes the thread if it sleeps. Costs nothing if it does not.
    #[inline]
    pub(crate) fn nudge(&self, process: Process) {
        self.thread.nudge(process);
    }

    /// Has the thread look at once; starts it if need be.
    #[cold]
    pub(crate) fn wake(&self, process: Process) -> Result<(), NoThread> {
        self.thread.wake(process, || {
            let members = self.members.get().cloned().unwrap_or_default();
            let max_age = self.max_age;
            move |control: &Control| run(&members, control, max_age, process)
        })
    }

    /// Ends this process's thread, and waits for its end.
    pub(crate) fn stop(&self) {
        self.thread.stop();
    }
}

fn run(members: &[Weak<dyn Member>], control: &Control, max_age: Duration, process: Process) {
    let mut served = 0;
    let mut nap = SHORTEST_NAP;
    while !control.is_stopped() {
        let (mut worked, mut stock, mut served_now) = (false, 0, 0);
        for member in members.iter().filter_map(Weak::upgrade) {
            let tended = member.tend(process);
            worked |= tended.worked;
            stock += tended.stock;
            served_now += tended.served;
        }
        if served_now != served {
            (served, nap) = (served_now, SHORTEST_NAP);
        } else if !worked {
            nap *= 2;
        }
        if worked {
            continue;
        }
        if nap <= LONGEST_NAP {
            control.nap(nap);
            continue;
        }
        control.sleep((stock > 0).then_some(max_age));
        nap = LONGEST_NAP;
        members.iter().filter_map(Weak::upgrade).for_each(|member| member.expire(process));
    }
}
