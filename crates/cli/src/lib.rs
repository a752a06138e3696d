//! What the project's commands share: one line for what is wrong, and the exit status: 0 if all is well, 1 if not, 2 if that could
//! not be found out.

#![forbid(unsafe_code)]

use std::fmt::{self, Display};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

/// Why a command could not do what was asked.
#[derive(Debug)]
pub struct Failure(String);

/// Whether all is well, or why that could not be found out.
pub type Outcome = Result<bool, Failure>;

impl Failure {
    /// A failure with a message, which is made one line.
    pub fn new(message: impl Display) -> Self {
        let message = message.to_string();
        let words: Vec<_> = message.split_whitespace().collect();
        Failure(words.join(" "))
    }

    /// For `map_err`: says what an error is about.
    pub fn about<E: Display>(what: impl Display) -> impl FnOnce(E) -> Self {
        move |error| Self::new(format!("{what}: {error}"))
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Runs the command called `name` with the arguments of this process. Help goes to standard output; what is wrong, with the arguments or
/// later, becomes one line on standard error.
pub fn main<C: Parser>(name: &str, run: impl FnOnce(C) -> Outcome) -> ExitCode {
    let outcome = match C::try_parse() {
        Ok(arguments) => run(arguments),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                print!("{error}");
                Ok(true)
            }
            _ => Err(usage(name, &error)),
        },
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("{name}: {failure}");
            ExitCode::from(2)
        }
    }
}

fn usage(name: &str, error: &clap::Error) -> Failure {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Failure::new(format!("no command given: try '{name} --help'"));
    }
    let text = error.to_string();
    let problem = text.split("\n\n").next().unwrap_or_default();
    Failure::new(format!("{}: try '{name} --help'", problem.trim_start_matches("error: ")))
}
