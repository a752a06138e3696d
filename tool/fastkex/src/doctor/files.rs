//! Files of an application's configuration, below the folder that stands for `/`.

use std::cell::Cell;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use glob::{MatchOptions, Pattern};

use super::shared_objects::Root;

/// The maximum size of one file, in bytes.
const MOST_BYTES: u64 = 1 << 24;
/// The maximum size of all files, in bytes.
const MOST_IN_ALL: u64 = 1 << 27;
/// The maximum number of files that are read for one application, and of files that a pattern
/// stands for.
const MOST_FILES: usize = 1000;
/// The maximum length of a name in a pattern, in bytes: that of a file's name.
const MOST_NAME: usize = 255;

/// Files below a root. There is a limit to the number and size of files that are read, each counted
/// as often as it is read.
pub(super) struct Files {
    root: Root,
    left: Cell<usize>,
    bytes_left: Cell<u64>,
}

/// A file and a line in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) file: Rc<str>,
    pub(super) line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Files {
    pub(super) fn below(root: Root) -> Self {
        Files { root, left: Cell::new(MOST_FILES), bytes_left: Cell::new(MOST_IN_ALL) }
    }

    pub(super) fn root(&self) -> &Root {
        &self.root
    }

    /// Returns the contents of the file at a path inside of the root. Bytes that are not UTF-8 are
    /// read as U+FFFD.
    ///
    /// # Errors
    /// A text that names the file and says why it was not read.
    pub(super) fn text(&self, path: &Path) -> Result<String, String> {
        let shown = self.root.shown(path);
        let Some(left) = self.left.get().checked_sub(1) else {
            return Err(format!("{}: more than {MOST_FILES} files", shown.display()));
        };
        self.left.set(left);
        let most = MOST_BYTES.min(self.bytes_left.get());
        let bytes = self.root.hold(path).and_then(|file| file.read(most));
        let bytes = bytes.map_err(|error| format!("{}: {error}", shown.display()))?;
        self.bytes_left.set(self.bytes_left.get().saturating_sub(bytes.len() as u64));
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The file's name in places: its path outside of the root.
    pub(super) fn name(&self, path: &Path) -> Rc<str> {
        self.root.shown(path).to_string_lossy().into()
    }

    pub(super) fn is_file(&self, path: &Path) -> bool {
        self.root.hold(path).and_then(|file| file.metadata()).is_ok_and(|data| data.is_file())
    }

    /// True if there is anything but a folder, for example a pipe in place of a program.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        self.root.hold(path).and_then(|file| file.metadata()).is_ok_and(|data| !data.is_dir())
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.root.hold(path).and_then(|file| file.metadata()).is_ok_and(|data| data.is_dir())
    }

    /// Returns the paths that a pattern of the shell stands for, sorted. A pattern without
    /// wildcards stands for itself. The pattern is relative to `folder`.
    pub(super) fn matching(&self, folder: &Path, pattern: &str) -> Vec<PathBuf> {
        let mut found = vec![PathBuf::from("/")];
        for component in folder.join(pattern).components() {
            let Component::Normal(name) = component else {
                if component == Component::ParentDir {
                    for path in &mut found {
                        path.pop();
                    }
                }
                continue;
            };
            let text = name.to_string_lossy();
            if !is_pattern(&text) {
                found.iter_mut().for_each(|path| path.push(name));
                continue;
            }
            let Some(pattern) = pattern_of(&text) else { return Vec::new() };
            let mut next = Vec::new();
            for path in found {
                let names = self.root.names(&path).into_iter();
                let matching = names.filter(|name| {
                    // As in the shell, a wildcard does not match the dot of a hidden file.
                    let options =
                        MatchOptions { require_literal_leading_dot: true, ..MatchOptions::new() };
                    pattern.matches_with(&name.to_string_lossy(), options)
                });
                next.extend(matching.map(|name| path.join(name)).take(MOST_FILES - next.len()));
            }
            found = next;
        }
        found
    }

    /// Returns the files below a folder at any depth, sorted; the path itself if it is a file.
    pub(super) fn all_below(&self, path: &Path) -> Vec<PathBuf> {
        let (mut files, mut folders) = (Vec::new(), vec![path.to_path_buf()]);
        // Each folder counts, so that folders without files end, too.
        for _ in 0..MOST_FILES {
            let Some(path) = folders.pop() else { break };
            if self.is_folder(&path) {
                let names = self.root.names(&path).into_iter().rev();
                folders.extend(names.map(|name| path.join(name)));
            } else {
                files.push(path);
            }
        }
        files
    }
}

