//! The candidates on OpenSSL 1.1.1. Each sample has a client process of its own, as an ENGINE is
//! configured for a whole process.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::Machine;
use output::Failure;
use testbed::{Listening, Offer, OwnStunnel, SERVER_NAME, Set, own_stunnel};
use timer::Label;
use timer::results::{Plan, Run, Scene, Series};

use super::{CERTIFICATE, CURVES, LATTICES, WARM_UP};
use crate::programs::Programs;

/// Folders with installations of OpenSSL 1.1.1.
pub(crate) struct Prefixes {
    /// The patched OpenSSL.
    pub(crate) patched: PathBuf,
    /// The patched OpenSSL with the reference implementation of sntrup761.
    pub(crate) reference: Option<PathBuf>,
}

/// A client's group and its implementation.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// The group, followed by the implementation if it is not the usual one.
    label: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The ENGINE computes it, with this control command.
    Engine(&'static str),
    /// OpenSSL computes it without the ENGINE, in client and server.
    Stock,
    /// The reference implementation in libcrypto computes it, in client and server.
    Reference,
}

const CANDIDATES: [Candidate; 7] = [
    Candidate { label: "sntrup761", kind: Kind::Engine("BATCH = on") },
    Candidate { label: "sntrup761@batch-32", kind: Kind::Engine("BATCH_SIZE = 32") },
    Candidate { label: "sntrup761@serial", kind: Kind::Engine("BATCH = off") },
    Candidate { label: "sntrup761@reference", kind: Kind::Reference },
    Candidate { label: "sntrup857", kind: Kind::Engine("BATCH = on") },
    Candidate { label: "X25519", kind: Kind::Stock },
    Candidate { label: "P-256", kind: Kind::Stock },
];

impl Candidate {
    fn group(&self) -> &'static str {
        Label::of(self.label).groups
    }
}

/// The servers and the clients' configurations.
pub(crate) struct Comparison<'a> {
    set: &'a Set,
    programs: &'a Programs,
    prefixes: &'a Prefixes,
    entries: Vec<Entry>,
    trusted: PathBuf,
}

/// A candidate with its configuration and its server.
struct Entry {
    candidate: Candidate,
    configuration: PathBuf,
    server: Listening,
}

impl<'a> Comparison<'a> {
    /// Starts three servers: a stunnel with the ENGINE, one without it, and one with the reference
    /// implementation if it has been built.
    ///
    /// # Errors
    /// A server does not start.
    pub(crate) fn start(
        set: &'a Set,
        programs: &'a Programs,
        prefixes: &'a Prefixes,
        stunnel: &Path,
        engine: &Path,
    ) -> Result<Self, Failure> {
        let write = |name: &str, kind: Kind| {
            let name = format!("{name}.cnf");
            set.stage.write(&name, &configuration(kind, engine))?;
            Ok::<_, Failure>(set.stage.folder().join(name))
        };
        let serve = |prefix: &Path, kind: Kind, name: &str, groups: &[&str]| {
            let (libraries, configuration) = (prefix.join("lib"), write(name, kind)?);
            let own = OwnStunnel {
                program: stunnel,
                libraries: &libraries,
                configuration: &configuration,
            };
            let offers: Vec<_> = groups.iter().map(|&group| Offer::new(group)).collect();
            let mut listening = own_stunnel(set, own, CERTIFICATE, &offers)?;
            for one in &mut listening {
                one.tls.name += &format!(" with OpenSSL {}", one.openssl);
            }
            Ok::<_, Failure>(listening)
        };
        let patched = &prefixes.patched;
        let by_engine = serve(patched, Kind::Engine("BATCH = on"), "engine", &LATTICES)?;
        let stock = serve(patched, Kind::Stock, "stock", &CURVES)?;
        let by_reference = match &prefixes.reference {
            Some(prefix) => serve(prefix, Kind::Reference, "reference", &LATTICES[..1])?,
            None => Vec::new(),
        };
        let mut entries = Vec::new();
        for candidate in CANDIDATES {
            let servers = match candidate.kind {
                Kind::Engine(_) => &by_engine,
                Kind::Stock => &stock,
                Kind::Reference => &by_reference,
            };
            let server = servers.iter().find(|server| server.offer.groups == candidate.group());
            let Some(server) = server else { continue };
            let configuration = write(candidate.label, candidate.kind)?;
            entries.push(Entry { candidate, configuration, server: server.clone() });
        }
        let trusted = set.certificate(CERTIFICATE)?.certificate;
        Ok(Self { set, programs, prefixes, entries, trusted })
    }

    /// Returns the number of candidates.
    pub(crate) fn size(&self) -> usize {
        self.entries.len()
    }

