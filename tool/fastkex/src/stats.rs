//! `fastkex stats`: shows the module's counts in running processes.

use std::fs;
use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use kex::TLS_GROUPS;
use keypool::{
    Counter, Counts, Handshakes, NegotiatedGroup, PAGE_NAME, Purpose, Record, Role, Watch,
    read_page_file,
};
use measure::{Align, Table};
use serde_json::{Map, Value};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

mod prometheus;
mod totals;

use crate::json;
use crate::regular::Held;
use output::{Failure, Outcome};
use totals::{Source, State};

/// Show the module's counts in running processes
///
/// A process shows its counts if the module's section of OpenSSL's configuration says
/// `statistics = on`: TLS handshakes by negotiated group, and what the pools of keys do. The
/// process's own user and root can read them. The exit status is 1 if no process shows counts, but
/// 0 with --prometheus.
#[derive(Args, Debug)]
pub(crate) struct Stats {
    /// The process [default: all processes with readable counts]
    #[arg(value_parser = process_number)]
    pid: Option<u32>,
    /// Show the counts again every second, until ^C
    #[arg(long, conflicts_with_all = ["prometheus", "json"])]
    watch: bool,
    /// Print sums over the processes of each program in the text format of Prometheus
    #[arg(long, conflicts_with = "json")]
    prometheus: bool,
    /// Remember the counts of processes that end in this file, so that the sums do not go down
    #[arg(long, value_name = "FILE", requires = "prometheus", conflicts_with = "pid")]
    state: Option<PathBuf>,
    /// Write to this file, which is replaced at once, instead of standard output
    #[arg(long, value_name = "FILE", requires = "prometheus")]
    output: Option<PathBuf>,
    /// Print one JSON array instead of a table
    #[arg(long)]
    json: bool,
}

/// The module's name for the pool of X25519 alone; other pools have the names of their groups.
const X25519: &str = "X25519";

/// A number of this boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The time between two tables.
const PERIOD: Duration = Duration::from_secs(1);

/// The counts of one process.
struct Shown {
    pid: u32,
    /// When it started, in clock ticks after the boot.
    started: u64,
    source: Source,
    handshakes: Handshakes,
    records: Vec<Shared>,
}

/// Parses the number of a process.
pub(crate) fn process_number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "expected the number of a process, such as 1234".to_owned())
}

impl Stats {
    pub(crate) fn run(&self) -> Outcome {
        if self.watch {
            return self.watch();
        }
        let shown = self.read()?;
        if self.prometheus {
            return self.prometheus(&shown);
        }
        if self.json {
            output::line(json::text(&objects(&shown))?)?;
        } else if shown.is_empty() {
            output::line(
                "No process shows counts (statistics = on in the module's section lets them).",
            )?;
        } else {
            output::line(tables(&shown))?;
        }
        Ok(!shown.is_empty())
    }

    /// Succeeds also if no process shows counts: an idle machine is no failure of what watches it.
    fn prometheus(&self, shown: &[Shown]) -> Outcome {
        let totals = match &self.state {
            Some(path) => {
                let boot = fs::read_to_string(BOOT).map_err(Failure::about(BOOT))?;
                let runs = |pid, started| start_time(&folder_of(pid)).is_ok_and(|at| at == started);
                let (totals, state) =
                    State::read(path)?.advance(boot.trim_end().to_owned(), shown, runs);
                state.write(path)?;
                totals
            }
            None => totals::running(shown),
        };
        let text = prometheus::text(&totals, shown);
        match &self.output {
            // Another user's program reads it.
            Some(path) => totals::replace(path, text.as_bytes(), 0o644)?,
            None => output::text(text)?,
        }
        Ok(true)
    }

    fn watch(&self) -> Outcome {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&stop)).map_err(Failure::about("signals"))?;
        }
        while !stop.load(Ordering::Relaxed) {
            let shown = self.read()?;
            if io::stdout().is_terminal() {
                // Clears the screen.
                output::text("\x1b[H\x1b[2J")?;
            }
            output::line(format_args!("{}\n", tables(&shown)))?;
            let until = Instant::now() + PERIOD;
            while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                thread::sleep(PERIOD / 20);
            }
        }
        Ok(true)
    }

    fn read(&self) -> Result<Vec<Shown>, Failure> {
        match self.pid {
            Some(pid) => Ok(vec![of_process(pid)?]),
            None => all(),
        }
    }
}

