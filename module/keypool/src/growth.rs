//! Batch sizes that follow demand.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;

use crate::clock::Time;
use crate::settings::Batch;

/// While demand grows, each batch is larger than the one before by this factor.
const FACTOR: usize = 4;
/// A batch that lasts less than this is followed by a larger one. So a process that uses fewer than
/// 64 keys a second never waits for more than 16 of them to be made.
const SOON: Duration = Duration::from_millis(250);
/// A batch that lasts longer than this is followed by a smaller one.
const LATE: Duration = Duration::from_secs(1);

/// Chooses batch sizes by demand. The first batch has one item.
pub(crate) struct Growth {
    batch: Batch,
    largest: usize,
    /// Size of the latest batch; 0 while there is no demand.
    size: AtomicU32,
    /// When the latest batch was started, as [`Time::to_bits`].
    since: AtomicU64,
}

impl Growth {
    pub(crate) fn new(batch: Batch, largest: usize) -> Self {
        Growth { batch, largest, size: AtomicU32::new(0), since: AtomicU64::new(0) }
    }

    /// Size of the next batch, in items, when all earlier ones are used up.
    pub(crate) fn next(&self, now: Time) -> usize {
        let lasted = Time::from_bits(self.since.swap(now.to_bits(), Ordering::Relaxed))
            .map(|since| now.since(since));
        let size = self.size();
        let next = match (self.batch, lasted) {
            (Batch::Fixed(size), _) => size,
            (Batch::Growing, None) => 1,
            (Batch::Growing, Some(lasted)) if lasted < SOON => size * FACTOR,
            (Batch::Growing, Some(lasted)) if lasted > LATE => size / FACTOR,
            (Batch::Growing, Some(_)) => size,
        };
        self.set(next)
    }

    /// Size of the latest batch; 0 while there is no demand.
    pub(crate) fn size(&self) -> usize {
        self.size.load(Ordering::Relaxed) as usize
    }

    /// Called when the stock was not enough.
    pub(crate) fn grow(&self) {
        self.set(match self.batch {
            Batch::Fixed(size) => size,
            Batch::Growing => self.size() * FACTOR,
        });
    }

    /// Called when the stock was more than needed.
    pub(crate) fn shrink(&self) {
        if self.batch == Batch::Growing {
            self.set(self.size() / FACTOR);
        }
    }

    /// Called when there is no demand any more.
    pub(crate) fn reset(&self) {
        self.size.store(0, Ordering::Relaxed);
    }

    fn set(&self, size: usize) -> usize {
        let size = size.clamp(1, self.largest);
        self.size.store(size as u32, Ordering::Relaxed);
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::from_bits(1 + milliseconds).unwrap()
    }

    #[test]
    fn grows_and_shrinks_with_demand() {
        let growth = Growth::new(Batch::Growing, 256);
        let sizes = |times: &[u64]| times.iter().map(|&t| growth.next(at(t))).collect::<Vec<_>>();
        assert_eq!(sizes(&[0, 10, 20, 30, 40, 50]), [1, 4, 16, 64, 256, 256]);
        assert_eq!(sizes(&[300, 1300, 2301, 3302, 4400]), [256, 256, 64, 16, 4]);
        assert_eq!(sizes(&[100_000, 200_000]), [1, 1]);
        let fixed = Growth::new(Batch::Fixed(32), 32);
        assert!((0..5).all(|t| fixed.next(at(t * 10_000)) == 32));
    }

    /// The largest batch with one key used every `period` milliseconds.
    fn largest_batch_at(period: f64) -> usize {
        let growth = Growth::new(Batch::Growing, 256);
        let (mut time, mut largest) = (0.0, 0);
        while time < 100_000.0 {
            let size = growth.next(at(time as u64));
            largest = largest.max(size);
            time += period * size as f64;
        }
        largest
    }

    #[test]
    fn slow_demand_never_waits_for_a_long_batch() {
        assert!(largest_batch_at(1000.0 / 63.9) <= 16);
        assert!(largest_batch_at(1000.0 / 15.0) <= 4);
        assert_eq!(largest_batch_at(1000.0 / 2000.0), 256);
    }
}
