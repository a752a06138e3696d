//! Configurations that depend on the user.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// The beginning of lines that are only for root.
const MARK: &str = "%root ";

/// Returns true if this process runs as root, so that its servers can change to another user.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Returns a configuration for this user: for root with the lines that begin with `%root`, and
/// without this word; for others without these lines.
pub fn for_this_user(text: &str) -> String {
    lines_for(text, is_root())
}

fn lines_for(text: &str, is_root: bool) -> String {
    let lines = text.lines().filter(|line| is_root || !line.starts_with(MARK));
    lines.map(|line| format!("{}\n", line.strip_prefix(MARK).unwrap_or(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_lines_are_only_for_root() {
        let text = "first\n%root     user www-data;\nlast\n";
        assert_eq!(lines_for(text, true), "first\n    user www-data;\nlast\n");
        assert_eq!(lines_for(text, false), "first\nlast\n");
    }
}
