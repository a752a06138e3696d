//! The configuration file of a program that `fastkex run` has started.
//!
//! OpenSSL loads and executes the modules that a configuration names, and child processes of a
//! program read the configuration again, possibly hours later. The file must therefore be in a
//! place where only this user and root can create, replace or remove files, even after the file or
//! its folder was deleted. This excludes /tmp: any user can recreate a path that was deleted there.

use std::env;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use nix::unistd::{Uid, User, geteuid};
use output::Failure;
use rustix::fs::{Mode, OFlags};

/// The name of our folder inside of a folder for all programs.
const FOLDER: &str = "fastkex";
/// The default folder for a user's state, below the home folder.
const STATE: &str = ".local/state";
/// Root's folder for state that is not needed after a restart.
const SYSTEM_RUNTIME: &str = "/run";

/// The modes of files and folders. Only the owner may read and write files, and enter folders.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
/// The sticky bit on a file: cleaners of $XDG_RUNTIME_DIR do not remove it (XDG Base Directory
/// Specification).
const STAYS: u32 = 0o1000;
const WRITABLE_BY_OTHERS: u32 = 0o022;
const ALL_OF_OTHERS: u32 = 0o077;

/// Writes `text` to a file with a name derived from its contents. The file stays as long as
/// programs may read it. The same text has the same file.
///
/// # Errors
/// No place for the file is safe from other users. The error names each place that was tried, with
/// the reason.
pub(super) fn write(text: &str) -> Result<PathBuf, Failure> {
    let user = geteuid();
    let mut reasons = Vec::new();
    for place in places(user) {
        match place.folder(user).and_then(|folder| write_in(&folder, text, user)) {
            Ok(path) => return Ok(path),
            Err(reason) => reasons.push(format!("{}: {reason}", place.origin)),
        }
    }
    Err(Failure::new(format!(
        "no place for the configuration where no other user could replace it: {}: \
         set XDG_STATE_HOME to a folder that only you can write to",
        reasons.join("; ")
    )))
}

/// A folder that may be safe.
struct Place {
    /// The variable or file that names the folder.
    origin: &'static str,
    path: Result<PathBuf, String>,
    /// The part of the path that must exist, and its required kind.
    base: Base,
}

enum Base {
    /// No part must exist; the whole path may be created.
    Any,
    /// A folder that must exist.
    Folder(PathBuf),
    /// A folder of this user that must exist. No other user may even enter it, and it must not be a
    /// symbolic link.
    Private(PathBuf),
}

/// Returns the places in the order in which they are tried. Folders that the environment names may
/// belong to another user, for example under sudo.
fn places(user: Uid) -> Vec<Place> {
    let absolute = |path: OsString| {
        let path = PathBuf::from(path);
        if path.is_absolute() { Ok(path) } else { Err("not an absolute path".to_owned()) }
    };
    let variable = |name: &str| match env::var_os(name) {
        Some(path) => absolute(path),
        None => Err("not set".to_owned()),
    };
    let of_home = |origin, home: Result<PathBuf, String>| {
        let home = home.and_then(|home| match home.parent() {
            Some(_) => Ok(home),
            None => Err("/ is no home folder".to_owned()),
        });
        let base = home.clone().map_or(Base::Any, Base::Folder);
        Place { origin, path: home.map(|home| home.join(STATE).join(FOLDER)), base }
    };

    let runtime = variable("XDG_RUNTIME_DIR");
    let mut places = vec![Place {
        origin: "XDG_RUNTIME_DIR",
        path: runtime.clone().map(|runtime| runtime.join(FOLDER)),
        base: runtime.map_or(Base::Any, Base::Private),
    }];
    places.push(Place {
        origin: "XDG_STATE_HOME",
        path: variable("XDG_STATE_HOME").map(|state| state.join(FOLDER)),
        base: Base::Any,
    });
    if user.is_root() {
        places.push(Place {
            origin: SYSTEM_RUNTIME,
            path: Ok(Path::new(SYSTEM_RUNTIME).join(FOLDER)),
            base: Base::Folder(SYSTEM_RUNTIME.into()),
        });
    }
    places.push(of_home("HOME", variable("HOME")));
    let entry = match User::from_uid(user) {
        Ok(Some(entry)) => absolute(entry.dir.into()),
        Ok(None) => Err(format!("no entry for user {user}")),
        Err(error) => Err(error.to_string()),
    };
    places.push(of_home("passwd", entry));
    places
}

