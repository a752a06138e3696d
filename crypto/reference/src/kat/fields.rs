//! Lines of `name=value` fields, which all known-answer files are made of.

use super::Expected;
use std::fmt;

/// Why a file of known answers cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The number of the line, the first one being 1.
    pub line: usize,
    /// The name of the field, shortened if it is long; empty if the error is about no field.
    pub field: String,
    /// The error.
    pub problem: String,
    /// The expected contents.
    pub expected: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if !self.field.is_empty() {
            write!(f, "field {}: ", self.field)?;
        }
        write!(f, "{}; expected {}", self.problem, self.expected)
    }
}

impl std::error::Error for ParseError {}

/// The fields of a line that are still to be read.
pub(crate) struct Fields<'a> {
    line: usize,
    /// The expected contents of a record of this kind, for errors.
    pub(crate) known: &'static str,
    fields: Vec<(&'a str, &'a str)>,
}

impl<'a> Fields<'a> {
    /// Splits a line at white space, and each field at its first `=`; `None` for a blank line.
    pub(crate) fn split(
        line: usize,
        text: &'a str,
        known: &'static str,
    ) -> Result<Option<Self>, ParseError> {
        let mut all = Fields { line, known, fields: vec![] };
        for field in text.split_ascii_whitespace() {
            let Some((name, value)) = field.split_once('=') else {
                return Err(all.error(field, "no = in it", "name=value"));
            };
            if all.fields.iter().any(|(other, _)| *other == name) {
                return Err(all.error(name, "there twice", "each field once"));
            }
            all.fields.push((name, value));
        }
        Ok(if all.fields.is_empty() { None } else { Some(all) })
    }

    /// Returns the name of the first field, which tells the kind of the record.
    pub(crate) fn kind(&self) -> &'a str {
        self.fields[0].0
    }

    /// No field may be left.
    pub(crate) fn finish(&self) -> Result<(), ParseError> {
        match self.fields.first() {
            Some((name, _)) => Err(self.error(name, "unknown in this record", self.known)),
            None => Ok(()),
        }
    }

    fn take(&mut self, name: &str) -> Option<&'a str> {
        let index = self.fields.iter().position(|(other, _)| *other == name)?;
        Some(self.fields.remove(index).1)
    }

    /// Takes a field out if it has this value; returns true if it had.
    pub(crate) fn take_if(&mut self, name: &str, value: &str) -> bool {
        let has = self.fields.contains(&(name, value));
        self.fields.retain(|field| *field != (name, value));
        has
    }

    pub(crate) fn require(&mut self, name: &str) -> Result<&'a str, ParseError> {
        self.take(name).ok_or_else(|| self.error(name, "missing", self.known))
    }

    pub(crate) fn number(&mut self, name: &str, least: usize) -> Result<usize, ParseError> {
        let value = self.require(name)?;
        let number = value.parse().ok().filter(|&number| number >= least);
        number.ok_or_else(|| {
            let expected = format!("a decimal number of at least {least}");
            self.error(name, &format!("'{}' is none", shortened(value)), &expected)
        })
    }

    pub(crate) fn array<const BYTES: usize>(
        &mut self,
        name: &str,
    ) -> Result<[u8; BYTES], ParseError> {
        let value = self.require(name)?;
        let bytes = self.bytes(name, value)?;
        bytes.try_into().map_err(|bytes: Vec<u8>| {
            self.error(name, &format!("{} bytes", bytes.len()), &format!("{BYTES} bytes"))
        })
    }

    /// Reads bytes of any number, none included.
    pub(crate) fn vector(&mut self, name: &str) -> Result<Vec<u8>, ParseError> {
        let value = self.require(name)?;
        self.bytes(name, value)
    }

    pub(crate) fn expected(&mut self, whole: &str, digest: &str) -> Result<Expected, ParseError> {
        let Some(value) = self.take(whole) else {
            if self.fields.iter().all(|(name, _)| *name != digest) {
                return Err(self.error(whole, "missing", &format!("{whole} or {digest}")));
            }
            return Ok(Expected::Digest(self.array(digest)?));
        };
        if self.take(digest).is_some() {
            let problem = format!("there as well as {digest}");
            return Err(self.error(whole, &problem, "one of the two"));
        }
        let bytes = self.bytes(whole, value)?;
        if bytes.is_empty() {
            return Err(self.error(whole, "empty", "at least one byte"));
        }
        Ok(Expected::Whole(bytes))
    }

    /// Reads hexadecimal digits of either case, two for a byte.
    fn bytes(&self, name: &str, value: &str) -> Result<Vec<u8>, ParseError> {
        let digit = |c: char| {
            c.to_digit(16).map(|digit| digit as u8).ok_or_else(|| {
                self.error(name, &format!("{c:?} in it"), "hexadecimal digits, two for a byte")
            })
        };
        let digits = value.chars().map(digit).collect::<Result<Vec<u8>, _>>()?;
        if digits.len() % 2 != 0 {
            let problem = format!("{} hexadecimal digits", digits.len());
            return Err(self.error(name, &problem, "an even number, two for a byte"));
        }
        Ok(digits.chunks(2).map(|pair| 16 * pair[0] + pair[1]).collect())
    }

    pub(crate) fn error(&self, field: &str, problem: &str, expected: &str) -> ParseError {
        ParseError {
            line: self.line,
            field: shortened(field),
            problem: problem.into(),
            expected: expected.into(),
        }
    }
}

/// At most 32 characters of a text that may be a whole line of garbage.
fn shortened(text: &str) -> String {
    const MOST: usize = 32;
    if text.chars().count() <= MOST {
        return text.into();
    }
    text.chars().take(MOST - 2).chain("..".chars()).collect()
}
