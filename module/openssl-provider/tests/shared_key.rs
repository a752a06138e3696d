//! Children that are forked while threads use the key that they use: no lock of the module's is
//! left held in a child.

mod common;

use std::process::Command;

use common::c;

const CHILDREN: &str = "300";

#[test]
fn children_use_a_key_that_threads_of_their_parent_are_using() {
    let Some(program) = c::compile("shared_key") else { return };
    let configuration = program.configure("x25519 = on\ned25519 = on");
    let (ours, theirs) = ("provider=fastkex", "provider=default");
    for (name, properties) in [
        // A process that hangs here hangs in libcrypto or in this test.
        ("ED25519", theirs),
        ("X25519", theirs),
        ("ED25519", ours),
        ("X25519", ours),
        ("sntrup761", ours),
        ("X25519SNTRUP761", ours),
    ] {
        for what in ["read", "use"] {
            let ran = Command::new(&program.path)
                .args([name, properties, what, CHILDREN])
                .env("OPENSSL_CONF", &configuration)
                .output()
                .unwrap();
            assert!(
                ran.status.success(),
                "{name}, {properties}, {what}: {}: {}",
                ran.status,
                c::errors(&ran)
            );
        }
    }
}
