//! Replacements for functions that a library does not have: they fail and record their name for the
//! error.

use std::cell::Cell;
use std::ptr;

thread_local! {
    /// The name of the missing function that was called last.
    static MISSED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Records that this thread has called a function that the library does not have.
pub(crate) fn note(function: &'static str) {
    // After a thread's destructors have run, it only frees objects, and no error needs the name.
    let _ = MISSED.try_with(|missed| missed.set(Some(function)));
}

/// Returns the missing function that this thread has called since the last call of `take`.
pub(crate) fn take() -> Option<&'static str> {
    MISSED.try_with(Cell::take).ok().flatten()
}

/// The values that OpenSSL's functions return when they fail or have no result.
pub(crate) trait Nothing {
    const NOTHING: Self;
}

impl Nothing for () {
    const NOTHING: Self = ();
}

impl<T> Nothing for *const T {
    const NOTHING: Self = ptr::null();
}

impl<T> Nothing for *mut T {
    const NOTHING: Self = ptr::null_mut();
}

/// `unsigned long` is one of these types on every platform.
macro_rules! nothing {
    ($($number:ty)*) => { $( impl Nothing for $number { const NOTHING: Self = 0; } )* };
}
nothing! { i32 u32 i64 u64 usize }
