//! Runs every operation under valgrind's memcheck with its secrets marked undefined: no branch and
//! no address depends on a secret.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

use lanes::Backend;

/// The exit status of valgrind if it found an error. The program itself uses other values.
const FOUND: i32 = 9;

/// Returns the program, or `None`, and prints a line about it, if it cannot run here.
fn program() -> Option<PathBuf> {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        artifacts::build_with("constant-time", &["memcheck"], "memcheck").unwrap()
    });
    let valgrind = Command::new("valgrind").arg("--version").output();
    if !valgrind.is_ok_and(|output| output.status.success()) {
        artifacts::skipped("no valgrind (apt-get install valgrind)");
        return None;
    }
    Some(PROGRAM.clone())
}

fn under_valgrind(program: &PathBuf, arguments: &[&str]) -> Output {
    Command::new("valgrind")
        .args(["--quiet", "--error-limit=no", "--expensive-definedness-checks=yes"])
        .arg(format!("--error-exitcode={FOUND}"))
        .arg(program)
        .args(arguments)
        .output()
        .unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks that valgrind finds nothing. It supports all lanes except AVX-512.
fn assert_clean(backend: &str) {
    let Some(program) = program() else { return };
    if let Err(error) = Backend::named(backend) {
        artifacts::skipped(&format!("memcheck on {backend}: {error}"));
        return;
    }
    let output = under_valgrind(&program, &[backend]);
    assert!(output.status.success(), "{}\n{}", output.status, errors(&output));
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        said.trim(),
        format!("{backend}: all operations of nine parameter sets and the curves")
    );
}

#[test]
fn secrets_do_not_steer_portable_lanes() {
    assert_clean("portable");
}

#[test]
fn secrets_do_not_steer_avx2_lanes() {
    assert_clean("avx2");
}

#[test]
fn a_leak_is_found() {
    let Some(program) = program() else { return };
    for (how, report) in [
        ("branch", "Conditional jump or move depends on uninitialised value"),
        ("index", "Use of uninitialised value"),
    ] {
        let output = under_valgrind(&program, &["leak", how]);
        assert_eq!(output.status.code(), Some(FOUND), "{how}: {}", errors(&output));
        // The leak itself, not an effect of it on the output.
        let first = errors(&output).lines().take(2).map(str::to_owned).collect::<Vec<_>>().join("");
        assert!(first.contains(report) && first.contains("memcheck::"), "{how}: {first}");
    }
}

#[test]
fn without_valgrind_the_program_refuses() {
    let Some(program) = program() else { return };
    let output = Command::new(program).arg("portable").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
}
