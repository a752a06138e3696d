//! The module reads no environment variable: neither in a plain program nor in one that has more
//! rights than its caller.

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Output};

use common::{c, module};

/// A group that no user of a test is in.
const OTHER_GROUP: u32 = 65_534;
const SET_GROUP_ON_EXECUTION: u32 = 0o2755;

#[test]
fn the_environment_cannot_take_the_provider_away() {
    let Some(program) = c::compile("environment") else { return };
    let run = || -> Output {
        Command::new(&program.path)
            .arg(module())
            .env("FASTKEX_BACKEND", "x")
            .env_remove("OPENSSL_CONF")
            .output()
            .unwrap()
    };
    let plain = run();
    assert!(plain.status.success(), "{}: {}", plain.status, c::errors(&plain));

    if let Err(error) = chown(&program.path, None, Some(OTHER_GROUP)) {
        artifacts::skipped(&format!("no program with more rights than its caller: {error}"));
        return;
    }
    let permissions = fs::Permissions::from_mode(SET_GROUP_ON_EXECUTION);
    fs::set_permissions(&program.path, permissions).unwrap();
    let ran = run();
    if ran.stdout.starts_with(b"the caller's rights") {
        artifacts::skipped("programs in the folder for temporary files get no rights (nosuid)");
        return;
    }
    assert!(ran.status.success(), "{}: {}", ran.status, c::errors(&ran));
}
