//! The parser of lines, statements and directives; it follows the rules of OpenSSL's
//! `crypto/conf/conf_def.c`.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::config::{Config, Entry, Origin, SkippedInclude};
use crate::error::{Error, ErrorKind};
use crate::expand::Variables;
use crate::lexis::{byte, skip_blanks, skip_name, trim_end, without_comment};
use crate::source::{FILES_LIMIT, Source, TEXT_LIMIT, Unread, directory_files};

type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Config {
    /// Reads the file at `path` and the files that it includes. `env` looks up environment
    /// variables, for `$ENV::X` and `OPENSSL_CONF_INCLUDE`. As in OpenSSL, relative paths start at
    /// the working directory.
    ///
    /// # Errors
    /// Fails where OpenSSL refuses the configuration, with the file and line, and on files that
    /// cannot be read completely (see the crate's page).
    pub fn load(path: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let source = Source::open(path).map_err(|unread| refuse(path, unread))?;
        Parser::new(source, env).run()
    }

    /// Reads `text` as the contents of a file that messages call `name`, and the files that it
    /// includes.
    ///
    /// # Errors
    /// The same as [`Config::load`].
    pub fn parse(
        text: &str,
        name: &Path,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        Parser::new(Source::new(name, text.as_bytes().to_vec()), env).run()
    }
}

fn refuse(file: &Path, unread: Unread) -> Error {
    let kind = match unread {
        Unread::Io(error) => ErrorKind::Unreadable(error.to_string()),
        Unread::NotAFile => ErrorKind::NotAFile,
        Unread::TooLarge => ErrorKind::TooLarge,
    };
    Error { file: file.into(), line: None, kind }
}

struct Parser<'a> {
    env: Env<'a>,
    config: Config,
    section: String,
    dollars: bool,
    absolute: bool,
    include_dir: Option<String>,
    /// The file that is being read.
    source: Source,
    /// The files whose reading continues after the end of an included file, the outermost first.
    waiting: Vec<Source>,
    /// The remaining files of the directory that is being included; OpenSSL reads one directory at
    /// a time.
    directory: Option<VecDeque<PathBuf>>,
    bytes_read: usize,
    bytes_expanded: usize,
}

impl<'a> Parser<'a> {
    fn new(source: Source, env: Env<'a>) -> Self {
        Self {
            env,
            config: Config::default(),
            section: "default".to_owned(),
            dollars: false,
            absolute: false,
            include_dir: None,
            source,
            waiting: Vec::new(),
            directory: None,
            bytes_read: 0,
            bytes_expanded: 0,
        }
    }

    fn run(mut self) -> Result<Config, Error> {
        self.config.open("default");
        self.count()?;
        self.source.skip_mark();
        let mut text = Vec::new();
        let mut start = 0;
        let mut unfinished = false;
        loop {
            let lines = self.source.line;
            let piece = self.source.piece();
            if piece.is_empty() && !unfinished {
                // The next file of the directory is opened at the end of any file. A file that was
                // included from within a directory is therefore followed by the directory's next
                // file, as in OpenSSL.
                if let Some(next) = self.next_in_directory()? {
                    self.source = next;
                    self.count()?;
                } else if let Some(outer) = self.waiting.pop() {
                    self.source = outer;
                } else {
                    return Ok(self.config);
                }
                continue;
            }
            if !unfinished {
                start = lines + 1;
            }
            let kept = piece.iter().rposition(|c| !b"\r\n".contains(c)).map_or(0, |last| last + 1);
            unfinished = !piece.is_empty() && kept == piece.len();
            text.extend_from_slice(&piece[..kept]);
            // A backslash at the end joins the next line, unless the backslash is itself escaped.
            if !unfinished && text.ends_with(b"\\") && !text.ends_with(b"\\\\") {
                text.pop();
                unfinished = true;
            }
            if !unfinished {
                self.statement(without_comment(&text), start)?;
                text.clear();
            }
        }
    }

