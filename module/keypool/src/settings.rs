use core::ops::RangeInclusive;
use core::time::Duration;

/// How a pool works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether anything is kept: if not, everything is made when it is asked for.
    pub enabled: bool,
    /// How many are made at once.
    pub batch: Batch,
    /// Who makes them.
    pub refill: Refill,
    /// What is older is erased, not handed out. One of [`MAX_AGES`].
    pub max_age: Duration,
    /// Whether other programs of the same user may read the counts.
    pub statistics: bool,
}

/// How many are made at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// 1, then 4, 16, 64, 256, as long as they are used up soon.
    Growing,
    /// Always so many: 1 to [`MAX_BATCH`].
    Fixed(usize),
}

/// Who makes a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// The thread that finds the pool empty.
    Inline,
    /// A thread of its own, started when there is demand. Who finds the pool empty nevertheless makes one for itself.
    Background,
}

/// The largest batch that can be asked for.
pub const MAX_BATCH: usize = 1024;

/// The ages that can be asked for.
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
