//! `fastkex-lab scene`: stock servers are set up, measured and torn down.

mod common;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use common::{Tool, assert_misused, assert_refused, stderr, stdout};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use timer::results::{Run, What};

const SMALL: [&str; 6] = ["--samples", "2", "--connections", "4", "--warm-up", "1"];

/// Returns the tool, if these programs are installed.
fn tool(programs: &[&str]) -> Option<Tool> {
    let tool = Tool::with_openssl()?;
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    for program in programs {
        if !path.split(':').any(|folder| Path::new(folder).join(program).exists()) {
            artifacts::skipped(&format!("no {program} (scripts/prerequisites scenes)"));
            return None;
        }
    }
    Some(tool)
}

/// Returns the files that a scene wrote, by name.
fn runs(tool: &Tool, arguments: &[&str]) -> Vec<(String, Run)> {
    let folder = tool.path("out");
    let shown = folder.display().to_string();
    let output = tool.output(&[&["scene"], arguments, &SMALL, &["--output", &shown]].concat());
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let mut names: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let read = |name: &std::ffi::OsString| {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        (name.to_str().unwrap().to_owned(), serde_json::from_str(&text).unwrap())
    };
    names.iter().map(read).collect()
}

/// Checks that no process and no folder of a stage is left in the tool's folder.
fn assert_nothing_is_left(tool: &Tool) {
    let mut left = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let folder = entry.path().join("cwd");
        if fs::read_link(folder).is_ok_and(|folder| folder.starts_with(tool.folder.path())) {
            left.push(entry.file_name());
        }
    }
    assert!(left.is_empty(), "{left:?}");
    let folders = fs::read_dir(tool.folder.path()).unwrap().flatten();
    let stages: Vec<_> = folders
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("fastkex-"))
        .collect();
    assert!(stages.is_empty(), "{stages:?}");
}

#[test]
fn handshakes_with_stock_servers() {
    let Some(tool) = tool(&["nginx", "stunnel"]) else { return };
    let groups = ["--groups", "X25519,X25519@fastkex,sntrup857"];
    let runs = runs(&tool, &[&["handshake"], &groups[..]].concat());
    let names: Vec<_> = runs.iter().map(|(name, _)| name.as_str()).collect();
    let expected =
        ["minimal", "nginx", "stunnel"].map(|name| format!("handshake-{name}-rsa-2048.json"));
    assert_eq!(names, expected);
    for (name, run) in &runs {
        assert_eq!((run.what, run.complete, run.failures()), (What::Tls, true, 0), "{name}");
        let scene = run.scene.as_ref().unwrap();
        assert_eq!(scene.name, "handshake");
        assert!(name.contains(scene.servers[0].split(' ').next().unwrap()), "{name} {scene:?}");
        for series in &run.series {
            assert_eq!((series.certificate.as_str(), series.connections()), ("RSA-2048", 8));
            let (_, _, server) = series.processor_microseconds().unwrap();
            // An RSA-2048 signature alone takes longer than the lower bound.
            assert!(
                server.is_some_and(|server| (50.0..1e6).contains(&server)),
                "{name} {server:?}"
            );
        }
    }
    assert_nothing_is_left(&tool);
}

#[test]
fn names_from_unbound() {
    let Some(tool) = tool(&["unbound"]) else { return };
    let groups = ["--groups", "X25519@fastkex,X25519SNTRUP761", "--step", "0.1", "--clients", "2"];
    let runs = runs(&tool, &[&["dot"], &groups[..]].concat());
    let [(first, times), (second, peaks)] = &runs[..] else { panic!("{}", runs.len()) };
    assert_eq!((first.as_str(), second.as_str()), ("dot-ed25519.json", "dot-peak-ed25519.json"));
    assert_eq!((times.what, times.series.len(), times.failures()), (What::Dot, 2, 0));
    assert_eq!((peaks.what, peaks.peaks.len(), peaks.failures()), (What::Dot, 2, 0));
    assert!(peaks.peaks.iter().all(|peak| peak.best().unwrap().server_seconds.unwrap() > 0.0));
    assert_nothing_is_left(&tool);
}

#[test]
fn requests_by_way_of_haproxy_and_a_slow_link() {
    let Some(tool) = tool(&["nginx", "haproxy"]) else { return };
    let arguments =
        ["--groups", "X25519", "--requests", "1,3", "--latency", "30ms", "--page", "500"];
    let runs = runs(&tool, &[&["http"], &arguments[..]].concat());
    let [(name, run)] = &runs[..] else { panic!("{}", runs.len()) };
    assert_eq!(name, "http-rsa-2048-30ms.json");
    let scene = run.scene.as_ref().unwrap();
    assert!(
        scene.servers[0].starts_with("nginx ") && scene.servers[1].starts_with("haproxy "),
        "{scene:?}"
    );
    assert!(scene.link.as_ref().unwrap().contains("30 ms"), "{scene:?}");
    let [one, three] = &run.series[..] else { panic!("{:?}", run.series.len()) };
    assert!(one.traffic.data_received > 500);
    assert_eq!(three.traffic.data_received, 3 * one.traffic.data_received);
    // TCP, TLS and each request take a round trip.
    for (series, trips) in [(one, 3.0), (three, 5.0)] {
        let least = series.microseconds()[0];
        assert!(least >= trips * 30e3 && least < 30.0 * 30e3, "{trips}: {least}");
    }
    assert_nothing_is_left(&tool);
}

#[test]
fn an_interrupt_leaves_nothing_but_what_was_measured() {
    let Some(tool) = tool(&["nginx"]) else { return };
    let folder = tool.path("out");
    let mut command =
        tool.command(&["scene", "handshake", "--server", "nginx", "--groups", "X25519"]);
    command.args(["--samples", "100000", "--connections", "10", "--output"]).arg(&folder);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Waits until nginx's worker is busy.
    let busy = || {
        let servers = testbed::children(child.id());
        let workers = servers.iter().flat_map(|&server| testbed::children(server));
        workers.filter_map(testbed::processor::seconds_of).sum::<f64>()
    };
    let start = Instant::now();
    while busy() < 0.1 && start.elapsed() < Duration::from_secs(30) {
        thread::sleep(Duration::from_millis(20));
    }
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2), "{}", stderr(&output));
    assert!(stdout(&output).contains("INCOMPLETE"), "{}", stdout(&output));
    let text = fs::read_to_string(folder.join("handshake-nginx-rsa-2048.json")).unwrap();
    let run: Run = serde_json::from_str(&text).unwrap();
    assert!(!run.complete && run.series[0].connections() > 0);
    assert_nothing_is_left(&tool);
}

#[test]
fn what_cannot_be_set_up_is_said() {
    let Some(tool) = tool(&["nginx"]) else { return };
    let arguments = ["scene", "handshake", "--server", "nginx", "--groups", "nonsense"];
    assert_refused(&tool.output(&arguments), "nonsense");
    assert_misused(&tool.output(&["scene", "http", "--latency", "20"]), "20ms");
    assert_misused(&tool.output(&["scene", "http", "--bandwidth", "fast"]), "10mbit");
    assert_refused(
        &tool.output(&["scene", "handshake", "--libssl", "/nonexistent"]),
        "/nonexistent",
    );
    assert_nothing_is_left(&tool);
}
