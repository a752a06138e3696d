//! The findings of the doctor, and their output.

use std::fmt;

use output::Colour;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Ok,
    Wrong,
    /// Information that is neither right nor wrong.
    Note,
}

/// The result of one check.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    /// The subject of the check, in one or two words.
    pub(super) check: String,
    pub(super) status: Status,
    pub(super) message: String,
    /// The change that corrects the problem: lines to add, or a command.
    pub(super) fix: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &str, message: impl Into<String>) -> Self {
        Finding { check: check.into(), status: Status::Ok, message: message.into(), fix: None }
    }

    pub(super) fn note(check: &str, message: impl Into<String>) -> Self {
        Finding { status: Status::Note, ..Self::ok(check, message) }
    }

    pub(super) fn wrong(check: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Finding { status: Status::Wrong, fix: Some(fix.into()), ..Self::ok(check, message) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (status, colour) = match self.status {
            Status::Ok => ("ok", Colour::Green),
            Status::Wrong => ("WRONG", Colour::Red),
            Status::Note => ("note", Colour::Yellow),
        };
        let status = output::coloured(colour, format!("{status:<6}"));
        write!(f, "{status} {}: {}", self.check, printable(&self.message))?;
        if let Some(fix) = &self.fix {
            for line in fix.lines() {
                write!(f, "\n           {}", printable(line))?;
            }
        }
        Ok(())
    }
}

/// Escapes control characters. The text contains lines and names of files, which could otherwise
/// control the terminal.
fn printable(text: &str) -> String {
    let mut printable = String::new();
    for character in text.chars() {
        if character.is_control() {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}
