//! One direction of a connection: its segments, and the times at which they leave and arrive. Times
//! are arguments, and there are no sockets here.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::channel::{Channel, SEGMENT, one_way, window_limit};
use crate::link::Link;
use crate::window::Window;

/// The contents of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// A number of bytes.
    Bytes(usize),
    /// The sender sends no more.
    End,
    /// The sender resets the connection.
    Reset,
}

struct Segment {
    /// The time at which it leaves, and later the time at which it arrives.
    at: Instant,
    load: Load,
}

/// Contents that have arrived for the receiver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    Nothing,
    /// A number of bytes.
    Bytes(usize),
    End,
}

/// One direction of a connection.
pub(crate) struct Flow {
    one_way: Duration,
    window: Window,
    /// The bytes of all segments below, in order.
    bytes: VecDeque<u8>,
    /// Segments from the sender that have not left yet, as its clock is ahead.
    departing: VecDeque<Segment>,
    /// Segments on their way, or arrived and not handed over yet.
    travelling: VecDeque<Segment>,
    /// The time by which the sender's clock is ahead, as the sender sees its connection established
    /// at once.
    lead: Duration,
    /// The time since which the sender waits for the window, possibly with more to send.
    waiting: Option<Instant>,
    last_departure: Instant,
    /// The receiver does not take arrived data.
    is_blocked: bool,
    is_reset: bool,
    has_ended: bool,
}

impl Flow {
    /// Makes a flow. The sender's clock is a round trip ahead from `now` on, until
    /// [`Flow::catch_up`].
    pub(crate) fn new(link: &Link, now: Instant) -> Self {
        Flow {
            one_way: one_way(link),
            window: Window::new(now, window_limit(link)),
            bytes: VecDeque::new(),
            departing: VecDeque::new(),
            travelling: VecDeque::new(),
            lead: link.round_trip,
            waiting: None,
            last_departure: now,
            is_blocked: false,
            is_reset: false,
            has_ended: false,
        }
    }

    /// Corrects the sender's clock, when the sender has received something from its peer.
    pub(crate) fn catch_up(&mut self) {
        self.lead = Duration::ZERO;
    }

    /// Returns the number of bytes that the window lets the sender send.
    pub(crate) fn room(&mut self, now: Instant) -> usize {
        self.window.settle(now);
        self.window.open() * SEGMENT
    }

    /// Records that the window is full while the sender may have more data.
    pub(crate) fn wait(&mut self, now: Instant) {
        self.waiting.get_or_insert(now + self.lead);
    }

    /// Records that the sender has nothing to send.
    pub(crate) fn idle(&mut self) {
        self.waiting = None;
    }

    /// Returns true if the sender waits for the window.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Returns true if the sender has reset the connection.
    pub(crate) fn is_reset(&self) -> bool {
        self.is_reset
    }

    /// Returns true if everything has been handed over, the end included.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes bytes from the sender, at most as many as [`Flow::room`] returns.
    pub(crate) fn admit(&mut self, now: Instant, bytes: &[u8]) {
        let ready = self.waiting.unwrap_or(now + self.lead);
        self.bytes.extend(bytes);
        for segment in bytes.chunks(SEGMENT) {
            let since = self.window.send().unwrap_or(now);
            self.depart_at(since.max(ready), Load::Bytes(segment.len()));
        }
    }

    /// Ends the sender's side.
    pub(crate) fn end(&mut self, now: Instant) {
        let ready = self.waiting.take().unwrap_or(now + self.lead);
        self.depart_at(ready, Load::End);
    }

    /// Resets the connection from the sender's side.
    pub(crate) fn reset(&mut self, now: Instant) {
        self.waiting = None;
        if !self.is_reset {
            self.is_reset = true;
            self.depart_at(now + self.lead, Load::Reset);
        }
    }

    /// Refuses the connection: like [`Flow::reset`], by a host whose clock is not ahead.
    pub(crate) fn refuse(&mut self, now: Instant) {
        self.catch_up();
        self.reset(now);
    }

