//! Sums of counts over the processes of a program, and what is remembered of processes that have
//! ended, so that the sums do not go down.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use keypool::{Counter, NegotiatedGroup, Role};
use output::Failure;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::{Shown, key};
use crate::regular::Held;

/// The programs that are told apart. Names are chosen by processes, which may belong to any user.
const MOST_PROGRAMS: usize = 256;
/// The processes that are remembered.
const MOST_PROCESSES: usize = 4096;
/// The size of a file with this state, in bytes.
const MOST_BYTES: u64 = 64 << 20;
/// The program of processes beyond [`MOST_PROGRAMS`].
const OTHERS: &str = "other";

/// The labels that the processes of a service share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Source {
    pub(super) program: String,
    /// The unit of systemd, if there is one.
    pub(super) service: Option<String>,
}

/// The subject of a count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Item {
    /// [`HANDSHAKES`], [`CONNECTIONS`], or `purpose/counter` of a pool.
    pub(super) what: String,
    /// Empty for connections.
    pub(super) group: String,
    /// For handshakes.
    pub(super) role: Option<String>,
}

/// Completed handshakes.
pub(super) const HANDSHAKES: &str = "handshakes";
/// Connections, whether or not a handshake was counted.
pub(super) const CONNECTIONS: &str = "connections";

type Counts = BTreeMap<Item, u64>;

/// The sums of each source.
pub(super) type Totals = BTreeMap<Source, Counts>;

/// The name of a pool's counter among [`Item`]s.
pub(super) fn of_pool(purpose: &str, counter: Counter) -> String {
    format!("{purpose}/{}", counter.name())
}

/// The counts of a process that are not zero and never go down.
fn counts_of(process: &Shown) -> Counts {
    let mut counts = Counts::new();
    for group in NegotiatedGroup::all() {
        for role in Role::ALL {
            let item = Item {
                what: HANDSHAKES.into(),
                group: group.name().into(),
                role: Some(role.name().into()),
            };
            counts.insert(item, process.handshakes.get(group, role));
        }
    }
    let connections = Item { what: CONNECTIONS.into(), group: String::new(), role: None };
    counts.insert(connections, process.handshakes.connections);
    for record in &process.records {
        for counter in Counter::ALL {
            if counter != Counter::SlowestRefillNanoseconds {
                let what = of_pool(key(record.purpose), counter);
                let item = Item { what, group: record.group.into(), role: None };
                counts.insert(item, record.counts.get(counter));
            }
        }
    }
    counts.retain(|_, count| *count > 0);
    counts
}

/// Adds counts, which may be any numbers.
fn add(totals: &mut Totals, source: &Source, counts: &Counts) {
    let is_known = totals.contains_key(source) || totals.len() < MOST_PROGRAMS;
    let others = Source { program: OTHERS.into(), service: None };
    let sums = totals.entry(if is_known { source.clone() } else { others }).or_default();
    for (item, count) in counts {
        let sum = sums.entry(item.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
}

/// The sums over processes that run.
pub(super) fn running(shown: &[Shown]) -> Totals {
    let mut totals = Totals::new();
    for process in shown {
        add(&mut totals, &process.source, &counts_of(process));
    }
    totals
}

/// The state that one run of the command leaves to the next one.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    version: u32,
    /// Process IDs and start times are used again after a boot.
    boot: String,
    /// The sums of processes that have ended.
    ended: Vec<(Source, Vec<(Item, u64)>)>,
    /// The processes that were running, with their counts.
    running: Vec<Process>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Process {
    pid: u32,
    /// In clock ticks after the boot.
    started: u64,
    source: Source,
    counts: Vec<(Item, u64)>,
}

const VERSION: u32 = 1;

impl State {
    /// Reads the state; an empty one if there is no file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let held = match Held::at(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::default()),
            held => held.map_err(Failure::about(path.display()))?,
        };
        let bytes = held.read(MOST_BYTES).map_err(Failure::about(path.display()))?;
        let refused = |why: String| {
            Failure::new(format!("{}: no state of fastkex stats: {why}", path.display()))
        };
        let state: State =
            serde_json::from_slice(&bytes).map_err(|error| refused(error.to_string()))?;
        if state.version != VERSION {
            return Err(refused(format!("version {}, expected {VERSION}", state.version)));
        }
        Ok(state)
    }

    /// Returns the sums over the processes that run and those that have ended, and what to remember
    /// until the next time. `runs` tells whether a process that shows no counts still runs.
    pub(super) fn advance(
        self,
        boot: String,
        shown: &[Shown],
        runs: impl Fn(u32, u64) -> bool,
    ) -> (Totals, Self) {
        let mut ended: Totals = self
            .ended
            .into_iter()
            .map(|(source, counts)| (source, counts.into_iter().collect()))
            .collect();
        let mut now: BTreeMap<(u32, u64), (Source, Counts)> = shown
            .iter()
            .map(|process| {
                let counts = counts_of(process);
                ((process.pid, process.started), (process.source.clone(), counts))
            })
            .collect();
        for before in self.running {
            let counts: Counts = before.counts.into_iter().collect();
            let is_same_boot = boot == self.boot;
            match now.get_mut(&(before.pid, before.started)) {
                // Counts that went down belong to another program in the same process.
                Some((source, current)) if is_same_boot && covers(current, &counts) => {
                    // A process may change its name.
                    *source = before.source;
                }
                None if is_same_boot && runs(before.pid, before.started) => {
                    now.insert((before.pid, before.started), (before.source, counts));
                }
                _ => add(&mut ended, &before.source, &counts),
            }
        }
        let mut totals = ended.clone();
        for (source, counts) in now.values() {
            add(&mut totals, source, counts);
        }
        let running = now.into_iter().take(MOST_PROCESSES);
        let running = running.map(|((pid, started), (source, counts))| Process {
            pid,
            started,
            source,
            counts: counts.into_iter().collect(),
        });
        let running = running.collect();
        let ended = ended
            .into_iter()
            .map(|(source, counts)| (source, counts.into_iter().collect()))
            .collect();
        (totals, State { version: VERSION, boot, ended, running })
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).map_err(Failure::about(path.display()))?;
        replace(path, &text, 0o600)
    }
}

