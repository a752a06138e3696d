//! Loading and unloading a thousand times in two contexts, under valgrind: no leak, no invalid
//! access.

mod common;

use std::process::Command;

use common::c;

const ROUNDS: &str = "1000";

#[test]
fn a_thousand_loads_leave_nothing_behind() {
    if !c::there("valgrind") {
        artifacts::skipped("no valgrind (apt-get install valgrind)");
        return;
    }
    let Some(program) = c::compile("lifecycle") else { return };
    // The program loads the module by its name. Valgrind takes long for vectors of doubles.
    let text = format!(
        "openssl_conf = init\n[init]\nproviders = list\n[list]\nfastkex = ours\n[ours]\nmodule = {}\nbackend = portable\n\
         groups = all\nkey_files = on\n",
        common::module().display()
    );
    let configuration = program.folder.path().join("lifecycle.cnf");
    std::fs::write(&configuration, text).unwrap();
    let ran = Command::new("valgrind")
        .args(["--quiet", "--error-exitcode=9", "--leak-check=full"])
        .args(["--show-leak-kinds=definite,indirect,possible"])
        .args(["--errors-for-leak-kinds=definite,indirect,possible"])
        .arg(&program.path)
        .arg(&configuration)
        .arg(ROUNDS)
        .env_remove("OPENSSL_CONF")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}: {}", ran.status, c::errors(&ran));
}
