//! The module's side of what libcrypto promises to callers, in a C program; and once more under
//! valgrind, which sees what is read that nobody has written.

mod common;

use std::process::Command;

use common::{c, module};

#[test]
fn callers_get_what_the_manuals_promise() {
    let Some(program) = c::compile("contracts") else { return };
    let configuration = program.configure("x25519 = on\ned25519 = on");
    let run = |command: &mut Command| {
        let ran = command.env("OPENSSL_CONF", &configuration).output().unwrap();
        assert!(ran.status.success(), "{}: {}", ran.status, c::errors(&ran));
    };
    run(Command::new(&program.path).arg(module()));
    if !c::there("valgrind") {
        artifacts::skipped("no valgrind (apt-get install valgrind)");
        return;
    }
    run(Command::new("valgrind")
        .args(["--quiet", "--error-exitcode=9"])
        .arg(&program.path)
        .arg(module())
        .arg("buffers"));
}
