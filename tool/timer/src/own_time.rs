//! Measures the part of a connection's time that this tool takes, without libssl and the kernel.

use std::time::Instant;

use openssl_runtime::{count_time_inside, time_inside};
use output::Failure;

use crate::connection::Target;
use crate::wire::{count_time_in_kernel, time_in_kernel};
use crate::workload::Workload;

/// The average duration of a connection and of its parts, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct OwnTime {
    /// From the beginning to the end of the connection.
    pub all: f64,
    /// Inside libssl and libcrypto.
    pub libssl: f64,
    /// In the kernel, including the time spent waiting for the server.
    pub kernel: f64,
}

impl OwnTime {
    /// Returns the remainder: the tool's own time, including the time to read the clock.
    pub fn own(&self) -> f64 {
        self.all - self.libssl - self.kernel
    }
}

/// Makes `connections` connections in this thread, and measures their parts. Time to read the clock
/// counts as the tool's own.
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
