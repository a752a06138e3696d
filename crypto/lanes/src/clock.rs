//! Core cycles: the time-stamp counter, calibrated against additions that take one cycle each.
//!
//! The counter runs at a fixed rate whatever the core's clock does, so a sample of the work is
//! followed by a sample of a chain of dependent additions, and their ratio is the work's duration
//! in core cycles.

use core::arch::asm;
use core::arch::x86_64::{__rdtscp, _mm_lfence};

/// Additions in a calibration.
const CHAIN: u32 = 64 * BLOCKS;
const BLOCKS: u32 = 32;

/// The time-stamp counter, after all work before and before all work after.
#[inline(always)]
pub fn ticks() -> u64 {
    let mut processor = 0;
    // SAFETY: every x86-64 processor of OpenSSL's time has `rdtscp` and SSE2.
    unsafe {
        let now = __rdtscp(&raw mut processor);
        _mm_lfence();
        now
    }
}

/// Ticks that one core cycle takes now.
pub fn ticks_per_cycle() -> f64 {
    let start = ticks();
    // SAFETY: the instructions change the declared registers only.
    unsafe {
        asm!(
            "2:",
            ".rept 64",
            "add {x}, {x}",
            ".endr",
            "dec {blocks:e}",
            "jnz 2b",
            x = inout(reg) 1u64 => _,
            blocks = inout(reg) BLOCKS => _,
            options(nomem, nostack)
        );
    }
    let chain = ticks() - start;
    (chain.saturating_sub(own_ticks())) as f64 / f64::from(CHAIN)
}

/// Ticks between two readings of the counter with nothing between them: the least of several,
/// because an interrupt can only add some.
#[inline(always)]
fn own_ticks() -> u64 {
    const READINGS: usize = 4;
    let mut least = u64::MAX;
    for _ in 0..READINGS {
        let start = ticks();
        least = least.min(ticks() - start);
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use std::{fs, thread};

    /// Multiplications in a chain.
    const PRODUCTS: u32 = 64 * 64;

    /// Ticks of a chain of dependent multiplications, without those of the readings.
    fn product_ticks() -> u64 {
        let start = ticks();
        // SAFETY: the instructions change the declared registers only.
        unsafe {
            asm!(
                "2:",
                ".rept 64",
                "imul {x}, {x}",
                ".endr",
                "dec {blocks:e}",
                "jnz 2b",
                x = inout(reg) 3u64 => _,
                blocks = inout(reg) PRODUCTS / 64 => _,
                options(nomem, nostack)
            );
        }
        (ticks() - start).saturating_sub(own_ticks())
    }

    /// A multiplication of 64 bits takes three cycles on Intel's processors since Nehalem and AMD's
    /// since Zen.
    #[test]
    fn a_multiplication_takes_three_cycles() {
        let sample = || {
            let per_cycle = ticks_per_cycle();
            product_ticks() as f64 / per_cycle / f64::from(PRODUCTS)
        };
        let median = || {
            let mut cycles: Vec<f64> = (0..401).map(|_| sample()).collect();
            cycles.sort_by(f64::total_cmp);
            cycles[cycles.len() / 2]
        };
        // Two threads of one core slow additions down more than multiplications, so nothing can be
        // measured beside other tests.
        let mut wrong = Vec::new();
        for _ in 0..500 {
            let was_alone = is_alone();
            let median = median();
            if (2.97..3.03).contains(&median) {
                return;
            }
            if was_alone && is_alone() {
                wrong.push(median);
                assert!(wrong.len() < 5, "{wrong:?}, and nothing else runs");
            }
            thread::sleep(Duration::from_millis(20));
        }
        println!("skipped: other threads keep the processor busy");
    }

    /// True if the system reports no other running thread.
    fn is_alone() -> bool {
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        load.split(' ').nth(3).is_some_and(|threads| threads.starts_with("1/"))
    }
}
