//! stunnel in front of Apache, and the page.

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use output::Failure;
use testbed::{Server, Stage, wait_for};

use super::{SHOWN, page};
use crate::certificates::{self, AUTHORITY};
use crate::programs::Programs;

/// Debian's folder of Apache's modules.
const MODULES: &str = "/usr/lib/apache2/modules";
/// The service with an untrusted certificate.
const UNTRUSTED: &str = "untrusted";
/// The file name of stunnel's log, as [`Stage::start`] chooses it.
const LOG: &str = "stunnel.log";

/// The ports: one for each group, and one with an untrusted certificate.
type Ports = [u16; SHOWN.len() + 1];

/// The servers.
pub(crate) struct Site {
    stunnel: Server,
    _apache: Server,
    ports: Ports,
    authority: PathBuf,
    stunnel_version: String,
    apache_version: String,
}

impl Site {
    pub(crate) fn start(stage: &Stage, programs: &Programs) -> Result<Self, Failure> {
        let stunnel_version = version(stage, programs, "stunnel", "-version", "stunnel ")?;
        let apache_version = version(stage, programs, "apache2", "-v", "Apache/")?;
        certificates::make(stage, programs)?;
        let page = testbed::free_ports()?;
        let ports: Ports = loop {
            let ports: Ports = testbed::free_ports()?;
            if !ports.contains(&page[0]) {
                break ports;
            }
        };
        let [page] = page;

        let stunnel = start_stunnel(stage, programs, ports, page)?;
        write_page(stage, ports)?;
        let apache = start_apache(stage, programs, page)?;
        Ok(Self {
            stunnel,
            _apache: apache,
            ports,
            authority: stage.folder().join(AUTHORITY),
            stunnel_version,
            apache_version,
        })
    }

    /// Returns the address of a group's page.
    pub(crate) fn address(&self, group: &str) -> Result<String, Failure> {
        let index = SHOWN.iter().position(|shown| shown.group == group);
        let index = index.ok_or_else(|| Failure::new(format!("no page for {group}")))?;
        Ok(address(self.ports[index]))
    }

    /// Returns the address with the untrusted certificate.
    pub(crate) fn untrusted(&self) -> String {
        address(self.ports[SHOWN.len()])
    }

    /// Waits until the first client there has ended, and returns true if it received nothing.
    /// GNOME's TLS checks the certificate after the handshake, and then closes.
    pub(crate) fn got_nothing(&self) -> bool {
        wait_for(|| page::got_nothing(&self.stunnel.log().ok()?, UNTRUSTED)).unwrap_or(false)
    }

    /// Returns the path of the certificate to trust.
    pub(crate) fn authority(&self) -> PathBuf {
        self.authority.clone()
    }

    pub(crate) fn stunnel_version(&self) -> &str {
        &self.stunnel_version
    }

    pub(crate) fn apache_version(&self) -> &str {
        &self.apache_version
    }
}

fn address(port: u16) -> String {
    format!("https://localhost:{port}/")
}

fn version(
    stage: &Stage,
    programs: &Programs,
    program: &str,
    argument: &str,
    before: &str,
) -> Result<String, Failure> {
    let finished = stage.run(programs.stock(stage, program).arg(argument))?;
    let text = finished.output + &finished.errors;
    let word = text.split_once(before).and_then(|(_, rest)| rest.split_whitespace().next());
    let none = || Failure::new(format!("{program} {argument}: no version in {text:?}"));
    word.map(str::to_string).ok_or_else(none)
}

fn start_stunnel(
    stage: &Stage,
    programs: &Programs,
    ports: Ports,
    page: u16,
) -> Result<Server, Failure> {
    const CONFIGURATION: &str = "browser-stunnel.conf";
    let mut text =
        include_str!("../../../demo/browser-stunnel.conf").replace("@page@", &page.to_string());
    for (shown, port) in SHOWN.iter().zip(ports) {
        text = text.replace(&format!("@{}@", shown.group), &port.to_string());
    }
    text = text.replace(&format!("@{UNTRUSTED}@"), &ports[SHOWN.len()].to_string());
    stage.write(CONFIGURATION, &text)?;
    let mut command = programs.run(stage, None, "stunnel");
    let bound = ports.map(|port| format!("bound to 127.0.0.1:{port}\n"));
    let name = LOG.trim_end_matches(".log");
    stage.start(name, command.arg(CONFIGURATION), |log| {
        bound.iter().all(|bound| log.contains(bound))
    })
}

/// Writes the CGI script and copies this program, which it runs, into a folder that Apache's user
/// can read.
fn write_page(stage: &Stage, ports: Ports) -> Result<(), Failure> {
    const PROGRAM: &str = "fastkex-lab";
    const PAGE: &str = "page";
    let folder = stage.folder().display();
    let own = std::env::current_exe().map_err(Failure::about(PROGRAM))?;
    fs::copy(own, stage.folder().join(PROGRAM)).map_err(Failure::about(PROGRAM))?;
    let links = SHOWN.iter().zip(ports);
    let links = links.map(|(shown, port)| format!(" '{}={}'", shown.group, address(port)));
    let links: String = links.collect();
    stage.write(
        PAGE,
        &format!("#!/bin/sh\nexec '{folder}/{PROGRAM}' browser-page '{folder}/{LOG}'{links}\n"),
    )?;
    // Only the owner can read the keys, as openssl makes them.
    for (name, mode) in [(".", 0o711), (PROGRAM, 0o755), (PAGE, 0o755), (LOG, 0o644)] {
        let set = fs::set_permissions(stage.folder().join(name), Permissions::from_mode(mode));
        set.map_err(Failure::about(name))?;
    }
    Ok(())
}

fn start_apache(stage: &Stage, programs: &Programs, page: u16) -> Result<Server, Failure> {
    const CONFIGURATION: &str = "browser-apache.conf";
    let folder = stage.folder().display().to_string();
    let text = include_str!("../../../demo/browser-apache.conf")
        .replace("@folder@", &folder)
        .replace("@modules@", MODULES)
        .replace("@page@", &page.to_string());
    stage.write(CONFIGURATION, &text)?;
    let path = stage.folder().join(CONFIGURATION).display().to_string();
    let mut command = programs.stock(stage, "apache2");
    command.args(["-d", &folder, "-f", &path, "-D", "FOREGROUND"]);
    let accepts = |_: &str| TcpStream::connect((Ipv4Addr::LOCALHOST, page)).is_ok();
    stage.start("apache2", &mut command, accepts)
}
