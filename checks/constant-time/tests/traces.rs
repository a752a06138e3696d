//! Traces of every operation on AVX-512: the processor takes the same path and accesses the same
//! addresses for all secrets.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::PathBuf;
use std::sync::LazyLock;

use constant_time::trace::{Difference, Failure, Recorder, Trace};
use lanes::Backend;

/// Returns a recorder of the program, or `None`, and prints a line with the reason, if nothing can
/// be recorded here.
fn recorder() -> Option<Recorder> {
    static PROGRAM: LazyLock<PathBuf> =
        LazyLock::new(|| artifacts::build("constant-time", "traced").unwrap());
    if let Err(error) = Backend::named("avx512") {
        artifacts::skipped(&format!("traces on avx512: {error}"));
        return None;
    }
    let mut recorder = Recorder::new(&PROGRAM);
    match recorder.record(&["leak", "nothing", "000"]) {
        Ok(_) => Some(recorder),
        Err(Failure::Refused(why)) => {
            artifacts::skipped(&format!("traces on avx512: {why}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn record(recorder: &mut Recorder, set: &str, operation: &str, secret: u8) -> Trace {
    // Of equal length, so that the stack is the same.
    let secret = format!("{secret:03}");
    let trace = recorder.record(&[set, operation, &secret]);
    trace.unwrap_or_else(|error| panic!("{set} {operation} {secret}: {error}"))
}

/// Returns the first trace, which all others must equal.
fn assert_same(recorder: &mut Recorder, set: &str, runs: &[(&str, u8)]) -> Trace {
    let (operation, secret) = runs[0];
    let first = record(recorder, set, operation, secret);
    for &(other, number) in &runs[1..] {
        let trace = record(recorder, set, other, number);
        if let Some(difference) = recorder.compare(&first, &trace) {
            panic!("{set} {operation} {secret}, {other} {number}: {difference}");
        }
    }
    let forbidden = recorder.forbidden(&first);
    assert!(forbidden.is_empty(), "{set} {operation}: {forbidden:#?}");
    let wide = recorder.wide(&first);
    assert!(wide > 100, "{set} {operation}: {wide} instructions of AVX-512");
    first
}

/// Checks all operations of a set. For key generation the numbers give an invertible g at once, as
/// invertibility is public.
fn assert_all_same(set: &str, generation: &[(&'static str, u8)]) {
    let Some(recorder) = &mut recorder() else { return };
    let mut runs = vec![
        vec![("encapsulate", 1), ("encapsulate", 2), ("encapsulate", 3)],
        vec![("prepare-batch", 1), ("prepare-batch", 2)],
        vec![("read", 1), ("read", 2)],
        vec![("expand", 1), ("expand", 2)],
    ];
    let ciphertexts = |names: [&'static str; 5]| {
        let numbers = [1, 2, 3, 4, 5];
        names.into_iter().zip(numbers).collect()
    };
    runs.push(ciphertexts([
        "decapsulate:made",
        "decapsulate:made",
        "decapsulate:bent",
        "decapsulate:fake",
        "decapsulate:wild",
    ]));
    runs.push(ciphertexts([
        "decapsulate-expanded:made",
        "decapsulate-expanded:made",
        "decapsulate-expanded:bent",
        "decapsulate-expanded:fake",
        "decapsulate-expanded:wild",
    ]));
    if !generation.is_empty() {
        runs.push(generation.to_vec());
    }
    for runs in runs {
        report(recorder, set, &runs);
    }
}

/// Runs [`assert_same`] and prints a line about it.
fn report(recorder: &mut Recorder, set: &str, runs: &[(&str, u8)]) {
    let trace = assert_same(recorder, set, runs);
    let (operation, count) = (runs[0].0.trim_end_matches(":made"), runs.len());
    artifacts::say(&format!(
        "{set} {operation}: {count} secrets, {} steps each, {} places that divide, the same numbers each time",
        trace.steps,
        recorder.divisions(&trace).len(),
    ));
}

#[test]
fn curves_go_one_way() {
    let Some(recorder) = &mut recorder() else { return };
    for operation in ["generate", "generate-batch", "derive", "derive-batch"] {
        report(recorder, "x25519", &[(operation, 1), (operation, 2)]);
    }
    for operation in ["generate", "generate-batch", "sign"] {
        report(recorder, "ed25519", &[(operation, 1), (operation, 2)]);
    }
}

/// Checks all operations of a set of ML-KEM except key generation: each seed of a key gives another
/// seed of the matrix, and sampling of the matrix takes a path that depends on that, which is
/// public. The keys here have one encapsulation key.
fn assert_ml_kem_same(set: &str) {
    let Some(recorder) = &mut recorder() else { return };
    report(recorder, set, &[("encapsulate", 1), ("encapsulate", 2), ("encapsulate", 3)]);
    let runs = ["made", "made", "else", "wild"].map(|key| format!("read-expand:{key}"));
    report(recorder, set, &numbered(&runs));
    for operation in ["decapsulate", "decapsulate-expanded"] {
        let runs = ["made", "made", "bent", "fake", "else", "wild"]
            .map(|ciphertext| format!("{operation}:{ciphertext}"));
        report(recorder, set, &numbered(&runs));
    }
}

/// Returns runs with the secrets 1, 2, ...
fn numbered(runs: &[String]) -> Vec<(&str, u8)> {
    runs.iter().map(String::as_str).zip(1..).collect()
}

#[test]
fn mlkem512_goes_one_way() {
    assert_ml_kem_same("mlkem512");
}

#[test]
fn mlkem768_goes_one_way() {
    assert_ml_kem_same("mlkem768");
}

#[test]
fn mlkem1024_goes_one_way() {
    assert_ml_kem_same("mlkem1024");
}

#[test]
fn sntrup653_goes_one_way() {
    assert_all_same("sntrup653", &[]);
}

#[test]
fn sntrup761_goes_one_way() {
    assert_all_same("sntrup761", &[("generate-batch", 1), ("generate-batch", 2)]);
}

#[test]
fn sntrup761_is_generated_one_way() {
    let Some(recorder) = &mut recorder() else { return };
    assert_same(recorder, "sntrup761", &[("generate", 1), ("generate", 2)]);
}

#[test]
fn sntrup857_goes_one_way() {
    assert_all_same("sntrup857", &[]);
}

#[test]
fn sntrup953_goes_one_way() {
    assert_all_same("sntrup953", &[]);
}

#[test]
fn sntrup1013_goes_one_way() {
    assert_all_same("sntrup1013", &[]);
}

#[test]
fn sntrup1277_goes_one_way() {
    assert_all_same("sntrup1277", &[("generate", 1), ("generate", 2)]);
}

/// Returns the first difference between the traces of two secrets, if there is one.
fn leak(recorder: &mut Recorder, how: &str) -> Option<Difference> {
    let traces = [1, 2].map(|secret| record(recorder, "leak", how, secret));
    recorder.compare(&traces[0], &traces[1])
}

#[test]
fn leaks_are_found() {
    let Some(recorder) = &mut recorder() else { return };
    assert!(leak(recorder, "nothing").is_none());
    for (how, expected) in [
        ("branch", "goes on to"),
        ("trips", "goes on to"),
        ("index", "touches memory at"),
        ("division", "works on"),
    ] {
        let difference = leak(recorder, how).unwrap_or_else(|| panic!("{how}: not found"));
        // In the kernel itself, not in its consequences.
        let found = difference.what.starts_with(expected) && difference.place.contains("lanes::");
        assert!(found, "{how}: {difference}");
    }
    let trace = record(recorder, "leak", "division", 1);
    assert!(recorder.divisions(&trace).iter().any(|place| place.contains("lanes::")));
}

/// Between stops addresses are computed from the registers at the stops. This must not change the
/// trace.
#[test]
fn stopping_rarely_shows_the_same() {
    let Some(recorder) = &mut recorder() else { return };
    let run = ["sntrup653", "expand", "001"];
    let rarely = recorder.record(&run).unwrap();
    let mut single_steps = Recorder::new(recorder.program()).with_single_steps();
    let often = single_steps.record(&run).unwrap();
    let difference = recorder.compare(&rarely, &often);
    assert!(difference.is_none(), "{difference:?}");
    assert_eq!(rarely.steps, often.steps);
}
