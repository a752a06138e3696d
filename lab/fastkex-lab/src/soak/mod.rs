//! `fastkex-lab soak`: a test that memory does not grow over many handshakes.

mod memory;
mod traffic;

use std::net::{Ipv4Addr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, value_parser};
use serde::Serialize;

use output::{Failure, Outcome};
use testbed::{Server, Stage};

use memory::{Memory, Sample};
use traffic::Traffic;

use crate::certificates::{self, AUTHORITY};
use crate::client::{self, Client};
use crate::programs::Programs;
use crate::{groups, say};

/// A page takes one handshake from this program to nginx, and one from nginx to itself.
const HANDSHAKES_A_PAGE: u64 = 2;
const POLL: Duration = Duration::from_millis(5);

/// Make many handshakes with stock nginx and watch its memory
///
/// This program fetches pages from nginx, which fetches each from itself. Each page takes two full
/// TLS 1.3 handshakes, in which nginx's workers are the server twice and the client once. Prints
/// the memory of each worker, and of this program, during the run. Exits with 0 if all handshakes
/// used the group and memory stayed level after the warm-up, with 1 if not, with 2 if the test
/// could not run.
#[derive(Args, Debug)]
pub(crate) struct Soak {
    /// Handshakes to make
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u64).range(1000..), default_value = "10000000")]
    count: u64,
    /// The group
    #[arg(long, value_name = "GROUP", value_parser = group, default_value = "sntrup761")]
    group: String,
    /// Processes of nginx [default: one for each processor]
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u64).range(1..=64))]
    workers: Option<u64>,
    /// Print one JSON object at the end instead of a table on the way
    #[arg(long)]
    json: bool,
}

fn group(name: &str) -> Result<String, String> {
    let found = groups::ours().find(|group| group.name.eq_ignore_ascii_case(name));
    found.map(|group| group.name.into()).ok_or_else(|| {
        let names: Vec<_> = groups::ours().map(|group| group.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// The output of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    group: &'a str,
    openssl: String,
    handshakes: u64,
    seconds: f64,
    /// The processes in the samples, in their order.
    processes: Vec<String>,
    samples: &'a [Sample],
    /// Errors, one line each.
    wrong: &'a [String],
}

impl Soak {
    pub(crate) fn run(&self) -> Outcome {
        let programs = Programs::build()?;
        let stage = Stage::new()?;
        certificates::make(&stage, &programs)?;
        let processors = thread::available_parallelism().map_or(1, |number| number.get() as u64);
        let workers = self.workers.unwrap_or(processors);
        let (nginx, port) = self.start_nginx(&stage, &programs, workers)?;
        let context = client::context(&programs.module)?;
        let client = Client::new(&context, &self.group, &stage.read(AUTHORITY)?)?;

        let mut memory = Memory::of_workers(&nginx, workers)?;
        if !self.json {
            say(format_args!(
                "Full TLS 1.3 handshakes with {} in stock nginx, as server and as client; resident memory in MiB\n",
                self.group
            ))?;
            say(memory.heading())?;
        }
        let traffic = Traffic::start(client, port, self.count.div_ceil(HANDSHAKES_A_PAGE));
        let started = Instant::now();
        let handshakes = || HANDSHAKES_A_PAGE * traffic.pages();
        for step in 1..=memory::SAMPLES {
            let due = self.count * step / memory::SAMPLES;
            while handshakes() < due && !traffic.has_ended() {
                thread::sleep(POLL);
            }
            let sample = memory.sample(handshakes(), started.elapsed().as_secs_f64());
            if !self.json {
                say(sample)?;
            }
            if traffic.has_failed() {
                break;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        let handshakes = handshakes();
        let mut wrong = memory.wrong();
        if let Err(failure) = traffic.end() {
            wrong.insert(0, format!("after {handshakes} handshakes: {failure}"));
        }
        if let Some(status) = stage.end_of(&nginx)? {
            wrong.insert(0, format!("nginx ended ({status})"));
        }

        if self.json {
            let report = Report {
                group: &self.group,
                openssl: context.libraries().version_text(),
                handshakes,
                seconds,
                processes: memory.names(),
                samples: memory.samples(),
                wrong: &wrong,
            };
            let text = serde_json::to_string_pretty(&report).map_err(Failure::about("JSON"))?;
            say(text)?;
        } else {
            for line in &wrong {
                say(format_args!("WRONG: {line}"))?;
            }
            if wrong.is_empty() {
                say(format_args!(
                    "\nAll {handshakes} handshakes used {}, {:.0} a second; memory stayed level.",
                    self.group,
                    handshakes as f64 / seconds
                ))?;
            }
        }
        Ok(wrong.is_empty())
    }

    fn start_nginx(
        &self,
        stage: &Stage,
        programs: &Programs,
        workers: u64,
    ) -> Result<(Server, u16), Failure> {
        let [front, back] = testbed::free_ports()?;
        let text = include_str!("nginx.conf")
            .replace("@workers@", &workers.to_string())
            .replace("@front@", &front.to_string())
            .replace("@back@", &back.to_string());
        stage.write("nginx.conf", &text)?;
        let mut command = programs.run(stage, Some(&self.group), "nginx");
        command.args(["-e", "stderr", "-p", ".", "-c", "nginx.conf"]);
        let accepts = |port: u16| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        let server = stage.start("nginx", &mut command, |_| accepts(front) && accepts(back))?;
        Ok((server, front))
    }
}
