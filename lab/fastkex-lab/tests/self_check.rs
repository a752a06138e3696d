//! `fastkex-lab self-check`: the timer's own share of a connection.

mod common;

use std::process::Output;

use common::{Tool, serve, stderr, stdout};

/// Checks a line with the parts of a connection: they add up, and the exit status fits.
fn assert_parts(output: &Output) {
    let text = stdout(output);
    assert_eq!(text.lines().count(), 1, "{text}{}", stderr(output));
    let numbers: Vec<f64> = text
        .split([' ', ',', ':', '('])
        .filter(|word| word.contains('.'))
        .map(|word| word.parse().unwrap())
        .collect();
    let [all, libssl, kernel, own, percent] = numbers[..] else { panic!("{text}") };
    assert!((all - libssl - kernel - own).abs() < 0.3, "{text}");
    assert!(libssl > 0.0 && kernel > 0.0 && own > 0.0, "{text}");
    assert!((100.0 * own / all - percent).abs() < 0.1, "{text}");
    assert_eq!(output.status.code(), Some(i32::from(percent >= 3.0)));
}

#[test]
fn the_timers_own_part_is_measured() {
    let Some(tool) = Tool::with_openssl() else { return };
    let server = serve();
    let arguments = ["self-check", &server, "--insecure", "--groups", "X25519"];
    assert_parts(&tool.output(&[&arguments[..], &["--connections", "50"]].concat()));
}

#[test]
fn without_a_server_there_is_a_minimal_one() {
    let Some(tool) = Tool::with_openssl() else { return };
    let output = tool.output(&["self-check", "--connections", "20", "--warm-up", "2"]);
    let text = stdout(&output);
    assert!(text.contains(" \u{b5}s a connection, of which libssl"), "{text}{}", stderr(&output));
    assert_eq!(text.lines().count(), 1, "{text}");
}
