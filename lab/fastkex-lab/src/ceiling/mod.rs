//! `fastkex-lab ceiling`: handshakes per second, compared with a key exchange that costs nothing.

mod client;
mod in_process;
mod plan;
mod report;

use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fastkex_insecure_null::{FILE, VARIABLE};
use openssl_runtime::{KeyType, Libraries};
use serde::Serialize;
use serde::de::DeserializeOwned;
use testbed::{Offer, Set, Started};

use output::{Failure, Outcome};
use testbed::{Stage, processor};

use plan::{Candidate, Listener, Plan, Task};
use report::Report;

pub(crate) use client::CeilingClient;
pub(crate) use in_process::CeilingInProcess;

/// Measure TLS handshakes per second, compared with a key exchange that costs nothing
///
/// Full TLS 1.3 handshakes over loopback: no resumption, one key share, a new connection each, one
/// at a time. Client and server run on one processor, so connections per second measure the work of
/// both. The groups take turns, in another order in each round. Ratios are medians of the ratios
/// within a round. Handshakes in one process without sockets come first: their processor time
/// varies by 2 to 3 %. Clients are the system's OpenSSL and those named by --openssl. Servers are a
/// minimal one with the same OpenSSL, then nginx with its own. The exit status is 1 if a
/// measurement failed. Programs that are not installed are named and left out.
#[derive(Args, Debug)]
pub(crate) struct Ceiling {
    /// File for the results as a JSON array [default: ceiling.json in cargo's target folder];
    /// without FILE to standard output, instead of the table
    #[arg(long, value_name = "FILE")]
    json: Option<Option<PathBuf>>,
    /// Turns of each group
    #[arg(long, value_name = "NUMBER", value_parser = rounds, default_value_t = 12)]
    rounds: usize,
    /// Seconds of a turn. In turns far below half a second, pools of keys are either filled or
    /// used, not both
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value_t = 0.5)]
    seconds: f64,
    /// Another OpenSSL beside the system's: the folder of its libcrypto and libssl (may be
    /// repeated)
    #[arg(long, value_name = "FOLDER")]
    openssl: Vec<PathBuf>,
    /// Servers, comma-separated [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    server: Vec<ServerKind>,
    /// Kinds of certificates, comma-separated: rsa-2048, ecdsa-p-256, ed25519 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    certificate: Vec<KeyType>,
}

/// The server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum ServerKind {
    /// Client and server in one process, without sockets.
    InProcess,
    Minimal,
    Nginx,
}

/// Kinds of certificates, in the order of reports.
const CERTIFICATES: [KeyType; 3] = [KeyType::Rsa2048, KeyType::EcP256, KeyType::Ed25519];

fn rounds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rounds) if (1..=10_000).contains(&rounds) => Ok(rounds),
        _ => Err("expected a number from 1 to 10000".into()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=60.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number from 0.001 to 60".into()),
    }
}

/// A server's certificate.
struct Trusted {
    /// Its name in reports.
    name: String,
    file: PathBuf,
    key_type: KeyType,
}

/// A running server.
struct Answering {
    kind: ServerKind,
    /// Its name and version: `nginx 1.22.1`.
    name: String,
    /// The version of its OpenSSL.
    openssl: String,
    listeners: Vec<Listener>,
}

