//! `fastkex-lab time`: `fastkex time` through a slow link.

mod common;

use common::{Tool, assert_misused, serve, stderr, stdout};
use timer::results::Run;

#[test]
fn connections_take_round_trips_of_the_link() {
    let Some(tool) = Tool::with_openssl() else { return };
    let server = serve();
    let file = tool.path("run.json").display().to_string();
    let arguments = ["time", "tls", &server, "--insecure", "--groups", "X25519"];
    let sizes = ["--samples", "1", "--connections", "2", "--warm-up", "0"];
    let link = ["--latency", "30ms", "--json", &file];
    let output = tool.output(&[&arguments[..], &sizes, &link].concat());
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let run: Run = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    // TCP and TLS take a round trip each.
    let least = run.series[0].microseconds()[0];
    assert!((2.0 * 30e3..30.0 * 30e3).contains(&least), "{least}");
}

#[test]
fn a_link_that_is_none_is_refused() {
    let Some(tool) = Tool::with_openssl() else { return };
    let arguments = ["time", "tls", "localhost:1", "--latency", "20"];
    assert_misused(&tool.output(&arguments), "20ms");
}
