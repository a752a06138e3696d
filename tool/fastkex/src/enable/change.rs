//! Changes of files: shown as a diff, made in order, undone if one fails.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use output::Failure;
use similar::TextDiff;

use super::files::{self, Contents};
use super::root::{Place, Root};

/// The lines around a change in a diff.
const CONTEXT: usize = 3;

/// The change of one file.
pub(super) struct Change {
    pub(super) place: Place,
    pub(super) before: Option<Contents>,
    pub(super) after: After,
}

/// The state of a file after the change.
pub(super) enum After {
    /// It has these contents.
    File(Contents),
    /// It is removed.
    Nothing,
    /// It was edited, and gets another name.
    Aside,
}

impl Change {
    fn make(&self) -> Result<(), Failure> {
        match &self.after {
            After::File(contents) => files::write(&self.place.real, contents),
            After::Nothing => files::remove(&self.place.real),
            After::Aside => files::set_aside(&self.place.real).map(|name| {
                output::note(format_args!(
                    "{} was edited after 'fastkex enable' had written it: it is now {}",
                    self.place.real.display(),
                    name.display()
                ));
            }),
        }
    }

    /// Restores the file as far as possible: after an error there is no other way left.
    fn undo(&self) {
        if files::read(&self.place.real).is_ok_and(|present| present == self.before) {
            return;
        }
        let restored = match &self.before {
            Some(contents) => files::write(&self.place.real, contents),
            None => files::remove(&self.place.real),
        };
        if let Err(failure) = restored {
            output::note(format_args!("cannot be restored: {failure}"));
        }
    }

    /// Returns the change as a unified diff.
    fn diff(&self) -> String {
        let text = |contents: &Contents| String::from_utf8_lossy(&contents.bytes).into_owned();
        let path = self.place.real.display().to_string();
        let (old, old_name) = match &self.before {
            Some(contents) => (text(contents), &*path),
            None => (String::new(), "/dev/null"),
        };
        let (new, new_name) = match &self.after {
            After::File(contents) => (text(contents), &*path),
            After::Nothing => (String::new(), "/dev/null"),
            After::Aside => return String::new(),
        };
        let diff = TextDiff::from_lines(&*old, &*new);
        let diff =
            diff.unified_diff().context_radius(CONTEXT).header(old_name, new_name).to_string();
        printable(&diff)
    }
}

/// Escapes control characters, which could control the terminal.
fn printable(text: &str) -> String {
    let mut printable = String::new();
    for character in text.chars() {
        match character {
            '\n' | '\t' => printable.push(character),
            _ if character.is_control() => printable.extend(character.escape_default()),
            _ => printable.push(character),
        }
    }
    printable
}

/// Returns the changes as one diff.
pub(super) fn diff(changes: &[Change]) -> String {
    let mut text = String::new();
    for change in changes {
        let _ = write!(text, "{}", change.diff());
    }
    text
}

/// Makes the changes in their order, and then calls `check`. If one of these fails, undoes all.
///
/// # Errors
/// The error of the change or of the check.
pub(super) fn make(
    changes: &[Change],
    check: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut made = 0;
    let all = changes.iter().try_for_each(|change| {
        made += 1;
        change.make()
    });
    all.and_then(|()| check()).inspect_err(|_| {
        for change in changes[..made].iter().rev() {
            change.undo();
        }
    })
}

/// Creates folders, the outermost first.
///
/// # Errors
/// One cannot be created. Those before it were created.
pub(super) fn make_folders(root: &Root, folders: &[PathBuf]) -> Result<(), Failure> {
    folders.iter().try_for_each(|folder| files::make_folder(&root.real(folder)))
}

/// Removes those of the folders that are empty, the innermost first, and returns the others.
pub(super) fn remove_folders(root: &Root, folders: &[PathBuf]) -> Vec<PathBuf> {
    let stays = |folder: &&PathBuf| {
        let path: &Path = &root.real(folder);
        fs::remove_dir(path).is_err() && path.symlink_metadata().is_ok()
    };
    let mut stay: Vec<_> = folders.iter().rev().filter(stays).cloned().collect();
    stay.reverse();
    stay
}
