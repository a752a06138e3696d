//! `make install` and `make uninstall`, with what has been built.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The files of an installation in the prefix `/usr/local`, without the man pages.
const FILES: [&str; 15] = [
    "bin/fastkex",
    "include/mlkem.h",
    "include/sntrup.h",
    "lib/fastkex/fastkex.so",
    "lib/libmlkem.a",
    "lib/libmlkem.so",
    "lib/libmlkem.so.0",
    "lib/libsntrup.a",
    "lib/libsntrup.so",
    "lib/libsntrup.so.0",
    "lib/pkgconfig/mlkem.pc",
    "lib/pkgconfig/sntrup.pc",
    "share/bash-completion/completions/fastkex",
    "share/fish/vendor_completions.d/fastkex.fish",
    "share/zsh/site-functions/_fastkex",
];

/// Runs make with the programs of the system only, so without cargo.
fn make(arguments: &[&str]) -> Output {
    Command::new("make")
        .args(arguments)
        .current_dir(artifacts::root())
        .env_remove("MAKEFLAGS")
        .env("PATH", "/usr/bin:/bin")
        .env("CARGO", "/nowhere/cargo")
        .output()
        .unwrap()
}

/// Returns true if there is something to install, and otherwise says that a test was skipped.
fn is_built() -> bool {
    let has_make = Command::new("make").arg("--version").output().is_ok();
    let is_built = artifacts::release_folder().join("pages").exists();
    if !has_make {
        artifacts::skipped("no make (apt-get install make)");
    } else if !is_built {
        artifacts::skipped("nothing to install was built (make)");
    }
    has_make && is_built
}

/// Returns the files below a folder, and the links.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path());
        }
    }
    found
}

fn standard_error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_is_installed_is_uninstalled() {
    if !is_built() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let destination = format!("DESTDIR={}", folder.path().display());
    let output = make(&["install", &destination]);
    assert!(output.status.success(), "{}", standard_error(&output));

    let prefix = folder.path().join("usr/local");
    let mut expected: BTreeSet<_> = FILES.iter().map(|file| prefix.join(file)).collect();
    let pages = artifacts::release_folder().join("pages/man1");
    let pages: Vec<_> = files(&pages).into_iter().collect();
    assert!(pages.len() > 6, "{pages:?}");
    let installed = |page: &PathBuf| prefix.join("share/man/man1").join(page.file_name().unwrap());
    expected.extend(pages.iter().map(installed));
    assert_eq!(files(folder.path()), expected);

    let uninstalled = make(&["uninstall", &destination]);
    assert!(uninstalled.status.success(), "{}", standard_error(&uninstalled));
    assert_eq!(files(folder.path()), BTreeSet::new());
    assert!(!prefix.join("lib/fastkex").exists());
}

/// The command finds the module that was installed with it.
#[test]
fn the_command_finds_its_module() {
    if !is_built() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let prefix = format!("PREFIX={}", folder.path().display());
    let installed = make(&["install", &prefix]);
    assert!(installed.status.success(), "{}", standard_error(&installed));
    let run = || {
        Command::new(folder.path().join("bin/fastkex"))
            .args(["run", "--", "true"])
            .env_remove("FASTKEX_MODULE")
            .output()
            .unwrap()
    };
    let with = run();
    if standard_error(&with).contains("libssl") {
        artifacts::skipped("no libssl (apt-get install libssl3)");
        return;
    }
    assert!(with.status.success(), "{}", standard_error(&with));
    // It finds no other one.
    std::fs::remove_file(folder.path().join("lib/fastkex/fastkex.so")).unwrap();
    let without = run();
    if without.status.success() {
        artifacts::skipped("libcrypto's folder has a module fastkex.so of its own");
        return;
    }
    let error = standard_error(&without);
    assert!(error.contains("no fastkex.so in ") && error.contains("/lib/fastkex,"), "{error}");
}

#[test]
fn folders_can_be_chosen() {
    if !is_built() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let destination = format!("DESTDIR={}", folder.path().display());
    let variables = [
        &destination,
        "PREFIX=/opt/tls",
        "LIBDIR=/opt/tls/lib64",
        "MODULESDIR=/opt/tls/lib64/ossl-modules",
        "ZSHDIR=/opt/tls/zsh",
    ];
    let with = |target| make(&[&[target], &variables[..]].concat());
    let installed = with("install");
    assert!(installed.status.success(), "{}", standard_error(&installed));
    let there = |file: &str| folder.path().join("opt/tls").join(file).exists();
    for file in ["lib64/ossl-modules/fastkex.so", "lib64/libsntrup.so.0", "zsh/_fastkex"] {
        assert!(there(file), "{file}");
    }
    assert!(!there("lib") && !folder.path().join("usr").exists());
    let description = folder.path().join("opt/tls/lib64/pkgconfig/mlkem.pc");
    let description = std::fs::read_to_string(description).unwrap();
    assert!(description.contains("libdir=/opt/tls/lib64\n"), "{description}");
    assert!(with("uninstall").status.success());
    assert_eq!(files(folder.path()), BTreeSet::new());
}

#[test]
fn nothing_is_installed_before_it_is_built() {
    if !is_built() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let destination = format!("DESTDIR={}", folder.path().display());
    let output = make(&["install", &destination, "OUT=/nowhere/release"]);
    let error = standard_error(&output);
    let lines: Vec<_> = error.lines().collect();
    // The second line is make's own.
    assert_eq!(lines[0], "make install: no /nowhere/release/fastkex: run make first");
    assert!(lines.len() == 2 && output.status.code() == Some(2), "{error}");
    assert_eq!(files(folder.path()), BTreeSet::new());
}
