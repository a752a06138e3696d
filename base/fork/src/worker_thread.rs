//! A thread that goes with a process.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};

use crate::{PerProcess, Process};

/// A thread that works beside others, started when it is first needed; each process has its own, and no process lives for its sake.
///
/// The threads are std's. In a program whose `main` is Rust's, std takes a lock of its own as each of its threads begins; a child forked at
/// that moment can begin none, as with any thread of std's. Where this is part of a module in another program, std takes none.
pub struct WorkerThread {
    name: &'static str,
    instance: PerProcess<Instance>,
}

/// What the work takes. The platform's default, 8 MB as a rule, would be locked as a whole in programs that call `mlockall`, and may
/// be given huge pages.
const WORK_STACK_BYTES: usize = 256 * 1024;

/// The thread of one process.
struct Instance {
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

/// What the thread itself has of a [`WorkerThread`].
#[derive(Default)]
pub struct Control {
    stop: AtomicBool,
    /// The thread sleeps until it is woken.
    parked: AtomicBool,
}

/// There is no thread, and will not be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotStarted;

impl Control {
    /// Whether the thread is to end.
    pub fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Waits so long, or until the thread is woken.
    pub fn wait(&self, time: Duration) {
        thread::park_timeout(time);
    }

    /// Waits until the thread is woken or unparked, and for `most` at most.
    pub fn park(&self, timeout: Option<Duration>) {
        self.parked.store(true, Ordering::Relaxed);
        match timeout {
            Some(time) => thread::park_timeout(time),
            None => thread::park(),
        }
        self.parked.store(false, Ordering::Relaxed);
    }
}

impl WorkerThread {
    /// No thread yet; its name, of at most 15 bytes, is for those who look at processes.
    pub const fn new(name: &'static str) -> Self {
        WorkerThread { name, instance: PerProcess::new() }
    }

    /// Wakes the thread if it is in [`Control::sleep`]. Costs nothing if it is not.
    #[inline]
    pub fn wake_if_parked(&self, process: Process) {
        if let Some(instance) = self.instance.get(process)
            && instance.control.parked.load(Ordering::Relaxed)
        {
            instance.wake();
        }
    }

    /// Wakes the thread; starts it if this process has none, to do what `work` gives.
    ///
    /// # Errors
    /// The system would not start it, now or before.
    #[cold]
    pub fn start_or_wake<W: FnOnce(&Control) + Send + 'static>(
        &self,
        process: Process,
        work: impl FnOnce() -> W,
    ) -> Result<(), NotStarted> {
        let instance = self.instance.get_or_make(process, |_| Instance {
            state: AtomicU8::new(NEW),
            control: Arc::default(),
            thread: OnceLock::new(),
            handle: Mutex::new(None),
        });
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if instance.state.compare_exchange(NEW, STARTING, acquire, relaxed).is_ok() {
            let (control, work) = (instance.control.clone(), work());
            let state = match spawn(self.name, move || work(&control)) {
                Ok(handle) => {
                    instance.thread.get_or_init(|| handle.thread().clone());
                    *instance.handle() = Some(handle);
                    RUNNING
                }
                Err(_) => REFUSED,
            };
            instance.state.store(state, Ordering::Release);
        }
        if instance.state.load(Ordering::Relaxed) == REFUSED {
            return Err(NotStarted);
        }
        instance.wake();
        Ok(())
    }

    /// Ends this process's thread, and waits for its end.
    pub fn stop(&self) {
        let Some(instance) = self.instance.get(Process::current()) else { return };
        instance.control.stop.store(true, Ordering::Release);
        instance.wake();
        let handle = instance.handle().take();
        // A thread that panicked has ended, too.
        drop(handle.map(JoinHandle::join));
    }
}

impl Instance {
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

/// The size of a stack that leaves [`WORK_STACK_BYTES`] to the work.
///
/// glibc takes a thread's static thread-local storage, the program's included, from the stack that was asked for, and std only sees
/// to it that this is not all of it. How much that is, glibc tells by a function that is private by name but looked up by std and
/// by Java's virtual machine for this very purpose. Where there is none, as in musl, the storage lies beside the stack; in a
/// glibc without it, the default is what the program's own threads have.
fn stack_bytes() -> usize {
    type MinimalStack = unsafe extern "C" fn(*const libc::pthread_attr_t) -> libc::size_t;
    // SAFETY: all-zero is a valid place for attributes, which are initialised before they are used; the symbol, where it is there, is a
    // function of this type in every glibc since 2.15.
    unsafe {
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        if libc::pthread_attr_init(&raw mut attributes) != 0 {
            return WORK_STACK_BYTES;
        }
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr());
        let bytes = if symbol.is_null() {
            let mut default = 0;
            libc::pthread_attr_getstacksize(&raw const attributes, &raw mut default);
            default.max(WORK_STACK_BYTES)
        } else {
            let minimal = core::mem::transmute::<*mut libc::c_void, MinimalStack>(symbol);
            WORK_STACK_BYTES.saturating_add(minimal(&raw const attributes))
        };
        libc::pthread_attr_destroy(&raw mut attributes);
        bytes
    }
}

/// Starts a thread that no signal of the application is delivered to.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    // SAFETY: all-zero is a valid set of signals, which is then filled; the old mask is restored.
    unsafe {
        let (mut all, mut old) = (core::mem::zeroed(), core::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        let thread =
            thread::Builder::new().name(name.to_owned()).stack_size(stack_bytes()).spawn(work);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, ptr::null_mut());
        thread
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn works_when_woken_and_ends_when_stopped() {
        let thread = WorkerThread::new("test");
        let process = Process::current();
        let (sender, receiver) = mpsc::channel();
        let work = || {
            let sender = sender.clone();
            move |control: &Control| {
                while !control.should_stop() {
                    sender.send(()).unwrap();
                    control.park(None);
                }
            }
        };
        // Nobody to nudge, and nobody to stop.
        thread.wake_if_parked(process);
        thread.stop();
        assert!(receiver.try_recv().is_err());
        for _ in 0..3 {
            thread.start_or_wake(process, work).unwrap();
            receiver.recv().unwrap();
        }
        thread.stop();
        drop(sender);
        while receiver.try_recv().is_ok() {}
        assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }
}
