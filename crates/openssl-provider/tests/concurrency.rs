//! A program in C whose threads make and use keys, and that forks meanwhile: through libcrypto, no key comes twice.

mod common;

use std::process::Command;

use common::c;

const CHILDREN: &str = "64";
const KEYS: &str = "1000";

#[test]
fn threads_and_their_children_have_no_key_twice() {
    let Some(program) = c::compile("concurrency") else { return };
    for (settings, group) in [
        ("", "sntrup653"),
        ("refill = background", "sntrup761"),
        ("batch = 32", "X25519SNTRUP653"),
        ("pool = off", "sntrup653"),
    ] {
        // Without batches there is no more to be seen with many.
        let keys = if settings == "pool = off" { "50" } else { KEYS };
        let ran = Command::new(&program.path)
            .args([group, CHILDREN, keys])
            .env("OPENSSL_CONF", program.configure(settings))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{settings}: {}: {}", ran.status, c::errors(&ran));
        let made = String::from_utf8_lossy(&ran.stdout);
        artifacts::say(&format!("{group}, '{settings}': {}, none twice", made.trim_end()));
    }
}
