//! The files a configuration is read from.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest file that is read, in bytes.
pub const FILE_LIMIT: usize = 1 << 20;
/// The most bytes read from all files, and the most bytes that all values may expand to.
pub(crate) const TEXT_LIMIT: usize = 16 * FILE_LIMIT;
/// The most files read, each counted as often as it is included. OpenSSL's own bound on the depth of includes is the
/// number of file descriptors, 1024 as a rule.
pub(crate) const FILES_LIMIT: usize = 1000;

/// OpenSSL reads lines in pieces of at most this many bytes.
const PIECE: usize = 510;

/// Why a file was not read.
pub(crate) enum Unread {
    Io(io::Error),
    NotAFile,
    TooLarge,
}

/// An open file and how far it was read.
pub(crate) struct Source {
    pub(crate) file: Arc<Path>,
    /// The file's identity, to notice when it includes itself.
    pub(crate) identity: Option<PathBuf>,
    pub(crate) bytes: Vec<u8>,
    at: usize,
    /// The lines read so far.
    pub(crate) line: usize,
}

impl Source {
    pub(crate) fn new(file: &Path, bytes: Vec<u8>) -> Self {
        Self { file: file.into(), identity: fs::canonicalize(file).ok(), bytes, at: 0, line: 0 }
    }

    pub(crate) fn open(file: &Path) -> Result<Self, Unread> {
        Ok(Self::new(file, read(file)?))
    }

    /// Drops a UTF-8 byte order mark; OpenSSL does so in the main file only.
    pub(crate) fn skip_mark(&mut self) {
        if self.bytes.starts_with(b"\xEF\xBB\xBF") {
            self.at = 3;
        }
    }

    /// The line of the first NUL byte.
    pub(crate) fn nul_line(&self) -> Option<usize> {
        let at = self.bytes.iter().position(|&c| c == 0)?;
        Some(1 + self.bytes[..at].iter().filter(|&&c| c == b'\n').count())
    }

    /// The next piece: up to the end of the line, the end of the file or the size of OpenSSL's buffer.
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
    // The customary way to have no configuration.
    if file == Path::new("/dev/null") {
        return Ok(Vec::new());
    }
    // A pipe would block, and what is read from it would be missing elsewhere.
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

/// The files that an `.include` of a directory means, in the order of the directory, which is OpenSSL's.
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
