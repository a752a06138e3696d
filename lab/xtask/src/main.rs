//! The project's own commands, which are too long for a Makefile.

#![forbid(unsafe_code)]

mod browser;
mod ceiling;
mod certificates;
mod client;
mod demo;
mod groups;
mod legacy;
mod prerequisites;
mod programs;
mod soak;
mod source;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use cli::Failure;

/// The project's own commands; `make` runs them
#[derive(Parser, Debug)]
#[command(disable_help_subcommand = true)]
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
    Ceiling(ceiling::Ceiling),
    #[command(hide = true, name = scenery::minimal::ROLE)]
    MinimalServer(MinimalServer),
    CeilingClient(ceiling::CeilingClient),
}

/// The minimal server of `ceiling`
#[derive(Args, Debug)]
struct MinimalServer {
    plan: PathBuf,
}

fn main() -> ExitCode {
    cli::main("xtask", |arguments: Arguments| match arguments.command {
        Command::Demo(demo) => demo.run(),
        Command::DemoBrowser(demo) => demo.run(),
        Command::DemoLegacy(demo) => demo.run(),
        Command::BrowserPage(page) => page.run(),
        Command::Soak(soak) => soak.run(),
        Command::Ceiling(ceiling) => ceiling.run(),
        Command::MinimalServer(server) => scenery::minimal::serve(&server.plan),
        Command::CeilingClient(client) => client.run(),
    })
}

/// Prints a line at once.
fn say(line: impl Display) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(Failure::about("standard output"))
}