    fn depart_at(&mut self, at: Instant, load: Load) {
        self.last_departure = at.max(self.last_departure);
        self.departing.push_back(Segment { at: self.last_departure, load });
    }

    /// Passes the segments that leave until `now` to the channel.
    pub(crate) fn depart(&mut self, now: Instant, channel: &mut Channel) {
        while let Some(segment) = self.departing.pop_front() {
            if segment.at > now {
                self.departing.push_front(segment);
                break;
            }
            let payload = if let Load::Bytes(count) = segment.load { count } else { 0 };
            let at = channel.carry(segment.at, payload);
            self.travelling.push_back(Segment { at, ..segment });
        }
    }

    /// Returns the contents that have arrived until `now`.
    pub(crate) fn arrived(&self, now: Instant) -> Arrived {
        let mut sum = 0;
        for segment in self.travelling.iter().take_while(|segment| segment.at <= now) {
            match segment.load {
                Load::Bytes(count) => sum += count,
                Load::End if sum == 0 => return Arrived::End,
                Load::End | Load::Reset => break,
            }
        }
        if sum == 0 { Arrived::Nothing } else { Arrived::Bytes(sum) }
    }

    /// Returns true if a reset has arrived. A reset does not wait for data that the receiver does
    /// not take.
    pub(crate) fn reset_arrived(&self, now: Instant) -> bool {
        self.resets_at().is_some_and(|at| at <= now)
    }

    fn resets_at(&self) -> Option<Instant> {
        self.travelling.back().filter(|last| last.load == Load::Reset).map(|last| last.at)
    }

    /// Returns the next bytes of those that have arrived: at least one and at most `count`.
    pub(crate) fn front(&self, count: usize) -> &[u8] {
        let (front, _) = self.bytes.as_slices();
        &front[..count.min(front.len())]
    }

    /// Records that the receiver takes no more data for now.
    pub(crate) fn block(&mut self) {
        self.is_blocked = true;
    }

    /// Removes `count` bytes that the receiver has taken. Each segment is acknowledged at its
    /// arrival, or now if the receiver was blocked.
    pub(crate) fn hand_over(&mut self, now: Instant, mut count: usize) {
        self.bytes.drain(..count);
        while let Some(segment) = self.travelling.front_mut() {
            let Load::Bytes(left) = &mut segment.load else { break };
            if *left > count {
                *left -= count;
                break;
            }
            count -= *left;
            let taken = if self.is_blocked { now } else { segment.at };
            self.travelling.pop_front();
            self.window.acknowledge(taken + self.one_way);
        }
        if self.arrived(now) == Arrived::Nothing {
            self.is_blocked = false;
        }
    }

    /// Removes the end, which the receiver has been told.
    pub(crate) fn hand_over_end(&mut self) {
        self.travelling.pop_front();
        self.has_ended = true;
    }

