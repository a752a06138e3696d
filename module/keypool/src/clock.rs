use core::num::NonZeroU64;
use core::time::Duration;

/// A time in milliseconds since the machine started, sleep included: a key does not stay young in a closed laptop. Never zero, which
/// is what wiped memory holds.
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

    /// What [`Time::to_bits`] gave; `None` for zero.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(Time)
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// How much later this is, or nothing.
    pub(crate) fn since(self, earlier: Time) -> Duration {
        Duration::from_millis(self.to_bits().saturating_sub(earlier.to_bits()))
    }
}
