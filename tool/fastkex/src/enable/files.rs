//! Reads and replaces files: a reader finds the old file or the new one, also after a power
//! failure.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use output::Failure;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::umask;

use super::root::about;
/// The maximum size of a file that is read, in bytes.
const MOST_BYTES: u64 = 1 << 24;
/// The mode of files and folders that did not exist before.
pub(super) const FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;
const MODE_BITS: u32 = 0o7777;

/// A file's contents, mode and owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: u32,
    /// The user and group; `None` for this user.
    pub(super) owner: Option<(u32, u32)>,
}

impl Contents {
    /// The contents of a new file.
    pub(super) fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Contents { bytes: bytes.into(), mode: FILE_MODE, owner: None }
    }

    /// Other bytes with the same mode and owner.
    pub(super) fn with(&self, bytes: impl Into<Vec<u8>>) -> Self {
        Contents { bytes: bytes.into(), ..self.clone() }
    }
}

/// Reads a regular file. Returns `None` if there is nothing at this path.
///
/// # Errors
/// It is another kind of file, or cannot be read.
pub(super) fn read(path: &Path) -> Result<Option<Contents>, Failure> {
    // Not by way of /proc, which a system that is being installed may lack.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(about(path, error.into())),
    };
    let mut bytes = Vec::new();
    let read = || {
        let data = file.metadata()?;
        if !data.is_file() {
            return Err(io::Error::other("no regular file"));
        }
        (&file).take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > MOST_BYTES {
            true => Err(io::Error::other(format!("more than {MOST_BYTES} bytes"))),
            false => Ok(data),
        }
    };
    let data = { read }().map_err(|error| about(path, error))?;
    let owner = Some((data.uid(), data.gid()));
    Ok(Some(Contents { bytes, mode: data.mode() & MODE_BITS, owner }))
}

/// Replaces a file, or creates it, in one step.
///
/// # Errors
/// The file at this path is unchanged.
pub(super) fn write(path: &Path, contents: &Contents) -> Result<(), Failure> {
    let new = temporary(path);
    let written = write_new(&new, contents).and_then(|()| fs::rename(&new, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&new);
        return Err(about(path, error));
    }
    sync_folder(path)
}

fn write_new(new: &Path, contents: &Contents) -> std::io::Result<()> {
    // A run of this command that was killed may have left one. The lock excludes others.
    match fs::remove_file(new) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
    file.write_all(&contents.bytes)?;
    if let Some((user, group)) = contents.owner {
        fchown(&file, Some(user), Some(group))?;
    }
    file.set_permissions(Permissions::from_mode(contents.mode))?;
    file.sync_all()
}

/// Removes a file, and what a run that was killed may have left beside it.
///
/// # Errors
/// It exists, and cannot be removed.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    remove_temporary(path);
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(about(path, error)),
        Ok(()) => sync_folder(path),
    }
}

/// Removes what a run that was killed while it replaced this file may have left.
pub(super) fn remove_temporary(path: &Path) {
    let _ = fs::remove_file(temporary(path));
}

/// Renames a file to a name that is free in its folder, and returns the name.
///
/// # Errors
/// It cannot be renamed.
pub(super) fn set_aside(path: &Path) -> Result<PathBuf, Failure> {
    let with_end = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let numbered = (2..).map(|number| with_end(&format!(".saved.{number}")));
    let mut names = std::iter::once(with_end(".saved")).chain(numbered);
    let is_free = |name: &PathBuf| name.symlink_metadata().is_err();
    let name = names.find(is_free).unwrap_or_else(|| with_end(".saved"));
    fs::rename(path, &name).map_err(|error| about(path, error))?;
    sync_folder(path)?;
    Ok(name)
}

/// Creates a folder, unless it exists.
///
/// # Errors
/// It cannot be created.
pub(super) fn make_folder(path: &Path) -> Result<(), Failure> {
    // Its mode is right from the beginning, also if this program is killed.
    let mask = umask(Mode::from_raw_mode(!FOLDER_MODE & 0o777));
    let made = fs::create_dir(path);
    umask(mask);
    match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(about(path, error)),
        Ok(()) => {}
    }
    sync_folder(path).inspect_err(|_| {
        let _ = fs::remove_dir(path);
    })
}

/// The name under which a file is written until it is complete. Neither systemd nor OpenSSL's
/// `.include` of a folder reads files with this end.
fn temporary(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".fastkex-new");
    path.with_file_name(name)
}

/// Writes the folder of a file to the disk, so that a new name stays after a power failure.
fn sync_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| about(folder, error))
}
