//! The licences of the crates that are linked into what a release has.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use output::Failure;
use serde_json::Value;

/// The beginnings of the names of files with a licence's text, in capitals.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// A line between two texts.
const RULE: &str =
    "------------------------------------------------------------------------------------------";

/// A crate of a registry: its name and version.
type Crate = (String, String);

/// Returns a document: a line for each crate with its licence, then each text with the names of the
/// crates that have it.
///
/// # Errors
/// Cargo fails, or a crate names no licence.
pub(crate) fn collect(packages: &[String]) -> Result<String, Failure> {
    let linked = linked(packages)?;
    let metadata = cargo(&["metadata", "--locked", "--format-version", "1"])?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(Failure::about("cargo metadata"))?;
    let mut lines = String::new();
    let mut texts = BTreeMap::<String, BTreeSet<&str>>::new();
    let mut found = BTreeSet::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let field = |name: &str| package[name].as_str().unwrap_or_default();
        let (name, version) = (field("name"), field("version"));
        let this = (name.to_owned(), version.to_owned());
        if package["source"].is_null() || !linked.contains(&this) {
            continue;
        }
        let licence = field("license");
        if licence.is_empty() {
            return Err(Failure::new(format!("the crate {name} {version} names no licence")));
        }
        let _ = writeln!(lines, "{name} {version}: {licence}");
        let folder = Path::new(field("manifest_path")).parent().unwrap_or(Path::new(""));
        for text in texts_in(folder)? {
            texts.entry(text).or_default().insert(name);
        }
        found.insert(this);
    }
    if let Some((name, version)) = linked.difference(&found).next() {
        return Err(Failure::new(format!("cargo metadata has no crate {name} {version}")));
    }

    let mut document = format!(
        "These crates are linked into {}, and the Rust standard library:\n\n{lines}\
         standard library: MIT OR Apache-2.0, see https://www.rust-lang.org/policies/licenses\n",
        packages.join(", ")
    );
    // The texts most crates have come first.
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    for (text, names) in texts {
        let names: Vec<_> = names.into_iter().collect();
        let _ = write!(document, "\n{RULE}\n{}\n{RULE}\n\n{text}", names.join(", "));
    }
    Ok(document)
}

/// Returns the crates of registries that are linked into packages of this workspace. Crates that
/// only run while others are compiled are not.
fn linked(packages: &[String]) -> Result<BTreeSet<Crate>, Failure> {
    let mut arguments = vec!["tree", "--locked", "--edges", "normal,no-proc-macro"];
    arguments.extend(["--prefix", "none", "--format", "{p}"]);
    for package in packages {
        arguments.extend(["--package", package]);
    }
    // `name vVERSION`, and the folder of a crate that is not from a registry.
    let words = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        let version = words.next()?.strip_prefix('v')?.to_owned();
        let is_ours = words.any(|word| word.starts_with("(/"));
        (!is_ours).then_some((name, version))
    };
    Ok(cargo(&arguments)?.lines().filter_map(words).collect())
}

/// Returns the texts of licences in a crate's folder.
fn texts_in(folder: &Path) -> Result<Vec<String>, Failure> {
    let about = || folder.display();
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(Failure::about(about()))? {
        let entry = entry.map_err(Failure::about(about()))?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if NAMES.iter().any(|beginning| name.starts_with(beginning)) && entry.path().is_file() {
            paths.push(entry.path());
        }
    }
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).map_err(Failure::about(path.display()))?;
        let lines: Vec<_> = text.trim().lines().map(str::trim_end).collect();
        Ok(lines.join("\n") + "\n")
    };
    paths.iter().map(read).collect()
}

/// Runs cargo in the current folder's workspace and returns its output.
fn cargo(arguments: &[&str]) -> Result<String, Failure> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program).args(arguments).output().map_err(Failure::about("cargo"))?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failure::new(format!("cargo {}: {error}", arguments[0])));
    }
    String::from_utf8(output.stdout).map_err(Failure::about("cargo"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_have_lines_and_texts() {
        let document = collect(&["openssl-provider".to_owned()]).unwrap();
        let (lines, texts) = document.split_once(RULE).unwrap();
        assert!(lines.contains("\ngraviola 0."), "{lines}");
        // Crates of this workspace, macros and what only tests use are not linked.
        for other in ["kex", "tempfile", "zerocopy-derive"] {
            assert!(!lines.contains(&format!("\n{other} ")), "{other}: {lines}");
        }
        assert!(texts.contains("Permission is hereby granted, free of charge"));
        assert!(texts.contains("Apache License"));
    }
}
