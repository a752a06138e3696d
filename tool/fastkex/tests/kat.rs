//! Tests of `fastkex kat`: all known answers, and the errors for wrong files.

mod common;

use std::path::PathBuf;

use common::{Tool, assert_misused, assert_refused, stdout};
use serde_json::Value;

fn file(name: &str) -> PathBuf {
    artifacts::root().join("crypto/reference/kat").join(name)
}

const NAMES: [&str; 6] = [
    "sntrup653.kat",
    "sntrup761.kat",
    "sntrup857.kat",
    "sntrup953.kat",
    "sntrup1013.kat",
    "sntrup1277.kat",
];

#[test]
fn every_known_answer_matches_on_every_backend() {
    let tool = Tool::new();
    let files: Vec<_> = NAMES.iter().map(|name| file(name)).collect();
    let output = tool.command(&["kat", "--json"]).args(&files).output().unwrap();
    assert!(output.status.success(), "{}", stdout(&output));
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let results = results.as_array().unwrap();
    let backends = sntrup::Backend::available().count();
    let batches = [1, 2, 3, 31, 32, 33, 64];
    assert_eq!(results.len(), NAMES.len() * backends * batches.len());
    for result in results {
        // Key by key, a hundred counts and a sequence; in batches, only the sequence.
        let expected = if result["batch"] == 1 { 101 } else { 1 };
        assert_eq!(result["records"], expected, "{result}");
        assert_eq!(result["matched"], expected, "{result}");
        assert_eq!(result["mismatches"], Value::Array(Vec::new()));
    }
    for backend in sntrup::Backend::available() {
        artifacts::say(&format!("known answers ran on backend {}", backend.name()));
    }
}

#[test]
fn every_known_answer_of_ml_kem_matches_on_every_backend() {
    let tool = Tool::new();
    let sets = [("mlkem512", 124, 112), ("mlkem768", 125, 113), ("mlkem1024", 132, 120)];
    let files = sets.map(|(name, ..)| {
        let name = format!("{name}.kat");
        let text = std::fs::read_to_string(file("ml-kem").join(&name)).unwrap();
        // Without the record that takes longer than all others. The library's tests have it.
        let lines = text.lines().filter(|line| !line.contains(" rounds=10000 "));
        tool.write(&name, &lines.collect::<Vec<_>>().join("\n"))
    });
    let output = tool.command(&["kat", "--json"]).args(&files).output().unwrap();
    assert!(output.status.success(), "{}", stdout(&output));
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut results = results.as_array().unwrap().iter();
    for (name, records, key_pairs) in sets {
        for backend in sntrup::Backend::available() {
            for batch in [1, 2, 3, 31, 32, 33, 64] {
                let result = results.next().unwrap();
                assert_eq!(result["parameter_set"], name);
                assert_eq!(result["backend"], backend.name());
                assert_eq!(result["batch"], batch);
                // Key by key, all records; in batches, the records with a key pair.
                let expected = if batch == 1 { records } else { key_pairs };
                assert_eq!(result["records"], expected, "{result}");
                assert_eq!(result["matched"], expected, "{result}");
                assert_eq!(result["mismatches"], Value::Array(Vec::new()));
            }
        }
    }
    assert!(results.next().is_none());
}

#[test]
fn a_wrong_answer_of_ml_kem_is_counted_and_named() {
    let tool = Tool::new();
    let good = std::fs::read_to_string(file("ml-kem/mlkem512.kat")).unwrap();
    // A different key in count 3: key by key and in each batch.
    let lines: Vec<_> = good.lines().take(5).collect();
    let (before, digest) = lines[4].split_once(" ek_sha256=").unwrap();
    let other = if digest.starts_with('0') { "1" } else { "0" };
    let wrong = format!("{before} ek_sha256={other}{}", &digest[1..]);
    let text = [&lines[..4], &[&wrong]].concat().join("\n");
    let path = tool.write("bad.kat", &text);
    let output = tool.command(&["kat"]).arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    for how in ["key by key", "in batches of 2", "in batches of 64"] {
        assert!(text.contains(&format!("{how}: 3 of 4 matched")), "{text}");
    }
    assert!(text.contains("mlkem512 count=3"), "{text}");
}

#[test]
fn a_wrong_answer_is_counted_and_named() {
    let tool = Tool::new();
    let good = std::fs::read_to_string(file("sntrup653.kat")).unwrap();
    // A different shared secret in count 3, and a different digest in the sequence.
    let mut lines: Vec<String> = good.lines().map(str::to_owned).collect();
    let change = |line: &mut String, field: &str| {
        let at = line.find(field).unwrap() + field.len();
        let other = if &line[at..=at] == "0" { "1" } else { "0" };
        line.replace_range(at..=at, other);
    };
    change(&mut lines[3], " ss=");
    change(lines.last_mut().unwrap(), " pks_sha256=");
    let bad = tool.write("bad.kat", &(lines.join("\n") + "\n"));
    let output = tool.command(&["kat"]).arg(&bad).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("key by key: 99 of 101 matched"), "{text}");
    assert!(text.contains("in batches of 32: 0 of 1 matched"), "{text}");
    assert!(text.contains("count 3") || text.contains("count=3"), "{text}");
    let total = 107 * sntrup::Backend::available().count();
    let matched = 99 * sntrup::Backend::available().count();
    assert!(text.ends_with(&format!("{matched} of {total} matched\n")), "{text}");
}

#[test]
fn files_that_are_none_are_refused() {
    let tool = Tool::new();
    let refused = |name: &str, text: &str, expected: &str| {
        let path = tool.write(name, text);
        let output = tool.command(&["kat"]).arg(&path).output().unwrap();
        assert_refused(&output, expected);
        assert_refused(&output, name);
    };
    refused("empty.kat", "", "without a record");
    refused("words.kat", "hello\n", "line 1");
    refused("parameters.kat", "parameters=mlkem640\n", "parameters=mlkem512");
    refused("no-record.kat", "parameters=mlkem768\n", "without a record");
    refused("short.kat", "count=0 seed=00 pk=00\n", "line 1");
    let digests: String = std::fs::read_to_string(file("sntrup761.kat"))
        .unwrap()
        .lines()
        .skip(1)
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    refused("digests.kat", &digests, "pk");
    assert_refused(&tool.output(&["kat", "/nonexistent/x.kat"]), "No such file");
    assert_misused(&tool.output(&["kat"]), "FILES");
}
