//! The project's own commands, which are too long for a Makefile.

#![forbid(unsafe_code)]

mod demo;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
}

fn main() -> ExitCode {
    cli::main("xtask", |arguments: Arguments| match arguments.command {
        Command::Demo(demo) => demo.run(),
    })
}
