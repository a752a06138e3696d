//! The `fastkex` command.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod curves;
mod doctor;
mod heap;
mod interrupt;
mod json;
mod kat;
mod leak;
mod link;
mod measuring;
mod module;
mod plot;
mod regular;
mod report;
mod run;
mod scene;
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
    Report(report::Report),
    Leak(leak::Leak),
    Stats(stats::Stats),
    Time(time::Time),
    Scene(scene::Scene),
    #[command(hide = true, name = scenery::minimal::ROLE)]
    MinimalServer(scene::MinimalServer),
}

fn main() -> ExitCode {
    cli::main("fastkex", |arguments: Arguments| match arguments.command {
        Command::Run(run) => run.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::Kat(kat) => kat.run(),
        Command::Speed(speed) => speed.run(),
        Command::Plot(plot) => plot.run(),
        Command::Report(report) => report.run(),
        Command::Leak(leak) => leak.run(),
        Command::Stats(stats) => stats.run(),
        Command::Time(time) => time.run(),
        Command::Scene(scene) => scene.run(),
        Command::MinimalServer(server) => server.run(),
    })
}
