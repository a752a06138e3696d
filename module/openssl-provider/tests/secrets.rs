//! Secrets in memory, by way of a program in C that uses the module as applications do, and then
//! searches: its child's memory, its own, or a core dump.
//!
//! Each process is for one kind of secret. With `FASTKEX_TEST_SHOW=1` it shows what it found, with
//! the bytes around it and the name of the mapping, and the test says what was found of each kind,
//! not only of those of which there was something.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

use common::c;
use kex::{Backend, TLS_GROUPS};
use keypool::{Counter, Purpose, read_page};

/// Shows what was found.
const SHOW: &str = "FASTKEX_TEST_SHOW";
/// One is larger than all that the program takes.
const LARGE: &str = "batch = 80\n";
/// They grow with demand, as they do by default.
const GROWING: &str = "batch = auto\n";
/// Small ones, so that the program reaches what was under construction.
const BACKGROUND: &str = "refill = background\nbatch = 16\n";
/// As the program exits when there is no core dump.
const NO_CORE: i32 = 77;
/// The number of attempts to find a process with something in stock.
const ATTEMPTS: usize = 5;
/// Threads of the program that use keys.
const THREADS: usize = 2;
/// Children of fork of one process that works in the background.
const FORKS: usize = 3;
/// The stack of a thread that works in the background, as a line ends.
const ON_ITS_STACK: &str = " in a thread's stack";

/// A kind of secret that a process must lose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Items {
    Keys,
    Encapsulations,
    /// Keys of the default provider, to compare with.
    Theirs,
}

impl Items {
    fn name(self) -> &'static str {
        match self {
            Items::Keys => "keys",
            Items::Encapsulations => "encapsulations",
            Items::Theirs => "theirs",
        }
    }

    /// The pool's purpose for them. Signature keys have none.
    fn purpose(self, algorithm: &str) -> Option<Purpose> {
        match self {
            Items::Keys if algorithm != "ED25519" => Some(Purpose::KeyPairs),
            Items::Encapsulations => Some(Purpose::Encapsulations),
            Items::Keys | Items::Theirs => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// A child of fork, for what was in stock. Batches leave other traces if there are several.
    Growing,
    /// The same with a single batch.
    Large,
    /// Children of fork, for what was being made in another thread.
    Background,
    /// The process itself, for what was freed.
    Freed,
    /// A core dump, for what was in stock or waited for its use.
    Core,
}

impl Search {
    fn name(self) -> &'static str {
        match self {
            Search::Growing | Search::Large => "inline",
            Search::Background => "background",
            Search::Freed => "freed",
            Search::Core => "core",
        }
    }

    fn settings(self) -> &'static str {
        match self {
            Search::Growing | Search::Freed | Search::Core => GROWING,
            Search::Large => LARGE,
            Search::Background => BACKGROUND,
        }
    }

    /// Whether a planted secret must be found, or must not be found; `None` if either is allowed.
    fn finds(self, planted: &str) -> Option<bool> {
        let is_child = !matches!(self, Search::Freed | Search::Core);
        match planted {
            "nowhere" => Some(false),
            "mapping that children find wiped" => Some(!is_child),
            "mapping left out of core dumps" => Some(self != Search::Core),
            // Dumps of memory that the process itself cannot touch differ between releases of gdb.
            "secret memory" | "mapping to which access was withdrawn" => {
                (self != Search::Core).then_some(true)
            }
            _ => Some(true),
        }
    }
}

/// Planted secrets that every search must find.
const PLANTED: [&str; 5] = ["heap", "stack", "static memory", "mapping", "another thread's stack"];
/// The same with encapsulations of Streamlined NTRU Prime, whose inputs determine shared secrets.
const PLANTED_INPUTS: [&str; 2] = ["hash of r", "r in three forms"];
/// The same with keys of ML-KEM, of which all follows from d.
const PLANTED_D: [&str; 7] = [
    "d",
    "d in a column",
    "seed of noise from d",
    "noise from d",
    "noise from d in words",
    "words from d",
    "factor from d",
];
/// The same with encapsulations of ML-KEM, of which all follows from m.
const PLANTED_M: [&str; 7] = [
    "m",
    "m in a column",
    "seed of noise from m",
    "noise from m",
    "noise from m in words",
    "words from m",
    "factor from m",
];
/// The same with hybrids. The last two are for NIST's curves.
const PLANTED_SCALARS: [&str; 3] = ["scalar", "scalar in limbs", "scalar in Montgomery form"];

/// The controls that must be planted besides [`PLANTED`] for an algorithm.
fn planted_for(algorithm: &str, items: Items) -> impl Iterator<Item = &'static str> {
    let inputs: &[_] = match items {
        Items::Keys if algorithm.contains("MLKEM") => &PLANTED_D,
        Items::Encapsulations if algorithm.contains("MLKEM") => &PLANTED_M,
        Items::Encapsulations => &PLANTED_INPUTS,
        Items::Keys | Items::Theirs => &[],
    };
    inputs.iter().chain(planted_scalars(algorithm)).copied()
}

