//! Sources of OpenSSL in `openssl-src` crates that are no dependencies of this program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Fetches the crate of this version, such as `300.1.6+3.1.4`, and returns the folder of OpenSSL's
/// source. Cargo writes the crate into its own cache, and a manifest that names it is written below
/// `folder`.
pub(crate) fn fetch(version: &str, folder: &Path) -> Result<PathBuf, String> {
    let place = folder.join(format!("source-{version}"));
    let manifest = place.join("Cargo.toml");
    let number = version.split('+').next().unwrap_or(version);
    let text = format!(
        "[workspace]\n[package]\nname = \"source\"\nedition = \"2024\"\n\
         [lib]\npath = \"lib.rs\"\n[dependencies]\nopenssl-src = \"={number}\"\n"
    );
    let write = || {
        fs::create_dir_all(&place)?;
        fs::write(place.join("lib.rs"), "")?;
        fs::write(&manifest, text)
    };
    write().map_err(|error| format!("{}: {error}", place.display()))?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--quiet", "--format-version", "1", "--manifest-path"])
        .arg(&manifest)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("openssl-src {version}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages
        .filter(|package| package["name"] == "openssl-src" && package["version"] == version)
        .find_map(|package| package["manifest_path"].as_str())
        .ok_or_else(|| format!("cargo metadata: no openssl-src {version}"))?;
    Ok(Path::new(manifest).with_file_name("openssl"))
}
