//! What stands for a function that a library does not have: one that fails, and leaves its name for the error.

use std::cell::Cell;
use std::ptr;

thread_local! {
    /// The function that was missed last.
    static MISSED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Notes that this thread has called a function that is not there.
pub(crate) fn note(function: &'static str) {
    // A thread past its destructors frees what it left, and nobody asks why that fails.
    let _ = MISSED.try_with(|missed| missed.set(Some(function)));
}

/// The function that this thread has missed since this was asked last.
pub(crate) fn take() -> Option<&'static str> {
    MISSED.try_with(Cell::take).ok().flatten()
}

/// What OpenSSL's functions return when they fail, or when they have nothing.
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

/// `unsigned long` is one of these on every platform.
macro_rules! nothing {
    ($($number:ty)*) => { $( impl Nothing for $number { const NOTHING: Self = 0; } )* };
}
nothing! { i32 u32 i64 u64 usize }
