//! Measures the part of a connection that is neither libssl's nor the kernel's, but this tool's.

use std::time::Instant;

use openssl_runtime::{count_time_inside, time_inside};
use output::Failure;

use crate::connection::Target;
use crate::wire::{count_time_in_kernel, time_in_kernel};
use crate::workload::Workload;

/// Microseconds of a connection, on average.
#[derive(Clone, Copy, Debug)]
pub struct OwnTime {
    /// From its beginning to its end.
    pub all: f64,
    /// Inside libssl and libcrypto.
    pub libssl: f64,
    /// In the kernel, waiting for the server included.
    pub kernel: f64,
}

impl OwnTime {
    /// The remainder: the tool's own time, and that of reading the clock.
    pub fn own(&self) -> f64 {
        self.all - self.libssl - self.kernel
    }
}

/// Makes so many connections in this thread, and tells where the time went. Reading the clock is
/// counted as the tool's.
///
/// # Errors
/// A connection fails.
pub fn own_time<E: Workload>(target: &Target<E>, connections: usize) -> Result<OwnTime, Failure> {
    count_time_inside(true);
    count_time_in_kernel(true);
    let start = Instant::now();
    let outcome = (0..connections).try_for_each(|_| target.make().map(drop));
    let each = |seconds: f64| 1e6 * seconds / connections.max(1) as f64;
    let found = OwnTime {
        all: each(start.elapsed().as_secs_f64()),
        libssl: each(time_inside().unwrap_or_default().as_secs_f64()),
        kernel: each(time_in_kernel().unwrap_or_default().as_secs_f64()),
    };
    count_time_inside(false);
    count_time_in_kernel(false);
    outcome.map(|()| found)
}
