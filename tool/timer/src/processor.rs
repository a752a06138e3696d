//! The processor time of this process.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The processor time of all threads so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    pub(crate) user_seconds: f64,
    pub(crate) kernel_seconds: f64,
}

impl Spent {
    pub(crate) fn now() -> Self {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Self::default() };
        Self {
            user_seconds: usage.user_time().num_microseconds() as f64 / 1e6,
            kernel_seconds: usage.system_time().num_microseconds() as f64 / 1e6,
        }
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            user_seconds: self.user_seconds - before.user_seconds,
            kernel_seconds: self.kernel_seconds - before.kernel_seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted() {
        let before = Spent::now();
        let work = (0..50_000_000u64).fold(0, |sum: u64, x| std::hint::black_box(sum ^ x));
        std::hint::black_box(work);
        let spent = Spent::now().since(before);
        assert!(spent.user_seconds > 0.0 && spent.kernel_seconds >= 0.0, "{spent:?}");
    }
}
