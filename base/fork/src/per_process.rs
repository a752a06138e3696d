//! Values of which each process has its own.

use core::num::NonZeroU64;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::generation::generation;

/// A value of which each process has its own. A child of fork neither uses nor frees the inherited
/// one: a thread of the parent may have been in the middle of changing it.
pub struct PerProcess<T>(AtomicPtr<Entry<T>>);

struct Entry<T> {
    process: Process,
    value: T,
}

/// Identifies a process among those it was forked from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// The [`generation`](crate::generation()) of the process.
    Known(NonZeroU64),
    /// The process ID, where the kernel cannot detect a fork. Such a process must not store
    /// secrets.
    Unknown(u32),
}

impl Process {
    /// The calling process.
    #[inline]
    pub fn current() -> Self {
        match generation() {
            Some(generation) => Process::Known(generation),
            None => Process::Unknown(std::process::id()),
        }
    }
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PerProcess<T> {
    /// An empty cell.
    pub const fn new() -> Self {
        PerProcess(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value of `process`, if it has one.
    #[inline]
    pub fn get(&self, process: Process) -> Option<&T> {
        self.latest().filter(|entry| entry.process == process).map(|entry| &entry.value)
    }

    /// The value of `process`. If it has none, `make` makes one; its argument is the value
    /// inherited from the parent process. If two threads make one at once, one of the two is
    /// dropped.
    #[inline]
    pub fn get_or_make(&self, process: Process, make: impl FnOnce(Option<&T>) -> T) -> &T {
        self.get(process).unwrap_or_else(|| self.make(process, make))
    }

    #[cold]
    fn make(&self, process: Process, make: impl FnOnce(Option<&T>) -> T) -> &T {
        let old = self.latest();
        let value = make(old.map(|entry| &entry.value));
        let new = Box::into_raw(Box::new(Entry { process, value }));
        let expected = old.map_or(ptr::null_mut(), |entry| ptr::from_ref(entry).cast_mut());
        match self.0.compare_exchange(expected, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: what was published stays until `self` is dropped, and longer where a child
            // inherited it.
            Ok(_) => unsafe { &(*new).value },
            Err(other) => {
                // SAFETY: it was made above, and nobody has seen it.
                drop(unsafe { Box::from_raw(new) });
                // SAFETY: as above. No process but this one changes it, so it is this one's.
                unsafe { &(*other).value }
            }
        }
    }

    #[inline]
    fn latest(&self) -> Option<&Entry<T>> {
        // SAFETY: null, or published and still there.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        if self.get(Process::current()).is_some() {
            // SAFETY: made by `Box::into_raw` in this process; nobody uses it any more.
            drop(unsafe { Box::from_raw(*self.0.get_mut()) });
        }
    }
}

// SAFETY: as an `Arc` of it.
unsafe impl<T: Send + Sync> Send for PerProcess<T> {}
// SAFETY: as an `Arc` of it.
unsafe impl<T: Send + Sync> Sync for PerProcess<T> {}
