//! The command `release-files`: writes what a release has beside its binaries.

#![forbid(unsafe_code)]

mod licences;
mod pages;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Write what a release has beside its binaries
#[derive(Parser, Debug)]
#[command(disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Write the man pages and the completions of the command fastkex
    ///
    /// The man pages have the date of SOURCE_DATE_EPOCH, or none.
    Pages {
        /// The folder, which gets the folders man1, bash, zsh and fish
        folder: PathBuf,
    },
    /// Print the licences of all crates that are linked into some packages of this workspace
    Licences {
        /// The workspace's packages
        #[arg(required = true)]
        packages: Vec<String>,
    },
}

fn main() -> ExitCode {
    output::main("release-files", |arguments: Arguments| match arguments.command {
        Command::Pages { folder } => pages::write(&folder).map(|()| true),
        Command::Licences { packages } => {
            output::text(licences::collect(&packages)?).map(|()| true)
        }
    })
}
