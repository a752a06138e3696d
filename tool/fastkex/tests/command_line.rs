//! Tests of the command line itself: help, version, suggestions for wrong words, colours.

mod common;

use std::process::Output;

use common::{PROGRAM, Tool, stderr, stdout};

const SUBCOMMANDS: [&str; 9] =
    ["check", "enable", "disable", "doctor", "stats", "run", "kat", "speed", "time"];
/// The start of a colour.
const ESCAPE: &str = "\x1b[";

fn output(arguments: &[&str]) -> Output {
    Tool::new().output(arguments)
}

#[test]
fn version_has_what_it_was_built_from() {
    let short = stdout(&output(&["-V"]));
    assert_eq!(short, format!("fastkex {}\n", env!("CARGO_PKG_VERSION")));
    let long = stdout(&output(&["--version"]));
    let lines: Vec<_> = long.lines().collect();
    assert_eq!(lines.len(), 4, "{long}");
    assert_eq!(lines[0], short.trim_end());
    assert!(lines[1].starts_with("built from ") && lines[1].contains("commit"), "{long}");
    assert!(lines[2].starts_with("by rustc 1."), "{long}");
    assert!(lines[3].contains(std::env::consts::ARCH), "{long}");
}

#[test]
fn help_is_the_same_in_both_forms() {
    for subcommand in SUBCOMMANDS {
        let (before, after) = (output(&["help", subcommand]), output(&[subcommand, "--help"]));
        assert!(before.status.success() && after.status.success(), "{subcommand}");
        assert_eq!(stdout(&before), stdout(&after));
        assert!(stdout(&before).contains(&format!("Usage: fastkex {subcommand}")), "{subcommand}");
    }
    assert_eq!(stdout(&output(&["help"])), stdout(&output(&["--help"])));
}

#[test]
fn help_lists_every_subcommand() {
    let help = stdout(&output(&["--help"]));
    let (_, after) = help.split_once("Commands:\n").unwrap();
    let (listed, _) = after.split_once("\n\n").unwrap();
    let listed: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let expected: Vec<_> = SUBCOMMANDS.into_iter().chain(["help"]).collect();
    assert_eq!(listed, expected);
}

#[test]
fn wrong_words_get_a_suggestion() {
    let assert_suggested = |output: &Output, suggestion: &str| {
        assert_eq!(output.status.code(), Some(2), "{suggestion}");
        assert!(stderr(output).contains(suggestion), "{suggestion}: {}", stderr(output));
    };
    assert_suggested(&output(&["docter"]), "a similar subcommand exists: 'doctor'");
    assert_suggested(&output(&["doctor", "--jsn"]), "a similar argument exists: '--json'");
    assert_suggested(&output(&["doctor", "--pid", "x"]), "expected the number of a process");
    assert_suggested(&output(&["stats", "-x"]), "unexpected argument '-x'");
    assert_suggested(&output(&["stats", "x"]), "expected the number of a process");
    assert_suggested(&output(&["doctor", "--role", "clint"]), "a similar value exists: 'client'");
}

#[test]
fn colours_are_for_terminals_only() {
    let tool = Tool::new();
    let help = |variables: &[(&str, &str)], program: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(program);
        command.args(arguments).env("TERM", "xterm");
        // `CI` stands for a terminal with colours.
        for variable in ["CI", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR"] {
            command.env_remove(variable);
        }
        command.env("FASTKEX_MODULE", tool.module()).envs(variables.iter().copied());
        stdout(&command.output().unwrap())
    };
    assert!(!help(&[], PROGRAM, &["doctor"]).contains(ESCAPE));
    // `script` gives the program a terminal.
    let line = format!("{PROGRAM} doctor");
    let arguments = ["-qec", line.as_str(), "/dev/null"];
    assert!(help(&[], "script", &arguments).contains(ESCAPE));
    assert!(!help(&[("NO_COLOR", "1")], "script", &arguments).contains(ESCAPE));
    assert!(!help(&[("TERM", "dumb")], "script", &arguments).contains(ESCAPE));
}
