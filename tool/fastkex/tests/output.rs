//! Standard output and standard error that take nothing: one line at most, exit status 2, and no
//! panic, whatever the command.

mod common;

use std::fs::{File, OpenOptions};
use std::process::{Command, Stdio};

use common::{Tool, run, stderr, stdout};

/// Where nothing can be written to.
#[derive(Clone, Copy, Debug)]
enum Closed {
    /// A pipe that nobody reads.
    Pipe,
    /// A device without room.
    Full,
}

impl Closed {
    fn stdio(self) -> Stdio {
        match self {
            Closed::Pipe => {
                let (reader, writer) = std::io::pipe().unwrap();
                drop(reader);
                writer.into()
            }
            Closed::Full => full().into(),
        }
    }
}

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// A quick one of each command that prints, and of their ways to print.
fn commands(tool: &Tool) -> Vec<Vec<String>> {
    let file = tool.write("run.json", &run().to_string()).display().to_string();
    let kat = artifacts::root().join("crypto/reference/kat/sntrup653.kat").display().to_string();
    let at = |name: &str| tool.path(name).display().to_string();
    let quickly = "--algorithm sntrup653 --backend portable --seconds 0.001";
    let timing = "--samples 2 --connections 4 --warm-up 1";
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
        format!("plot batches {quickly} --batches 1..2 --output {}", at("batches.svg")),
        format!("plot {file} --format svg --output {}", at("plot")),
        format!("report {file} --output {}", at("report.html")),
        format!("leak {quickly} --operation decapsulate"),
        format!("leak {quickly} --operation decapsulate --json"),
        "time tls --self-check --connections 20 --warm-up 2".to_owned(),
        format!("scene handshake --server minimal --groups X25519 {timing}"),
    ]
    .map(|line| line.split(' ').map(str::to_owned).collect())
    .into()
}

fn command(tool: &Tool, arguments: &[String]) -> Command {
    let mut command = tool.command(&[]);
    command.args(arguments);
    command
}

#[test]
fn output_that_cannot_be_written_is_told_in_a_line() {
    let Some(tool) = Tool::with_openssl() else { return };
    for arguments in commands(&tool) {
        for closed in [Closed::Pipe, Closed::Full] {
            let output = command(&tool, &arguments).stdout(closed.stdio()).output().unwrap();
            // The self-check says beforehand what it does without.
            let is_note = |line: &str| line.contains("instead of the null key exchange");
            let error = stderr(&output);
            let error: String = error.split_inclusive('\n').filter(|line| !is_note(line)).collect();
            assert_eq!(output.status.code(), Some(2), "{arguments:?} {closed:?}: {error}");
            match closed {
                Closed::Pipe => assert_eq!(error, "", "{arguments:?}"),
                Closed::Full => assert_eq!(
                    error, "fastkex: standard output: No space left on device (os error 28)\n",
                    "{arguments:?}"
                ),
            }
        }
        // Nothing can be told at all.
        for closed in [Closed::Pipe, Closed::Full] {
            let mut silent = command(&tool, &arguments);
            let status = silent.stdout(full()).stderr(closed.stdio()).status().unwrap();
            assert_eq!(status.code(), Some(2), "{arguments:?} {closed:?}");
        }
    }
}

/// Each of them prints something where it can, with another exit status.
#[test]
fn output_that_can_be_written_is_there() {
    let Some(tool) = Tool::with_openssl() else { return };
    for arguments in commands(&tool) {
        // It goes on until ^C.
        if arguments.iter().any(|argument| argument == "--watch") {
            continue;
        }
        let output = command(&tool, &arguments).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {}", stderr(&output));
        assert!(!stdout(&output).is_empty(), "{arguments:?}");
        // What is wrong is not told on standard error; its absence changes nothing.
        let status = command(&tool, &arguments)
            .stdout(Stdio::null())
            .stderr(Closed::Full.stdio())
            .status()
            .unwrap();
        assert!(matches!(status.code(), Some(0 | 1)), "{arguments:?}: {status}");
    }
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
