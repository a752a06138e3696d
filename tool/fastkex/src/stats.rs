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
use keypool::{Counter, Counts, PAGE_NAME, Purpose, Record, read_page_file};
use measure::{Align, Table};
use serde_json::{Map, Value};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::json;
use crate::regular::Held;
use output::{Failure, Outcome};

/// Show the module's counts in running processes
///
/// A process shows its counts if the module's section of OpenSSL's configuration says
/// `statistics = on`. The process's own user and root can read them. The exit status is 1 if no
/// process shows counts.
#[derive(Args, Debug)]
pub(crate) struct Stats {
    /// The process [default: all processes with readable counts]
    pid: Option<u32>,
    /// Show the counts again every second, until ^C
    #[arg(long, conflicts_with_all = ["prometheus", "json"])]
    watch: bool,
    /// Print the counts in the text format of Prometheus
    #[arg(long, conflicts_with = "json")]
    prometheus: bool,
    /// Print one JSON array instead of a table
    #[arg(long)]
    json: bool,
}

/// The module's name for the pool of X25519 alone; other pools have the names of their groups.
const X25519: &str = "X25519";

/// The time between two tables.
const PERIOD: Duration = Duration::from_secs(1);

/// The counts of one process.
struct Shown {
    pid: u32,
    program: String,
    records: Vec<Shared>,
}

impl Stats {
    pub(crate) fn run(&self) -> Outcome {
        if self.watch {
            return self.watch();
        }
        let shown = self.read()?;
        if self.json {
            output::line(json::text(&objects(&shown))?)?;
        } else if self.prometheus {
            output::text(prometheus(&shown))?;
        } else if shown.is_empty() {
            output::line(
                "No process shows counts (statistics = on in the module's section lets them).",
            )?;
        } else {
            output::line(table(&shown))?;
        }
        Ok(!shown.is_empty())
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
            output::line(format_args!("{}\n", table(&shown)))?;
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
            Ok(Some(records)) => {
                return Ok(Some(Shown { pid, program: program(&folder)?, records }));
            }
            Ok(None) => {}
            Err(error) => refused = Some(error),
        }
    }
    refused.map_or(Ok(None), Err)
}

/// Returns the records of a page if the page belongs to this process; `None` if it belongs to its
/// parent.
fn read(path: &Path, process: &Identity) -> io::Result<Option<Vec<Shared>>> {
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
    records.map(Some).ok_or_else(|| io::Error::other("page of counts with an unknown group"))
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
    let object = |(process, record): (&Shown, &Shared)| {
        let mut object = Map::new();
        object.insert("pid".into(), process.pid.into());
        object.insert("program".into(), process.program.clone().into());
        object.insert("group".into(), record.group.into());
        object.insert("purpose".into(), key(record.purpose).into());
        object.insert("stock".into(), record.counts.stock().into());
        for counter in Counter::ALL {
            object.insert(counter.name().into(), record.counts.get(counter).into());
        }
        Value::Object(object)
    };
    lines(shown).map(object).collect()
}

/// Formats the counts in the text format of Prometheus.
fn prometheus(shown: &[Shown]) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, value: &dyn Fn(&Counts) -> u64| {
        text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (process, record) in lines(shown) {
            let program = process.program.replace('\\', r"\\").replace('"', r#"\""#);
            text += &format!(
                "{name}{{pid=\"{}\",program=\"{program}\",group=\"{}\",purpose=\"{}\"}} {}\n",
                process.pid,
                record.group,
                key(record.purpose),
                value(&record.counts)
            );
        }
    };
    metric("fastkex_stock", "gauge", "items that are ready", &Counts::stock);
    for counter in Counter::ALL {
        let (kind, ending) = match counter {
            Counter::SlowestRefillNanoseconds => ("gauge", ""),
            _ => ("counter", "_total"),
        };
        let name = format!("fastkex_{}{ending}", counter.name());
        metric(&name, kind, counter.description(), &|counts| counts.get(counter));
    }
    text
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
            process.program.clone(),
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
