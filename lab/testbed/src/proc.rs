//! Queries to `/proc` about processes.

use std::fs;

/// Returns the ids of the running processes that `parent` started, lowest first.
pub fn children(parent: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut children: Vec<u32> = ids.filter(|id| parent_of(*id) == Some(parent)).collect();
    children.sort_unstable();
    children
}

/// Returns a process's resident memory in bytes, or `None` if it has ended.
pub fn resident_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Returns the parent of a running process.
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in brackets, may hold any characters. State and parent follow it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (state != "Z").then(|| fields.next()?.parse().ok())?
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
        assert!(resident_bytes(id).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!children(std::process::id()).contains(&id));
        assert_eq!(resident_bytes(id), None);
    }
}
