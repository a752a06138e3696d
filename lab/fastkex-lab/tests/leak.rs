//! `fastkex-lab leak`: its output, errors and exit status, and that it finds a leak. These tests do
//! not judge the times of real operations.

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

use common::{assert_misused, assert_refused, stderr, stdout};
use serde_json::Value;
use sntrup::Backend;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fastkex-lab"));
    command.arg("leak").args(arguments);
    command
}

fn leak(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn rows(output: &Output) -> Vec<Value> {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

#[test]
fn a_leak_is_found() {
    let rows = rows(&leak(&["--self-check", "--json"]));
    let [leaky, constant] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((&leaky["operation"], &leaky["verdict"]), (&"leaky control".into(), &"leak".into()));
    // Different bytes end the comparison sooner.
    assert!(leaky["t"].as_f64().unwrap().abs() >= 10.0, "{leaky}");
    assert!(leaky["difference"].as_f64().unwrap() < 0.0, "{leaky}");
    assert_eq!(constant["operation"], "constant control");

    let output = leak(&["--self-check"]);
    let text = stdout(&output);
    assert!(
        text.starts_with("Self-check: the leaky control is found (t = "),
        "{text}{}",
        stderr(&output)
    );
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn curves_are_timed() {
    let arguments = ["--json", "--algorithm", "ed25519,x25519", "--samples", "4096"];
    let backend = Backend::best().name();
    let output = leak(&[&arguments[..], &["--backend", backend]].concat());
    let rows = rows(&output);
    let found: Vec<_> = rows[2..]
        .iter()
        .map(|row| ["algorithm", "operation"].map(|key| row[key].as_str().unwrap()))
        .collect();
    let expected = [
        ["x25519", "keygen"],
        ["x25519", "keygen"],
        ["x25519", "derive"],
        ["x25519", "derive-eight"],
        ["ed25519", "keygen"],
        ["ed25519", "sign"],
    ];
    assert_eq!(found, expected);
    assert_refused(&leak(&["--operation", "sign", "--samples", "4096"]), "--operation sign");
}

#[test]
fn ml_kem_is_timed() {
    let arguments = ["--json", "--algorithm", "mlkem512,mlkem1024", "--samples", "4096"];
    let backend = Backend::best().name();
    let output = leak(&[&arguments[..], &["--backend", backend]].concat());
    let rows = rows(&output);
    let keys = ["algorithm", "operation", "classes"];
    let found: Vec<_> =
        rows[2..].iter().map(|row| keys.map(|key| row[key].as_str().unwrap())).collect();
    let expected: Vec<_> = ["mlkem512", "mlkem1024"]
        .iter()
        .flat_map(|&name| {
            let decapsulations = ["decapsulate", "decapsulate-expanded"].map(|operation| {
                [
                    [name, operation, "accepted or altered ciphertext"],
                    [name, operation, "accepted or arbitrary ciphertext"],
                    [name, operation, "fixed or random s and z"],
                ]
            });
            [[name, "encapsulate", "fixed or random m"]]
                .into_iter()
                .chain(decapsulations.into_iter().flatten())
        })
        .collect();
    assert_eq!(found, expected);
    // The time of key generation depends on the matrix, which is public.
    let keygen = leak(&["--algorithm", "mlkem768", "--operation", "keygen"]);
    assert_refused(&keygen, "--operation keygen: not one of --algorithm mlkem768");
}

#[test]
fn json_has_its_fields() {
    let arguments = ["--json", "--algorithm", "sntrup653", "--samples", "4096"];
    let backend = Backend::best().name();
    let output = leak(&[&arguments[..], &["--backend", backend]].concat());
    let mut found = BTreeSet::new();
    for row in &rows(&output)[2..] {
        assert_eq!(
            (&row["algorithm"], &row["backend"]),
            (&"sntrup653".into(), &backend.into()),
            "{row}"
        );
        assert_eq!(row["complete"], true, "{row}");
        let samples = row["samples"].as_u64().unwrap();
        assert!((1500..=2048).contains(&samples), "{row}");
        for key in ["t", "difference", "error", "median"] {
            assert!(row[key].as_f64().is_some_and(f64::is_finite), "{key}: {row}");
        }
        let share = row["share"].as_f64().unwrap();
        assert!(share > 0.0 && share <= 1.0, "{row}");
        assert!(["mean", "spread"].contains(&row["of"].as_str().unwrap()), "{row}");
        let verdict = row["verdict"].as_str().unwrap();
        assert_eq!(row["visible"].is_null(), verdict == "leak", "{row}");
        assert!(["nothing", "suspicious", "leak"].contains(&verdict), "{row}");
        let key = ["operation", "classes"].map(|key| row[key].as_str().unwrap().to_owned());
        assert!(found.insert(key), "{row} is there twice");
    }
    let operations: BTreeSet<_> = found.iter().map(|[operation, _]| operation.as_str()).collect();
    let expected = [
        "decapsulate",
        "decapsulate-expanded",
        "encapsulate",
        "encapsulate-prepared",
        "keygen",
        "prepare",
    ];
    assert_eq!(operations, BTreeSet::from(expected));
    assert_eq!(found.len(), 13, "{found:?}");
}

#[test]
fn the_table_says_what_a_leak_is() {
    let arguments = ["--backend", Backend::best().name(), "--operation", "prepare,encapsulate"];
    let text = stdout(&leak(&[&arguments[..], &["--seconds", "0.001"]].concat()));
    assert!(text.starts_with("Self-check: the leaky control is found"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("| sntrup761 ")).count(), 2, "{text}");
    assert!(text.contains("A leak is an absolute t of 10 or more") && text.contains("Machine: "));
}

#[test]
fn an_interrupted_run_tells_what_it_has() {
    let mut child = command(&["--operation", "encapsulate", "--seconds", "3600"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    out.read_line(&mut text).unwrap();
    let process = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    out.read_to_string(&mut text).unwrap();
    let output = child.wait_with_output().unwrap();
    // A shell expects this signal.
    assert_eq!(output.status.signal(), Some(2), "{text}");
    assert_eq!(stderr(&output), "fastkex-lab: incomplete: interrupted\n");
    assert!(text.contains(" of 1 leak") || text.contains(" of 0 leak"), "{text}");
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("| sntrup761 ")).collect();
    assert!(lines.iter().all(|line| line.contains("incomplete")), "{text}");
}

#[test]
fn what_cannot_be_tested_is_refused() {
    for (arguments, expected) in [
        (&["--algorithm", "sntrup762"][..], "sntrup762"),
        (&["--backend", "sse2"], "expected one of portable"),
        (&["--operation", "decapsulat"], "decapsulat"),
        (&["--seconds", "0"], "expected a number from 0.001 to 3600"),
        (&["--seconds", "long"], "expected a number from 0.001 to 3600"),
        (&["--samples", "100"], "expected a number from 4096 to 8388608"),
        (&["--samples", "many"], "expected a number from 4096 to 8388608"),
        (&["--samples", "5000", "--seconds", "1"], "cannot be used with"),
        (&["--self-check", "--backend", "portable"], "cannot be used with"),
    ] {
        assert_misused(&leak(arguments), expected);
    }
}
