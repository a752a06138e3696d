//! A program in C whose threads make and use keys, and that forks meanwhile: through libcrypto, no
//! key comes twice.

mod common;

use std::process::Command;

use common::c;

const KEYS: &str = "1000";

#[test]
fn threads_and_their_children_have_no_key_twice() {
    let Some(program) = c::compile("concurrency") else { return };
    for (settings, group, children) in [
        ("", "sntrup653", "64"),
        ("refill = background", "sntrup761", "64"),
        ("batch = 32", "X25519SNTRUP653", "64"),
        ("warmup = on\nwarmup_load = 0-4000000000", "sntrup653", "16"),
        ("pool = off", "sntrup653", "16"),
        ("x25519 = on", "X25519", "64"),
        ("x25519 = on\nrefill = background", "X25519", "16"),
    ] {
        // Without batches more keys would show nothing new.
        let keys = if settings == "pool = off" { "50" } else { KEYS };
        let ran = Command::new(&program.path)
            .args([group, children, keys])
            .env("OPENSSL_CONF", program.configure(settings))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{settings}: {}: {}", ran.status, c::errors(&ran));
        let made = String::from_utf8_lossy(&ran.stdout);
        artifacts::say(&format!(
            "{group}, '{}': {}, none twice",
            settings.replace('\n', ", "),
            made.trim_end()
        ));
    }
}
