//! The `fastkex` command.

#![forbid(unsafe_code)]

mod doctor;
mod failure;
mod kat;
mod module;
mod run;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use failure::Failure;

/// Faster and post-quantum TLS 1.3 key exchange in applications that nobody has to change
#[derive(Parser, Debug)]
#[command(version, about, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Run(run::Run),
    Doctor(doctor::Doctor),
    Kat(kat::Kat),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    Failure::report(match cli.command {
        Command::Run(run) => run.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::Kat(kat) => kat.run(),
    })
}

/// Help goes to standard output; what is wrong with the arguments becomes one line.
fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print!("{error}");
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Failure::report(Err(Failure::new("no command given: try 'fastkex --help'")))
        }
        _ => {
            let text = error.to_string();
            let problem = text.split("\n\n").next().unwrap_or_default();
            let problem = problem.split_whitespace().collect::<Vec<_>>().join(" ");
            let problem = problem.trim_start_matches("error: ");
            Failure::report(Err(Failure::new(format!("{problem}: try 'fastkex --help'"))))
        }
    }
}
