//! The clock that tells the age of items.

use core::num::NonZeroU64;
use core::time::Duration;

/// A time in milliseconds since boot, suspend included, so that keys age on a suspended machine as
/// well. Never zero, since zero marks wiped memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(NonZeroU64);

impl Time {
    pub(crate) fn now() -> Self {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a place for the time.
        unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
        let milliseconds = time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000;
        Time(NonZeroU64::MIN.saturating_add(milliseconds))
    }

    /// The time that [`Time::to_bits`] turned into `bits`; `None` for zero.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(Time)
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// Time from `earlier` to this one; zero if `earlier` is later.
    pub(crate) fn since(self, earlier: Time) -> Duration {
        Duration::from_millis(self.to_bits().saturating_sub(earlier.to_bits()))
    }
}
