//! How long a thread is inside libssl and libcrypto, for those who time what they do themselves.
//!
//! Only what a connection does often and for long is counted: making and freeing it, its handshake, reading, writing, closing, and its byte
//! queues. The rest, such as naming the expected server, is a few hundred nanoseconds that appear to be the caller's.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// Nanoseconds; `None` unless the thread asked for them. What is called back is taken out before the call that it is part of has been
    /// added, so there may be less than none.
    static INSIDE: Cell<Option<i64>> = const { Cell::new(None) };
}

/// Begins to count for this thread, from zero, or ends it.
pub fn count_time_inside(yes: bool) {
    INSIDE.set(yes.then_some(0));
}

/// What this thread has spent inside libssl and libcrypto since it began to count; `None` if it does not.
pub fn time_inside() -> Option<Duration> {
    INSIDE.get().map(|counted| Duration::from_nanos(counted.try_into().unwrap_or_default()))
}

/// Counts a call into the library.
#[inline]
pub(crate) fn inside<T>(call: impl FnOnce() -> T) -> T {
    timed(call, 1)
}

/// Takes what the library calls back out of the count.
#[inline]
pub(crate) fn outside<T>(called_back: impl FnOnce() -> T) -> T {
    timed(called_back, -1)
}

#[inline]
fn timed<T>(call: impl FnOnce() -> T, sign: i64) -> T {
    // A thread past its destructors frees what it left, too.
    if INSIDE.try_with(Cell::get).ok().flatten().is_none() {
        return call();
    }
    let start = Instant::now();
    let result = call();
    let passed = i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX);
    INSIDE.set(INSIDE.get().map(|counted| counted.saturating_add(sign.saturating_mul(passed))));
    result
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn calls_count_but_for_what_they_call_back() {
        let nap = || thread::sleep(Duration::from_millis(5));
        inside(nap);
        assert_eq!(time_inside(), None);
        count_time_inside(true);
        inside(|| {
            nap();
            outside(|| thread::sleep(Duration::from_millis(200)));
        });
        let counted = time_inside().unwrap();
        assert!(
            counted >= Duration::from_millis(5) && counted < Duration::from_millis(200),
            "{counted:?}"
        );
        count_time_inside(false);
        assert_eq!(time_inside(), None);
    }
}
