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
