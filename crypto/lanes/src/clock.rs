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
    (ticks() - start) as f64 / f64::from(CHAIN)
}
