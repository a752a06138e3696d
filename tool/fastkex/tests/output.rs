//! Tests with standard output and standard error that cannot be written, for each command that
//! prints.

mod common;

use common::Tool;
use common::output::{Closed, assert_closed_output_is_told, assert_open_output_is_there};

/// Returns a short run of each command that prints, in each of its output formats.
fn commands() -> Vec<Vec<String>> {
    let kat = artifacts::root().join("crypto/reference/kat/sntrup653.kat").display().to_string();
    let quickly = "--algorithm sntrup653 --backend portable --seconds 0.001";
    [
        "--help".to_owned(),
        "--version".to_owned(),
        "run --help".to_owned(),
        "doctor".to_owned(),
        "doctor --json".to_owned(),
        format!("kat {kat}"),
        format!("kat --json {kat}"),
        "stats".to_owned(),
        "stats --json".to_owned(),
        "stats --prometheus".to_owned(),
        "stats --watch".to_owned(),
        format!("speed {quickly} --batch 1"),
        format!("speed {quickly} --batch 1 --json"),
        "speed --pool --algorithm sntrup653 --seconds 0.001".to_owned(),
    ]
    .map(|line| line.split(' ').map(str::to_owned).collect())
    .into()
}

#[test]
fn output_that_cannot_be_written_is_told_in_a_line() {
    let Some(tool) = Tool::with_openssl() else { return };
    assert_closed_output_is_told(&tool, &commands());
}

#[test]
fn output_that_can_be_written_is_there() {
    let Some(tool) = Tool::with_openssl() else { return };
    assert_open_output_is_there(&tool, &commands());
}

#[test]
fn errors_that_cannot_be_told_keep_their_exit_status() {
    let tool = Tool::new();
    for arguments in [&["jump"][..], &[], &["stats", "4194305"], &["kat", "/nonexistent"]] {
        for closed in [Closed::Pipe, Closed::Full] {
            let status = tool.command(arguments).stderr(closed.stdio()).status().unwrap();
            assert_eq!(status.code(), Some(2), "{arguments:?} {closed:?}");
        }
    }
}
