//! The folder that stands for `/`, and the paths below it.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use nix::unistd::geteuid;
use output::Failure;

use crate::run::file::check_folder;

/// The maximum number of symbolic links in a path, as in the kernel.
const MOST_LINKS: usize = 40;

/// A folder that stands for `/`: links below it do not lead outside.
pub(super) struct Root {
    path: PathBuf,
}

/// A path below the root without links.
pub(super) struct Place {
    /// The path for this process.
    pub(super) real: PathBuf,
    /// The path for programs in the system that the root stands for.
    pub(super) inside: PathBuf,
}

impl Root {
    /// # Errors
    /// There is no such folder.
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        let about = || format!("--root {}", path.display());
        let path = path.canonicalize().map_err(Failure::about(about()))?;
        if !path.is_dir() {
            return Err(Failure::new(format!("{}: not a folder", about())));
        }
        Ok(Root { path })
    }

    /// True if this is the running system.
    pub(super) fn is_system(&self) -> bool {
        self.path == Path::new("/")
    }

    /// Returns the path for this process of an absolute path inside. Does not follow links.
    pub(super) fn real(&self, inside: &Path) -> PathBuf {
        self.path.join(inside.strip_prefix("/").unwrap_or(inside))
    }

    /// Follows the links of an absolute path inside. Its last components need not exist.
    ///
    /// # Errors
    /// There are too many links, or a part of the path cannot be read.
    pub(super) fn resolve(&self, inside: &Path) -> Result<Place, Failure> {
        let parts = |path: &Path| -> Vec<PathBuf> {
            path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
        };
        let mut found = PathBuf::from("/");
        let mut left = parts(inside);
        let mut links = 0;
        while let Some(part) = left.pop() {
            match part.components().next() {
                Some(Component::RootDir) => found = PathBuf::from("/"),
                Some(Component::ParentDir) => {
                    found.pop();
                }
                Some(Component::Normal(name)) => {
                    let path = found.join(name);
                    match self.real(&path).read_link() {
                        Ok(target) => {
                            links += 1;
                            if links > MOST_LINKS {
                                let shown = self.real(inside);
                                return Err(Failure::new(format!(
                                    "{}: too many symbolic links",
                                    shown.display()
                                )));
                            }
                            left.extend(parts(&target));
                        }
                        // No link (EINVAL), or nothing.
                        Err(error)
                            if [ErrorKind::InvalidInput, ErrorKind::NotFound]
                                .contains(&error.kind()) =>
                        {
                            found = path;
                        }
                        Err(error) => return Err(about(&self.real(&path), error)),
                    }
                }
                _ => {}
            }
        }
        Ok(Place { real: self.real(&found), inside: found })
    }

    /// Checks that no other user can replace a file at this path, which [`Root::resolve`] has
    /// returned: each existing folder above it belongs to root or this user, who alone can write
    /// to it.
    ///
    /// # Errors
    /// The folder that others can change.
    pub(super) fn check_folders(&self, place: &Place) -> Result<(), Failure> {
        let above = place.real.ancestors().skip(1);
        let below_root = above.take_while(|folder| folder.starts_with(&self.path));
        let existing = below_root.filter(|folder| folder.symlink_metadata().is_ok());
        for folder in existing {
            check_folder(folder, geteuid())
                .map_err(|problem| Failure::new(format!("{problem}: nothing is written there")))?;
        }
        Ok(())
    }

    /// Returns the folders above a place that do not exist, the outermost first.
    pub(super) fn missing_folders(&self, place: &Place) -> Vec<PathBuf> {
        let above = place.inside.ancestors().skip(1);
        let is_missing = |folder: &&Path| self.real(folder).symlink_metadata().is_err();
        let mut missing: Vec<_> = above.take_while(is_missing).map(Path::to_path_buf).collect();
        missing.reverse();
        missing
    }
}

/// Adds a path to an error.
pub(super) fn about(path: &Path, error: std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_stay_below_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("usr/lib/ssl")).unwrap();
        std::fs::create_dir_all(at("etc/ssl")).unwrap();
        symlink("/etc/ssl/openssl.cnf", at("usr/lib/ssl/openssl.cnf")).unwrap();
        symlink("../../../../../../etc/ssl", at("usr/lib/ssl/up")).unwrap();
        symlink("loop", at("loop")).unwrap();
        let root = Root::new(folder.path()).unwrap();
        for (path, expected) in [
            ("/usr/lib/ssl/openssl.cnf", "/etc/ssl/openssl.cnf"),
            ("/usr/lib/ssl/up/x", "/etc/ssl/x"),
            ("/../..", "/"),
            ("/absent/folder/file", "/absent/folder/file"),
        ] {
            let place = root.resolve(Path::new(path)).unwrap();
            assert_eq!(place.inside, Path::new(expected), "{path}");
            assert_eq!(place.real, root.real(Path::new(expected)));
        }
        assert!(root.resolve(Path::new("/loop/x")).is_err());
        let place = root.resolve(Path::new("/a/b/c")).unwrap();
        assert_eq!(root.missing_folders(&place), [Path::new("/a"), Path::new("/a/b")]);
    }
}