fn folder_of(pid: u32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

/// Returns the counts of one process, which must show some.
fn of_process(pid: u32) -> Result<Shown, Failure> {
    match find(pid) {
        Ok(Some(shown)) => Ok(shown),
        Ok(None) => Err(Failure::new(format!(
            "process {pid} shows no counts: expected one that has used the module with statistics = on"
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Failure::new(format!("no process {pid}")))
        }
        Err(error) => Err(Failure::new(format!("process {pid}: {error}"))),
    }
}

/// Returns the counts of all processes that may be read.
fn all() -> Result<Vec<Shown>, Failure> {
    let entries = fs::read_dir("/proc").map_err(Failure::about("/proc"))?;
    let mut pids: Vec<u32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    // Processes of other users cannot be read, and some processes have ended in the meantime.
    Ok(pids.into_iter().filter_map(|pid| find(pid).ok().flatten()).collect())
}

/// Finds the page of one process. The process may belong to any user and may have written anything
/// into the page.
fn find(pid: u32) -> io::Result<Option<Shown>> {
    let folder = folder_of(pid);
    let mut refused = None;
    for entry in fs::read_dir(folder.join("fd"))? {
        let path = entry?.path();
        let is_page = |to: PathBuf| {
            let name = to.to_string_lossy().into_owned();
            name.strip_prefix("/memfd:").is_some_and(|name| name.starts_with(PAGE_NAME))
        };
        if !fs::read_link(&path).is_ok_and(is_page) {
            continue;
        }
        // A child process inherits its parent's pages. Errors in those pages do not concern it.
        match read(&path, &Identity::of(&folder)?) {
            Ok(Some((handshakes, records))) => {
                let source = Source { program: program(&folder)?, service: service(&folder) };
                let started = start_time(&folder)?;
                return Ok(Some(Shown { pid, started, source, handshakes, records }));
            }
            Ok(None) => {}
            Err(error) => refused = Some(error),
        }
    }
    refused.map_or(Ok(None), Err)
}

/// Returns the counts of a page if the page belongs to this process; `None` if it belongs to its
/// parent.
fn read(path: &Path, process: &Identity) -> io::Result<Option<(Handshakes, Vec<Shared>)>> {
    let held = Held::at(path)?;
    let data = held.metadata()?;
    if !process.users.contains(&data.uid()) {
        return Err(io::Error::other(format!(
            "page of counts of user {}, not of the process's",
            data.uid()
        )));
    }
    let page = read_page_file(&held.open()?)?;
    if page.process != process.number {
        return Ok(None);
    }
    let records: Option<_> = page.records.into_iter().map(Shared::new).collect();
    records
        .map(|records| Some((page.handshakes, records)))
        .ok_or_else(|| io::Error::other("page of counts with an unknown group"))
}

/// A record of a page, with the name from our own table.
struct Shared {
    group: &'static str,
    purpose: Purpose,
    counts: Counts,
}

impl Shared {
    /// Looks up the record's name; `None` if the module has no pool of that name.
    fn new(record: Record) -> Option<Self> {
        let Record { name, purpose, counts } = record;
        let mut names = TLS_GROUPS.iter().map(|group| group.name).chain([X25519]);
        Some(Shared { group: names.find(|known| *known == name)?, purpose, counts })
    }
}

/// The kernel's data on a process.
struct Identity {
    /// The process's number in its own namespace, for example in a container.
    number: u32,
    /// The process's real, effective, saved and file system user.
    users: Vec<u32>,
}

impl Identity {
    fn of(folder: &Path) -> io::Result<Self> {
        let status = fs::read(folder.join("status"))?;
        let status = String::from_utf8_lossy(&status);
        let numbers = |key: &str| -> Vec<u32> {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let words = line.into_iter().flat_map(str::split_whitespace);
            words.filter_map(|word| word.parse().ok()).collect()
        };
        let number = numbers("NSpid:").pop();
        let number = number.ok_or_else(|| io::Error::other("no NSpid in its status"))?;
        Ok(Identity { number, users: numbers("Uid:") })
    }
}

/// Returns a process's name. The process may have chosen the name itself, so all characters except
/// printable ASCII are escaped, as in Rust's strings.
fn program(folder: &Path) -> io::Result<String> {
    let name = fs::read(folder.join("comm"))?;
    let name = name.strip_suffix(b"\n").unwrap_or(&name);
    Ok(name.escape_ascii().to_string())
}

/// Returns the unit of systemd that a process belongs to, if it is a service. Units of other kinds
/// have new names at each start.
fn service(folder: &Path) -> Option<String> {
    let groups = fs::read_to_string(folder.join("cgroup")).ok()?;
    let unit = service_of(&groups)?;
    Some(unit.as_bytes().escape_ascii().to_string())
}

/// Finds the innermost service in the contents of `/proc/PID/cgroup`.
fn service_of(groups: &str) -> Option<&str> {
    // The only hierarchy of version 2, or the one that systemd has in version 1.
    let is_systemd = |line: &&str| line.starts_with("0::") || line.contains(":name=systemd:");
    let path = groups.lines().find(is_systemd)?.splitn(3, ':').nth(2)?;
    path.rsplit('/').find(|part| part.ends_with(".service") && part.len() <= MOST_IN_UNIT)
}

/// The length of a unit's name.
const MOST_IN_UNIT: usize = 255;

/// Returns the time at which a process started, in clock ticks after the boot.
fn start_time(folder: &Path) -> io::Result<u64> {
    /// Its place among the words after the process's name.
    const PLACE: usize = 19;
    let stat = fs::read(folder.join("stat"))?;
    let stat = String::from_utf8_lossy(&stat);
    // The name may hold parentheses and spaces.
    let time =
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(PLACE)?.parse().ok());
    time.ok_or_else(|| io::Error::other("no start time in its stat"))
}

/// Returns the name of a purpose in output for programs.
fn key(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::KeyPairs => "key_pairs",
        Purpose::Encapsulations => "encapsulations",
    }
}

