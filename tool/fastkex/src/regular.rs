//! Access to files that others may control. Only regular files are opened, so that no pipe makes
//! this program wait and no device is touched.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// A file that was found but not opened. It stays the same file, whatever happens to its name.
pub(crate) struct Held(File);

impl Held {
    /// Finds the file at `path`. Follows links, including those in `/proc/PID/fd`.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Held::from(file))
    }

    pub(crate) fn metadata(&self) -> io::Result<std::fs::Metadata> {
        self.0.metadata()
    }

    /// Returns the path under which this process can open the file.
    pub(crate) fn link(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }

    /// Opens the file for reading.
    pub(crate) fn open(&self) -> io::Result<File> {
        if !self.metadata()?.is_file() {
            return Err(io::Error::other("no regular file"));
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(self.link(), flags, Mode::empty())?.into())
    }

    /// Returns the file's contents, which must not be longer than `most` bytes.
    pub(crate) fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open()?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::other(format!("more than {most} bytes")));
        }
        Ok(bytes)
    }
}

impl From<OwnedFd> for Held {
    /// Takes ownership of a descriptor that was opened with `O_PATH`.
    fn from(descriptor: OwnedFd) -> Self {
        Held(descriptor.into())
    }
}
