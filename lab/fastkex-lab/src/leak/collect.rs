//! Times of an operation on inputs of two classes, in random order.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::time::{Duration, Instant};

use reference::drbg::Drbg;
use sntrup::Error;

/// Inputs of each class.
pub(crate) const INPUTS: usize = 256;
/// The fewest times that are taken, regardless of the time limit: enough for each class.
pub(crate) const FEWEST: usize = 4096;
/// The most times that are kept.
pub(crate) const MOST: usize = 1 << 23;
/// Times at the beginning that are not counted.
const WARM_UP: usize = 64;
/// Times between two measurements of the length of a core cycle.
const CALIBRATION: usize = 1024;

/// The end of a measurement.
pub(crate) struct Limit<'a> {
    pub(crate) time: Duration,
    pub(crate) samples: usize,
    /// Set to stop early.
    pub(crate) stop: &'a AtomicBool,
}

impl Limit<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn is_reached(&self, start: Instant, taken: usize) -> bool {
        taken >= self.samples.min(MOST) || (taken >= FEWEST && start.elapsed() >= self.time)
    }
}

/// One input of each class, of equal length.
pub(crate) type Pair = [Vec<u8>; 2];

/// Writes the input of a class to `chosen`. Both inputs are read for either class. Otherwise their
/// addresses, and thus the data that they evict from the caches, would distinguish the classes.
fn choose(chosen: &mut [u8], [first, second]: &Pair, class: usize) {
    let mask = black_box((class as u8).wrapping_neg());
    for (to, (a, b)) in chosen.iter_mut().zip(first.iter().zip(second)) {
        *to = a ^ (mask & (a ^ b));
    }
}

/// Times of two classes.
pub(crate) struct Times {
    /// Times in ticks.
    pub(crate) classes: [Vec<u64>; 2],
    /// Ticks in a core cycle, or `None` if ticks are nanoseconds.
    pub(crate) ticks_per_cycle: Option<f64>,
    /// True if the measurement was not stopped.
    pub(crate) is_complete: bool,
}

#[cfg(target_arch = "x86_64")]
mod clock {
    pub(super) fn ticks(_: std::time::Instant) -> u64 {
        lanes::clock::ticks()
    }

    pub(super) fn ticks_per_cycle() -> Option<f64> {
        Some(lanes::clock::ticks_per_cycle())
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod clock {
    pub(super) fn ticks(start: std::time::Instant) -> u64 {
        start.elapsed().as_nanos() as u64
    }

    pub(super) fn ticks_per_cycle() -> Option<f64> {
        None
    }
}

/// Random numbers. They are drawn in bulk, so that drawing does not disturb every single time.
struct Order<'a> {
    random: &'a mut Drbg,
    bytes: Vec<u8>,
}

impl Order<'_> {
    /// Returns a class and the index of an input.
    fn next(&mut self) -> (usize, usize) {
        if self.bytes.is_empty() {
            self.bytes = vec![0; 8192];
            self.random.fill(&mut self.bytes);
        }
        let mut byte = || usize::from(self.bytes.pop().unwrap_or_default());
        (byte() & 1, byte() % INPUTS)
    }
}

/// Times `operation` on inputs of both classes. `load` turns an input into the operation's state,
/// at the same address for both classes. Loading and dropping the result are not timed.
pub(crate) fn collect<S, T>(
    limit: &Limit<'_>,
    random: &mut Drbg,
    inputs: &[Pair],
    state: &mut S,
    load: impl Fn(&mut S, &[u8]) -> Result<(), Error>,
    operation: impl Fn(&mut S) -> T,
) -> Result<Times, Error> {
    let mut order = Order { random, bytes: Vec::new() };
    let mut chosen = vec![0; inputs.first().map_or(0, |[first, _]| first.len())];
    let mut classes = [Vec::new(), Vec::new()];
    let mut calibrations = Vec::new();
    let start = Instant::now();
    let mut taken = 0_usize;
    while !limit.is_stopped() && !limit.is_reached(start, taken.saturating_sub(WARM_UP)) {
        if taken.is_multiple_of(CALIBRATION) {
            calibrations.extend(clock::ticks_per_cycle());
        }
        let (class, input) = order.next();
        choose(&mut chosen, &inputs[input % inputs.len()], class);
        load(state, &chosen)?;
        // Loading is complete before the clock starts.
        fence(Ordering::SeqCst);
        let begin = clock::ticks(start);
        let result = black_box(operation(black_box(&mut *state)));
        let end = clock::ticks(start);
        drop(result);
        taken += 1;
        if taken > WARM_UP {
            classes[class].push(end.saturating_sub(begin));
        }
    }
    calibrations.sort_unstable_by(f64::total_cmp);
    let ticks_per_cycle = calibrations.get(calibrations.len() / 2).copied();
    Ok(Times { classes, ticks_per_cycle, is_complete: !limit.is_stopped() })
}

#[cfg(test)]
mod tests {
    use reference::drbg::SEED_BYTES;

    use super::*;

    #[test]
    fn each_class_gets_its_own_inputs() {
        let stop = AtomicBool::new(false);
        let limit = Limit { time: Duration::ZERO, samples: MOST, stop: &stop };
        let inputs: Vec<Pair> = (0..INPUTS).map(|i| [vec![1, i as u8], vec![2, i as u8]]).collect();
        let mut seen = [0; 3];
        let random = &mut Drbg::new(&[3; SEED_BYTES]);
        let load = |seen: &mut [usize; 3], input: &[u8]| {
            seen[usize::from(input[0])] += 1;
            Ok(())
        };
        let times = collect(&limit, random, &inputs, &mut seen, load, |_| ()).unwrap();
        let [none, first, second] = seen;
        assert_eq!((none, first + second), (0, FEWEST + WARM_UP));
        let [a, b] = times.classes.map(|class| class.len());
        assert!(a + b == FEWEST && first - a + second - b == WARM_UP && a > 1900 && b > 1900);
        assert!(times.is_complete);
    }

    #[test]
    fn who_stops_gets_what_there_is() {
        let stop = AtomicBool::new(false);
        let limit = Limit { time: Duration::MAX, samples: MOST, stop: &stop };
        let random = &mut Drbg::new(&[3; SEED_BYTES]);
        let load = |loaded: &mut usize, _: &[u8]| {
            *loaded += 1;
            stop.store(*loaded == WARM_UP + 5, Ordering::Relaxed);
            Ok(())
        };
        let times = collect(&limit, random, &[[vec![1], vec![2]]], &mut 0, load, |_| ()).unwrap();
        let [a, b] = times.classes.map(|class| class.len());
        assert_eq!((a + b, times.is_complete), (5, false));
    }
}
