//! Helpers for the tests of the commands: the program under test, its environment, and checks of
//! refused input.

#![allow(dead_code)]

pub(crate) mod output;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The program under test: `fastkex` or `fastkex-lab`. The tests of `fastkex-lab` include this
/// file.
pub(crate) const PROGRAM: &str =
    match (option_env!("CARGO_BIN_EXE_fastkex"), option_env!("CARGO_BIN_EXE_fastkex-lab")) {
        (Some(path), _) | (None, Some(path)) => path,
        (None, None) => panic!("no program to test"),
    };

/// The command, with the built module and an environment without the user's settings.
pub(crate) struct Tool {
    pub(crate) folder: TempDir,
    /// A folder below which no other user can write, such as a home folder, and unlike /tmp.
    pub(crate) home: TempDir,
    module: PathBuf,
}

impl Tool {
    pub(crate) fn new() -> Tool {
        let folder = tempfile::tempdir().unwrap();
        let home = tempfile::tempdir_in(private_folder()).unwrap();
        make_folder(home.path(), 0o700, None);
        Tool { folder, home, module: artifacts::module().unwrap() }
    }

    /// Returns the tool; `None`, after a message, without OpenSSL.
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
        let mut command = Command::new(PROGRAM);
        command
            .args(arguments)
            .env("FASTKEX_MODULE", &self.module)
            .env("TMPDIR", self.folder.path())
            .env("HOME", self.home.path())
            .env("XDG_RUNTIME_DIR", self.home.path())
            .env_remove("XDG_STATE_HOME")
            .env_remove("OPENSSL_CONF")
            .env_remove("OPENSSL_MODULES");
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

/// Returns a folder that no other user can replace, as `fastkex run` requires. It must not be below
/// a folder such as /tmp, which may contain the checkout. If tests can become another user, that
/// user can enter it.
fn private_folder() -> PathBuf {
    let user = std::fs::metadata("/proc/self").unwrap().uid();
    let is_private = |folder: &PathBuf| {
        folder.ancestors().all(|folder| {
            let data = folder.metadata();
            data.is_ok_and(|data| {
                let is_open = user != 0 || data.mode() & 0o001 != 0;
                [0, user].contains(&data.uid()) && data.mode() & 0o022 == 0 && is_open
            })
        })
    };
    let home = std::env::var_os("HOME").map(PathBuf::from);
    [Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR"))), home, Some("/run".into())]
        .into_iter()
        .flatten()
        .filter_map(|folder| folder.canonicalize().ok())
        .find(is_private)
        .expect("the checkout, $HOME or /run must be in a folder that only this user can write to")
}

/// The number of a user and group without rights, for tests with another user.
pub(crate) const NOBODY: u32 = 65534;

/// True if this process may become another user. Otherwise prints that a test was skipped.
pub(crate) fn is_root() -> bool {
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        artifacts::skipped("no other user can be had (run as root)");
    }
    is_root
}

/// Creates a folder with this mode, and with this owner if one is given.
pub(crate) fn make_folder(path: &Path, mode: u32, owner: Option<u32>) {
    std::fs::create_dir_all(path).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    std::os::unix::fs::chown(path, owner, owner).unwrap();
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the start of each line on standard error: the program's name.
pub(crate) fn prefix() -> String {
    format!("{}: ", Path::new(PROGRAM).file_name().unwrap().display())
}

/// Checks the response to bad input: exit status 2, nothing on standard output, and one line that
/// contains `expected`.
pub(crate) fn assert_refused(output: &Output, expected: &str) {
    let (out, error) = (stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(2), "{expected}: {out}{error}");
    assert_eq!(out, "", "{expected}");
    assert_eq!(error.lines().count(), 1, "{expected}: {error}");
    assert!(error.starts_with(&prefix()) && error.contains(expected), "{expected}: {error}");
}

/// Checks the response to wrong usage: exit status 2, nothing on standard output, and clap's error
/// with `expected` in its first paragraph.
pub(crate) fn assert_misused(output: &Output, expected: &str) {
    let (out, error) = (stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(2), "{expected}: {out}{error}");
    assert_eq!(out, "", "{expected}");
    let first = error.split("\n\n").next().unwrap();
    assert!(first.starts_with("error: ") && first.contains(expected), "{expected}: {error}");
    assert!(error.ends_with("For more information, try '--help'.\n"), "{error}");
}

/// Returns a run in the timers' format, with invented numbers.
pub(crate) fn run() -> Value {
    let sample = |seconds: f64| {
        json!({
            "connections": 2, "failures": 0, "seconds": seconds, "user_seconds": 0.001, "kernel_seconds": 0.001,
            "server_seconds": null, "microseconds": [700, 800],
        })
    };
    let series = json!({
        "label": "X25519", "requests": null, "group": "X25519", "group_id": 29, "certificate": "RSA-2048",
        "traffic": {
            "messages": [], "handshake_sent": 0, "handshake_received": 0, "sent": 0, "received": 0, "data_sent": 0, "data_received": 0,
        },
        "samples": [sample(0.0015), sample(0.0016)], "first_failure": null,
    });
    json!({
        "what": "tls", "target": "localhost:443", "client": "OpenSSL 3.0.22", "scene": null, "machine": measure::machine(),
        "load": null, "plan": { "samples": 2, "connections": 2, "warm_up": 0, "concurrency": 1 }, "complete": true,
        "series": [series], "peaks": [],
    })
}
