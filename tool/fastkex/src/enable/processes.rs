//! The processes that use libssl now, and so have to be restarted.

use std::collections::BTreeMap;
use std::fs;

const LIBRARY: &str = "/libssl.so.";
/// The maximum number of names in the list.
const MOST_NAMES: usize = 8;

/// Lists services, and the names of other programs, that have libssl loaded; `None` if there are
/// none that this user may look into.
pub(super) fn with_libssl() -> Option<String> {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let own = std::process::id().to_string();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        let read = |file: &str| fs::read_to_string(entry.path().join(file)).unwrap_or_default();
        if is_process && name != own.as_str() && read("maps").contains(LIBRARY) {
            let service = service(&read("cgroup"));
            *names.entry(service.unwrap_or_else(|| read("comm").trim().to_owned())).or_default() +=
                1;
        }
    }
    let rest = names.len().saturating_sub(MOST_NAMES);
    let mut shown: Vec<_> = names.into_keys().take(MOST_NAMES).map(printable).collect();
    if rest > 0 {
        shown.push(format!("{rest} more"));
    }
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// Returns the service that a control group belongs to.
fn service(cgroup: &str) -> Option<String> {
    let path = cgroup.lines().next_back()?.rsplit(':').next()?;
    let unit = path.rsplit('/').next()?;
    unit.ends_with(".service").then(|| unit.to_owned())
}

/// Processes choose their names, which could control the terminal.
fn printable(name: String) -> String {
    name.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_found_in_control_groups() {
        for (cgroup, expected) in [
            ("0::/system.slice/nginx.service\n", Some("nginx.service")),
            ("0::/user.slice/user-0.slice/session-1.scope\n", None),
            ("0::/\n", None),
            ("", None),
        ] {
            assert_eq!(service(cgroup).as_deref(), expected);
        }
    }
}
