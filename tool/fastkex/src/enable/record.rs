//! The state folder: a record of what was changed, and the files as they were before.
//!
//! The record is written before the files. So it may list a change that was not made, because the
//! command was killed, but never lacks one. Which changes were made is told by the files
//! themselves: `enable` makes the missing ones, and `disable` undoes the others.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use output::Failure;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::files::{self, Contents};
use super::root::{Place, Root, about};
use crate::json;

/// The state folder.
const FOLDER: &str = "/var/lib/fastkex";
const RECORD: &str = "enabled.json";
const BACKUP: &str = "before-";
/// The version of the record's format.
const FORMAT: u32 = 1;
/// How long another run of this command is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(50);

/// All changes that are in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    format: u32,
    pub(super) targets: Vec<Target>,
    /// Folders that did not exist before, the outermost first.
    pub(super) folders: Vec<PathBuf>,
}

/// The whole system or one service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Target {
    /// The service; `None` for the whole system.
    pub(super) service: Option<String>,
    /// The files, in the order in which they are written.
    pub(super) edits: Vec<Edit>,
}

/// A file that was written or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edit {
    pub(super) path: PathBuf,
    /// The file before; `None` if there was none.
    pub(super) before: Option<Before>,
    /// SHA-256 of what was written, the latest last. There is more than one if the command was
    /// killed.
    pub(super) written: Vec<String>,
    /// The lines that were added to the file, without their ends; empty if the whole file is ours.
    pub(super) lines: Vec<String>,
}

/// A file before it was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Before {
    sha256: String,
    /// In octal, for people: the file itself keeps its mode.
    mode: String,
    owner: Option<(u32, u32)>,
    /// The name of the copy in the state folder.
    copy: String,
}

impl Default for Record {
    fn default() -> Self {
        Record { format: FORMAT, targets: Vec::new(), folders: Vec::new() }
    }
}

impl Record {
    /// Reads the record; an empty one if there is none.
    ///
    /// # Errors
    /// It cannot be read, or has another format.
    pub(super) fn read(root: &Root) -> Result<Self, Failure> {
        let path = root.resolve(Path::new(FOLDER))?.real.join(RECORD);
        let Some(contents) = files::read(&path)? else { return Ok(Self::default()) };
        let record: Record = serde_json::from_slice(&contents.bytes).map_err(|error| {
            Failure::new(format!(
                "{}: {error}: undo by hand (docs/enable.md), then remove this file",
                path.display()
            ))
        })?;
        if record.format != FORMAT {
            return Err(Failure::new(format!(
                "{}: format {}, this program has {FORMAT}: use the fastkex that wrote it",
                path.display(),
                record.format
            )));
        }
        Ok(record)
    }

    pub(super) fn target(&self, service: Option<&str>) -> Option<&Target> {
        self.targets.iter().find(|target| target.service.as_deref() == service)
    }

    /// Adds a target, or replaces the one for the same service.
    pub(super) fn put(&mut self, target: Target) {
        match self.targets.iter_mut().find(|old| old.service == target.service) {
            Some(old) => *old = target,
            None => self.targets.push(target),
        }
    }

    pub(super) fn remove(&mut self, service: Option<&str>) {
        self.targets.retain(|target| target.service.as_deref() != service);
    }
}

impl Target {
    pub(super) fn edit(&self, path: &Path) -> Option<&Edit> {
        self.edits.iter().find(|edit| edit.path == path)
    }
}

impl Edit {
    /// True if these bytes are what was written.
    pub(super) fn wrote(&self, bytes: &[u8]) -> bool {
        self.written.contains(&hash(bytes))
    }
}

impl Before {
    /// True if these bytes are those of the file before.
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        self.sha256 == hash(bytes)
    }

    /// Reads the copy; `None` if it is missing or damaged.
    pub(super) fn copy(&self, root: &Root) -> Option<Vec<u8>> {
        let folder = root.resolve(Path::new(FOLDER)).ok()?.real;
        let contents = files::read(&folder.join(&self.copy)).ok()??;
        self.is(&contents.bytes).then_some(contents.bytes)
    }
}

/// The hash of a file in the record.
pub(super) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The locked state folder. At the end it is removed if it holds no record.
pub(super) struct State {
    place: Place,
    /// Folders above it that did not exist.
    created: Vec<Place>,
    _lock: File,
}