/// Those of [`PLANTED_SCALARS`] that an algorithm has.
fn planted_scalars(algorithm: &str) -> &'static [&'static str] {
    match algorithm {
        "X25519" => &[],
        _ if algorithm.starts_with("X25519") => &PLANTED_SCALARS[..1],
        _ if algorithm.starts_with("Sec") => &PLANTED_SCALARS,
        _ => &[],
    }
}

/// A line of the program's.
struct Line {
    place: String,
    kind: String,
    found: usize,
    items: usize,
    details: String,
}

impl Line {
    fn read(text: &str) -> Line {
        let fields: Vec<_> = text.split('\t').collect();
        let &[place, kind, found, items, details] = fields.as_slice() else {
            panic!("no line of a report: {text:?}");
        };
        let [found, items] = [found, items].map(|field| field.parse().unwrap());
        let [place, kind, details] = [place, kind, details].map(str::to_owned);
        Line { place, kind, found, items, details }
    }

    /// Whether this is no more than the scalars that the background was working with when the
    /// process was forked, one for each fork. Libraries compute with scalars of NIST's curves on
    /// the stack, and overwrite it when they are done.
    fn is_in_work(&self, search: Search, algorithm: &str) -> bool {
        let is_scalar = |part: &str| {
            let name = part.rsplit_once(" of ").map(|(name, _)| name);
            name.is_some_and(|name| name == "ephemeral scalar" || PLANTED_SCALARS.contains(&name))
        };
        let parts = self.details.strip_suffix(ON_ITS_STACK);
        search == Search::Background
            && planted_scalars(algorithm) == PLANTED_SCALARS
            && self.found <= FORKS
            && parts.is_some_and(|parts| parts.split(", ").all(is_scalar))
    }

    fn text(&self, backend: Backend) -> String {
        let Line { place, kind, found, items, details } = self;
        let end = if details.is_empty() { String::new() } else { format!(": {details}") };
        format!("{kind}, {}: {found} of {items} found in {place}{end}", backend.name())
    }
}

/// Runs the program, once more if what it was to find was not there: a slow machine's batches grow
/// less.
fn run(
    program: &c::Program,
    search: Search,
    backend: Backend,
    algorithm: &str,
    items: Items,
) -> Option<Vec<Line>> {
    let purpose = items.purpose(algorithm).filter(|_| search != Search::Freed);
    for _ in 0..ATTEMPTS {
        let (configuration, lines) = run_once(program, search, backend, algorithm, items)?;
        if purpose.is_none_or(|purpose| was_in_stock(&configuration, search, algorithm, purpose)) {
            return Some(lines);
        }
    }
    let (name, items) = (search.name(), items.name());
    panic!("{name} {algorithm} {items}: what was used later was not in stock, {ATTEMPTS} times");
}

/// The configuration of one process of the program, and what it found; `None`, with a line that
/// says so, if no core dump can be had.
fn run_once(
    program: &c::Program,
    search: Search,
    backend: Backend,
    algorithm: &str,
    items: Items,
) -> Option<(PathBuf, Vec<Line>)> {
    let backend = backend.name();
    let configuration = program.configure(&format!(
        "backend = {backend}\nx25519 = on\ned25519 = on\nstatistics = on\n{}",
        search.settings()
    ));
    let mut command = Command::new(&program.path);
    command
        .arg(search.name())
        .arg(&configuration)
        .args([algorithm, items.name()])
        .args(std::env::var_os(SHOW).map(|_| "show"))
        // Else the dynamic linker stores all registers on the stack when a function is first
        // called.
        .env("LD_BIND_NOW", "1");
    for variable in ["OPENSSL_CONF", "MALLOC_PERTURB_", "GLIBC_TUNABLES"] {
        command.env_remove(variable);
    }
    let ran = command.output().unwrap();
    let what = format!("{} {algorithm} {} {backend}", search.name(), items.name());
    if ran.status.code() == Some(NO_CORE) {
        let said = fs::read_to_string(beside(&configuration, "gcore")).unwrap_or_default();
        assert!(said.contains("ptrace"), "{what}: gcore failed: {said}");
        artifacts::skipped("gdb may not attach to processes here (ptrace)");
        return None;
    }
    assert!(ran.status.success(), "{what}: {}: {}", ran.status, c::errors(&ran));
    if !ran.stderr.is_empty() {
        artifacts::say(&format!("{what}:\n{}", c::errors(&ran).trim_end()));
    }
    let lines = String::from_utf8(ran.stdout).unwrap().lines().map(Line::read).collect();
    Some((configuration, lines))
}

