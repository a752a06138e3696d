//! Subjects of a measurement, and their timing.

use std::hint::black_box;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// An operation to be measured, and the number of operations that one call does.
pub struct Subject<'a> {
    operations_per_call: usize,
    read: Box<dyn FnMut(usize) -> Reading + 'a>,
}

/// The duration of some calls.
pub(crate) struct Reading {
    /// The ticks while this thread ran.
    pub(crate) ticks: Option<f64>,
    pub(crate) nanoseconds: f64,
}

/// Returns the time that this thread has run, in nanoseconds.
fn thread_nanoseconds() -> i128 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)
}

impl<'a> Subject<'a> {
    /// Creates a subject. One call of `operation` does `operations_per_call` operations. Its result
    /// is dropped outside of the measured time.
    ///
    /// # Panics
    /// `operations_per_call` is zero.
    pub fn new<T>(operations_per_call: usize, mut operation: impl FnMut() -> T + 'a) -> Self {
        Self::prepared(operations_per_call, || (), move |()| operation())
    }

    /// Creates a subject with inputs. Each call of `operation` consumes a value that `prepare`
    /// made. The measured time does not include preparing values and dropping results.
    ///
    /// # Panics
    /// `operations_per_call` is zero.
    pub fn prepared<I, T>(
        operations_per_call: usize,
        mut prepare: impl FnMut() -> I + 'a,
        mut operation: impl FnMut(I) -> T + 'a,
    ) -> Self {
        assert_ne!(operations_per_call, 0, "a call that does nothing has no duration");
        let read = move |calls: usize| {
            let mut inputs = Vec::with_capacity(calls);
            inputs.resize_with(calls, &mut prepare);
            let mut outputs = Vec::with_capacity(calls);
            let ran = thread_nanoseconds();
            let start = (Instant::now(), crate::ticks());
            for input in inputs {
                outputs.push(black_box(operation(black_box(input))));
            }
            let end = (crate::ticks(), Instant::now());
            let ran = (thread_nanoseconds() - ran) as f64;
            let nanoseconds = (end.1 - start.0).as_nanos() as f64;
            // The time-stamp counter continues while other threads have the processor. The
            // difference between the clocks includes the time to read them, in favour of `ran`.
            let share = if ran < nanoseconds { ran / nanoseconds } else { 1.0 };
            let ticks = start.1.zip(end.0).map(|(start, end)| end.saturating_sub(start) as f64);
            Reading { ticks: ticks.map(|ticks| ticks * share), nanoseconds }
        };
        Subject { operations_per_call, read: Box::new(read) }
    }

    pub(crate) fn operations_per_call(&self) -> usize {
        self.operations_per_call
    }

    pub(crate) fn read(&mut self, calls: usize) -> Reading {
        (self.read)(calls)
    }
}
