//! The `fastkex` command.

#![forbid(unsafe_code)]

mod curves;
mod doctor;
mod heap;
mod interrupt;
mod json;
mod kat;
mod leak;
mod measuring;
mod module;
mod plot;
mod run;
mod sets;
mod speed;
mod stats;
mod time;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Faster and post-quantum TLS 1.3 key exchange in applications that nobody has to change
#[derive(Parser, Debug)]
#[command(version, about, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
    Doctor(doctor::Doctor),
    Kat(kat::Kat),
    Speed(speed::Speed),
    Plot(plot::Plot),
    Leak(leak::Leak),
    Stats(stats::Stats),
    Time(time::Time),
}

fn main() -> ExitCode {
    cli::main("fastkex", |arguments: Arguments| match arguments.command {
        Command::Run(run) => run.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::Kat(kat) => kat.run(),
        Command::Speed(speed) => speed.run(),
        Command::Plot(plot) => plot.run(),
        Command::Leak(leak) => leak.run(),
        Command::Stats(stats) => stats.run(),
        Command::Time(time) => time.run(),
    })
}
