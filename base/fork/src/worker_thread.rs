//! A background thread of which each process has its own.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};

use crate::per_process::{PerProcess, Process};

/// A background thread that is started when it is first needed. Each process has its own, and the
/// thread does not keep its process alive.
///
/// The threads are those of the standard library. In a program whose `main` is in Rust, it takes an
/// internal lock whenever one of its threads starts; a child that is forked at that moment cannot
/// start any. In a module of another program it takes no such lock.
pub struct WorkerThread {
    name: &'static str,
    instance: PerProcess<Instance>,
}

/// Stack size of the work in bytes. The default, usually 8 MB, would be locked as a whole in
/// programs that call `mlockall`, and may be backed by huge pages.
const WORK_STACK_BYTES: usize = 256 * 1024;

/// The thread of one process.
struct Instance {
    /// One of [`NEW`], [`STARTING`], [`RUNNING`] and [`REFUSED`].
    state: AtomicU8,
    control: Arc<Control>,
    thread: OnceLock<Thread>,
    /// To join the thread.
    handle: Mutex<Option<JoinHandle<()>>>,
}

/// Not started yet.
const NEW: u8 = 0;
/// A thread is about to start it.
const STARTING: u8 = 1;
/// Started; it can be woken.
const RUNNING: u8 = 2;
/// The system would not start it.
const REFUSED: u8 = 3;

/// The side of a [`WorkerThread`] that the thread itself uses.
#[derive(Default)]
pub struct Control {
    stop: AtomicBool,
    /// Whether the thread is in [`Control::park`].
    parked: AtomicBool,
}

/// The thread could not be started, and will not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotStarted;

impl Control {
    /// Whether the thread should return.
    pub fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Waits for `time`, or until the thread is woken.
    pub fn wait(&self, time: Duration) {
        thread::park_timeout(time);
    }

    /// Waits until the thread is woken, for `timeout` at most.
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
    /// A thread that is not started yet. Its name has at most 15 bytes and is shown by tools such
    /// as `top`.
    pub const fn new(name: &'static str) -> Self {
        WorkerThread { name, instance: PerProcess::new() }
    }

    /// Wakes the thread if it is in [`Control::park`]; otherwise costs one read of memory.
    #[inline]
    pub fn wake_if_parked(&self, process: Process) {
        if let Some(instance) = self.instance.get(process)
            && instance.control.parked.load(Ordering::Relaxed)
        {
            instance.wake();
        }
    }

    /// Wakes the thread. If this process has none, starts it with the function that `work` returns.
    ///
    /// # Errors
    /// The system would not start the thread, now or before.
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

    /// Stops this process's thread and waits until it has ended.
    pub fn stop(&self) {
        let Some(instance) = self.instance.get(Process::current()) else { return };
        instance.control.stop.store(true, Ordering::Release);
        instance.wake();
        let handle = instance.handle().take();
        // A thread that panicked has ended as well.
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

/// Stack size in bytes that leaves [`WORK_STACK_BYTES`] to the work.
///
/// glibc places a thread's static thread-local storage, the program's included, on the stack that
/// was asked for; the standard library only makes sure that this is not all of it.
/// `__pthread_get_minstack` tells how much that is; it is private by name, but the standard library
/// and Java's virtual machine look it up for the same purpose. Where it is missing, as in musl, the
/// storage lies beside the stack; in a glibc without it, the program's default stack size is used.
fn stack_bytes() -> usize {
    type MinimalStack = unsafe extern "C" fn(*const libc::pthread_attr_t) -> libc::size_t;
    // SAFETY: all-zero is a valid place for attributes, which are initialised before they are used;
    // the symbol, where it is there, is a function of this type in every glibc since 2.15.
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

/// Starts a thread that receives no signals of the application.
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
        // There is no thread yet to wake or to stop.
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
