//! Settings of a pool.

use core::ops::RangeInclusive;
use core::time::Duration;

/// Settings of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether items are kept in stock. If not, each is made when it is asked for.
    pub enabled: bool,
    /// Batch size.
    pub batch: Batch,
    /// The thread that makes batches.
    pub refill: Refill,
    /// Older items are erased instead of handed out. Within [`MAX_AGES`].
    pub max_age: Duration,
    /// Whether other processes of the same user may read the counts.
    pub statistics: bool,
}

/// Batch size in items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// 1, then 4, 16, 64 and 256, as long as batches are used up quickly.
    Growing,
    /// Constant: 1 to [`MAX_BATCH`].
    Fixed(usize),
}

/// The thread that makes batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// The thread that finds the pool empty.
    Inline,
    /// A background thread, started when there is demand. A thread that still finds the pool empty
    /// makes one item for itself.
    Background,
}

/// The largest batch that can be set, in items.
pub const MAX_BATCH: usize = 1024;

/// The range of [`Settings::max_age`].
pub const MAX_AGES: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(24 * 60 * 60);

impl Default for Settings {
    fn default() -> Self {
        Settings {
            enabled: true,
            batch: Batch::Growing,
            refill: Refill::Inline,
            max_age: Duration::from_secs(60),
            statistics: false,
        }
    }
}
