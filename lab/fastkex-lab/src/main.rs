//! The command `fastkex-lab`, for engineers: measurements with stock servers, figures, tests for
//! timing leaks, demonstrations, and the soak test.

#![forbid(unsafe_code)]

mod browser;
mod ceiling;
mod certificates;
mod client;
mod demo;
mod groups;
mod heap;
mod leak;
mod legacy;
mod link;
mod plot;
mod prerequisites;
mod programs;
mod report;
mod scene;
mod self_check;
mod soak;
mod source;
mod time;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use output::Failure;

/// Measurements and demonstrations; `make` and scripts run most of them
#[derive(Parser, Debug)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Demo(demo::Demo),
    DemoBrowser(browser::DemoBrowser),
    #[command(name = "demo-1.1.1")]
    DemoLegacy(legacy::DemoLegacy),
    #[command(hide = true)]
    BrowserPage(browser::page::BrowserPage),
    Soak(soak::Soak),
    Scene(scene::Scene),
    Time(time::ShapedTime),
    SelfCheck(self_check::SelfCheck),
    Leak(leak::Leak),
    Plot(plot::Plot),
    Report(report::Report),
    Ceiling(ceiling::Ceiling),
    #[command(hide = true, name = testbed::minimal::ROLE)]
    MinimalServer(MinimalServer),
    CeilingClient(ceiling::CeilingClient),
    CeilingInProcess(ceiling::CeilingInProcess),
}

/// The minimal server of `ceiling`, `scene` and `self-check`
#[derive(Args, Debug)]
struct MinimalServer {
    plan: PathBuf,
}

fn main() -> ExitCode {
    output::main("fastkex-lab", |arguments: Arguments| match arguments.command {
        Command::Demo(demo) => demo.run(),
        Command::DemoBrowser(demo) => demo.run(),
        Command::DemoLegacy(demo) => demo.run(),
        Command::BrowserPage(page) => page.run(),
        Command::Soak(soak) => soak.run(),
        Command::Scene(scene) => scene.run(),
        Command::Time(time) => time.run(),
        Command::SelfCheck(check) => check.run(),
        Command::Leak(leak) => leak.run(),
        Command::Plot(plot) => plot.run(),
        Command::Report(report) => report.run(),
        Command::Ceiling(ceiling) => ceiling.run(),
        Command::MinimalServer(server) => testbed::minimal::serve(&server.plan),
        Command::CeilingClient(client) => client.run(),
        Command::CeilingInProcess(process) => process.run(),
    })
}

/// Prints a line and flushes it.
fn say(line: impl Display) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(Failure::about("standard output"))
}
