//! Measures the time that a thread spends inside libssl and libcrypto, for callers that time their
//! own work.
//!
//! It counts only frequent and long calls of a connection: creating and freeing it, its handshake,
//! reading, writing, closing, and its byte queues. The other calls, such as setting the expected
//! server name, take a few hundred nanoseconds, which count as the caller's.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// The time in nanoseconds; `None` unless the thread counts. The time of a callback is
    /// subtracted before the time of the call that contains it is added, so the value may be
    /// temporarily negative.
    static INSIDE: Cell<Option<i64>> = const { Cell::new(None) };
}

/// Starts counting for this thread, from zero, or stops it.
pub fn count_time_inside(yes: bool) {
    INSIDE.set(yes.then_some(0));
}

/// Returns the time that this thread has spent inside libssl and libcrypto since it started
/// counting; `None` if it does not count.
pub fn time_inside() -> Option<Duration> {
    INSIDE.get().map(|counted| Duration::from_nanos(counted.try_into().unwrap_or_default()))
}

/// Counts the time of a call into the library.
#[inline]
pub(crate) fn inside<T>(call: impl FnOnce() -> T) -> T {
    timed(call, 1)
}

/// Subtracts the time of a callback from the library.
#[inline]
pub(crate) fn outside<T>(called_back: impl FnOnce() -> T) -> T {
    timed(called_back, -1)
}

#[inline]
fn timed<T>(call: impl FnOnce() -> T, sign: i64) -> T {
    // A thread also frees objects after its destructors have run.
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
