//! Programs with much thread-local storage, which glibc takes from the stacks of the module's
//! threads.

mod common;

use std::process::Command;

use common::c;

#[test]
fn threads_have_room_beside_the_programs_storage() {
    for bytes in [0, 235 << 10, 1 << 20, 16 << 20] {
        let storage = format!("-DSTORAGE_BYTES={}", bytes + 1);
        let Some(program) = c::compile_with("thread_storage", &[&storage]) else { return };
        for (thread, settings) in [
            ("fastkex-refill", "refill = background"),
            ("fastkex-warm-up", "warmup = on\nwarmup_load = 0-4000000000"),
        ] {
            let ran = Command::new(&program.path)
                .arg(thread)
                .env("OPENSSL_CONF", program.configure(settings))
                .output()
                .unwrap();
            assert!(
                ran.status.success(),
                "{thread}, {bytes} bytes: {}: {}",
                ran.status,
                c::errors(&ran)
            );
        }
    }
}
