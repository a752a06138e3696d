//! Finds `fastkex.so`.

use std::path::{Path, PathBuf};

use openssl_runtime::Libraries;

use output::Failure;

/// The module's file name, and the file name that cargo gives it.
const NAMES: [&str; 2] = ["fastkex.so", "libfastkex_provider.so"];
/// The environment variable that names the module, for scripts. `--module` overrides it.
const VARIABLE: &str = "FASTKEX_MODULE";

/// Returns the module's absolute path. If no path was requested, searches the folder of this
/// program and the folders of an installation.
///
/// # Errors
/// The module is in none of these places.
pub fn find(asked_for: Option<&Path>, libraries: &Libraries) -> Result<PathBuf, Failure> {
    let named = asked_for
        .map(|path| ("--module", path.to_path_buf()))
        .or_else(|| Some((VARIABLE, std::env::var_os(VARIABLE)?.into())));
    if let Some((origin, path)) = named {
        return path
            .canonicalize()
            .map_err(|error| Failure::new(format!("{origin}: {}: {error}", path.display())));
    }
    let mut folders = Vec::new();
    if let Some(folder) = std::env::current_exe().ok().as_deref().and_then(Path::parent) {
        folders.push(folder.to_path_buf());
        if let Some(prefix) = folder.parent() {
            folders.push(prefix.join("lib/fastkex"));
        }
    }
    folders.push(libraries.modules_dir());
    let candidates = folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    for candidate in candidates {
        if let Ok(path) = candidate.canonicalize() {
            return Ok(path);
        }
    }
    let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Err(Failure::new(format!(
        "no {} in {}: build it with 'make', or name it with --module PATH",
        NAMES[0],
        folders.join(", ")
    )))
}
