//! What the tests of the command share.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The command, with the module built and an environment that nobody's settings reach into.
pub(crate) struct Tool {
    pub(crate) folder: TempDir,
    module: PathBuf,
}

impl Tool {
    pub(crate) fn new() -> Tool {
        let folder = tempfile::tempdir().unwrap();
        Tool { folder, module: artifacts::module().unwrap() }
    }

    /// The tool, or `None` with a line that says so where there is no OpenSSL.
    pub(crate) fn with_openssl() -> Option<Tool> {
        if Command::new("openssl").arg("version").output().is_err() {
            artifacts::skipped("no openssl program (apt-get install openssl)");
            return None;
        }
        Some(Self::new())
    }

    pub(crate) fn module(&self) -> &Path {
        &self.module
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fastkex"));
        command
            .args(arguments)
            .env("FASTKEX_MODULE", &self.module)
            .env("TMPDIR", self.folder.path())
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("OPENSSL_CONF")
            .env_remove("OPENSSL_MODULES");
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Bad input: exit code 2, nothing on standard output, and one line that holds `expected`.
pub(crate) fn assert_refused(output: &Output, expected: &str) {
    let (out, error) = (stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(2), "{expected}: {out}{error}");
    assert_eq!(out, "", "{expected}");
    assert_eq!(error.lines().count(), 1, "{expected}: {error}");
    assert!(error.starts_with("fastkex: ") && error.contains(expected), "{expected}: {error}");
}