impl Place {
    /// Returns the folder, after checking that no other user can replace it. Creates it if it does
    /// not exist.
    fn folder(&self, user: Uid) -> Result<PathBuf, String> {
        let path = self.path.as_ref().map_err(Clone::clone)?;
        match &self.base {
            Base::Any => {}
            Base::Folder(base) => {
                at(base, base.metadata())?.is_dir().then_some(()).ok_or_else(|| not_a(base))?;
            }
            Base::Private(base) => {
                let data = at(base, base.symlink_metadata())?;
                if !data.is_dir() {
                    return Err(not_a(base));
                }
                if data.uid() != user.as_raw() || data.mode() & ALL_OF_OTHERS != 0 {
                    return Err(format!("{} is open to other users", base.display()));
                }
            }
        }

        // Links are followed here for the last time: the path that is used contains none.
        let is_there = |path: &&Path| path.symlink_metadata().is_ok();
        let there = path.ancestors().find(is_there).unwrap_or(path);
        let mut folder = at(there, there.canonicalize())?;
        let from_the_root: Vec<_> = folder.ancestors().collect();
        for folder in from_the_root.into_iter().rev() {
            check_folder(folder, user)?;
        }
        let missing = path.strip_prefix(there).map_err(|error| error.to_string())?;
        for component in missing.components() {
            let Component::Normal(name) = component else { return Err(not_a(path)) };
            folder.push(name);
            match DirBuilder::new().mode(FOLDER_MODE).create(&folder) {
                // Another run of this command has created it.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => at(&folder, made)?,
            }
            check_folder(&folder, user)?;
        }
        let owner = at(&folder, folder.symlink_metadata())?.uid();
        if owner != user.as_raw() {
            return Err(format!("{} belongs to user {owner}", folder.display()));
        }
        Ok(folder)
    }
}

/// Checks that only `user` and root can change the contents of a folder. A sticky bit is not
/// enough: it protects existing files, but not a name that has become free.
pub(crate) fn check_folder(folder: &Path, user: Uid) -> Result<(), String> {
    let data = at(folder, folder.symlink_metadata())?;
    let shown = folder.display();
    if !data.is_dir() {
        return Err(not_a(folder));
    }
    if data.uid() != user.as_raw() && !Uid::from_raw(data.uid()).is_root() {
        return Err(format!("{shown} belongs to user {}", data.uid()));
    }
    if data.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(format!("other users can write to {shown}"));
    }
    Ok(())
}

fn write_in(folder: &Path, text: &str, user: Uid) -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let path = folder.join(format!("{:016x}.cnf", hasher.finish()));
    if holds(&path, text, user) {
        return Ok(path);
    }
    // The file is created under a temporary name, and renamed when it is complete. It is removed if
    // that fails.
    let new =
        tempfile::Builder::new().permissions(Permissions::from_mode(FILE_MODE)).tempfile_in(folder);
    let mut new = at(folder, new)?;
    at(&path, new.write_all(text.as_bytes()))?;
    let stays = Permissions::from_mode(FILE_MODE | STAYS);
    at(&path, new.as_file().set_permissions(stays))?;
    at(&path, new.persist(&path))?;
    Ok(path)
}

/// True if such a file of this user with these contents already exists.
fn holds(path: &Path, text: &str, user: Uid) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()).map(File::from) else {
        return false;
    };
    let is_ours = |data: Metadata| {
        data.is_file()
            && data.uid() == user.as_raw()
            && data.mode() & ALL_OF_OTHERS == 0
            && data.len() == text.len() as u64
    };
    let mut bytes = Vec::with_capacity(text.len());
    file.metadata().is_ok_and(is_ours)
        && file.take(text.len() as u64).read_to_end(&mut bytes).is_ok()
        && bytes == text.as_bytes()
}

/// Adds the path to an error.
fn at<T, E: std::fmt::Display>(path: &Path, result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| format!("{}: {error}", path.display()))
}

fn not_a(path: &Path) -> String {
    format!("{} is not a folder", path.display())
}