    /// Takes all samples. The candidates take turns, in another order in each round. `processors`
    /// are the client's and the servers'.
    ///
    /// # Errors
    /// A client cannot be run, or negotiates another group.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        processors: [Option<usize>; 2],
        machine: Machine,
        load: Option<f64>,
    ) -> Result<Run, Failure> {
        let mut series: Vec<Option<Series>> = self.entries.iter().map(|_| None).collect();
        let (mut complete, mut client) = (true, String::new());
        for round in 0..plan.samples {
            for turn in 0..self.entries.len() {
                let place = (round + turn) % self.entries.len();
                let run = self.sample(&self.entries[place], plan)?;
                complete &= run.complete;
                client = run.client;
                for new in run.series {
                    match &mut series[place] {
                        Some(all) => join(all, new),
                        none => *none = Some(self.relabelled(place, new)?),
                    }
                }
            }
        }
        let first = self.entries.first().ok_or_else(|| Failure::new("nobody takes part"))?;
        let processor = |number: Option<usize>| {
            number.map_or_else(|| "any".into(), |number: usize| number.to_string())
        };
        Ok(Run {
            what: timer::results::What::Tls,
            target: "127.0.0.1".into(),
            client,
            scene: Some(Scene {
                name: "handshake".into(),
                servers: first.server.programs(),
                openssl: first.server.openssl.clone(),
                processors: processors.map(processor),
                link: None,
            }),
            machine,
            load,
            plan: *plan,
            complete,
            series: series.into_iter().flatten().collect(),
            peaks: Vec::new(),
        })
    }

    /// Takes one sample with a new client process.
    fn sample(&self, entry: &Entry, plan: &Plan) -> Result<Run, Failure> {
        const FILE: &str = "sample.json";
        let Entry { candidate, configuration, server } = entry;
        let prefix = match (candidate.kind, &self.prefixes.reference) {
            (Kind::Reference, Some(prefix)) => prefix,
            _ => &self.prefixes.patched,
        };
        let stage = &self.set.stage;
        let mut client = self.programs.tool(stage);
        client.args(["time", "tls", &format!("127.0.0.1:{}", server.port)]);
        client.args(["--server-name", SERVER_NAME, "--groups", candidate.group()]);
        client.args(sizes(plan, 1)).args(["--json", FILE]);
        client.arg("--ca").arg(&self.trusted).arg("--libssl").arg(prefix.join("lib"));
        client.env("OPENSSL_CONF", configuration);
        let finished = stage.run_within(timeout(plan, 1), &mut client)?;
        // 1 means that some connections failed. They are counted.
        if !matches!(finished.status.code(), Some(0 | 1)) {
            let failure = format!("{}: {}", candidate.label, finished.complaint());
            return Err(Failure::new(failure));
        }
        let text = fs::read_to_string(stage.folder().join(FILE)).map_err(Failure::about(FILE))?;
        serde_json::from_str(&text).map_err(Failure::about(FILE))
    }

    fn relabelled(&self, place: usize, series: Series) -> Result<Series, Failure> {
        let candidate = self.entries[place].candidate;
        if series.group == candidate.group() && !series.hello_retry {
            return Ok(Series { label: candidate.label.into(), ..series });
        }
        Err(Failure::new(format!("{}: negotiated {}", candidate.label, series.group)))
    }
}

/// Adds the samples of another client.
fn join(all: &mut Series, new: Series) {
    all.samples.extend(new.samples);
    if all.first_failure.is_none() {
        all.first_failure = new.first_failure;
    }
}

/// Returns the sizes of `samples` samples as options.
pub(crate) fn sizes(plan: &Plan, samples: usize) -> [String; 6] {
    let number = |number: usize| number.to_string();
    [
        "--samples".into(),
        number(samples),
        "--connections".into(),
        number(plan.connections),
        "--warm-up".into(),
        number(WARM_UP),
    ]
}

/// Returns the time limit for `samples` samples. On a busy machine the reference implementation
/// takes 60 ms for a connection.
pub(crate) fn timeout(plan: &Plan, samples: usize) -> Duration {
    const EACH: Duration = Duration::from_millis(200);
    let connections = (plan.connections + WARM_UP) * samples;
    Duration::from_secs(60) + EACH * connections.try_into().unwrap_or(u32::MAX)
}

/// Returns the configuration of OpenSSL 1.1.1. Tickets are off, as no session is resumed.
fn configuration(kind: Kind, engine: &Path) -> String {
    let engines = match kind {
        Kind::Engine(command) => format!(
            "[engines]\nengntru = engntru\n[engntru]\ndynamic_path = {}\n{command}\ndefault_algorithms = ALL\n",
            engine.display()
        ),
        Kind::Stock | Kind::Reference => String::new(),
    };
    let names_them = if engines.is_empty() { "" } else { "engines = engines\n" };
    format!(
        "openssl_conf = init\n[init]\n{names_them}ssl_conf = tls\n[tls]\nsystem_default = full_handshakes\n\
         [full_handshakes]\nNumTickets = 0\n{engines}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_a_candidate_by_itself() {
        for (group, is_lattice) in
            LATTICES.map(|name| (name, true)).into_iter().chain(CURVES.map(|name| (name, false)))
        {
            let one = CANDIDATES.iter().find(|one| one.label == group).expect(group);
            assert_eq!(one.kind == Kind::Stock, !is_lattice, "{group}");
        }
        for (index, one) in CANDIDATES.iter().enumerate() {
            assert!(CANDIDATES[..index].iter().all(|other| other.label != one.label));
        }
    }

    #[test]
    fn the_engine_is_there_where_it_is_to_be() {
        let text = configuration(Kind::Engine("BATCH = off"), Path::new("/e.so"));
        assert!(
            text.contains("engines = engines\n")
                && text.contains("dynamic_path = /e.so\nBATCH = off\n")
        );
        for kind in [Kind::Stock, Kind::Reference] {
            let text = configuration(kind, Path::new("/e.so"));
            assert!(!text.contains("engines") && text.ends_with("NumTickets = 0\n"), "{text}");
        }
    }
}
