//! Environment variables of the module's in programs that have more rights than their caller: they
//! are the caller's, and not read.

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Command, Output};

use common::{c, module};

/// A group that no user of a test is in.
const OTHER_GROUP: u32 = 65_534;
const SET_GROUP_ON_EXECUTION: u32 = 0o2755;

#[test]
fn a_caller_without_rights_cannot_take_the_provider_away() {
    let Some(program) = c::compile("environment") else { return };
    let run = |value: &str| -> Output {
        Command::new(&program.path)
            .arg(module())
            .env("FASTKEX_BACKEND", value)
            .env_remove("OPENSSL_CONF")
            .output()
            .unwrap()
    };
    let wrong = run("x");
    assert!(!wrong.status.success());
    let errors = c::errors(&wrong);
    assert!(errors.contains("FASTKEX_BACKEND: unknown backend 'x': expected one of"), "{errors}");
    assert!(run("portable").status.success());

    if let Err(error) = chown(&program.path, None, Some(OTHER_GROUP)) {
        artifacts::skipped(&format!("no program with more rights than its caller: {error}"));
        return;
    }
    let permissions = fs::Permissions::from_mode(SET_GROUP_ON_EXECUTION);
    fs::set_permissions(&program.path, permissions).unwrap();
    let ran = run("x");
    if ran.stdout.starts_with(b"the caller's rights") {
        artifacts::skipped("programs in the folder for temporary files get no rights (nosuid)");
        return;
    }
    assert!(ran.status.success(), "{}: {}", ran.status, c::errors(&ran));
}
