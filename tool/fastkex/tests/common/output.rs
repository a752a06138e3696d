//! Checks for standard output and standard error that cannot be written: every command prints one
//! line at most, exits with status 2, and does not panic.

use std::fs::{File, OpenOptions};
use std::process::{Command, Stdio};

use super::{Tool, prefix, stderr, stdout};

/// An output that cannot be written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Closed {
    /// A pipe without a reader.
    Pipe,
    /// A device without space.
    Full,
}

impl Closed {
    pub(crate) fn stdio(self) -> Stdio {
        match self {
            Closed::Pipe => {
                let (reader, writer) = std::io::pipe().unwrap();
                drop(reader);
                writer.into()
            }
            Closed::Full => full().into(),
        }
    }
}

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

fn command(tool: &Tool, arguments: &[String]) -> Command {
    let mut command = tool.command(&[]);
    command.args(arguments);
    command
}

/// Checks that an unwritable output is an error, reported in one line if standard error is
/// writable.
pub(crate) fn assert_closed_output_is_told(tool: &Tool, commands: &[Vec<String>]) {
    for arguments in commands {
        for closed in [Closed::Pipe, Closed::Full] {
            let output = command(tool, arguments).stdout(closed.stdio()).output().unwrap();
            // The self-check prints a note about missing parts beforehand.
            let is_note = |line: &str| line.contains("instead of the null key exchange");
            let error = stderr(&output);
            let error: String = error.split_inclusive('\n').filter(|line| !is_note(line)).collect();
            assert_eq!(output.status.code(), Some(2), "{arguments:?} {closed:?}: {error}");
            match closed {
                Closed::Pipe => assert_eq!(error, "", "{arguments:?}"),
                Closed::Full => assert_eq!(
                    error,
                    prefix() + "standard output: No space left on device (os error 28)\n",
                    "{arguments:?}"
                ),
            }
        }
        // No error message can be printed.
        for closed in [Closed::Pipe, Closed::Full] {
            let mut silent = command(tool, arguments);
            let status = silent.stdout(full()).stderr(closed.stdio()).status().unwrap();
            assert_eq!(status.code(), Some(2), "{arguments:?} {closed:?}");
        }
    }
}

/// Checks that each of the commands prints something to a writable output, with another exit
/// status.
pub(crate) fn assert_open_output_is_there(tool: &Tool, commands: &[Vec<String>]) {
    for arguments in commands {
        // The command runs until ^C.
        if arguments.iter().any(|argument| argument == "--watch") {
            continue;
        }
        let output = command(tool, arguments).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {}", stderr(&output));
        assert!(!stdout(&output).is_empty(), "{arguments:?}");
        // Problems are not reported on standard error, so an unwritable one changes nothing.
        let status = command(tool, arguments)
            .stdout(Stdio::null())
            .stderr(Closed::Full.stdio())
            .status()
            .unwrap();
        assert!(matches!(status.code(), Some(0 | 1)), "{arguments:?}: {status}");
    }
}