/// True if a name has wildcards.
pub(super) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

fn pattern_of(name: &str) -> Option<Pattern> {
    // Two stars mean folders at any depth to the library, but one star to glob(3).
    let mut simple = String::new();
    for c in name.chars() {
        if c != '*' || !simple.ends_with('*') {
            simple.push(c);
        }
    }
    (simple.len() <= MOST_NAME).then(|| Pattern::new(&simple).ok()).flatten()
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;

    use super::*;

    /// Returns files with these paths and contents below a temporary folder.
    pub(in super::super) fn files(list: &[(&str, &str)]) -> (tempfile::TempDir, Files) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in list {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let files = Files::below(Root::new(folder.path()).unwrap());
        (folder, files)
    }

    #[test]
    fn patterns_stand_for_files_below_the_root() {
        let (folder, files) = files(&[
            ("etc/a/b.conf", ""),
            ("etc/a/a.conf", ""),
            ("etc/a/.c.conf", ""),
            ("etc/d/a.cfg", ""),
        ]);
        std::os::unix::fs::symlink("/", folder.path().join("etc/out")).unwrap();
        for (pattern, expected) in [
            ("a/*.conf", &["/etc/a/a.conf", "/etc/a/b.conf"] as &[&str]),
            ("/etc/a/**.conf", &["/etc/a/a.conf", "/etc/a/b.conf"]),
            ("*/a.*", &["/etc/a/a.conf", "/etc/d/a.cfg"]),
            ("a/none", &["/etc/a/none"]),
            ("../etc/a/[b-z].conf", &["/etc/a/b.conf"]),
            ("a/[", &[]),
            // The link leads to the root, not out of it.
            ("out/etc/a/*a.conf", &["/etc/out/etc/a/a.conf"]),
        ] {
            let found = files.matching(Path::new("/etc"), pattern);
            let expected: Vec<_> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(found, expected, "{pattern}");
        }
    }

    #[test]
    fn at_most_a_thousand_files_are_read() {
        let (_folder, files) = files(&[("a", "text")]);
        for _ in 0..MOST_FILES {
            assert_eq!(files.text(Path::new("/a")).as_deref(), Ok("text"));
        }
        assert!(files.text(Path::new("/a")).unwrap_err().contains("more than 1000 files"));
    }

    #[test]
    fn large_files_are_not_read() {
        let (folder, files) = files(&[("a", "")]);
        let set = |size: u64| {
            let file = fs::OpenOptions::new().write(true).open(folder.path().join("a")).unwrap();
            file.set_len(size).unwrap();
            files.text(Path::new("/a"))
        };
        assert!(set(MOST_BYTES + 1).unwrap_err().contains("more than 16777216 bytes"));
        for _ in 0..MOST_IN_ALL / MOST_BYTES {
            assert_eq!(set(MOST_BYTES).unwrap().len() as u64, MOST_BYTES);
        }
        assert!(set(1).unwrap_err().contains("more than 0 bytes"));
    }

    #[test]
    fn links_in_a_circle_end() {
        let (folder, files) = files(&[("a/b", "")]);
        std::os::unix::fs::symlink(".", folder.path().join("a/again")).unwrap();
        assert!(files.all_below(Path::new("/a")).len() < MOST_FILES);
    }
}