    /// Records the file that was just opened, and checks the limits.
    fn count(&mut self) -> Result<(), Error> {
        let fail = |line, kind| Err(Error { file: self.source.file.to_path_buf(), line, kind });
        if let Some(line) = self.source.nul_line() {
            return fail(Some(line), ErrorKind::NulByte);
        }
        self.bytes_read += self.source.bytes.len();
        self.config.files.push(self.source.file.clone());
        if self.bytes_read > TEXT_LIMIT {
            return fail(None, ErrorKind::TooMuchText);
        }
        if self.config.files.len() > FILES_LIMIT {
            return fail(None, ErrorKind::TooManyFiles);
        }
        Ok(())
    }

    fn statement(&mut self, text: &[u8], line: usize) -> Result<(), Error> {
        let file = self.source.file.clone();
        self.understand(text, Origin { file: file.clone(), line }).map_err(
            |failure| match failure {
                Failure::Here(kind) => Error { file: file.to_path_buf(), line: Some(line), kind },
                Failure::There(error) => error,
            },
        )
    }

    fn understand(&mut self, text: &[u8], origin: Origin) -> Result<(), Failure> {
        let start = skip_blanks(text, 0);
        if start >= text.len() {
            return Ok(());
        }
        if text[start] == b'[' {
            let name = self.header(text, start + 1)?;
            self.section = self.expand(None, name)?;
            self.config.open(&self.section);
            return Ok(());
        }
        let mut name_start = start;
        let mut name_end = skip_name(text, start, self.dollars);
        let mut section = self.section.clone();
        if text[name_end..].starts_with(b"::") {
            section = lossy(&text[start..name_end]);
            name_start = name_end + 2;
            name_end = skip_name(text, name_start, self.dollars);
        }
        let next = skip_blanks(text, name_end);
        let name = &text[name_start..name_end];
        let rest = &text[next..];
        if let Some(value) = directive(b".pragma", name, next > name_end, rest) {
            return self.pragma(value);
        }
        if let Some(value) = directive(b".include", name, next > name_end, rest) {
            return self.include(&section, value, origin);
        }
        if byte(rest, 0) != b'=' {
            return Err(ErrorKind::MissingEquals(lossy(rest)).into());
        }
        let value = self.expand(Some(&section), assigned(rest))?;
        self.config.set(&section, Entry { key: lossy(name), value, origin });
        Ok(())
    }

