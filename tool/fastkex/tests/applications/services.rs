//! Tests of services and of the files from which they read OpenSSL's configuration.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::document::{TEXT, block, replaced};
use crate::setup::{Setup, Way};

/// The blocks that are tested here.
pub(crate) const BLOCKS: [&str; 5] =
    ["nginx.service", "stunnel.service", "apache.envvars", "default", "apparmor.unbound"];

const PATH: &str = "/etc/ssl/fastkex.cnf";

/// A service: its name in `fastkex doctor`, its program, the block, the block's file, and the file
/// of Debian that reads this file, with a text in it.
struct Service {
    name: &'static str,
    program: &'static str,
    block: &'static str,
    file: &'static str,
    reader: Option<(&'static str, &'static str)>,
}

const SERVICES: [Service; 5] = [
    Service {
        name: "nginx",
        program: "usr/sbin/nginx",
        block: "nginx.service",
        file: "/etc/systemd/system/nginx.service.d/fastkex.conf",
        reader: Some(("/lib/systemd/system/nginx.service", "[Service]")),
    },
    Service {
        name: "stunnel",
        program: "usr/bin/stunnel4",
        block: "stunnel.service",
        file: "/etc/systemd/system/stunnel@.service.d/fastkex.conf",
        reader: Some(("/lib/systemd/system/stunnel@.service", "/etc/stunnel/%i.conf")),
    },
    Service {
        name: "apache2",
        program: "usr/sbin/apache2",
        block: "apache.envvars",
        file: "/etc/apache2/envvars",
        reader: Some(("/usr/sbin/apache2ctl", "envvars")),
    },
    Service {
        name: "haproxy",
        program: "usr/sbin/haproxy",
        block: "default",
        file: "/etc/default/haproxy",
        reader: Some((
            "/lib/systemd/system/haproxy.service",
            "EnvironmentFile=-/etc/default/haproxy",
        )),
    },
    Service {
        name: "unbound",
        program: "usr/sbin/unbound",
        block: "default",
        file: "/etc/default/unbound",
        reader: Some((
            "/lib/systemd/system/unbound.service",
            "EnvironmentFile=-/etc/default/unbound",
        )),
    },
];

fn doctor(configuration: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fastkex"));
    command.arg("doctor").args(arguments).env("OPENSSL_CONF", configuration);
    command.output().unwrap()
}

#[test]
fn services_read_what_they_are_said_to() {
    let Some(setup) = Setup::new("openssl", "openssl") else { return };
    let configuration = setup.configure(Way::Configuration);
    for service in &SERVICES {
        assert!(TEXT.contains(&format!("`{}`", service.file)), "{}", service.file);
        // The doctor finds the file there.
        let root = setup.set.stage.folder().join(service.name);
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let text = replaced(&block(service.block), &[(PATH, configuration.clone())]);
        write(service.program, "");
        write(&service.file[1..], &text);
        let output =
            doctor(&configuration, &["--app", service.name, "--root", root.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(&format!("the service reads {configuration}")), "{said}");

        let Some((reader, mark)) = service.reader else { continue };
        match fs::read_to_string(reader) {
            Ok(text) => assert!(text.contains(mark), "{reader}: {text}"),
            Err(_) => artifacts::absent(&format!("no {reader}")),
        }
    }
    match fs::read_to_string("/lib/systemd/system/proftpd.service") {
        Ok(text) => assert!(text.contains("EnvironmentFile=-/etc/default/proftpd"), "{text}"),
        Err(_) => artifacts::absent("no unit of ProFTPD (apt-get install proftpd-core)"),
    }
    // This block is a script.
    let script = block("apache.envvars") + "\necho $OPENSSL_CONF";
    let output = Command::new("sh").args(["-ec", &script]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), PATH);
}

/// The units in the document's table start as the users that stand there, and read no other file
/// that sets variables.
#[test]
fn units_are_as_they_are_said_to_be() {
    let table = TEXT.split_once("| application | `systemctl edit` |").unwrap().1;
    let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 6, "{rows:#?}");
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let user = cells[3].trim_matches('`');
        for unit in cells[2].split('`').skip(1).step_by(2) {
            let path = format!("/lib/systemd/system/{unit}.service");
            let Ok(text) = fs::read_to_string(&path) else {
                artifacts::absent(&format!("no {path}"));
                continue;
            };
            let values = |key: &str| -> Vec<String> {
                let lines =
                    text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
                lines.map(str::to_owned).collect()
            };
            let users = if user == "root" { vec![] } else { vec![user.to_owned()] };
            assert_eq!(values("User"), users, "{path}");
            // MariaDB's is written anew at each start.
            let files = values("EnvironmentFile");
            assert!(files.iter().all(|file| file.starts_with("-/run/")), "{path}: {files:?}");
        }
    }
}

/// AppArmor's parser accepts the lines in unbound's profile, if both are installed.
#[test]
fn unbounds_profile_takes_the_lines() {
    const PROFILE: &str = "/etc/apparmor.d/usr.sbin.unbound";
    const PARSER: &str = "/sbin/apparmor_parser";
    let lines = block("apparmor.unbound");
    assert!(lines.contains(&format!("{PATH} r,")) && lines.contains("/fastkex.so mr,"), "{lines}");
    if !Path::new(PARSER).exists() || !Path::new(PROFILE).exists() {
        return artifacts::skipped(
            "no AppArmor, or no profile for unbound (apt-get install apparmor unbound)",
        );
    }
    let include = "#include <local/usr.sbin.unbound>";
    let profile = replaced(&fs::read_to_string(PROFILE).unwrap(), &[(include, lines)]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile");
    fs::write(&path, profile).unwrap();
    let mut command = Command::new(PARSER);
    let output = command.args(["--skip-kernel-load", "--skip-cache"]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
