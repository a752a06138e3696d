//! If memory runs out, operations that need much of it fail with an error, and the program goes on.

mod common;

use std::process::Command;

use common::c;

#[test]
fn programs_survive_without_memory() {
    let Some(program) = c::compile_with("memory", &["-rdynamic"]) else { return };
    let ran = Command::new(&program.path)
        .env("OPENSSL_CONF", program.configure("x25519 = on"))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}: {}", ran.status, c::errors(&ran));
    artifacts::say(String::from_utf8_lossy(&ran.stdout).trim_end());
}
