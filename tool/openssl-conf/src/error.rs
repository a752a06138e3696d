//! The errors of reading a configuration.

use std::fmt;
use std::path::PathBuf;

use crate::source::{FILE_LIMIT, FILES_LIMIT, TEXT_LIMIT};

/// An error in a configuration, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file's path, as it was given.
    pub file: PathBuf,
    /// The line (from 1) where the statement begins; `None` if the error concerns the whole file.
    pub line: Option<usize>,
    /// The kind of error.
    pub kind: ErrorKind,
}

/// The kind of error in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The main file could not be opened or read; with the system's error message.
    Unreadable(String),
    /// The path leads to a pipe, a directory or a device instead of a file.
    NotAFile,
    /// The file is longer than [`FILE_LIMIT`].
    TooLarge,
    /// The file contains a NUL byte, so it is not a text file.
    NulByte,
    /// Too many files are included; most likely files include others repeatedly.
    TooManyFiles,
    /// There is too much text, counted over all files or over all expanded values.
    TooMuchText,
    /// A file includes itself, directly or through others.
    IncludeCycle(PathBuf),
    /// A relative `.include` stands after `.pragma abspath:on`.
    RelativeInclude(String),
    /// A `[section]` has no `]`, or contains a character that no section name may have.
    SectionHeader,
    /// A statement is neither a section, nor a directive, nor `name = value`; with the text found
    /// in place of the `=`.
    MissingEquals(String),
    /// A `.pragma` is not `keyword:value`.
    Pragma,
    /// A `.pragma` takes `on` or `off`; with its keyword and the value found.
    PragmaValue(String, String),
    /// A variable has no value; with its section, if one was named, and its name.
    NoValue(Option<String>, String),
    /// A `${name` or `$(name` lacks the closing character.
    MissingBrace(char),
    /// A value is longer than 65536 bytes after the expansion of its variables.
    TooLong,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Self::NotAFile => write!(f, "is not a regular file; a configuration is one"),
            Self::TooLarge => {
                write!(f, "is longer than the {FILE_LIMIT} bytes read here; is it a configuration?")
            }
            Self::NulByte => {
                write!(f, "a NUL byte, where OpenSSL cuts the line; a configuration is a text file")
            }
            Self::TooManyFiles => {
                write!(f, "more than {FILES_LIMIT} files are included; include each file once")
            }
            Self::TooMuchText => write!(
                f,
                "more than {TEXT_LIMIT} bytes in all; include each file once and expand fewer variables"
            ),
            Self::IncludeCycle(file) => write!(
                f,
                "includes {} again, which includes this line; remove one of the two .include lines",
                file.display()
            ),
            Self::RelativeInclude(path) => write!(
                f,
                ".include {path:?} is relative, which `.pragma abspath:on` forbids; write the absolute path"
            ),
            Self::SectionHeader => write!(
                f,
                "the section header does not end with `]`; write `[ name ]`, the name of letters, digits and _"
            ),
            Self::MissingEquals(rest) if rest.is_empty() => {
                write!(
                    f,
                    "the statement has no `=`; write `name = value` or begin a comment with #"
                )
            }
            Self::MissingEquals(rest) => write!(
                f,
                "expected `=` before {rest:?}; write `name = value` or begin a comment with #"
            ),
            Self::Pragma => {
                write!(f, ".pragma takes `keyword:value`, such as `.pragma dollarid:on`")
            }
            Self::PragmaValue(keyword, value) => {
                write!(f, ".pragma {keyword} takes on, true, off or false, not {value:?}")
            }
            Self::NoValue(section, name) => {
                write!(f, "the variable $")?;
                if let Some(section) = section {
                    write!(f, "{section}::")?;
                }
                write!(
                    f,
                    "{name} has no value; set it above this line, or write \\$ for a dollar sign"
                )
            }
            Self::MissingBrace(close) => {
                write!(f, "a variable's name has no closing {close}; write ${{name}} or $(name)")
            }
            Self::TooLong => {
                write!(
                    f,
                    "the value is longer than 65536 bytes with its variables; make it shorter"
                )
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.kind)
    }
}

impl std::error::Error for Error {}
