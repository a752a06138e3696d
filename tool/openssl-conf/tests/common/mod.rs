//! What the tests share.

#![allow(dead_code)] // each test file is a crate of its own and takes what it needs

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use openssl_conf::{Config, Error, Release};

/// The environment of the tests, for us and for OpenSSL.
pub(crate) const ENVIRONMENT: [(&str, &str); 3] =
    [("HOME", "/home/someone"), ("ODD", r#"a $b "c" #d"#), ("EMPTY", "")];

/// Releases on both sides of every change.
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

/// Says in one line that a test was skipped; past the test harness, which keeps printed lines to itself.
pub(crate) fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Writes a file of a temporary directory.
pub(crate) fn write(directory: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// The settings of a section as `key=value`.
pub(crate) fn settings(config: &Config, section: &str) -> Vec<String> {
    let Some(section) = config.section(section) else { panic!("no section {section}") };
    section.entries().map(|entry| format!("{}={}", entry.key, entry.value)).collect()
}

/// SplitMix64: the same numbers in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    pub(crate) fn pick<'a, S: AsRef<str>>(&mut self, from: &'a [S]) -> &'a str {
        from[self.below(from.len())].as_ref()
    }
}