fn lines(shown: &[Shown]) -> impl Iterator<Item = (&Shown, &Shared)> {
    shown.iter().flat_map(|process| process.records.iter().map(move |record| (process, record)))
}

fn objects(shown: &[Shown]) -> Vec<Value> {
    let about = |process: &Shown| {
        let mut object = Map::new();
        object.insert("pid".into(), process.pid.into());
        object.insert("program".into(), process.source.program.clone().into());
        object
    };
    let of_pools = lines(shown).map(|(process, record)| {
        let mut object = about(process);
        object.insert("group".into(), record.group.into());
        object.insert("purpose".into(), key(record.purpose).into());
        object.insert("stock".into(), record.counts.stock().into());
        for counter in Counter::ALL {
            object.insert(counter.name().into(), record.counts.get(counter).into());
        }
        Value::Object(object)
    });
    let of_handshakes = shown.iter().flat_map(|process| {
        let counted = negotiated(process).map(move |(group, role, count)| {
            let mut object = about(process);
            object.insert("group".into(), group.name().into());
            object.insert("role".into(), role.name().into());
            object.insert("post_quantum".into(), group.is_post_quantum().into());
            object.insert("handshakes".into(), count.into());
            Value::Object(object)
        });
        let mut object = about(process);
        object.insert("connections".into(), process.handshakes.connections.into());
        if process.handshakes.watch != Watch::On {
            object.insert("not_counted".into(), process.handshakes.watch.to_string().into());
        }
        counted.chain([Value::Object(object)])
    });
    of_pools.chain(of_handshakes).collect()
}

/// Returns the handshakes of a process that are not none.
fn negotiated(process: &Shown) -> impl Iterator<Item = (NegotiatedGroup, Role, u64)> {
    let of_group = |group| Role::ALL.map(|role| (group, role, process.handshakes.get(group, role)));
    NegotiatedGroup::all().flat_map(of_group).filter(|(_, _, count)| *count > 0)
}

/// Returns the share of post-quantum handshakes, the handshakes by group, and the pools.
fn tables(shown: &[Shown]) -> String {
    let mut parts = Vec::new();
    let all: Vec<_> = shown.iter().flat_map(negotiated).collect();
    if !all.is_empty() {
        parts.push(shares(&all));
        parts.push(by_group(&all).to_string());
    } else if shown.iter().any(|process| doubt(process).is_none()) {
        parts.push("No handshakes have been counted.".to_owned());
    }
    for process in shown {
        if let Some(why) = doubt(process) {
            let program = &process.source.program;
            parts.push(format!("handshakes of process {} ({program}) {why}", process.pid));
        }
    }
    if lines(shown).next().is_some() {
        parts.push(table(shown).to_string());
    }
    parts.join("\n")
}

/// Returns the reason why a process's handshakes are not in the table, if there is one.
fn doubt(process: &Shown) -> Option<String> {
    let Handshakes { watch, connections, .. } = process.handshakes;
    if watch != Watch::On {
        return Some(format!("are not counted: {watch}"));
    }
    // The first one may still be under way.
    (connections > 1 && negotiated(process).next().is_none()).then(|| {
        format!(
            "were not seen in {} connections: they fail, or the program sets an info callback",
            measure::grouped(connections as f64)
        )
    })
}

