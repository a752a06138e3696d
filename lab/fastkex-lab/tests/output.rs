//! Standard output and standard error that cannot be written, for each command that prints.

mod common;

use common::output::{assert_closed_output_is_told, assert_open_output_is_there};
use common::{Tool, run};

/// Returns a quick call of each command that prints, for each of its output formats.
fn commands(tool: &Tool) -> Vec<Vec<String>> {
    let file = tool.write("run.json", &run().to_string()).display().to_string();
    let at = |name: &str| tool.path(name).display().to_string();
    let quickly = "--algorithm sntrup653 --backend portable --seconds 0.001";
    let timing = "--samples 2 --connections 4 --warm-up 1";
    [
        "--help".to_owned(),
        format!("plot batches {quickly} --batches 1..2 --output {}", at("batches.svg")),
        format!("plot {file} --format svg --output {}", at("plot")),
        format!("report {file} --output {}", at("report.html")),
        format!("leak {quickly} --operation decapsulate"),
        format!("leak {quickly} --operation decapsulate --json"),
        "self-check --connections 20 --warm-up 2".to_owned(),
        format!("scene handshake --server minimal --groups X25519 {timing}"),
    ]
    .map(|line| line.split(' ').map(str::to_owned).collect())
    .into()
}

#[test]
fn output_that_cannot_be_written_is_told_in_a_line() {
    let Some(tool) = Tool::with_openssl() else { return };
    assert_closed_output_is_told(&tool, &commands(&tool));
}

#[test]
fn output_that_can_be_written_is_there() {
    let Some(tool) = Tool::with_openssl() else { return };
    assert_open_output_is_there(&tool, &commands(&tool));
}
