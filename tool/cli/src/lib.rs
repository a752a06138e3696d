//! What the project's commands share: printing, one line for what is wrong, and the exit status: 0
//! if all is well, 1 if not, 2 if that could not be found out.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::Parser;
use clap::error::ErrorKind;

/// Why a command could not do what was asked.
#[derive(Debug)]
pub struct Failure {
    line: String,
    /// Whether nobody wants to be told.
    is_quiet: bool,
}

/// Whether all is well, or why that could not be found out.
pub type Outcome = Result<bool, Failure>;

impl Failure {
    /// A failure with a message, which is made one line.
    pub fn new(message: impl Display) -> Self {
        let message = message.to_string();
        let words: Vec<_> = message.split_whitespace().collect();
        Failure { line: words.join(" "), is_quiet: false }
    }

    /// Standard output takes no more. The reader of a pipe that was closed has what it wanted.
    fn of_output(error: io::Error) -> Self {
        let is_quiet = error.kind() == io::ErrorKind::BrokenPipe;
        Failure { is_quiet, ..Self::new(format!("standard output: {error}")) }
    }

    /// For `map_err`: says what an error is about.
    pub fn about<E: Display>(what: impl Display) -> impl FnOnce(E) -> Self {
        move |error| Self::new(format!("{what}: {error}"))
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// Prints a line to standard output: the one way to do so, as `println!` would panic.
///
/// # Errors
/// It could not be written. A command passes that on to [`main()`].
pub fn line(text: impl Display) -> Result<(), Failure> {
    writeln!(io::stdout(), "{text}").map_err(Failure::of_output)
}

/// [`line()`], without the end of a line.
///
/// # Errors
/// As [`line()`].
pub fn text(text: impl Display) -> Result<(), Failure> {
    write!(io::stdout(), "{text}").map_err(Failure::of_output)
}

/// The command's name, which [`main()`] knows.
static NAME: OnceLock<String> = OnceLock::new();

/// Prints a line to standard error, after the command's name. An error in doing so is ignored, as
/// it could not be printed either.
pub fn note(text: impl Display) {
    let name = NAME.get().map_or("fastkex", String::as_str);
    let _ = writeln!(io::stderr(), "{name}: {text}");
}

/// Runs the command called `name` with the arguments of this process. Help goes to standard output;
/// what is wrong, with the arguments or later, becomes one line on standard error. If standard
/// output takes not all of what is printed, that is wrong, too, and the exit status 2; a pipe that
/// was closed gets no line, as with other programs.
pub fn main<C: Parser>(name: &str, run: impl FnOnce(C) -> Outcome) -> ExitCode {
    let _ = NAME.set(name.to_owned());
    let outcome = match C::try_parse() {
        Ok(arguments) => run(arguments),
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => text(error).map(|()| true),
            _ => Err(usage(name, &error)),
        },
    };
    // What has no end of a line yet.
    let flushed = |is_well| io::stdout().flush().map(|()| is_well).map_err(Failure::of_output);
    match outcome.and_then(flushed) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            if !failure.is_quiet {
                note(failure);
            }
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
