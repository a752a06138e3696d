use std::hint::black_box;
use std::time::Instant;

/// Something to be measured: an operation, and how many a call of it does.
pub struct Subject<'a> {
    operations_per_call: usize,
    read: Box<dyn FnMut(usize) -> Reading + 'a>,
}

/// How long some calls took.
pub(crate) struct Reading {
    pub(crate) ticks: Option<u64>,
    pub(crate) nanoseconds: f64,
}

impl<'a> Subject<'a> {
    /// One call of `operation` does `operations_per_call` operations. What it returns is dropped outside of what is timed.
    ///
    /// # Panics
    /// `operations_per_call` is zero.
    pub fn new<T>(operations_per_call: usize, mut operation: impl FnMut() -> T + 'a) -> Self {
        Self::prepared(operations_per_call, || (), move |()| operation())
    }

    /// Each call of `operation` uses up a value that `prepare` made. Preparing, and dropping what calls return, is outside of what is
    /// timed.
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
            let start = (Instant::now(), crate::ticks());
            for input in inputs {
                outputs.push(black_box(operation(black_box(input))));
            }
            let end = (crate::ticks(), Instant::now());
            let ticks = start.1.zip(end.0).map(|(start, end)| end.saturating_sub(start));
            Reading { ticks, nanoseconds: (end.1 - start.0).as_nanos() as f64 }
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
