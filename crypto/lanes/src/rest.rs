//! A busy wait without vector instructions.

use core::hint::black_box;
use core::time::Duration;
use std::time::Instant;

/// Keeps the processor busy for `time`, but not its vector units. Some processors put them to sleep
/// when they have not been used for less than a millisecond; if the thread slept instead, another
/// might use them.
pub fn rest(time: Duration) {
    let started = Instant::now();
    let mut x = 1u64;
    while started.elapsed() < time {
        for _ in 0..100 {
            x = black_box(x.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        }
    }
}
