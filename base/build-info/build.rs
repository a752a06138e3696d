//! Finds out the compiler, the target and the commit, and passes them to the crate.

#![forbid(unsafe_code)]

use std::env;
use std::path::Path;
use std::process::Command;

/// The variable that names the commit where there is no repository: in an unpacked archive.
const VARIABLE: &str = "FASTKEX_COMMIT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let target = env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=BUILD_TARGET={target}");
    let compiler = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let compiler = output(Command::new(compiler).arg("--version"));
    let compiler = compiler.unwrap_or_else(|| "rustc of an unknown version".to_owned());
    println!("cargo::rustc-env=BUILD_RUSTC={compiler}");
    let commit = env::var(VARIABLE).ok().filter(|commit| !commit.is_empty());
    // Only release builds name the repository's commit. Otherwise each commit would compile all
    // tests again.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = commit.or_else(|| if is_release { commit_of_repository() } else { None });
    let source = commit.map_or_else(|| "no known commit".to_owned(), |it| format!("commit {it}"));
    println!("cargo::rustc-env=BUILD_SOURCE={source}");
}

/// Returns the commit that is checked out, with `-dirty` if files differ from it; `None` if these
/// sources are not a repository of their own.
fn commit_of_repository() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().ok()?;
    let git = |arguments: &[&str]| {
        output(Command::new("git").arg("-C").arg(&root).arg("--no-optional-locks").args(arguments))
    };
    if Path::new(&git(&["rev-parse", "--show-toplevel"])?) != root {
        return None;
    }
    // This log gets a line with each commit and each change of branch.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        let log = root.join(log);
        if log.exists() {
            println!("cargo::rerun-if-changed={}", log.display());
        }
    }
    git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
}

/// Returns the first line that a program prints; `None` if it fails.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(str::to_owned)
}
