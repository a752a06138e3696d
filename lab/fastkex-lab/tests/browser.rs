//! `fastkex-lab demo-browser`, if a browser is installed.

mod common;

use std::fs::{self, File};
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fastkex-lab"));
    command.args(arguments).env_remove("REMOTE_PORT");
    command
}

/// Returns the single error line of a command that could not run.
fn refusal(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    errors
}

#[test]
fn each_page_comes_with_its_group_and_nothing_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (temporary, pictures) = (folder.path().join("tmp"), folder.path().join("pictures"));
    fs::create_dir(&temporary).unwrap();
    // Other users may need the servers' folder, so they must be able to enter this one.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
    for run in 1..=2 {
        let output = lab(&["demo-browser", "--output", pictures.to_str().unwrap()])
            .env("TMPDIR", &temporary)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() == Some(2)
            && ["missing: ", "deb.debian.org", "bwrap: "].iter().any(|why| errors.contains(why))
        {
            let last = errors.lines().last().unwrap_or_default();
            return artifacts::skipped(&format!("the browser: {last}"));
        }
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "run {run}: {said}{errors}");
        for group in ["sntrup761", "sntrup857", "X25519SNTRUP761"] {
            let line = said.lines().find(|line| line.starts_with(group)).expect(group);
            assert_eq!(line.split_whitespace().nth(1), Some(group), "{line}");
            let picture = pictures.join(format!("{group}.png"));
            let file = BufReader::new(File::open(&picture).unwrap());
            let reader = png::Decoder::new(file).read_info().unwrap();
            assert_eq!((reader.info().width, reader.info().height), (1024, 720));
            fs::remove_file(picture).unwrap();
        }
        assert!(said.contains("/fastkex.so\n") && said.contains("/libgioopenssl.so\n"), "{said}");
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
        assert_eq!(common::processes_with(temporary.to_str().unwrap()), [""; 0]);
    }
}

#[test]
fn what_is_missing_is_one_line() {
    let output = lab(&["demo-browser"]).env("PATH", "/no/such/folder").output().unwrap();
    let line = refusal(&output);
    for package in ["epiphany-browser", "xvfb", "webkit2gtk-driver", "dbus-daemon", "stunnel4"] {
        assert!(line.contains(package), "{line}");
    }
    assert!(line.contains("scripts/prerequisites browser"), "{line}");
}

#[test]
fn a_page_without_a_connection_is_refused() {
    let line = refusal(&lab(&["browser-page", "/no/such/log"]).output().unwrap());
    assert!(line.contains("REMOTE_PORT"), "{line}");
    let output = lab(&["browser-page", "log", "sntrup761"]).output().unwrap();
    common::assert_misused(&output, "expected GROUP=ADDRESS");
}
