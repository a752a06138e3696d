//! Tests of `fastkex speed`: its output and its errors. They do not check the speed of anything.

mod common;

use std::collections::BTreeSet;
use std::process::{Command, Output};

use common::{assert_misused, assert_refused, stderr, stdout};
use serde_json::Value;
use sntrup::Backend;

fn speed(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fastkex"));
    command.arg("speed").args(arguments).output().unwrap()
}

/// Checks that an algorithm has exactly these operations, with these sizes of batches.
fn assert_operations(algorithm: &str, operations: &[(&str, u64)]) {
    let output =
        speed(&["--json", "--algorithm", algorithm, "--batch", "4,1,4", "--seconds", "0.01"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found = BTreeSet::new();
    for row in rows.as_array().unwrap() {
        assert_eq!(row["algorithm"], algorithm);
        let key = [&row["operation"], &row["backend"]].map(|value| value.as_str().unwrap());
        let new = found.insert((key[0], row["batch"].as_u64().unwrap(), key[1]));
        assert!(new, "{row} is there twice");
        assert!(row["nanoseconds"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["spread"].as_f64().unwrap() >= 0.0, "{row}");
        assert!(row["samples"].as_u64().unwrap() >= 3, "{row}");
        match row["core_cycles"].as_f64() {
            Some(cycles) => assert!(cycles > 0.0, "{row}"),
            None if cfg!(target_arch = "x86_64") => panic!("{row}"),
            None => {}
        }
    }
    let expected: BTreeSet<_> = operations
        .iter()
        .flat_map(|&(name, batch)| {
            Backend::available().map(move |backend| (name, batch, backend.name()))
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn json_has_every_operation_on_every_backend() {
    let common = [
        ("keygen", 1),
        ("keygen", 4),
        ("encapsulate", 1),
        ("encapsulate-from-bytes", 1),
        ("decapsulate", 1),
        ("decapsulate-expanded", 1),
    ];
    let prepared = [("prepare", 1), ("prepare", 4), ("encapsulate-prepared", 1)];
    assert_operations("sntrup653", &[&common[..], &prepared].concat());
    for algorithm in ["mlkem512", "mlkem768", "mlkem1024"] {
        assert_operations(algorithm, &common);
    }
}

#[test]
fn handshakes_are_measured_with_and_without_the_module() {
    let module = artifacts::module().unwrap();
    let speed = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fastkex"));
        command.args(["speed", "--handshakes"]).args(arguments);
        command.env("FASTKEX_MODULE", &module).output().unwrap()
    };
    let output = speed(&[
        "--json",
        "--seconds",
        "0.05",
        "--certificate",
        "ecdsa-p-256,ed25519",
        "--groups",
        "sntrup653",
    ]);
    if stderr(&output).contains("no OpenSSL 3.0 or later found") {
        return artifacts::skipped("no OpenSSL 3.0 or later");
    }
    assert!(output.status.success(), "{}", stderr(&output));
    let costs: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(costs["openssl"].as_str().unwrap().starts_with(['3', '4']), "{costs}");
    assert!(costs["machine"]["processors"].as_u64() > Some(0), "{costs}");
    for certificate in ["ecdsa-p-256", "ed25519"] {
        for (group, module) in [
            ("X25519", "not-loaded"),
            ("X25519", "unused"),
            ("X25519", "used"),
            ("P-256", "not-loaded"),
            ("sntrup653", "used"),
        ] {
            let mut found = costs["rows"].as_array().unwrap().iter().filter(|row| {
                row["certificate"] == certificate
                    && row["group"] == group
                    && row["module"] == module
            });
            let row = found.next().unwrap();
            assert!(found.next().is_none(), "{row} is there twice");
            let number = |name: &str| row[name].as_f64().unwrap();
            let [client, server] = [number("client_microseconds"), number("server_microseconds")];
            assert!(client > 0.0 && server > 0.0, "{row}");
            // The parts are nearly all of it; quartiles need not add up.
            let both = number("microseconds");
            assert!((0.5..1.5).contains(&((client + server) / both)), "{row}");
            assert!(number("ratio") > 0.0 && row["handshakes"].as_u64() >= Some(3), "{row}");
        }
    }

    let output = speed(&["--seconds", "0.02"]);
    assert!(output.status.success(), "{}", stderr(&output));
    for text in
        ["loaded, not used", "against X25519", "X25519MLKEM768", "X25519SNTRUP761", "Machine: "]
    {
        assert!(stdout(&output).contains(text), "{}", stdout(&output));
    }
    assert_refused(
        &speed(&["--groups", "P-256"]),
        "P-256 is no group of the module: expected X25519MLKEM768",
    );
    assert_refused(&speed(&["--libssl", "/no/such/folder"]), "/no/such/folder");
    assert_misused(&speed(&["--certificate", "dsa"]), "dsa");
    assert_misused(&speed(&["--pool"]), "--pool");
}

#[test]
fn vector_units_rest_if_asked_to() {
    for (arguments, cold) in [(&["--cold"][..], true), (&[], false)] {
        let common = ["--json", "--algorithm", "x25519", "--batch", "1", "--seconds", "0.01"];
        let output = speed(&[&common, arguments].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(rows.as_array().unwrap().iter().all(|row| row["cold"] == cold), "{rows}");
    }
    assert_misused(&speed(&["--cold", "--pool"]), "--cold");
}

#[test]
fn curves_are_measured() {
    let arguments = ["--json", "--algorithm", "ed25519,x25519", "--batch", "3"];
    let output = speed(&[&arguments[..], &["--seconds", "0.01"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            assert!(row["nanoseconds"].as_f64().unwrap() > 0.0, "{row}");
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            (text("algorithm"), text("operation"), row["batch"].as_u64().unwrap(), text("backend"))
        })
        .collect();
    let operations = [
        ("x25519", "keygen", 3),
        ("x25519", "derive", 1),
        ("x25519", "derive-eight", 8),
        ("ed25519", "keygen", 3),
        ("ed25519", "sign", 1),
        ("ed25519", "verify", 1),
    ];
    let expected: Vec<_> = operations
        .iter()
        .flat_map(|&(algorithm, operation, batch)| {
            Backend::available().map(move |backend| {
                (algorithm.to_owned(), operation.to_owned(), batch, backend.name().to_owned())
            })
        })
        .collect();
    assert_eq!(found, expected);
    assert_refused(&speed(&["--pool", "--algorithm", "x25519"]), "expected one of sntrup653");
}

#[test]
fn the_table_says_where_and_how_it_was_measured() {
    let arguments = ["--algorithm", "sntrup761,sntrup653", "--backend", "portable", "--batch", "2"];
    let output = speed(&[&arguments[..], &["--seconds", "0.001"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("| sntrup")).collect();
    assert_eq!(lines.len(), 2 * 7, "{text}");
    assert!(
        lines[0].starts_with("| sntrup653 | keygen                 |     2 | portable |"),
        "{text}"
    );
    assert!(text.contains("Measured: ") && text.contains("Machine: ") && text.contains("rustc 1."));
    assert_eq!(text.contains("is no release build"), cfg!(debug_assertions), "{text}");
}

#[test]
fn pools_are_measured_in_every_mode() {
    let output = speed(&["--pool", "--json", "--algorithm", "sntrup653", "--seconds", "0.02"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found = BTreeSet::new();
    for row in rows.as_array().unwrap() {
        let number = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name}: {row}"));
        let times = ["p50", "p99", "p999", "max"].map(|at| number(&format!("{at}_nanoseconds")));
        assert!(times.is_sorted() && times[0] > 0.0, "{row}");
        assert!(number("keys") >= 1.0 && number("per_second") > 0.0, "{row}");
        let pool = row["pool"].as_str().unwrap().to_owned();
        found.insert((pool, row["threads"].as_u64().unwrap(), row["load"].is_null()));
    }
    assert_eq!((rows.as_array().unwrap().len(), found.len()), (24, 4 * (4 + 1)));

    let sets = "sntrup653,mlkem512";
    let output = speed(&["--pool", "--algorithm", sets, "--seconds", "0.001"]);
    let text = stdout(&output);
    for set in sets.split(',') {
        let row = format!("| {set}");
        assert_eq!(text.lines().filter(|line| line.starts_with(&row)).count(), 24, "{text}");
    }
    assert_misused(&speed(&["--pool", "--batch", "1"]), "cannot be used with");
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let refused = |arguments: &[&str], expected: &[&str]| {
        let output = speed(arguments);
        for text in expected {
            assert_misused(&output, text);
        }
    };
    refused(
        &["--algorithm", "sntrup762"],
        &["sntrup762", "sntrup653, sntrup761", "sntrup1277, mlkem512", "all"],
    );
    refused(&["--algorithm", "sntrup761,"], &["--algorithm"]);
    refused(&["--backend", "neon"], &["neon", "portable, avx2, avx512"]);
    refused(&["--backend", "portable,AVX2"], &["AVX2", "portable, avx2, avx512"]);
    for batch in ["0", "65537", "-1", "many", "1,0", "18446744073709551616"] {
        refused(&[&format!("--batch={batch}")], &["--batch", "from 1 to 65536"]);
    }
    for seconds in ["0", "-1", "nan", "inf", "soon", "1e9"] {
        refused(&[&format!("--seconds={seconds}")], &["--seconds", "from 0.001 to 3600"]);
    }
    refused(&["keygen"], &["keygen"]);
    for name in Backend::NAMES.iter().filter(|name| Backend::named(name).is_err()) {
        refused(&["--backend", name], &["this processor has no"]);
    }
}
