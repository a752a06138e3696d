use core::num::NonZeroU64;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Something of which each process has its own. What a child of fork inherits, it neither uses nor frees: threads that it does not
/// have may have been in the middle of a change.
pub struct PerProcess<T>(AtomicPtr<Entry<T>>);

struct Entry<T> {
    process: Process,
    value: T,
}

/// What tells a process from those that it was forked from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// Its [`generation`](crate::generation).
    Known(NonZeroU64),
    /// A process whose kernel does not tell, which must not keep anything secret; its number.
    Unknown(u32),
}

impl Process {
    /// The one that this is.
    #[inline]
    pub fn current() -> Self {
        match crate::generation() {
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
    /// Nobody has one yet.
    pub const fn new() -> Self {
        PerProcess(AtomicPtr::new(ptr::null_mut()))
    }

    /// This process's, if it has one.
    #[inline]
    pub fn get(&self, process: Process) -> Option<&T> {
        self.latest().filter(|entry| entry.process == process).map(|entry| &entry.value)
    }

    /// This process's. `make` makes one, told what a process before left; it may be called although another thread's is used then.
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
            // SAFETY: what was published stays until `self` is dropped, and longer where a child inherited it.
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
