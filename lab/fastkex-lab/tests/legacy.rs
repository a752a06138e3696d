//! `fastkex-lab demo-1.1.1`, if OpenSSL 1.1.1 has been built.

mod common;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use timer::results::Run;

fn demo(temporary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fastkex-lab"));
    command.arg("demo-1.1.1").args(arguments).env("TMPDIR", temporary);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns true if the prerequisites are present. Otherwise prints a line about the missing one.
fn is_possible(output: &Output) -> bool {
    let errors = errors(output);
    let why = ["no patched OpenSSL 1.1.1", "missing: ", "deb.debian.org"];
    if output.status.code() != Some(2) || !why.iter().any(|why| errors.contains(why)) {
        return true;
    }
    artifacts::skipped(&format!(
        "handshakes on 1.1.1: {}",
        errors.lines().last().unwrap_or_default()
    ));
    false
}

/// Checks that the temporary folder is empty, and that no process uses it.
fn assert_nothing_stays(temporary: &Path) {
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0);
    let name = temporary.display().to_string();
    for entry in fs::read_dir("/proc").unwrap().filter_map(Result::ok) {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let own = entry.path().ends_with(std::process::id().to_string());
        assert!(own || !String::from_utf8_lossy(&environment).contains(&name), "{entry:?}");
    }
}

#[test]
fn candidates_take_turns_and_nothing_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (temporary, results) = (folder.path().join("tmp"), folder.path().join("results"));
    fs::create_dir(&temporary).unwrap();
    let shown = results.display().to_string();
    let small = ["--samples", "2", "--connections", "20", "--alone", "--output", &shown];
    for round in 1..=2 {
        let output = demo(&temporary, &small).output().unwrap();
        if !is_possible(&output) {
            return;
        }
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "round {round}: {said}{}", errors(&output));
        assert_nothing_stays(&temporary);

        let text = fs::read_to_string(results.join("openssl-1.1.1.json")).unwrap();
        let run: Run = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (run.client.as_str(), run.complete, run.failures()),
            ("OpenSSL 1.1.1w", true, 0)
        );
        let scene = run.scene.unwrap();
        assert_eq!(
            (scene.servers[0].as_str(), scene.openssl.as_str()),
            ("stunnel 5.68 with OpenSSL 1.1.1w", "1.1.1w")
        );
        let group = |name: &str| kex::group_named(name).unwrap().code_point;
        for (label, id) in [
            ("sntrup761", group("sntrup761")),
            ("sntrup761@batch-32", group("sntrup761")),
            ("sntrup761@serial", group("sntrup761")),
            ("sntrup857", group("sntrup857")),
            ("X25519", 0x1D),
            ("P-256", 0x17),
        ] {
            let series = run.series.iter().find(|series| series.label == label).expect(label);
            assert_eq!((series.group_id, series.certificate.as_str()), (id, "ECDSA P-256"));
            assert_eq!((series.samples.len(), series.connections()), (2, 40));
            assert!(
                series.traffic.messages.iter().all(|message| message.name != "NewSessionTicket")
            );
            assert!(said.contains(&format!("| {label} ")), "{said}");
        }
        let reference = run.series.iter().any(|series| series.label == "sntrup761@reference");
        assert_eq!(reference, artifacts::legacy_reference().is_some());
        assert_eq!(
            reference,
            !said.contains("\n1. keys in batches are faster than the reference code: not checked")
        );
        assert!(said.contains("\n2. sntrup is faster than OpenSSL's X25519 and P-256: "), "{said}");
        for name in ["figure-5.svg", "figure-5.png", "report.html"] {
            assert!(results.join(name).metadata().unwrap().len() > 1000, "{name}");
        }
    }
}

#[test]
fn an_interrupt_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let shown = folder.path().join("results").display().to_string();
    let mut child = demo(&temporary, &["--full", "--alone", "--output", &shown]).spawn().unwrap();
    // Waits until servers run and a client has begun, after building missing programs.
    let at_work = || {
        let all: Vec<_> = fs::read_dir(&temporary).unwrap().filter_map(Result::ok).collect();
        all.iter().any(|entry| entry.path().join("sntrup761.cnf").exists())
    };
    let give_up = Instant::now() + Duration::from_secs(900);
    while child.try_wait().unwrap().is_none() && !at_work() && Instant::now() < give_up {
        thread::sleep(Duration::from_millis(50));
    }
    thread::sleep(Duration::from_millis(500));
    if child.try_wait().unwrap().is_none() {
        kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    if !is_possible(&output) {
        return;
    }
    assert_eq!(output.status.signal(), Some(Signal::SIGINT as i32), "{}", errors(&output));
    assert_nothing_stays(&temporary);
}

#[test]
fn wrong_arguments_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, expected) in
        [(&["--samples", "0"][..], "--samples"), (&["--full", "--connections", "9"], "--full")]
    {
        common::assert_misused(&demo(folder.path(), arguments).output().unwrap(), expected);
    }
}
