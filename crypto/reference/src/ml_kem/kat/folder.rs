//! Known answers in a folder outside of the repository.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use super::{KatFile, parse};

/// The environment variable with the folder's path.
pub const FOLDER: &str = "FASTKEX_ML_KEM_VECTORS";

/// Returns the files `*.kat` of the folder that [`FOLDER`] names, and of the folders in it, by
/// path. Returns `None` if the variable is not set.
///
/// # Panics
/// There is no such file, or one cannot be read.
pub fn of_folder() -> Option<Vec<(PathBuf, KatFile)>> {
    let folder = env::var_os(FOLDER)?;
    let mut paths = Vec::new();
    find(Path::new(&folder), &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "{FOLDER}: no file *.kat in {}", folder.display());
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{FOLDER}: {}: {error}", path.display()));
        let file = parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, file)
    };
    Some(paths.into_iter().map(read).collect())
}

fn find(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{FOLDER}: {}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            find(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "kat") {
            found.push(path);
        }
    }
}
