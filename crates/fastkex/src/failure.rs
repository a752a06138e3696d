use std::fmt;
use std::process::ExitCode;

/// Why the tool could not do what was asked: one line, exit code 2.
#[derive(Debug)]
pub(crate) struct Failure(String);

/// Whether all is well, or why that could not be found out.
pub(crate) type Outcome = Result<bool, Failure>;

impl Failure {
    /// A failure with a message, which is made one line.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        let message: String = message.into();
        let lines: Vec<_> =
            message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        Failure(lines.join("; "))
    }

    /// Prints `outcome` if it is a failure, and says what to exit with: 0, 1 (not all is well) or 2.
    pub(crate) fn report(outcome: Outcome) -> ExitCode {
        match outcome {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::from(1),
            Err(failure) => {
                eprintln!("fastkex: {failure}");
                ExitCode::from(2)
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
