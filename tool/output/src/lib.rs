//! Output of the commands: printing that never panics, one-line errors, and the exit status: 0 for
//! success, 1 for a negative result, 2 for an error.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

use anstream::{AutoStream, ColorChoice};
pub use anstyle::AnsiColor as Colour;
use clap::Parser;

/// The error of a command, in one line.
#[derive(Debug)]
pub struct Failure {
    line: String,
    /// True if the line is not printed.
    is_quiet: bool,
}

/// True for a positive result, false for a negative one, or the error that prevented a result.
pub type Outcome = Result<bool, Failure>;

impl Failure {
    /// Creates a failure with a message, which is joined into one line.
    pub fn new(message: impl Display) -> Self {
        let message = message.to_string();
        let words: Vec<_> = message.split_whitespace().collect();
        Failure { line: words.join(" "), is_quiet: false }
    }

    /// Creates the failure of a write to standard output. A closed pipe is not reported: its reader
    /// has read enough.
    fn of_output(error: io::Error) -> Self {
        let is_quiet = error.kind() == io::ErrorKind::BrokenPipe;
        Failure { is_quiet, ..Self::new(format!("standard output: {error}")) }
    }

    /// Returns a function for `map_err` that adds the subject of an error.
    pub fn about<E: Display>(what: impl Display) -> impl FnOnce(E) -> Self {
        move |error| Self::new(format!("{what}: {error}"))
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// Prints a line to standard output. All commands print with this function, because `println!` can
/// panic.
///
/// # Errors
/// The line could not be written. A command passes the error on to [`main()`].
pub fn line(text: impl Display) -> Result<(), Failure> {
    writeln!(io::stdout(), "{text}").map_err(Failure::of_output)
}

/// Does the same as [`line()`], without the end of the line.
///
/// # Errors
/// The same as [`line()`].
pub fn text(text: impl Display) -> Result<(), Failure> {
    write!(io::stdout(), "{text}").map_err(Failure::of_output)
}

/// Returns a word in a colour, or as it is if standard output is not a terminal, or one without
/// colours, or if the environment says `NO_COLOR` or `CLICOLOR=0`.
pub fn coloured(colour: Colour, word: impl Display) -> impl Display {
    let style = match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => anstyle::Style::new(),
        _ => colour.on_default(),
    };
    format!("{style}{word}{style:#}")
}

/// The exit status for wrong usage and other errors.
const ERROR: u8 = 2;

/// The command's name, which [`main()`] sets.
static NAME: OnceLock<String> = OnceLock::new();

/// Prints a line to standard error, after the command's name. Ignores errors, because they could
/// not be printed either.
pub fn note(text: impl Display) {
    let name = NAME.get().map_or("fastkex", String::as_str);
    let _ = writeln!(io::stderr(), "{name}: {text}");
}

/// Runs the command called `name` with the arguments of this process. clap handles wrong usage and
/// help, with exit status 2 for wrong usage. A later error becomes one line on standard error and
/// exit status 2, also if standard output cannot be written completely. A closed pipe gets no line,
/// as with other programs.
pub fn main<C: Parser>(name: &str, run: impl FnOnce(C) -> Outcome) -> ExitCode {
    let _ = NAME.set(name.to_owned());
    let outcome = match C::try_parse() {
        Ok(arguments) => run(arguments),
        Err(usage) if usage.use_stderr() => {
            // If the usage cannot be printed, its error cannot be printed either.
            let _ = usage.print();
            return ExitCode::from(ERROR);
        }
        Err(help) => help.print().map(|()| true).map_err(Failure::of_output),
    };
    // The last line may have no line end yet.
    let flushed = |is_positive| io::stdout().flush().map(|()| is_positive);
    match outcome.and_then(|is_positive| flushed(is_positive).map_err(Failure::of_output)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            if !failure.is_quiet {
                note(failure);
            }
            ExitCode::from(ERROR)
        }
    }
}