    /// Returns the time of the next step. Arrivals count only if the receiver takes them.
    pub(crate) fn next(&self, receiver_takes: bool) -> Option<Instant> {
        let departs = self.departing.front().map(|segment| segment.at);
        let arrives = self.travelling.front().filter(|_| receiver_takes).map(|segment| segment.at);
        let opens = self.window.opens().filter(|_| self.is_waiting());
        [departs, arrives, opens, self.resets_at()].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(20);

    fn link(bits_per_second: Option<u64>) -> Link {
        Link { round_trip: ROUND_TRIP, bits_per_second }
    }

    /// Sends `total` bytes with a sender that always has more. Returns the time until the last byte
    /// arrives.
    fn transfer(link: Link, total: usize) -> Duration {
        let start = Instant::now();
        let mut channel = Channel::new(link, start);
        let mut flow = Flow::new(&link, start);
        flow.catch_up();
        let (mut now, mut left, mut missing) = (start, total, total);
        loop {
            let room = flow.room(now);
            flow.admit(now, &vec![0; room.min(left)]);
            left -= room.min(left);
            if left > 0 {
                flow.wait(now)
            } else {
                flow.idle()
            }
            flow.depart(now, &mut channel);
            if let Arrived::Bytes(count) = flow.arrived(now) {
                let count = flow.front(count).len();
                flow.hand_over(now, count);
                missing -= count;
                if missing == 0 {
                    return now - start;
                }
                continue;
            }
            now = flow.next(true).unwrap();
        }
    }

    #[test]
    fn flights_larger_than_the_window_cost_round_trips() {
        for (segments, trips) in [(1, 0), (10, 0), (11, 1), (30, 1), (31, 2), (70, 2), (71, 3)] {
            let time = transfer(link(None), segments * SEGMENT);
            assert_eq!(time, ROUND_TRIP / 2 + ROUND_TRIP * trips, "{segments} segments");
        }
    }

    #[test]
    fn long_transfers_take_the_time_of_their_frames() {
        // The window exceeds what the link holds after one round trip: ten frames take 12 ms, and
        // the link is idle until 20 + 1.2 ms.
        let frame = Duration::from_nanos(1_211_200);
        let time = transfer(link(Some(10_000_000)), 1000 * SEGMENT);
        let idle = ROUND_TRIP + frame - 10 * frame;
        assert_eq!(time, 1000 * frame + ROUND_TRIP / 2 + idle);
    }

    #[test]
    fn a_clock_that_is_ahead_is_set_right() {
        let start = Instant::now();
        let link = link(None);
        let mut channel = Channel::new(link, start);
        let mut flow = Flow::new(&link, start);
        let soon = start + Duration::from_millis(3);
        flow.admit(soon, b"first");
        flow.catch_up();
        // The order is kept.
        flow.admit(soon, b"second");
        flow.end(soon);
        let departs = soon + ROUND_TRIP;
        assert_eq!(flow.next(true), Some(departs));
        flow.depart(departs, &mut channel);
        let arrives = departs + ROUND_TRIP / 2;
        assert_eq!(flow.next(true), Some(arrives));
        assert_eq!(flow.next(false), None);
        assert_eq!(flow.arrived(arrives - Duration::from_nanos(1)), Arrived::Nothing);
        assert_eq!(
            (flow.arrived(arrives), flow.front(11)),
            (Arrived::Bytes(11), &b"firstsecond"[..])
        );
        flow.hand_over(arrives, 7);
        assert_eq!(flow.arrived(arrives), Arrived::Bytes(4));
        flow.hand_over(arrives, 4);
        assert_eq!(flow.arrived(arrives), Arrived::End);
        flow.hand_over_end();
        assert!(flow.has_ended() && flow.next(true).is_none());
    }

    #[test]
    fn a_receiver_that_takes_nothing_stops_the_sender() {
        let start = Instant::now();
        let link = link(None);
        let mut channel = Channel::new(link, start);
        let mut flow = Flow::new(&link, start);
        flow.catch_up();
        let room = flow.room(start);
        flow.admit(start, &vec![0; room]);
        flow.wait(start);
        flow.depart(start, &mut channel);
        flow.block();
        let later = start + Duration::from_secs(1);
        assert_eq!((flow.room(later), flow.next(false)), (0, None));
        // Acknowledged when it is taken, not when it arrived.
        flow.hand_over(later, room);
        assert_eq!(flow.next(true), Some(later + ROUND_TRIP / 2));
        // A reset overtakes data that the receiver does not take.
        let again = flow.room(later + ROUND_TRIP);
        flow.admit(later + ROUND_TRIP, &vec![0; again]);
        flow.reset(later + ROUND_TRIP);
        flow.depart(later + ROUND_TRIP, &mut channel);
        assert!(!flow.reset_arrived(later + ROUND_TRIP));
        assert!(flow.reset_arrived(later + ROUND_TRIP + ROUND_TRIP / 2));
    }
}
