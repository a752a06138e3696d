//! Queries to `/proc` about processes.

use procfs::ProcResult;
use procfs::process::{Process, Stat, all_processes};

/// Returns the ids of the running processes that `parent` started, lowest first.
pub fn children(parent: u32) -> Vec<u32> {
    let processes = all_processes().into_iter().flatten().flatten();
    let stats = processes.filter_map(|process| process.stat().ok());
    let children = stats.filter(|stat| runs(stat) && stat.ppid == parent.cast_signed());
    let mut children: Vec<u32> = children.map(|stat| stat.pid.cast_unsigned()).collect();
    children.sort_unstable();
    children
}

/// Returns true for a running process. An orphan may remain as a zombie if no process waits for it.
pub fn is_running(process: u32) -> bool {
    open(process).and_then(|process| process.stat()).is_ok_and(|stat| runs(&stat))
}

/// Returns a process's resident memory in bytes, or `None` if it has ended.
pub fn resident_bytes(process: u32) -> Option<u64> {
    Some(open(process).ok()?.status().ok()?.vmrss? * 1024)
}

fn open(process: u32) -> ProcResult<Process> {
    Process::new(process.cast_signed())
}

fn runs(stat: &Stat) -> bool {
    stat.state != 'Z'
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn children_and_their_memory_are_found() {
        let mut child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
        let id = child.id();
        assert!(children(std::process::id()).contains(&id));
        assert!(!children(id).contains(&id));
        // A process that has just begun may have no memory yet.
        assert!(resident_bytes(std::process::id()).is_some_and(|bytes| bytes > 1 << 16));
        assert!(resident_bytes(id).is_some() && is_running(id));
        child.kill().unwrap();
        // Until it is waited for, it is a zombie.
        assert!(crate::wait_for(|| (!is_running(id)).then_some(())).is_some());
        assert!(!children(std::process::id()).contains(&id));
        child.wait().unwrap();
        assert!(!children(std::process::id()).contains(&id));
        assert_eq!((resident_bytes(id), is_running(id)), (None, false));
    }
}
