//! `fastkex-lab ceiling` with a minimal run, using the installed servers.

mod common;

use std::process::{Command, Output};

use common::{assert_misused, assert_refused};
use serde_json::Value;

fn ceiling(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fastkex-lab")).arg("ceiling").args(arguments).output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_group_is_measured_beside_the_null_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ceiling.json");
    let file = file.to_str().unwrap();
    let output = ceiling(&["--rounds", "1", "--seconds", "0.01", "--json", file]);
    let errors = errors(&output);
    if errors.contains("no OpenSSL 3.0 or later found") {
        artifacts::skipped(errors.trim());
        return;
    }
    assert!(output.status.success(), "{errors}");
    for line in errors.lines().filter(|line| line.contains("left out")) {
        artifacts::skipped(line);
    }
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let rows = rows.as_array().unwrap();
    let servers: &[_] =
        if errors.contains("left out: nginx") { &["minimal"] } else { &["minimal", "nginx"] };
    for server in servers {
        for certificate in ["RSA-2048", "ECDSA P-256", "Ed25519"] {
            let of_both = ["null", "null-small", "sntrup761", "X25519SNTRUP761", "X25519", "P-256"];
            let by_fastkex = ["X25519, fastkex", "X25519MLKEM768, fastkex"];
            let of_minimal = by_fastkex.into_iter().filter(|_| *server == "minimal");
            for group in of_both.into_iter().chain(of_minimal) {
                let found: Vec<_> = rows
                    .iter()
                    .filter(|row| row["server"] == *server && row["group"] == group)
                    .filter(|row| row["certificate"] == certificate)
                    .collect();
                assert_eq!(found.len(), 1, "{server}, {certificate}, {group}: {table}");
                let ratios = ["ratio_to_null", "ratio_to_null_small", "ratio_to_x25519"];
                for number in ratios.into_iter().chain(["connections_per_second"]) {
                    assert!(found[0][number].as_f64().unwrap() > 0.0, "{number} of {}", found[0]);
                }
                assert!(found[0]["openssl"].as_str().unwrap().starts_with(['3', '4']));
                assert!(table.contains(group) && table.contains(certificate));
            }
        }
    }
    for certificate in ["RSA-2048", "ECDSA P-256", "Ed25519"] {
        for group in [
            "null",
            "null-small",
            "sntrup761",
            "X25519",
            "X25519, fastkex",
            "X25519MLKEM768, fastkex",
        ] {
            let found: Vec<_> = rows
                .iter()
                .filter(|row| row["server"] == "in-process" && row["group"] == group)
                .filter(|row| row["certificate"] == certificate)
                .collect();
            assert_eq!(found.len(), 1, "in-process, {certificate}, {group}: {table}");
            let microseconds = found[0]["microseconds"].as_f64().unwrap();
            let parts = ["client_microseconds", "server_microseconds"];
            for part in parts.map(|part| found[0][part].as_f64().unwrap()) {
                assert!(part > 0.0 && part < 1.5 * microseconds, "{}", found[0]);
            }
        }
    }
    let nulls = || rows.iter().filter(|row| row["group"] == "null");
    for row in nulls() {
        let ratio =
            if row["server"] == "in-process" { "cpu_ratio_to_null" } else { "ratio_to_null" };
        assert_eq!(row[ratio], 1.0, "{row}");
    }
    assert_eq!(nulls().count(), 3 * (1 + servers.len()));
}

#[test]
fn wrong_arguments_are_errors() {
    for (arguments, expected) in [
        (["--rounds", "0"], "expected a number from 1 to 10000"),
        (["--seconds", "nan"], "expected a number from 0.001 to 60"),
        (["--server", "apache"], "'apache'"),
        (["--certificate", "dsa"], "'dsa'"),
        (["--speed", "1"], "--speed"),
    ] {
        assert_misused(&ceiling(&arguments), expected);
    }
    assert_refused(&ceiling(&["--openssl", "/no/such/folder"]), "/no/such/folder");
}