impl State {
    /// Creates the folder if necessary, and locks it. Waits briefly if another run of this command
    /// has locked it.
    ///
    /// # Errors
    /// The folder cannot be created, others can write to it, or it stays locked.
    pub(super) fn lock(root: &Root) -> Result<Self, Failure> {
        let place = root.resolve(Path::new(FOLDER))?;
        // The folder itself must be ours, too.
        let record = Place { real: place.real.join(RECORD), inside: place.inside.join(RECORD) };
        root.check_folders(&record)?;
        let missing = root.missing_folders(&place).into_iter();
        let created: Vec<_> =
            missing.map(|inside| Place { real: root.real(&inside), inside }).collect();
        let mut waited = Duration::ZERO;
        loop {
            for folder in &created {
                files::make_folder(&folder.real)?;
            }
            files::make_folder(&place.real)?;
            root.check_folders(&record)?;
            let folder = match File::open(&place.real) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(|error| about(&place.real, error))?,
            };
            let locked = flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok();
            // The run that had the lock may have removed the folder.
            if locked && is_at(&folder, &place.real) {
                files::remove_temporary(&place.real.join(RECORD));
                return Ok(State { place, created, _lock: folder });
            }
            if waited >= PATIENCE {
                return Err(Failure::new(format!(
                    "another 'fastkex enable' or 'fastkex disable' is running ({} is locked): \
                     try again when it has finished",
                    place.real.display()
                )));
            }
            thread::sleep(STEP);
            waited += STEP;
        }
    }

    /// Removes what a run that was killed before it wrote a record may have left.
    pub(super) fn clean(root: &Root) {
        let is_there = root.resolve(Path::new(FOLDER)).is_ok_and(|place| place.real.exists());
        if is_there {
            // Its end removes everything.
            drop(Self::lock(root));
        }
    }

    /// Returns the folders that were created for the state folder.
    pub(super) fn created(&self) -> impl Iterator<Item = &PathBuf> {
        self.created.iter().map(|created| &created.inside)
    }

    /// Copies a file into the folder.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub(super) fn keep(&self, path: &Path, contents: &Contents) -> Result<Before, Failure> {
        let sha256 = hash(&contents.bytes);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let copy = format!("{BACKUP}{}-{name}", &sha256[..16]);
        let at = self.place.real.join(&copy);
        if files::read(&at)?.is_none_or(|old| old.bytes != contents.bytes) {
            files::write(&at, contents)?;
        }
        let mode = format!("{:04o}", contents.mode);
        Ok(Before { sha256, mode, owner: contents.owner, copy })
    }

    /// Writes the record, and removes it if it is empty. Then removes copies that it does not name.
    ///
    /// # Errors
    /// It cannot be written; the old one stays.
    pub(super) fn write(&self, record: &Record) -> Result<(), Failure> {
        let path = self.place.real.join(RECORD);
        if record.targets.is_empty() {
            files::remove(&path)?;
        } else {
            files::write(&path, &Contents::new(json::text(record)? + "\n"))?;
        }
        let edits = record.targets.iter().flat_map(|target| &target.edits);
        let kept: Vec<_> = edits.filter_map(|edit| Some(&edit.before.as_ref()?.copy)).collect();
        for name in self.copies() {
            if !kept.contains(&&name) {
                let _ = fs::remove_file(self.place.real.join(name));
            }
        }
        Ok(())
    }

    fn copies(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.place.real).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.trim_start_matches('.').starts_with(BACKUP)).collect()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let folder = &self.place.real;
        if folder.join(RECORD).symlink_metadata().is_ok() {
            return;
        }
        for name in self.copies() {
            let _ = fs::remove_file(folder.join(name));
        }
        // The first one that holds something else stays, and so do those above it.
        let made_here = self.created.iter().rev().map(|created| &created.real);
        let _ = [folder].into_iter().chain(made_here).try_for_each(fs::remove_dir);
    }
}

/// True if this open folder is the one at `path`.
fn is_at(folder: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |data: fs::Metadata| (data.dev(), data.ino());
    match (folder.metadata(), path.symlink_metadata()) {
        (Ok(open), Ok(named)) => identity(open) == identity(named),
        _ => false,
    }
}
