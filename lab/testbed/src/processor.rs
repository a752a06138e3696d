//! Processor affinity and processor time.

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use output::Failure;

/// Returns the processors that this thread may use, lowest first, or none on an error.
pub fn allowed() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()
}

/// Returns the last processor that this thread may use. Interrupts and other load tend to be on the
/// first.
pub fn last() -> Option<usize> {
    allowed().pop()
}

/// Binds this thread, and the threads and processes that it starts, to one processor.
///
/// # Errors
/// There is no such processor, or this process may not use it.
pub fn stay_on(core: Option<usize>) -> Result<(), Failure> {
    let Some(core) = core else { return Ok(()) };
    let absent = || Failure::new(format!("processor {core}: there is no such processor"));
    // `CpuSet` has no room for higher numbers.
    if core >= CpuSet::MAX_CPU {
        return Err(absent());
    }
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).map_err(|_| absent())
}

/// Returns the processor time of this process in seconds, ended threads included.
pub fn own_seconds() -> f64 {
    seconds_on(ClockId::CLOCK_PROCESS_CPUTIME_ID).unwrap_or_default()
}

/// Returns the processor time of a process in seconds, ended threads included, or `None` if the
/// process has ended.
pub fn seconds_of(process: u32) -> Option<f64> {
    let process = Pid::from_raw(process.try_into().ok()?);
    seconds_on(clock_getcpuclockid(process).ok()?)
}

fn seconds_on(clock: ClockId) -> Option<f64> {
    let time: TimeSpec = clock_gettime(clock).ok()?;
    Some(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn work() {
        std::hint::black_box(
            (0..20_000_000u64).fold(0, |sum: u64, x| std::hint::black_box(sum ^ x)),
        );
    }

    #[test]
    fn work_is_counted_and_that_of_threads_that_have_ended() {
        let process = std::process::id();
        let before = (own_seconds(), seconds_of(process).unwrap());
        std::thread::spawn(work).join().unwrap();
        assert!(own_seconds() > before.0);
        // A lower bound for 20 million additions on any processor.
        assert!(seconds_of(process).unwrap() > before.1 + 1e-3);
        assert!(seconds_of(u32::MAX).is_none());
    }

    #[test]
    fn other_processes_are_asked() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exec sleep 60";
        let mut child =
            Command::new("sh").args(["-c", script]).stdout(Stdio::null()).spawn().unwrap();
        let worked = || seconds_of(child.id()).filter(|&seconds| seconds > 1e-3);
        let seconds = crate::wait_for(worked);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seconds.is_some());
        assert_eq!(seconds_of(child.id()), None);
    }

    #[test]
    fn a_thread_stays_where_it_was_put() {
        let core = last().unwrap();
        std::thread::spawn(move || {
            stay_on(Some(core)).unwrap();
            assert_eq!(rustix::thread::sched_getcpu(), core);
            assert_eq!(allowed(), [core]);
        })
        .join()
        .unwrap();
        for absent in [CpuSet::MAX_CPU - 1, CpuSet::MAX_CPU] {
            let failure = stay_on(Some(absent)).unwrap_err();
            assert!(failure.to_string().ends_with("there is no such processor"), "{failure}");
        }
    }
}
