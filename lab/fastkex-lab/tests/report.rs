//! `fastkex-lab plot FILE` and `fastkex-lab report`: the files that they write and refuse. The
//! crate `figures` tests the contents.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use common::{assert_misused, assert_refused, run, stderr, stdout};

fn fastkex(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fastkex-lab"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn figures_and_samples_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("run.json"), run().to_string()).unwrap();
    let output = fastkex(at, &["plot", "run.json", "--output", "a"]);
    assert_eq!((output.status.code(), &*stderr(&output)), (Some(0), ""));
    let expected = [
        "a.json",
        "a.csv",
        "a-connections.csv",
        "a-rates.svg",
        "a-rates.png",
        "a-times.svg",
        "a-times.png",
    ];
    assert_eq!(stdout(&output).lines().collect::<Vec<_>>(), expected);
    assert!(expected.iter().all(|name| at.join(name).metadata().unwrap().len() > 50));
    assert!(fs::read(at.join("a-rates.png")).unwrap().starts_with(b"\x89PNG"));
    let output = fastkex(at, &["plot", "a.json", "--output", "b", "--format", "svg"]);
    assert!(output.status.success() && !at.join("b-rates.png").exists());
    // The input is not overwritten.
    let output = fastkex(at, &["plot", "run.json", "--output", "run"]);
    assert!(output.status.success() && stdout(&output).starts_with("run.json\nrun.csv\n"));
    assert_eq!(fs::read_to_string(at.join("run.json")).unwrap(), run().to_string());
    let again = |name: &str| fs::read_to_string(at.join(name)).unwrap();
    assert_eq!(again("a-rates.svg"), again("b-rates.svg"));
}

#[test]
fn a_report_is_written_beside_its_samples() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("run.json"), run().to_string()).unwrap();
    let output = fastkex(
        at,
        &["report", "run.json", "run.json", "--output", "page.html", "--title", "A & B"],
    );
    assert_eq!((output.status.code(), &*stderr(&output)), (Some(0), ""));
    let page = fs::read_to_string(at.join("page.html")).unwrap();
    assert!(
        page.contains("<h1>A &amp; B</h1>") && page.contains("href=\"./page-connections.csv\""),
        "{page}"
    );
    let csv = fs::read_to_string(at.join("page.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 * 2, "{csv}");
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let refused =
        |arguments: &[&str], expected: &str| assert_refused(&fastkex(at, arguments), expected);
    fs::write(at.join("run.json"), run().to_string()).unwrap();
    fs::write(at.join("text.json"), "no JSON").unwrap();
    fs::write(at.join("other.json"), "{\"what\": 3}").unwrap();
    for command in ["plot", "report"] {
        assert_misused(&fastkex(at, &[command]), "FILE");
        refused(&[command, "missing.json"], "missing.json: No such file");
        refused(&[command, "run.json", "text.json"], "text.json: not what --json of");
        refused(&[command, "other.json"], "other.json: not what --json of");
        refused(
            &[command, "run.json", "--output", "no/such/folder.html"],
            "its folder does not exist",
        );
    }
    refused(&["plot", "run.json", "run.json", "--output", "run"], "would be written over");
    refused(&["report", "run.json", "run.json", "--output", "run.html"], "would be written over");
    refused(&["report", "run.json", "--output", "page"], "ends in .html");
    assert_misused(&fastkex(at, &["plot", "run.json", "--format", "gif"]), "svg, png");
    refused(&["plot", "run.json", "batches"], "batches: No such file");
    assert_eq!(fs::read_dir(at).unwrap().count(), 3, "nothing was written");
}