impl Ceiling {
    pub(crate) fn run(&self) -> Outcome {
        let absolute = |path: &Path| path.canonicalize().map_err(Failure::about(path.display()));
        let mut folders = vec![None];
        for folder in &self.openssl {
            folders.push(Some(absolute(folder)?));
        }
        if self.openssl.is_empty() {
            eprintln!(
                "ceiling: the system's OpenSSL only; 'make ceiling' builds 4.0 and names it by --openssl"
            );
        }
        if !artifacts::release_folder().join(FILE).exists() {
            eprintln!("ceiling: building the OpenSSL modules, about a minute");
        }
        let module = artifacts::module().map_err(Failure::about("the module"))?;
        let null = artifacts::build("openssl-null", FILE).map_err(Failure::about("the null"))?;
        let (module, null) = (absolute(&module)?, absolute(&null)?);
        let tool = env::current_exe().map_err(Failure::about("this program"))?;
        if env::var_os(VARIABLE).is_none() {
            // The null provider loads only with the variable in the environment, here as in the
            // other processes.
            let mut again = Command::new(&tool);
            again.args(env::args_os().skip(1)).env(VARIABLE, "1");
            return Err(Failure::new(again.exec()));
        }

        let libraries = Libraries::system().map_err(Failure::about("the system's OpenSSL"))?;
        let core = processor::last();
        let set = Set::new(&libraries, &module, &tool)?.with_module(&null)?.on(core);
        let mut certificates = Vec::new();
        for key_type in CERTIFICATES {
            if self.certificate.is_empty() || self.certificate.contains(&key_type) {
                let file = set.certificate(key_type)?.certificate;
                certificates.push(Trusted { name: key_type.title().into(), file, key_type });
            }
        }
        let trusted = certificates.iter().map(|one| (one.name.clone(), one.file.clone()));
        let plan =
            Plan { openssl: None, providers: vec![module, null], core, trusted: trusted.collect() };

        let mut report = Report::new(self.rounds, self.seconds, core);
        let nginx = if self.wants(ServerKind::Nginx) {
            // The candidates with fastkex's X25519 and Ed25519 are for the minimal server.
            let mut groups = plan::candidates();
            groups.retain(|one| !one.uses_fastkex);
            self.start(&set, ServerKind::Nginx, None, groups, &certificates, &mut report)
        } else {
            None
        };
        for folder in folders {
            let plan = Plan { openssl: folder, ..plan.clone() };
            if self.wants(ServerKind::InProcess) {
                self.run_in_process(&set.stage, &plan, &certificates, &mut report);
            }
            if self.wants(ServerKind::Minimal) {
                let (openssl, groups) = (plan.openssl.as_deref(), plan::candidates());
                let minimal = ServerKind::Minimal;
                if let Some(minimal) =
                    self.start(&set, minimal, openssl, groups, &certificates, &mut report)
                {
                    self.run_task(&set.stage, &plan, &minimal, &mut report);
                }
            }
            if let Some(nginx) = &nginx {
                self.run_task(&set.stage, &plan, nginx, &mut report);
            }
        }
        self.publish(&report)?;
        Ok(report.is_complete())
    }

    /// Starts a server with all certificates. Returns `None`, after a message, if it is not
    /// installed or failed.
    fn start(
        &self,
        set: &Set,
        kind: ServerKind,
        openssl: Option<&Path>,
        mut groups: Vec<Candidate>,
        certificates: &[Trusted],
        report: &mut Report,
    ) -> Option<Answering> {
        if kind == ServerKind::Nginx {
            // nginx refuses a list with an unknown group, and has the system's libssl.
            groups.retain(|one| set.knows(one.group.name).unwrap_or(false));
        }
        let offer = |one: &Candidate| {
            let offer = Offer::new(one.group.name);
            if one.uses_fastkex { offer.with_fastkex() } else { offer }
        };
        let offers: Vec<_> = groups.iter().map(offer).collect();
        let mut answering = None;
        for certificate in certificates {
            let started = match kind {
                // No server takes part.
                ServerKind::InProcess => return None,
                ServerKind::Nginx => testbed::nginx(set, certificate.key_type, &offers),
                ServerKind::Minimal => {
                    testbed::minimal::start_known(set, certificate.key_type, &offers, openssl)
                }
            };
            let servers = match started {
                Ok(Started::Listening(servers)) => servers,
                Ok(Started::Absent(why)) => {
                    eprintln!("ceiling: left out: {why}");
                    return None;
                }
                Err(failure) => {
                    report.fail(&failure);
                    return None;
                }
            };
            let all = answering.get_or_insert_with(|| Answering {
                kind,
                name: servers.first().map_or_else(String::new, |one| one.tls.name.clone()),
                openssl: servers.first().map_or_else(String::new, |one| one.openssl.clone()),
                listeners: Vec::new(),
            });
            for server in servers {
                let Some(one) = groups.iter().find(|one| offer(one) == server.offer) else {
                    continue;
                };
                all.listeners.push(Listener {
                    certificate: certificate.name.clone(),
                    label: one.label.into(),
                    port: server.port,
                    processes: server.tls.all_processes(),
                });
            }
        }
        answering
    }