/// Adds counts, which may be any numbers.
fn sum<'a>(all: impl IntoIterator<Item = &'a (NegotiatedGroup, Role, u64)>) -> u64 {
    all.into_iter().fold(0, |sum, (_, _, count)| sum.saturating_add(*count))
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / (whole as f64).max(1.0))
}

/// Describes the share of post-quantum handshakes, a line for each side that has any.
fn shares(all: &[(NegotiatedGroup, Role, u64)]) -> String {
    let of_role = |role: Role| {
        let whole = sum(all.iter().filter(|(_, other, _)| *other == role));
        let part =
            sum(all.iter().filter(|(group, other, _)| *other == role && group.is_post_quantum()));
        (whole > 0).then(|| {
            let (percent, part, whole) = (
                percent(part, whole),
                measure::grouped(part as f64),
                measure::grouped(whole as f64),
            );
            format!("post-quantum as {}: {percent} ({part} of {whole} handshakes)", role.name())
        })
    };
    Role::ALL.into_iter().filter_map(of_role).collect::<Vec<_>>().join("\n")
}

fn by_group(all: &[(NegotiatedGroup, Role, u64)]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("group", Left),
        ("post-quantum", Left),
        ("role", Left),
        ("handshakes", Right),
        ("share", Right),
    ]);
    let mut rows = Vec::new();
    for role in Role::ALL {
        let whole = sum(all.iter().filter(|(_, other, _)| *other == role));
        for group in NegotiatedGroup::all() {
            let count = sum(all.iter().filter(|(one, other, _)| (*one, *other) == (group, role)));
            if count > 0 {
                rows.push((count, group, role, percent(count, whole)));
            }
        }
    }
    rows.sort_by_key(|(count, _, role, _)| (role.name(), u64::MAX - count));
    for (count, group, role, share) in rows {
        table.row([
            group.name().to_owned(),
            if group.is_post_quantum() { "yes" } else { "no" }.to_owned(),
            role.name().to_owned(),
            measure::grouped(count as f64),
            share,
        ]);
    }
    table
}

fn table(shown: &[Shown]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("process", Right),
        ("program", Left),
        ("group", Left),
        ("items", Left),
        ("generated", Right),
        ("from pool", Right),
        ("inline", Right),
        ("expired", Right),
        ("wiped by fork", Right),
        ("in stock", Right),
        ("refill, mean", Right),
        ("slowest", Right),
        ("trouble", Left),
    ]);
    for (process, Shared { group, purpose, counts }) in lines(shown) {
        let number = |counter| measure::grouped(counts.get(counter) as f64);
        let refills = counts.get(Counter::Refills);
        let of_refills = |nanoseconds: f64| match refills {
            0 => "-".to_owned(),
            _ => measure::duration(nanoseconds),
        };
        let mean = counts.get(Counter::RefillNanoseconds) as f64 / refills as f64;
        table.row([
            process.pid.to_string(),
            process.source.program.clone(),
            (*group).to_owned(),
            purpose.to_string(),
            number(Counter::Generated),
            number(Counter::FromPool),
            number(Counter::Inline),
            number(Counter::Expired),
            number(Counter::WipedByFork),
            measure::grouped(counts.stock() as f64),
            of_refills(mean),
            of_refills(counts.get(Counter::SlowestRefillNanoseconds) as f64),
            trouble(counts),
        ]);
    }
    table
}

/// Returns warnings for an administrator.
fn trouble(counts: &Counts) -> String {
    let happened = |&counter: &Counter| counts.get(counter) > 0;
    let named: Vec<_> = [
        Counter::Unprotected,
        Counter::Unlocked,
        Counter::Exposed,
        Counter::OutOfMemory,
        Counter::WithoutThread,
    ]
    .into_iter()
    .filter(happened)
    .map(|counter| format!("{} {}", counts.get(counter), counter.name().replace('_', " ")))
    .collect();
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_found_in_control_groups() {
        for (groups, service) in [
            ("0::/system.slice/nginx.service\n", Some("nginx.service")),
            ("0::/system.slice/haproxy@a.service/worker\n", Some("haproxy@a.service")),
            (
                "12:cpu:/x.service\n1:name=systemd:/system.slice/unbound.service\n",
                Some("unbound.service"),
            ),
            ("0::/user.slice/user-0.slice/session-1.scope\n", None),
            ("0::/\n", None),
            ("", None),
        ] {
            assert_eq!(service_of(groups), service, "{groups}");
        }
    }

    #[test]
    fn this_process_has_a_start_time() {
        let own = start_time(&folder_of(std::process::id())).unwrap();
        assert!(own > 0 && own >= start_time(&folder_of(1)).unwrap());
    }
}
