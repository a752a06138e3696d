//! GNOME Web with a message bus and a home folder of its own.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use output::Failure;
use procfs::process::{MMapPath, MemoryMaps, Process};
use testbed::{Purpose, Server, Stage, wait_for};

use super::screen::{HEIGHT, Screen, WIDTH};
use super::webdriver::Browser;
use super::{SHOWN, backend, page};
use crate::programs::Programs;

const BUS: &str = "bus";
/// The home folder, in the stage's folder.
const HOME: &str = "home";
/// GNOME's settings: no question about the default browser.
const SETTINGS: &str = "[org/gnome/epiphany]\nask-for-default=false\n";
/// The OpenSSL configuration, which `fastkex run` extends. With it the module publishes its counts.
const CONFIGURATION: &str = "browser-openssl.cnf";
/// The prefix of the browser sandbox's log lines. The sandbox needs namespaces, which some
/// containers do not have.
const SANDBOX: &str = "bwrap: ";
/// The name of the process that speaks TLS, as the kernel truncates it.
const NETWORK_PROCESS: &str = "WebKitNetworkPr";

/// The browser, its driver and its bus.
pub(crate) struct Session<'a> {
    browser: Browser<'a>,
    programs: &'a Programs,
    driver: Server,
    _bus: Server,
}

impl<'a> Session<'a> {
    /// Starts the browser by `fastkex run` with the shown groups, trusting this authority.
    pub(crate) fn start(
        stage: &'a Stage,
        programs: &'a Programs,
        screen: &Screen,
        backend: &Path,
        authority: &Path,
    ) -> Result<Self, Failure> {
        let bus = start_bus(stage)?;
        stage.write(CONFIGURATION, include_str!("../../../demo/browser-openssl.cnf"))?;
        let [port] = testbed::free_ports()?;
        let mut groups: Vec<_> = SHOWN.iter().map(|shown| shown.group).collect();
        groups.push("X25519");
        let mut command = programs.run(stage, Some(&groups.join(":")), "WebKitWebDriver");
        command.arg(format!("--port={port}"));
        set_environment(&mut command, stage)?;
        command
            .env("DISPLAY", screen.display())
            .env("OPENSSL_CONF", stage.folder().join(CONFIGURATION))
            .env("SSL_CERT_FILE", authority)
            .env("GIO_EXTRA_MODULES", backend)
            .env("GIO_USE_TLS", "openssl");
        let accepts = |_: &str| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        let driver = stage.start("WebKitWebDriver", &mut command, accepts)?;
        let browser = Browser::start(stage, port).map_err(|failure| {
            let log = driver.log().unwrap_or_default();
            Failure::new(format!("{failure}{}", why_it_ended(&log)))
        })?;
        browser.place(WIDTH, HEIGHT)?;
        Ok(Self { browser, programs, driver, _bus: bus })
    }

    /// Returns the browser's version.
    pub(crate) fn version(&self) -> &str {
        self.browser.version()
    }

    /// Loads a page.
    pub(crate) fn open(&self, address: &str) -> Result<(), Failure> {
        self.browser.open(address)
    }

    /// Follows the link with this id.
    pub(crate) fn follow(&self, id: &str) -> Result<(), Failure> {
        self.browser.click(id)
    }

    /// Returns the group in the page at an address, once it is loaded.
    pub(crate) fn group_on_page(&self, address: &str) -> Result<String, Failure> {
        let selector = format!("#{}", page::GROUP_ID);
        let text = wait_for(|| {
            let is_there = self.browser.address().ok()? == address;
            let text = is_there.then(|| self.browser.text(&selector).ok())??;
            (!text.is_empty()).then_some(text)
        });
        text.ok_or_else(|| {
            let shown = self.browser.text("body").unwrap_or_else(|failure| failure.to_string());
            let at = self.browser.address().unwrap_or_else(|failure| failure.to_string());
            Failure::new(format!("{address}: the browser is at {at} and shows: {shown}"))
        })
    }

    /// Returns the group in the page that is shown now, if it has one.
    pub(crate) fn group_now(&self) -> Option<String> {
        self.browser.text(&format!("#{}", page::GROUP_ID)).ok()
    }

    /// Returns the number of a group's key pairs that the browser's TLS process has taken, by the
    /// module's count. Zero if there is no such process yet.
    pub(crate) fn made(&self, group: &str) -> u64 {
        let process = self.network_process().map(|process| process.pid().cast_unsigned());
        testbed::keys_taken(&self.programs.tool, process.as_slice(), group, Purpose::KeyPairs)
    }

    fn network_process(&self) -> Option<Process> {
        let ids = descendants(self.driver.id()).into_iter();
        ids.filter_map(|id| Process::new(id.cast_signed()).ok())
            .find(|process| process.stat().is_ok_and(|stat| stat.comm == NETWORK_PROCESS))
    }

    /// Lets the browser end its own processes. The stage could only kill them.
    pub(crate) fn end(self) {
        // The driver reports a missing window if the browser closes too early. The stage ends the
        // remaining processes.
        let _ = self.browser.quit();
        let _ = wait_for(|| descendants(self.driver.id()).is_empty().then_some(()));
    }

