//! The thread that makes batches in the background.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, JoinHandle, Thread};

use crate::per_process::{PerProcess, Process};

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
    worker: PerProcess<Worker>,
}

/// Between looks, while there is demand.
const SHORTEST_NAP: Duration = Duration::from_millis(1);
/// When nothing has been taken for so long, the thread sleeps until it is woken.
const LONGEST_NAP: Duration = Duration::from_millis(128);
const STACK_BYTES: usize = 256 * 1024;

/// The thread of one process.
struct Worker {
    /// [`NEW`] to [`REFUSED`].
    state: AtomicU8,
    control: Arc<Control>,
    thread: OnceLock<Thread>,
    /// For whoever waits for its end.
    handle: Mutex<Option<JoinHandle<()>>>,
}

/// Nobody has started it.
const NEW: u8 = 0;
/// Some thread is about to.
const STARTING: u8 = 1;
/// It can be woken.
const RUNNING: u8 = 2;
/// It could not be started.
const REFUSED: u8 = 3;

#[derive(Default)]
struct Control {
    stop: AtomicBool,
    /// The thread sleeps until it is woken.
    asleep: AtomicBool,
}

/// There is no thread.
pub(crate) struct NoThread;

impl Refiller {
    pub(crate) fn new(max_age: Duration) -> Self {
        Refiller { members: OnceLock::new(), max_age, worker: PerProcess::new() }
    }

    /// Sets the pools; only the first time.
    pub(crate) fn attend(&self, members: Vec<Weak<dyn Member>>) {
        self.members.get_or_init(|| members);
    }

    /// Wakes the thread if it sleeps. Costs nothing if it does not.
    #[inline]
    pub(crate) fn nudge(&self, process: Process) {
        if let Some(worker) = self.worker.get(process)
            && worker.control.asleep.load(Ordering::Relaxed)
        {
            worker.wake();
        }
    }

    /// Has the thread look at once; starts it if need be.
    #[cold]
    pub(crate) fn wake(&self, process: Process) -> Result<(), NoThread> {
        let worker = self.worker.get_or_make(process, |_| Worker {
            state: AtomicU8::new(NEW),
            control: Arc::default(),
            thread: OnceLock::new(),
            handle: Mutex::new(None),
        });
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if worker.state.compare_exchange(NEW, STARTING, acquire, relaxed).is_ok() {
            let members = self.members.get().cloned().unwrap_or_default();
            let (control, max_age) = (worker.control.clone(), self.max_age);
            let state = match spawn(move || run(&members, &control, max_age, process)) {
                Ok(handle) => {
                    worker.thread.get_or_init(|| handle.thread().clone());
                    *worker.handle() = Some(handle);
                    RUNNING
                }
                Err(_) => REFUSED,
            };
            worker.state.store(state, Ordering::Release);
        }
        if worker.state.load(Ordering::Relaxed) == REFUSED {
            return Err(NoThread);
        }
        worker.wake();
        Ok(())
    }

    /// Ends this process's thread, and waits for its end.
    pub(crate) fn stop(&self) {
        let Some(worker) = self.worker.get(Process::current()) else { return };
        worker.control.stop.store(true, Ordering::Release);
        worker.wake();
        let handle = worker.handle().take();
        // A thread that panicked has ended, too.
        drop(handle.map(JoinHandle::join));
    }
}

impl Worker {
    fn wake(&self) {
        if self.state.load(Ordering::Acquire) == RUNNING
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    fn handle(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a thread that no signal of the application is delivered to.
fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    // SAFETY: all-zero is a valid set of signals, which is then filled; the old mask is restored.
    unsafe {
        let (mut all, mut old) = (core::mem::zeroed(), core::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        let thread = thread::Builder::new()
            .name("fastkex-refill".into())
            .stack_size(STACK_BYTES)
            .spawn(work);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, ptr::null_mut());
        thread
    }
}

fn run(members: &[Weak<dyn Member>], control: &Control, max_age: Duration, process: Process) {
    let mut served = 0;
    let mut nap = SHORTEST_NAP;
    while !control.stop.load(Ordering::Acquire) {
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
            thread::park_timeout(nap);
            continue;
        }
        control.asleep.store(true, Ordering::Relaxed);
        if stock > 0 {
            thread::park_timeout(max_age);
        } else {
            thread::park();
        }
        control.asleep.store(false, Ordering::Relaxed);
        nap = LONGEST_NAP;
        members.iter().filter_map(Weak::upgrade).for_each(|member| member.expire(process));
    }
}