/// Whether no count is smaller than before.
fn covers(now: &Counts, before: &Counts) -> bool {
    before.iter().all(|(item, count)| now.get(item).is_some_and(|now| now >= count))
}

/// Replaces a file at once, so that no reader sees half of it.
pub(super) fn replace(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let write = || {
        let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(bytes)?;
        fs::set_permissions(file.path(), Permissions::from_mode(mode))?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error: io::Error| Failure::new(format!("{}: {error}", path.display())))
}

/// All items of a kind in the totals, with their sources, in order.
pub(super) fn lines<'a>(
    totals: &'a Totals,
    what: &'a str,
) -> impl Iterator<Item = (&'a Source, &'a Item, u64)> {
    totals.iter().flat_map(move |(source, counts)| {
        let of_it = counts.iter().filter(move |(item, _)| item.what == what);
        of_it.map(move |(item, count)| (source, item, *count))
    })
}

/// The sources of processes, with the number of those for which `holds`.
pub(super) fn number(shown: &[Shown], holds: impl Fn(&Shown) -> bool) -> BTreeMap<Source, u64> {
    let sources: BTreeSet<_> = shown.iter().map(|process| &process.source).collect();
    let count = |source: &Source| {
        let of_it = shown.iter().filter(|process| process.source == *source && holds(process));
        (source.clone(), of_it.count() as u64)
    };
    sources.into_iter().take(MOST_PROGRAMS).map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT: &str = "boot";

    fn process(pid: u32, program: &str, count: u64) -> Process {
        let source = Source { program: program.into(), service: None };
        let item = Item { what: "handshakes".into(), group: "X25519".into(), role: None };
        Process { pid, started: 7, source, counts: vec![(item, count)] }
    }

    fn state(running: Vec<Process>) -> State {
        State { version: VERSION, boot: BOOT.into(), ended: Vec::new(), running }
    }

    fn sums(totals: &Totals) -> Vec<(String, u64)> {
        totals
            .iter()
            .map(|(source, counts)| (source.program.clone(), counts.values().sum()))
            .collect()
    }

    #[test]
    fn processes_that_end_stay_in_the_sums() {
        let before = state(vec![process(1, "nginx", 5), process(2, "nginx", 3)]);
        // The second one still runs, though its counts cannot be read at the moment.
        let (totals, after) =
            before.advance(BOOT.into(), &[], |pid, started| (pid, started) == (2, 7));
        assert_eq!(sums(&totals), [("nginx".to_owned(), 8)]);
        assert_eq!(after.running, [process(2, "nginx", 3)]);
        let (totals, after) = after.advance(BOOT.into(), &[], |_, _| false);
        assert_eq!(sums(&totals), [("nginx".to_owned(), 8)]);
        let (totals, _) = after.advance(BOOT.into(), &[], |_, _| false);
        assert_eq!(sums(&totals), [("nginx".to_owned(), 8)]);
    }

    #[test]
    fn another_boot_ends_all_processes() {
        let before = state(vec![process(1, "nginx", 5)]);
        let (totals, after) = before.advance("later".into(), &[], |_, _| true);
        assert_eq!(sums(&totals), [("nginx".to_owned(), 5)]);
        assert_eq!(after.running, []);
    }

    #[test]
    fn the_number_of_programs_is_bounded() {
        let many = (0..2000).map(|i| process(i, &format!("program{i:04}"), u64::MAX)).collect();
        let (totals, _) = state(many).advance(BOOT.into(), &[], |_, _| false);
        assert_eq!(totals.len(), MOST_PROGRAMS + 1);
        assert_eq!(sums(&totals)[0], (OTHERS.to_owned(), u64::MAX));
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        assert_eq!(State::read(&path).unwrap(), State::default());
        let written = state(vec![process(1, "nginx", u64::MAX)]);
        written.write(&path).unwrap();
        assert_eq!(State::read(&path).unwrap(), written);
        for (text, message) in [("{", "no state of fastkex stats"), ("{}", "missing field")] {
            fs::write(&path, text).unwrap();
            let error = State::read(&path).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
        State { version: 2, ..written }.write(&path).unwrap();
        let error = State::read(&path).unwrap_err().to_string();
        assert!(error.contains("version 2, expected 1"), "{error}");
    }
}
