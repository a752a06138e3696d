//! Size of the congestion window: TCP's slow start (RFC 5681, initial window of RFC 6928), without
//! losses.

use std::collections::VecDeque;
use std::time::Instant;

/// The initial window of RFC 6928, in segments.
const INITIAL: usize = 10;

/// The window of one direction of a connection.
pub(crate) struct Window {
    /// The window in segments: segments that are not acknowledged yet, and `credits`.
    size: usize,
    limit: usize,
    /// One entry for each segment that may be sent: the time since when it may.
    credits: VecDeque<Instant>,
    /// Arrival times of acknowledgements on their way.
    acknowledgements: VecDeque<Instant>,
    sent: u64,
    acknowledged: u64,
    /// The value of `acknowledged` at which the round ends.
    round: u64,
    /// The most segments on their way in this round.
    peak: usize,
}

impl Window {
    /// Makes a window that is open from `now` on and grows to `limit` segments, or to the initial
    /// window if that is larger.
    pub(crate) fn new(now: Instant, limit: usize) -> Self {
        Window {
            size: INITIAL,
            limit: limit.max(INITIAL),
            credits: [now; INITIAL].into(),
            acknowledgements: VecDeque::new(),
            sent: 0,
            acknowledged: 0,
            round: 0,
            peak: 0,
        }
    }

    /// Returns the number of segments that may be sent.
    pub(crate) fn open(&self) -> usize {
        self.credits.len()
    }

    /// Takes one credit and returns the time since when the segment might have been sent.
    pub(crate) fn send(&mut self) -> Option<Instant> {
        let credit = self.credits.pop_front()?;
        self.sent += 1;
        self.peak = self.peak.max(self.on_their_way());
        Some(credit)
    }

    /// Schedules the acknowledgement of the oldest segment on its way. It arrives at `at`, but not
    /// before earlier acknowledgements.
    pub(crate) fn acknowledge(&mut self, at: Instant) {
        let at = self.acknowledgements.back().map_or(at, |last| at.max(*last));
        self.acknowledgements.push_back(at);
    }

    /// Processes the acknowledgements that have arrived.
    pub(crate) fn settle(&mut self, now: Instant) {
        while let Some(at) = self.opens().filter(|at| *at <= now) {
            self.acknowledgements.pop_front();
            // A window that is not used does not grow (RFC 7661).
            if self.size < self.limit && self.size < 2 * self.peak {
                self.size += 1;
                self.credits.push_back(at);
            }
            self.acknowledged += 1;
            if self.acknowledged >= self.round {
                self.round = self.sent;
                self.peak = self.on_their_way();
            }
            self.credits.push_back(at);
        }
    }

    /// Returns the arrival time of the next acknowledgement.
    pub(crate) fn opens(&self) -> Option<Instant> {
        self.acknowledgements.front().copied()
    }

    fn on_their_way(&self) -> usize {
        self.size - self.credits.len()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(100);

    /// Sends in each round as many segments as the window allows, but at most `wanted`. Returns the
    /// number for each round.
    fn rounds(window: &mut Window, start: Instant, wanted: usize) -> Vec<usize> {
        let round = |number| {
            let now = start + ROUND_TRIP * number;
            window.settle(now);
            let count = window.open().min(wanted);
            for _ in 0..count {
                assert!(window.send().unwrap() <= now);
                window.acknowledge(now + ROUND_TRIP);
            }
            count
        };
        (0..6).map(round).collect()
    }

    #[test]
    fn the_window_doubles_each_round_up_to_its_limit() {
        let start = Instant::now();
        let mut window = Window::new(start, 100);
        assert_eq!(rounds(&mut window, start, usize::MAX), [10, 20, 40, 80, 100, 100]);
        assert!(window.send().is_none());
        assert_eq!(window.opens(), Some(start + ROUND_TRIP * 6));
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let start = Instant::now();
        let mut window = Window::new(start, 100);
        rounds(&mut window, start, 5);
        window.settle(start + ROUND_TRIP * 6);
        assert_eq!(window.open(), INITIAL);
        // With six segments in a round, more than half of the window is used. It grows to twice
        // that number.
        let mut window = Window::new(start, 100);
        rounds(&mut window, start, 6);
        window.settle(start + ROUND_TRIP * 6);
        assert_eq!(window.open(), 12);
    }

    #[test]
    fn acknowledgements_keep_their_order() {
        let start = Instant::now();
        let mut window = Window::new(start, 100);
        let late = start + ROUND_TRIP;
        for at in [late, start] {
            window.send();
            window.acknowledge(at);
        }
        window.settle(start);
        assert_eq!(window.open(), INITIAL - 2);
        window.settle(late);
        assert_eq!(window.open(), INITIAL);
    }
}