    fn wants(&self, kind: ServerKind) -> bool {
        self.server.is_empty() || self.server.contains(&kind)
    }

    /// Measures handshakes in one process and adds the results to the report.
    fn run_in_process(
        &self,
        stage: &Stage,
        plan: &Plan,
        certificates: &[Trusted],
        report: &mut Report,
    ) {
        let task = in_process::Task {
            plan: plan.clone(),
            certificates: certificates.iter().map(|one| one.key_type.name().into()).collect(),
            seconds: self.rounds as f64 * self.seconds,
        };
        let seconds = task.expected_time().as_secs_f64();
        eprintln!("ceiling: {} in one process, about {seconds:.0} s", client_name(plan));
        match in_process::run(stage, &task) {
            Ok(results) => report.add_in_process(results),
            Err(failure) => report.fail(&Failure::new(format!("in one process: {failure}"))),
        }
    }

    /// Runs a client against a server and adds the results to the report.
    fn run_task(&self, stage: &Stage, plan: &Plan, server: &Answering, report: &mut Report) {
        let task = Task {
            plan: plan.clone(),
            listeners: server.listeners.clone(),
            rounds: self.rounds,
            seconds: self.seconds,
        };
        let client = client_name(plan);
        let seconds = client::expected_time(&task).as_secs_f64();
        eprintln!("ceiling: {client} to {}, about {seconds:.0} s", server.name);
        match client::run(stage, &task) {
            Ok(results) => {
                for candidate in plan::candidates() {
                    let is_asked = !candidate.uses_fastkex || server.kind == ServerKind::Minimal;
                    if is_asked
                        && !results.samples.iter().any(|samples| samples.label == candidate.label)
                    {
                        eprintln!(
                            "ceiling: left out: {}, which OpenSSL {} as the client and {} as the server do not both have",
                            candidate.label, results.openssl, server.openssl
                        );
                    }
                }
                report.add(server, results);
            }
            Err(failure) => report.fail(&Failure::new(format!("{}: {failure}", server.name))),
        }
    }

    /// Writes the results to standard output or to the chosen file.
    fn publish(&self, report: &Report) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(&report.all_rows()).map_err(Failure::new)?;
        let file = match &self.json {
            Some(None) => {
                println!("{json}");
                return Ok(());
            }
            Some(Some(file)) => file.clone(),
            None => artifacts::release_folder().with_file_name("ceiling.json"),
        };
        fs::write(&file, json + "\n").map_err(Failure::about(file.display()))?;
        println!("{report}\n{} has the same as JSON.", file.display());
        Ok(())
    }
}

/// Returns the name of a client's OpenSSL in messages.
fn client_name(plan: &Plan) -> String {
    let folder = plan.openssl.as_ref().map(|folder| folder.display().to_string());
    folder.unwrap_or_else(|| "the system's OpenSSL".into())
}

/// Runs this program in another role, described by a file in the stage's folder, and parses the
/// JSON that it prints.
fn role_output<T: DeserializeOwned>(
    stage: &Stage,
    name: &str,
    description: &impl Serialize,
    timeout: Duration,
) -> Result<T, Failure> {
    let finished = stage.run_within(timeout, &mut role(stage, name, description)?)?;
    if !finished.status.success() {
        let complaint = finished.complaint();
        return Err(Failure::new(complaint.strip_prefix("fastkex-lab: ").unwrap_or(complaint)));
    }
    serde_json::from_str(&finished.output).map_err(Failure::about(format!("results of {name}")))
}

/// Returns a command that runs this program in another role, described by a file in the stage's
/// folder.
fn role(stage: &Stage, name: &str, description: &impl Serialize) -> Result<Command, Failure> {
    let file = format!("{name}.json");
    stage.write(&file, &serde_json::to_string(description).map_err(Failure::new)?)?;
    let mut command = Command::new(env::current_exe().map_err(Failure::about("this program"))?);
    stage.prepare(&mut command);
    command.args([name, &file]);
    Ok(command)
}
