//! The client, which performs handshakes with each listener in turn.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use openssl_runtime::{SslContext, TlsStream, TlsVersion};

use output::{Failure, Outcome};
use testbed::{Stage, processor};

use super::plan::{self, Candidate, Listener, Results, Samples, Task};
use super::role_output;
use crate::client::{connect, finish};
use crate::groups;

/// The client of `ceiling`
#[derive(Args, Debug)]
#[command(hide = true)]
pub(crate) struct CeilingClient {
    task: PathBuf,
}

/// The time limit of a client, beyond twice the time of its turns.
const OVERHEAD: Duration = Duration::from_secs(60);
/// Seconds of connections before a turn that are not counted, or the length of a turn if it is
/// shorter. Then key pools, which rest without demand, are at work.
const LEAD_IN: f64 = 0.1;

/// Returns the least time that a client's turns take.
pub(crate) fn expected_time(task: &Task) -> Duration {
    let turns = (task.listeners.len() * task.rounds) as f64;
    Duration::from_secs_f64(turns * (task.seconds + task.seconds.min(LEAD_IN)))
}

/// Runs the client in a process.
pub(crate) fn run(stage: &Stage, task: &Task) -> Result<Results, Failure> {
    let timeout = OVERHEAD + 2 * expected_time(task);
    role_output(stage, "ceiling-client", task, timeout)
}

impl CeilingClient {
    pub(crate) fn run(&self) -> Outcome {
        let task: Task = plan::read(&self.task)?;
        processor::stay_on(task.plan.core)?;
        let contexts = task.plan.contexts().map_err(Failure::new)?;
        let known = plan::known(&contexts.stock);
        let mut samples = Vec::new();
        for (certificate, file) in &task.plan.trusted {
            let mut runs = Vec::new();
            for candidate in &known {
                let mut listeners = task.listeners.iter();
                let Some(listener) = listeners.find(|listener| {
                    listener.certificate == *certificate && listener.label == candidate.label
                }) else {
                    continue;
                };
                let trusted = std::fs::read(file).map_err(Failure::about(certificate))?;
                let settings = SslContext::client(contexts.of(candidate))
                    .and_then(|client| client.trust_pem(trusted)?.groups(candidate.group.name))
                    .map_err(Failure::about(candidate.group.name))?
                    .build();
                let run = Run::new(settings, listener, candidate);
                run.check().map_err(Failure::about(candidate.label))?;
                runs.push(run);
            }
            measure(&task, &mut runs)?;
            samples.extend(runs.into_iter().map(|run| run.samples));
        }
        let results =
            Results { openssl: contexts.stock.libraries().version().to_string(), samples };
        println!("{}", serde_json::to_string(&results).map_err(Failure::new)?);
        Ok(true)
    }
}

/// Measures all turns of the candidates with one certificate.
fn measure(task: &Task, runs: &mut [Run]) -> Result<(), Failure> {
    let mut order: Vec<_> = (0..runs.len()).collect();
    let lead_in = task.seconds.min(LEAD_IN);
    for run in &*runs {
        run.connect_for(lead_in)?;
    }
    for _ in 0..task.rounds {
        for &index in &order {
            runs[index].connect_for(lead_in)?;
            runs[index].turn(task.seconds)?;
        }
        order.rotate_left(1);
    }
    Ok(())
}

/// One candidate at one listener.
struct Run {
    settings: SslContext,
    port: u16,
    /// The server's processes.
    processes: Vec<u32>,
    code_point: u16,
    samples: Samples,
}

impl Run {
    fn new(settings: SslContext, listener: &Listener, candidate: &Candidate) -> Self {
        let samples = Samples {
            certificate: listener.certificate.clone(),
            label: candidate.label.into(),
            rates: Vec::new(),
            connections: 0,
            client_seconds: 0.0,
            server_seconds: Some(0.0),
        };
        Run {
            settings,
            port: listener.port,
            processes: listener.processes.clone(),
            code_point: candidate.group.code_point,
            samples,
        }
    }

    /// Connects for `seconds`, at least once. Returns the number of connections and the time they
    /// took.
    fn connect_for(&self, seconds: f64) -> Result<(usize, f64), Failure> {
        let (start, mut done) = (Instant::now(), 0);
        loop {
            handshake(&self.settings, self.port).map_err(Failure::about(&self.samples.label))?;
            done += 1;
            let elapsed = start.elapsed().as_secs_f64();
            if elapsed >= seconds {
                return Ok((done, elapsed));
            }
        }
    }

    /// Runs a turn that is counted.
    fn turn(&mut self, seconds: f64) -> Result<(), Failure> {
        let busy = || self.processes.iter().map(|&process| processor::seconds_of(process)).sum();
        let server_before: Option<f64> = busy();
        let client_before = processor::own_seconds();
        let (done, elapsed) = self.connect_for(seconds)?;
        let client = processor::own_seconds() - client_before;
        let server = busy().zip(server_before).map(|(a, b)| a - b);
        let samples = &mut self.samples;
        samples.rates.push(done as f64 / elapsed);
        samples.connections += done;
        samples.client_seconds += client;
        samples.server_seconds = samples.server_seconds.zip(server).map(|(a, b)| a + b);
        Ok(())
    }

    /// Checks that a handshake has the intended properties.
    fn check(&self) -> Result<(), Failure> {
        const NEW_SESSION_TICKET: u8 = 4;
        let stream = connect(self.port).map_err(Failure::about("connecting"))?;
        let mut stream =
            TlsStream::new(&self.settings, stream, Some("localhost")).map_err(Failure::new)?;
        stream.close().map_err(Failure::new)?;
        // Reads to the end, as the server may send messages after the handshake. Some servers close
        // without close_notify.
        let _ = io::copy(&mut stream, &mut io::sink());
        let summary = stream.summary();
        if summary.version != Some(TlsVersion::Tls13) || summary.hello_retry {
            return Err(Failure::new("not TLS 1.3 in one round trip"));
        }
        if summary.messages.iter().any(|message| message.kind == NEW_SESSION_TICKET) {
            return Err(Failure::new("the server sends tickets"));
        }
        match summary.group.map(|group| group.id) {
            Some(id) if id == self.code_point => Ok(()),
            id => {
                let name = id.map_or_else(|| "no group".into(), groups::name_of);
                Err(Failure::new(format!("{name} was used")))
            }
        }
    }
}

/// Connects, performs a handshake, and waits until the server has closed.
fn handshake(settings: &SslContext, port: u16) -> Result<(), Failure> {
    let stream = connect(port).map_err(Failure::about("connecting"))?;
    finish(TlsStream::new(settings, stream, Some("localhost")).map_err(Failure::new)?)
}
