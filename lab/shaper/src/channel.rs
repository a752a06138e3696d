//! One direction of the link, shared by all connections.

use std::time::{Duration, Instant};

use crate::link::Link;

/// Payload of a full segment: an Ethernet frame's 1500 bytes without the headers of IPv4 and TCP
/// with its time stamps.
pub(crate) const SEGMENT: usize = 1448;
/// Headers of IPv4 and TCP (52) and of Ethernet (14).
pub(crate) const HEADERS: usize = 66;
/// The largest window in bytes, as by Linux's default limit for data in flight on a socket.
const LARGEST_WINDOW: usize = 4 << 20;

/// A direction of the link. Segments leave in order, each when the one before has left.
pub(crate) struct Channel {
    link: Link,
    free_at: Instant,
}

impl Channel {
    pub(crate) fn new(link: Link, now: Instant) -> Self {
        Channel { link, free_at: now }
    }

    /// Sends a segment at `departs` and returns the time of its arrival.
    pub(crate) fn carry(&mut self, departs: Instant, payload: usize) -> Instant {
        let Some(bits_per_second) = self.link.bits_per_second else {
            return departs + one_way(&self.link);
        };
        self.free_at = self.free_at.max(departs) + serialisation(payload, bits_per_second);
        self.free_at + one_way(&self.link)
    }
}

/// Returns half a round trip.
pub(crate) fn one_way(link: &Link) -> Duration {
    link.round_trip / 2
}

/// Returns the time that a segment takes to leave.
fn serialisation(payload: usize, bits_per_second: u64) -> Duration {
    let bits = (payload + HEADERS) as u64 * 8;
    Duration::from_nanos((bits * 1_000_000_000).div_ceil(bits_per_second))
}

/// Returns the largest window in segments: twice what the link holds in a round trip. More segments
/// would only queue in front of the link.
pub(crate) fn window_limit(link: &Link) -> usize {
    let largest = LARGEST_WINDOW / SEGMENT;
    let Some(bits_per_second) = link.bits_per_second else { return largest };
    let segment = serialisation(SEGMENT, bits_per_second);
    let fitting = 2 * link.round_trip.as_nanos() / segment.as_nanos();
    usize::try_from(fitting).map_or(largest, |fitting| fitting.min(largest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(bits_per_second: Option<u64>) -> Link {
        Link { round_trip: Duration::from_millis(20), bits_per_second }
    }

    #[test]
    fn segments_queue_for_the_link() {
        let now = Instant::now();
        let mut channel = Channel::new(link(Some(10_000_000)), now);
        let full = Duration::from_nanos(1514 * 8 * 100);
        let half = Duration::from_millis(10);
        assert_eq!(channel.carry(now, SEGMENT), now + full + half);
        assert_eq!(channel.carry(now, 0), now + full + Duration::from_nanos(66 * 8 * 100) + half);
        let later = now + Duration::from_secs(1);
        assert_eq!(channel.carry(later, SEGMENT), later + full + half);
        let mut channel = Channel::new(link(None), now);
        assert_eq!(channel.carry(later, SEGMENT), later + half);
        assert_eq!(channel.carry(now, SEGMENT), now + half);
    }

    #[test]
    fn windows_hold_twice_the_link() {
        // 25 kB in 20 ms are 16.5 frames.
        assert_eq!(window_limit(&link(Some(10_000_000))), 33);
        assert_eq!(window_limit(&link(Some(100_000_000_000))), LARGEST_WINDOW / SEGMENT);
        assert_eq!(window_limit(&link(None)), LARGEST_WINDOW / SEGMENT);
        assert_eq!(window_limit(&link(Some(1_000))), 0);
    }
}