fn beside(configuration: &Path, end: &str) -> PathBuf {
    let mut path = configuration.as_os_str().to_owned();
    path.push(format!(".{end}"));
    path.into()
}

/// Whether an item that was used after the search was in stock during the search: otherwise it
/// could not have been found.
fn was_in_stock(configuration: &Path, search: Search, algorithm: &str, purpose: Purpose) -> bool {
    let [then, end] = ["then", "end"].map(|moment| {
        let page = read_page(&fs::read(beside(configuration, moment)).unwrap()).unwrap();
        let record = page
            .records
            .into_iter()
            .find(|record| record.name == algorithm && record.purpose == purpose);
        let counts = record.map(|record| record.counts).unwrap_or_default();
        [Counter::FromPool, Counter::Inline].map(|counter| counts.get(counter))
    });
    let [from_pool, inline] = [end[0] - then[0], end[1] - then[1]];
    from_pool > 0 && (search == Search::Background || inline == 0)
}

/// The search finds what was planted, and nothing else.
fn check_controls(search: Search, algorithm: &str, items: Items, lines: &[Line]) {
    let mut planted = BTreeSet::new();
    for line in lines {
        let Some(name) = line.kind.strip_prefix("control: ") else { continue };
        planted.insert(name);
        let Line { found, items, place, .. } = line;
        match search.finds(name) {
            Some(true) => assert_eq!(found, items, "planted ({name}), not found in {place}"),
            Some(false) => assert_eq!(*found, 0, "not there ({name}), but found in {place}"),
            None => {}
        }
    }
    for name in PLANTED.into_iter().chain(planted_for(algorithm, items)) {
        assert!(planted.contains(name), "nothing was planted ({name})");
    }
}

/// The kinds of secrets that the module has.
fn kinds() -> impl Iterator<Item = (&'static str, Items)> {
    let groups = TLS_GROUPS.iter().map(|group| group.name);
    let of_groups = groups.flat_map(|name| [(name, Items::Keys), (name, Items::Encapsulations)]);
    of_groups.chain([("X25519", Items::Keys), ("ED25519", Items::Keys)])
}

/// Fails if a secret of any kind is found with any backend.
fn search(search: Search, theirs: &[&'static str]) {
    let Some(program) = c::compile("secrets") else { return };
    let shows_all = std::env::var_os(SHOW).is_some();
    let mut found = Vec::new();
    for name in Backend::NAMES {
        let Ok(backend) = Backend::named(name) else {
            artifacts::skipped(&format!("secrets in memory, {name}: not on this processor"));
            continue;
        };
        let ours = kinds().filter(|(name, _)| search != Search::Background || *name != "ED25519");
        let theirs = theirs.iter().map(|name| (*name, Items::Theirs));
        let theirs = theirs.filter(|_| backend.name() == Backend::best().name());
        let mut sums = BTreeMap::<String, [usize; 2]>::new();
        for (algorithm, items) in ours.chain(theirs) {
            let Some(lines) = run(&program, search, backend, algorithm, items) else { return };
            check_controls(search, algorithm, items, &lines);
            for line in lines.iter().filter(|line| !line.kind.starts_with("control: ")) {
                assert!(line.items >= 15, "{}: too few to tell", line.text(backend));
                if shows_all || line.found > 0 {
                    artifacts::say(&line.text(backend));
                }
                if items == Items::Theirs {
                    // Libcrypto may leave on the stack what a thread computed last.
                    assert!(line.found <= THREADS, "{}", line.text(backend));
                    continue;
                }
                let sum = sums.entry(line.place.clone()).or_default();
                *sum = [sum[0] + line.found, sum[1] + line.items];
                let is_wrong = line.found > 0 && !line.is_in_work(search, algorithm);
                found.extend(iter::once(line.text(backend)).filter(|_| is_wrong));
            }
        }
        for (place, [found, items]) in sums {
            artifacts::say(&format!(
                "secrets, {}: {found} of {items} found in {place}",
                backend.name()
            ));
        }
    }
    assert!(
        found.is_empty(),
        "secrets are where they must not be ({SHOW}=1 shows the bytes):\n{}",
        found.join("\n")
    );
}

#[test]
fn children_have_nothing_of_what_was_in_stock() {
    search(Search::Growing, &[]);
}

#[test]
fn children_have_nothing_of_one_large_batch() {
    search(Search::Large, &[]);
}

#[test]
fn children_have_nothing_of_what_was_being_made() {
    search(Search::Background, &[]);
}

#[test]
fn nothing_is_left_of_what_was_freed() {
    search(Search::Freed, &["X25519", "ED25519"]);
}

#[test]
fn core_dumps_have_nothing_of_what_waits_for_its_use() {
    if !c::there("gdb") {
        artifacts::skipped("no gdb (apt-get install gdb)");
        return;
    }
    search(Search::Core, &[]);
}
