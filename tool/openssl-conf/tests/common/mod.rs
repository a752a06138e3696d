//! Helpers that the tests share.

#![allow(dead_code)] // each test file is a crate of its own and uses only some of them

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use openssl_conf::{Config, Error, Release};

/// The environment of the tests, for our code and for OpenSSL.
pub(crate) const ENVIRONMENT: [(&str, &str); 3] =
    [("HOME", "/home/someone"), ("ODD", r#"a $b "c" #d"#), ("EMPTY", "")];

/// Releases on both sides of every change of the rules.
pub(crate) const RELEASES: [Release; 4] =
    [Release::new(3, 0), Release::new(3, 3), Release::new(3, 5), Release::new(4, 0)];

pub(crate) fn env(name: &str) -> Option<String> {
    ENVIRONMENT.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
}

pub(crate) fn parse(text: &str) -> Result<Config, Error> {
    Config::parse(text, Path::new("test.cnf"), &env)
}

pub(crate) fn config(text: &str) -> Config {
    parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Prints one line that says that a test was skipped. Writes to standard error directly, because
/// the test harness captures printed lines.
pub(crate) fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Writes a file in a temporary directory.
pub(crate) fn write(directory: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Returns the settings of a section as `key=value`.
pub(crate) fn settings(config: &Config, section: &str) -> Vec<String> {
    let Some(section) = config.section(section) else { panic!("no section {section}") };
    section.entries().map(|entry| format!("{}={}", entry.key, entry.value)).collect()
}
