//! The command `fastkex` for operators, and the parts of it that `fastkex-lab` also uses:
//! arguments, measuring, and timing connections.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod check;
pub mod curves;
mod doctor;
mod enable;
mod groups;
pub mod interrupt;
pub mod json;
mod kat;
pub mod kem;
pub mod measuring;
pub mod module;
mod regular;
mod run;
pub mod sets;
mod speed;
mod stats;
pub mod time;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Faster and post-quantum TLS 1.3 key exchange in unmodified applications
#[derive(Parser, Debug)]
#[command(version, long_version = build_info::DESCRIPTION)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Check(check::Check),
    Enable(Box<enable::Enable>),
    Disable(enable::Disable),
    Doctor(doctor::Doctor),
    Stats(stats::Stats),
    Run(run::Run),
    Kat(kat::Kat),
    Speed(speed::Speed),
    Time(Box<time::Time>),
}

/// Returns the definition of the command line, of which man pages and completions are made.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Runs the command with the arguments of this process, and returns its exit status.
pub fn main() -> ExitCode {
    output::main("fastkex", |arguments: Arguments| match arguments.command {
        Command::Run(run) => run.run(),
        Command::Check(check) => check.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::Enable(enable) => enable.run(),
        Command::Disable(disable) => disable.run(),
        Command::Kat(kat) => kat.run(),
        Command::Speed(speed) => speed.run(),
        Command::Stats(stats) => stats.run(),
        Command::Time(time) => time.run(),
    })
}
