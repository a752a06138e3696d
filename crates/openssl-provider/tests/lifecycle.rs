//! Loading and unloading a thousand times in two contexts, under valgrind: no leak, no invalid access.

mod common;

use std::path::Path;
use std::process::{Command, Output};

const ROUNDS: &str = "1000";

fn there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_thousand_loads_leave_nothing_behind() {
    let Some(libraries) = common::libraries() else { return };
    for (program, package) in [("gcc", "gcc libssl-dev"), ("valgrind", "valgrind")] {
        if !there(program) {
            artifacts::skipped(&format!("no {program} (apt-get install {package})"));
            return;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("lifecycle");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lifecycle.c");
    let libcrypto = libraries.libcrypto_path();
    let compiled = Command::new("gcc")
        .args(["-Wall", "-Wextra", "-Werror", "-g", "-o"])
        .args([&program, &source])
        .arg(libcrypto)
        .arg(format!("-Wl,-rpath,{}", libcrypto.parent().unwrap().display()))
        .output()
        .unwrap();
    if !compiled.status.success() && text(&compiled).contains("openssl/err.h") {
        artifacts::skipped("no OpenSSL headers (apt-get install libssl-dev)");
        return;
    }
    assert!(compiled.status.success(), "{}", text(&compiled));

    let ran = Command::new("valgrind")
        .args(["--quiet", "--error-exitcode=9", "--leak-check=full"])
        .args(["--show-leak-kinds=definite,indirect,possible"])
        .args(["--errors-for-leak-kinds=definite,indirect,possible"])
        .arg(&program)
        .arg(common::module())
        .arg(ROUNDS)
        // Instructions that valgrind does not know are not to be chosen.
        .env("FASTKEX_BACKEND", "portable")
        .env_remove("OPENSSL_CONF")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}: {}", ran.status, text(&ran));
}
