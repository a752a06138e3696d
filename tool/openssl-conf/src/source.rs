//! The files of a configuration.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum length of a file, in bytes.
pub const FILE_LIMIT: usize = 1 << 20;
/// The maximum number of bytes read from all files, and of bytes in all expanded values.
pub(crate) const TEXT_LIMIT: usize = 16 * FILE_LIMIT;
/// The maximum number of files read, each counted as often as it is included. OpenSSL itself limits
/// only the depth of includes, by the number of file descriptors, usually 1024.
pub(crate) const FILES_LIMIT: usize = 1000;

/// The maximum length of the pieces in which OpenSSL reads lines, in bytes.
const PIECE: usize = 510;

/// The reason why a file was not read.
pub(crate) enum Unread {
    Io(io::Error),
    NotAFile,
    TooLarge,
}

/// An open file and the read position.
pub(crate) struct Source {
    pub(crate) file: Arc<Path>,
    /// The file's canonical path, to detect a file that includes itself.
    pub(crate) identity: Option<PathBuf>,
    pub(crate) bytes: Vec<u8>,
    at: usize,
    /// The number of lines read so far.
    pub(crate) line: usize,
}

impl Source {
    pub(crate) fn new(file: &Path, bytes: Vec<u8>) -> Self {
        Self { file: file.into(), identity: fs::canonicalize(file).ok(), bytes, at: 0, line: 0 }
    }

    pub(crate) fn open(file: &Path) -> Result<Self, Unread> {
        Ok(Self::new(file, read(file)?))
    }

    /// Skips a UTF-8 byte order mark. OpenSSL does so in the main file only.
    pub(crate) fn skip_mark(&mut self) {
        if self.bytes.starts_with(b"\xEF\xBB\xBF") {
            self.at = 3;
        }
    }

    /// Returns the line of the first NUL byte.
    pub(crate) fn nul_line(&self) -> Option<usize> {
        let at = self.bytes.iter().position(|&c| c == 0)?;
        Some(1 + self.bytes[..at].iter().filter(|&&c| c == b'\n').count())
    }

    /// Returns the next piece: up to the end of the line, the end of the file or the size of
    /// OpenSSL's buffer.
    pub(crate) fn piece(&mut self) -> &[u8] {
        let rest = &self.bytes[self.at..];
        let window = &rest[..rest.len().min(PIECE)];
        let length = match window.iter().position(|&c| c == b'\n') {
            Some(newline) => {
                self.line += 1;
                newline + 1
            }
            None => window.len(),
        };
        self.at += length;
        &rest[..length]
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Unread> {
    // `/dev/null` is the usual way to have no configuration.
    if file == Path::new("/dev/null") {
        return Ok(Vec::new());
    }
    // Reading a pipe would block, and would take the bytes from its other readers.
    if !fs::metadata(file).map_err(Unread::Io)?.is_file() {
        return Err(Unread::NotAFile);
    }
    let mut bytes = Vec::new();
    let limit = FILE_LIMIT as u64 + 1;
    File::open(file)
        .map_err(Unread::Io)?
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(Unread::Io)?;
    if bytes.len() > FILE_LIMIT {
        return Err(Unread::TooLarge);
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => text.into_bytes(),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into_bytes(),
    })
}

/// Returns the files that an `.include` of a directory reads, in the order of the directory, as
/// OpenSSL does.
pub(crate) fn directory_files(directory: &str) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let ends = |end: &str| {
            name.len() > end.len()
                && name[name.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
        };
        if ends(".conf") || ends(".cnf") {
            files.push(Path::new(&format!("{directory}/")).join(entry.file_name()));
        }
    }
    Ok(files)
}
