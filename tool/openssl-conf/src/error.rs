//! Why a configuration could not be read.

use std::fmt;
use std::path::PathBuf;

use crate::source::{FILE_LIMIT, FILES_LIMIT, TEXT_LIMIT};

/// Why a configuration could not be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file, as it was named.
    pub file: PathBuf,
    /// The line (from 1) where the statement begins; none where the file as a whole is meant.
    pub line: Option<usize>,
    /// What is wrong.
    pub kind: ErrorKind,
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The main file could not be opened or read; the system's words.
    Unreadable(String),
    /// A pipe, a directory or a device where a file was expected.
    NotAFile,
    /// A file longer than [`FILE_LIMIT`].
    TooLarge,
    /// A NUL byte: not a text file.
    NulByte,
    /// More files than anyone writes, most likely included over and over.
    TooManyFiles,
    /// More text than anyone writes, counted over all files or over all expanded values.
    TooMuchText,
    /// A file includes itself, directly or through others.
    IncludeCycle(PathBuf),
    /// A relative `.include` after `.pragma abspath:on`.
    RelativeInclude(String),
    /// A `[section]` without its `]`, or with a character that no section name may have.
    SectionHeader,
    /// A statement that is neither a section, nor a directive, nor `name = value`; the text in place of the `=`.
    MissingEquals(String),
    /// A `.pragma` that is not `keyword:value`.
    Pragma,
    /// A `.pragma` that takes `on` or `off` and got this.
    PragmaValue(String, String),
    /// A variable without a value: its section if one was named, and its name.
    NoValue(Option<String>, String),
    /// A `${name` or `$(name` without the closing character.
    MissingBrace(char),
    /// A value beyond 65536 bytes through its variables.
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