    /// Returns the files with TLS code that the browser's TLS process has loaded.
    pub(crate) fn loaded(&self) -> Result<BTreeSet<PathBuf>, Failure> {
        let process = self.network_process();
        let process =
            process.ok_or_else(|| Failure::new(format!("no process {NETWORK_PROCESS}")))?;
        let files = tls_files(process.maps().map_err(Failure::about(NETWORK_PROCESS))?);
        for wanted in [backend::FILE, "libssl.so.3", "fastkex.so"] {
            if !files.iter().any(|file| file.ends_with(wanted)) {
                return Err(Failure::new(format!("{NETWORK_PROCESS} has not loaded {wanted}")));
            }
        }
        Ok(files)
    }
}

/// Sets up a home folder with settings, and an environment without the user's session.
fn set_environment(command: &mut Command, stage: &Stage) -> Result<(), Failure> {
    let home = stage.at_home(HOME, command)?;
    let settings = home.join("config/glib-2.0/settings");
    fs::create_dir_all(&settings)
        .and_then(|()| fs::write(settings.join("keyfile"), SETTINGS))
        .map_err(Failure::about("settings"))?;
    command
        .env("DBUS_SESSION_BUS_ADDRESS", bus_address(stage))
        .env("LC_ALL", "C.UTF-8")
        .env("GDK_BACKEND", "x11")
        .env("GSETTINGS_BACKEND", "keyfile")
        // The buses of these services do not exist.
        .env("GIO_USE_VFS", "local")
        .env("NO_AT_BRIDGE", "1");
    Ok(())
}

fn start_bus(stage: &Stage) -> Result<Server, Failure> {
    const CONFIGURATION: &str = "browser-bus.conf";
    let template = include_str!("../../../demo/browser-bus.conf");
    let folder = stage.folder();
    stage.write(CONFIGURATION, &template.replace("@folder@", &folder.display().to_string()))?;
    let mut command = stage.stock("dbus-daemon");
    command.args(["--nofork", "--nopidfile", "--config-file", CONFIGURATION]);
    stage.start("dbus-daemon", &mut command, |_| folder.join(BUS).exists())
}

fn bus_address(stage: &Stage) -> String {
    format!("unix:path={}", stage.folder().join(BUS).display())
}

/// Returns the sandbox's error in the log of a browser that did not start, or else the last line.
fn why_it_ended(log: &str) -> String {
    let mut lines = log.lines().filter(|line| !line.trim().is_empty());
    let line = lines.clone().find(|line| line.starts_with(SANDBOX)).or_else(|| lines.next_back());
    line.map_or_else(String::new, |line| format!("; the browser said: {line}"))
}

/// Returns all descendants of a process.
fn descendants(process: u32) -> Vec<u32> {
    let mut found = testbed::children(process);
    let mut next = 0;
    while next < found.len() {
        found.extend(testbed::children(found[next]));
        next += 1;
    }
    found
}

/// Returns the mapped files with TLS code, each once.
fn tls_files(maps: MemoryMaps) -> BTreeSet<PathBuf> {
    const NAMES: [&str; 5] =
        ["libssl.so", "libcrypto.so", "fastkex.so", "libgioopenssl.so", "libgiognutls.so"];
    let has_tls = |file: &Path| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        NAMES.iter().any(|wanted| name.starts_with(wanted))
    };
    let files = maps.into_iter().filter_map(|map| match map.pathname {
        MMapPath::Path(file) => Some(file),
        _ => None,
    });
    files.filter(|file| has_tls(file)).collect()
}

#[cfg(test)]
mod tests {
    use procfs::FromBufRead;

    use super::*;

    #[test]
    fn files_are_told_once_and_only_those_of_tls() {
        let maps = "\
            7f01-7f02 r--p 00000000 fe:00 1 /usr/lib/x86_64-linux-gnu/libssl.so.3\n\
            7f02-7f03 r-xp 00001000 fe:00 1 /usr/lib/x86_64-linux-gnu/libssl.so.3\n\
            7f03-7f04 rw-p 00000000 00:00 0 [heap]\n\
            7f04-7f05 rw-p 00000000 00:00 0 \n\
            7f05-7f06 r--p 00000000 fe:00 2 /a folder/fastkex.so\n\
            7f06-7f07 r--p 00000000 fe:00 3 /libssl.so/libc.so.6\n";
        let files = tls_files(MemoryMaps::from_buf_read(maps.as_bytes()).unwrap());
        let expected = ["/a folder/fastkex.so", "/usr/lib/x86_64-linux-gnu/libssl.so.3"];
        assert_eq!(files, expected.map(PathBuf::from).into());
    }

    #[test]
    fn a_browser_that_does_not_come_up_says_why() {
        let bwrap = "bwrap: No permissions to create new namespace";
        let last =
            "** ERROR **: Failed to fully launch dbus-proxy: Child process exited with code 1";
        assert_eq!(
            why_it_ended(&format!("one\n{last}\n\n")),
            format!("; the browser said: {last}")
        );
        assert_eq!(
            why_it_ended(&format!("one\n{bwrap}\n{last}\n")),
            format!("; the browser said: {bwrap}")
        );
        assert_eq!(why_it_ended(" \n"), "");
    }

    #[test]
    fn the_bus_is_where_it_is_looked_for() {
        let stage = Stage::new().unwrap();
        let listen = format!("<listen>{}</listen>", bus_address(&stage));
        let template = include_str!("../../../demo/browser-bus.conf");
        let folder = stage.folder().display().to_string();
        assert!(template.replace("@folder@", &folder).contains(&listen));
    }
}