    /// Returns the name in a section header whose `[` ends before `start`. The name may contain
    /// blanks.
    fn header<'t>(&self, text: &'t [u8], start: usize) -> Result<&'t [u8], ErrorKind> {
        let start = skip_blanks(text, start);
        let mut at = start;
        loop {
            let end = skip_name(text, at, self.dollars);
            let next = skip_blanks(text, end);
            match byte(text, next) {
                b']' => return Ok(&text[start..end]),
                c if c != 0 && next != at => at = next,
                _ => return Err(ErrorKind::SectionHeader),
            }
        }
    }

    fn expand(&mut self, section: Option<&str>, text: &[u8]) -> Result<String, ErrorKind> {
        let variables =
            Variables { config: &self.config, env: self.env, section, dollars: self.dollars };
        let value = variables.expand(text)?;
        self.bytes_expanded += value.len();
        if self.bytes_expanded > TEXT_LIMIT {
            return Err(ErrorKind::TooMuchText);
        }
        Ok(value)
    }

    fn pragma(&mut self, text: &[u8]) -> Result<(), Failure> {
        let colon = text.iter().position(|&c| c == b':').ok_or(ErrorKind::Pragma)?;
        if colon == 0 || colon + 1 == text.len() {
            return Err(ErrorKind::Pragma.into());
        }
        let keyword = lossy(trim_end(&text[..colon]));
        let value = lossy(&text[skip_blanks(text, colon + 1)..]);
        match keyword.as_str() {
            "dollarid" => self.dollars = on_or_off(&keyword, value)?,
            "abspath" => self.absolute = on_or_off(&keyword, value)?,
            "includedir" => self.include_dir = Some(value),
            // OpenSSL ignores other keywords.
            _ => {}
        }
        Ok(())
    }

    fn include(&mut self, section: &str, text: &[u8], origin: Origin) -> Result<(), Failure> {
        let mut path = self.expand(Some(section), text)?;
        let prefix = (self.env)("OPENSSL_CONF_INCLUDE").or_else(|| self.include_dir.clone());
        if let Some(prefix) = prefix
            && !path.starts_with('/')
        {
            let slash = if prefix.ends_with('/') { "" } else { "/" };
            path = format!("{prefix}{slash}{path}");
        }
        if self.absolute && !path.starts_with('/') {
            return Err(ErrorKind::RelativeInclude(path).into());
        }
        let mut skip = |reason: String| {
            let path = PathBuf::from(&path);
            self.config.skipped.push(SkippedInclude { path, origin: origin.clone(), reason });
            Ok(())
        };
        let next = match fs::metadata(&path) {
            Err(error) => return skip(error.to_string()),
            Ok(found) if found.is_dir() => {
                if self.directory.is_some() {
                    return skip("a directory inside of an included directory is ignored".into());
                }
                match directory_files(&path) {
                    Err(error) => return skip(error.to_string()),
                    Ok(files) => self.directory = Some(files.into()),
                }
                match self.next_in_directory()? {
                    Some(next) => next,
                    None => {
                        let path = PathBuf::from(path);
                        let reason = "no readable *.cnf or *.conf in this directory".into();
                        self.config.skipped.push(SkippedInclude { path, origin, reason });
                        return Ok(());
                    }
                }
            }
            Ok(_) => match Source::open(Path::new(&path)) {
                Err(Unread::Io(error)) => return skip(error.to_string()),
                Err(unread) => return Err(Failure::There(refuse(Path::new(&path), unread))),
                Ok(next) => next,
            },
        };
        if next.identity.is_some()
            && self.waiting.iter().chain([&self.source]).any(|open| open.identity == next.identity)
        {
            return Err(ErrorKind::IncludeCycle(next.file.to_path_buf()).into());
        }
        self.waiting.push(std::mem::replace(&mut self.source, next));
        self.count().map_err(Failure::There)
    }

    /// Opens the next file of the directory that is being included. Skips files that cannot be
    /// opened.
    fn next_in_directory(&mut self) -> Result<Option<Source>, Error> {
        while let Some(files) = &mut self.directory {
            let Some(file) = files.pop_front() else {
                self.directory = None;
                break;
            };
            match Source::open(&file) {
                Ok(source) => return Ok(Some(source)),
                Err(Unread::Io(_)) => {}
                Err(Unread::NotAFile) if file.is_dir() => {}
                Err(unread) => return Err(refuse(&file, unread)),
            }
        }
        Ok(None)
    }
}

/// A failure in the current statement, or in a file that it includes.
enum Failure {
    Here(ErrorKind),
    There(Error),
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Self {
        Self::Here(kind)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::There(error)
    }
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// Returns the argument of a directive, if the statement is that directive. OpenSSL compares only
/// the beginning of the name.
fn directive<'t>(directive: &[u8], name: &[u8], blank: bool, rest: &'t [u8]) -> Option<&'t [u8]> {
    let longer = name.len() > directive.len();
    if !name.starts_with(directive) || !(longer || blank || byte(rest, 0) == b'=') {
        return None;
    }
    Some(if byte(rest, 0) == b'=' { assigned(rest) } else { trim_end(rest) })
}

/// Returns the text after the `=` at the beginning of `rest`.
fn assigned(rest: &[u8]) -> &[u8] {
    trim_end(&rest[skip_blanks(rest, 1)..])
}

fn on_or_off(keyword: &str, value: String) -> Result<bool, ErrorKind> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(ErrorKind::PragmaValue(keyword.to_owned(), value)),
    }
}
