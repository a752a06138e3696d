//! Processors, and what processes had of them.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use cli::Failure;

/// The last processor that this process may use: interrupts and whatever else there is tend to be on the first.
pub(crate) fn last() -> Option<usize> {
    let allowed = sched_getaffinity(None).ok()?;
    (0..CpuSet::MAX_CPU).rev().find(|&core| allowed.is_set(core))
}

/// Keeps this thread, and the threads and processes that it starts, on one processor.
pub(crate) fn stay_on(core: Option<usize>) -> Result<(), Failure> {
    let Some(core) = core else { return Ok(()) };
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).map_err(Failure::about(format!("processor {core}")))
}

/// Seconds that all threads of this process have run.
pub(crate) fn own_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Seconds that all threads of a process have run, if the system tells.
pub(crate) fn seconds_of(process: u32) -> Option<f64> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let text = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        nanoseconds += text.split_whitespace().next()?.parse::<f64>().ok()?;
    }
    Some(nanoseconds / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted() {
        let process = std::process::id();
        let before = (own_seconds(), seconds_of(process));
        let work = (0..20_000_000u64).fold(0, |sum: u64, x| std::hint::black_box(sum ^ x));
        std::hint::black_box(work);
        assert!(own_seconds() > before.0);
        if let Some(before) = before.1 {
            assert!(seconds_of(process).unwrap() >= before);
        }
        assert!(seconds_of(u32::MAX).is_none());
    }

    #[test]
    fn a_thread_stays_where_it_was_put() {
        let core = last().unwrap();
        std::thread::spawn(move || {
            stay_on(Some(core)).unwrap();
            assert_eq!(rustix::thread::sched_getcpu(), core);
        })
        .join()
        .unwrap();
        assert!(stay_on(Some(CpuSet::MAX_CPU - 1)).is_err());
    }
}
