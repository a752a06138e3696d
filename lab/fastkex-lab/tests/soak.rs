//! A short `fastkex-lab soak`. `FASTKEX_TEST_HANDSHAKES` sets the number of handshakes.

mod common;

use std::process::Command;

use common::assert_misused;
use serde_json::Value;

fn soak(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fastkex-lab"));
    command.arg("soak").args(arguments);
    command
}

#[test]
fn memory_stays_level() {
    if Command::new("nginx").arg("-v").output().is_err()
        && Command::new("/usr/sbin/nginx").arg("-v").output().is_err()
    {
        artifacts::skipped("no nginx program (apt-get install nginx)");
        return;
    }
    let count = std::env::var("FASTKEX_TEST_HANDSHAKES").unwrap_or_else(|_| "25000".into());
    let output = soak(&["--json", "--workers", "2", "--count", &count]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let report: Value = serde_json::from_slice(&output.stdout).expect(&errors);
    assert!(output.status.success(), "{report:#} {errors}");
    let count: u64 = count.parse().unwrap();
    let handshakes = report["handshakes"].as_u64().unwrap();
    assert!((count..=count + 1).contains(&handshakes), "{report:#}");
    assert_eq!(
        (&report["group"], report["processes"].as_array().unwrap().len()),
        (&"sntrup761".into(), 3)
    );
    for sample in report["samples"].as_array().unwrap() {
        let bytes = sample["resident_bytes"].as_array().unwrap();
        assert!(bytes.iter().all(|bytes| bytes.as_u64() > Some(1 << 20)), "{report:#}");
    }
    artifacts::say(&format!(
        "soak: {handshakes} handshakes, {:.1} s",
        report["seconds"].as_f64().unwrap()
    ));
}

#[test]
fn bad_arguments_are_errors() {
    for (arguments, expected) in [
        (["--count", "10"], "--count"),
        (["--group", "X25519"], "expected one of X25519MLKEM768, "),
        (["--workers", "0"], "--workers"),
    ] {
        assert_misused(&soak(&arguments).output().unwrap(), expected);
    }
}
