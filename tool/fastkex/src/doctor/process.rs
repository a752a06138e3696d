//! Running processes: the TLS libraries that they have mapped, the module, and the configuration
//! that they have read.
//!
//! A process may belong to any user, may have mapped files of any name, and may end at any time.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use openssl_conf::{Config, Interpretation, Provider, Release};
use output::Failure;

use super::finding::Finding;
use super::libraries::{inside, of_another_library, of_names, openssl_folder, openssl_version};
use super::shared_objects::Root;
use super::system::{Examined, is_ours};
use crate::regular::Held;
use crate::run::environment;

/// The maximum size of a file of a process or of a program, in bytes.
const MOST_BYTES: u64 = 1 << 28;
/// The module's file.
const MODULE: &str = "fastkex.so";
/// The kernel's mark after the name of a file that was deleted.
const DELETED: &str = " (deleted)";

/// A file that a process has mapped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mapped {
    path: PathBuf,
    /// The file of this name has been deleted or replaced.
    is_deleted: bool,
}

impl Mapped {
    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    fn is_libssl(&self) -> bool {
        of_names([self.name()].into_iter()) == Some(None)
    }

    fn is_libcrypto(&self) -> bool {
        self.name().starts_with("libcrypto.so")
    }
}

/// Returns the files in the text of `/proc/PID/maps`, each once.
fn mapped(maps: &[u8]) -> Vec<Mapped> {
    let (mut files, mut seen) = (Vec::new(), HashSet::new());
    for line in maps.split(|&byte| byte == b'\n') {
        // Address, permissions, offset, device and inode come before the path.
        let mut rest = line;
        for _ in 0..5 {
            let end = rest.iter().position(|&byte| byte == b' ').unwrap_or(rest.len());
            rest = rest[end..].trim_ascii_start();
        }
        if !rest.starts_with(b"/") {
            continue;
        }
        let (path, is_deleted) = match rest.strip_suffix(DELETED.as_bytes()) {
            Some(path) => (path, true),
            None => (rest, false),
        };
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        let file = Mapped { path, is_deleted };
        if seen.insert(file.clone()) {
            files.push(file);
        }
    }
    files
}

/// The counts of an application's running processes that use libssl.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// With the module.
    pub(super) with: usize,
    /// Without the module.
    pub(super) without: usize,
    /// With a libssl, libcrypto or module that has been replaced.
    pub(super) outdated: usize,
    /// Those that this user may not look at.
    pub(super) unreadable: usize,
}

/// Counts the processes with one of these names, or with this program.
pub(super) fn all_of(names: &[&str], program: &Path) -> Found {
    let mut found = Found::default();
    let Ok(processes) = fs::read_dir("/proc") else { return found };
    for process in processes.flatten() {
        let path = process.path();
        let is_named = || {
            let comm = fs::read_to_string(path.join("comm"));
            comm.is_ok_and(|comm| names.contains(&comm.trim_end_matches('\n')))
        };
        let is_program = || fs::read_link(path.join("exe")).is_ok_and(|exe| exe == program);
        if !is_named() && !is_program() {
            continue;
        }
        let Ok(maps) = fs::read(path.join("maps")) else {
            found.unreadable += usize::from(path.exists());
            continue;
        };
        let files = mapped(&maps);
        if !files.iter().any(Mapped::is_libssl) {
            continue;
        }
        let module = files.iter().find(|file| file.name() == MODULE);
        let is_old = |file: &Mapped| {
            file.is_deleted && (file.is_libssl() || file.is_libcrypto() || file.name() == MODULE)
        };
        if files.iter().any(is_old) {
            found.outdated += 1;
        }
        match module {
            Some(_) => found.with += 1,
            None => found.without += 1,
        }
    }
    found
}

/// A process that is examined.
struct Process {
    pid: u32,
    folder: PathBuf,
    /// Its name and number, for people.
    name: String,
}

/// Checks the process `pid`.
///
/// # Errors
/// There is no such process, or this user may not look at it.
pub(super) fn examine(
    pid: u32,
    examined: Option<&Examined>,
    findings: &mut Vec<Finding>,
) -> Result<(), Failure> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let fail = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => Failure::new(format!("no process {pid}")),
        ErrorKind::PermissionDenied => Failure::new(format!(
            "process {pid}: {error}: run doctor as root, or as the user of the process"
        )),
        _ => Failure::new(format!("process {pid}: {error}")),
    };
    let comm = fs::read(folder.join("comm")).map_err(fail)?;
    let comm = comm.strip_suffix(b"\n").unwrap_or(&comm).escape_ascii().to_string();
    let maps = fs::read(folder.join("maps")).map_err(fail)?;
    if maps.is_empty() {
        return Err(Failure::new(format!(
            "process {pid} ({comm}) has no memory of its own: it has ended or belongs to the kernel"
        )));
    }
    let process = Process { pid, folder, name: format!("{comm} {pid}") };
    process.examine(&mapped(&maps), examined, findings);
    Ok(())
}

impl Process {
    fn examine(&self, files: &[Mapped], examined: Option<&Examined>, findings: &mut Vec<Finding>) {
        let name = self.name.as_str();
        let exe = fs::read_link(self.folder.join("exe")).unwrap_or_default();
        findings
            .push(Finding::note(name, format!("program {}{}", exe.display(), self.whereabouts())));
        let libssl = files.iter().find(|file| file.is_libssl());
        let libcrypto = files.iter().find(|file| file.is_libcrypto());
        let Some(libssl) = libssl else {
            self.without_libssl(files, libcrypto.is_some(), findings);
            return;
        };
        let crypto = libcrypto.and_then(|file| self.read(file));
        let version = crypto.as_deref().and_then(openssl_version);
        let shown = version.as_deref().unwrap_or("an unknown version");
        let ours = examined.map(|examined| examined.libraries.version_text());
        let message = format!("uses {}: {shown}", libssl.path.display());
        findings.push(match ours {
            Some(ours) if version.as_deref().is_some_and(|version| version != ours) => {
                Finding::note(name, format!("{message}; here it is {ours}"))
            }
            _ => Finding::ok(name, message),
        });
        let module = files.iter().find(|file| file.name() == MODULE);
        for file in [Some(libssl), libcrypto, module].into_iter().flatten() {
            if file.is_deleted {
                findings.push(Finding::wrong(
                    name,
                    format!(
                        "{} has been replaced or deleted since it started",
                        file.path.display()
                    ),
                    format!("restart process {}", self.pid),
                ));
            }
        }
        let release = version.as_deref().and_then(Release::parse);
        let reason = self.examine_configuration(crypto.as_deref(), release, findings);
        findings.push(match module {
            Some(module) => Finding::ok(name, format!("has loaded {}", module.path.display())),
            None => {
                let (why, fix) = reason.unwrap_or((
                    "its configuration activates it: OpenSSL could not load it, or has not read its configuration yet"
                        .to_owned(),
                    "run fastkex doctor with this configuration, and restart the process".to_owned(),
                ));
                Finding::wrong(name, format!("has not loaded the module: {why}"), fix)
            }
        });
    }

    /// Says whether the process is in another root folder.
    fn whereabouts(&self) -> String {
        let of = |path: PathBuf| fs::read_link(path).ok();
        let root = of(self.folder.join("root")).unwrap_or_default();
        if self.is_elsewhere() {
            return ", in a container (another mount namespace)".to_owned();
        }
        match root == Path::new("/") || root.as_os_str().is_empty() {
            true => String::new(),
            false => format!(", with the root folder {}", root.display()),
        }
    }

    fn is_elsewhere(&self) -> bool {
        let space = |folder: &Path| fs::read_link(folder.join("ns/mnt")).ok();
        space(&self.folder) != space(Path::new("/proc/self"))
    }

    /// Reads a file that the process has mapped. A deleted one can still be read through the
    /// process, by root.
    fn read(&self, file: &Mapped) -> Option<Vec<u8>> {
        let by_name = || {
            let root = Root::of_process(self.pid).ok()?;
            root.hold(&file.path).and_then(|held| held.read(MOST_BYTES)).ok()
        };
        let by_map = || {
            let entries = fs::read_dir(self.folder.join("map_files")).ok()?;
            let mut names = entries.flatten().map(|entry| entry.path());
            let name = names.find(|name| {
                fs::read_link(name).is_ok_and(|to| {
                    to.as_os_str().as_bytes().starts_with(file.path.as_os_str().as_bytes())
                })
            })?;
            Held::at(&name).and_then(|held| held.read(MOST_BYTES)).ok()
        };
        if file.is_deleted { by_map() } else { by_name().or_else(by_map) }
    }

    /// Reports a process that has no libssl mapped.
    fn without_libssl(&self, files: &[Mapped], has_libcrypto: bool, findings: &mut Vec<Finding>) {
        let name = self.name.as_str();
        if let Some(Some(other)) = of_names(files.iter().map(Mapped::name)) {
            findings.push(of_another_library(name, &other));
            return;
        }
        let exe = Held::at(&self.folder.join("exe")).and_then(|exe| exe.read(MOST_BYTES));
        if let Some(other) = exe.ok().and_then(|bytes| inside(&bytes)) {
            findings.push(of_another_library(name, &other));
            return;
        }
        let message = match has_libcrypto {
            true => {
                "has libcrypto mapped, but no libssl: it makes no TLS connections, or has not made any yet"
            }
            false => {
                "has no TLS library mapped: it makes no TLS connections, or has not made any yet"
            }
        };
        findings.push(Finding::note(name, message));
    }

    /// Checks the configuration that OpenSSL in the process reads. Returns the reason why it does
    /// not have the module, and the fix, if the configuration is that reason.
    fn examine_configuration(
        &self,
        libcrypto: Option<&[u8]>,
        release: Option<Release>,
        findings: &mut Vec<Finding>,
    ) -> Option<(String, String)> {
        let name = self.name.as_str();
        let start = fs::read(self.folder.join("environ")).unwrap_or_default();
        let variable = |wanted: &str| {
            let mut entries = start.split(|&byte| byte == 0);
            let value = entries
                .find_map(|entry| entry.strip_prefix(wanted.as_bytes())?.strip_prefix(b"="))?;
            Some(PathBuf::from(OsString::from_vec(value.to_vec())))
        };
        let named = variable("OPENSSL_CONF").filter(|path| !path.as_os_str().is_empty());
        let restart = format!("restart process {}", self.pid);
        let (path, origin) = match &named {
            Some(path) => (path.clone(), "OPENSSL_CONF in its environment at its start"),
            None => {
                let folder = libcrypto.and_then(openssl_folder)?;
                (folder.join("openssl.cnf"), "no OPENSSL_CONF at its start: the system's own")
            }
        };
        let shown = path.display();
        let root = Root::of_process(self.pid).ok()?;
        // A relative path is relative to the folder in which the process started.
        let held = match path.is_absolute() {
            true => root.hold(&path),
            false => Held::at(&self.folder.join("cwd").join(&path)),
        };
        let data = held.and_then(|held| held.metadata());
        let data = match data {
            Ok(data) => data,
            Err(error) => {
                findings.push(Finding::wrong(
                    name,
                    format!("configuration {shown} ({origin}): {error}"),
                    format!("write this file, or name another one; {restart}"),
                ));
                return Some((
                    "OpenSSL goes on without a configuration".to_owned(),
                    format!("fastkex enable; {restart}"),
                ));
            }
        };
        let (mut changed, mut activates) = (vec![(path.clone(), data.ctime())], None);
        // Files that are included are looked up from here, so not those of a container.
        let is_here = !self.is_elsewhere()
            && fs::read_link(self.folder.join("root")).is_ok_and(|root| root == Path::new("/"));
        if is_here && path.is_absolute() {
            match Config::load(&path, &environment) {
                Ok(config) => {
                    let others = config.files().skip(1);
                    let time = |path: &Path| Some((path.to_owned(), path.metadata().ok()?.ctime()));
                    changed.extend(others.filter_map(time));
                    let release = release.unwrap_or(Release::new(3, 0));
                    let found = Interpretation::new(&config, release);
                    let is_active = |provider: &Provider| is_ours(provider) && provider.active;
                    activates = Some(found.providers.iter().any(is_active));
                }
                Err(error) => findings.push(Finding::wrong(
                    name,
                    format!("configuration {shown}: {error}"),
                    format!("mend {shown}; {restart}"),
                )),
            }
        }
        findings.push(Finding::note(name, format!("configuration {shown}: {origin}")));
        let started = self.started();
        let is_newer = |time: i64| started.is_some_and(|started| time > started);
        let newer = changed.iter().find(|(_, time)| is_newer(*time));
        if let Some((file, _)) = newer {
            findings.push(Finding::wrong(
                name,
                format!("{} has changed since it started", file.display()),
                restart.clone(),
            ));
        }
        match (activates, newer) {
            (Some(false), _) => Some((
                format!("its configuration {shown} does not activate it"),
                format!(
                    "fastkex enable, or for a service of its own fastkex enable --service NAME; {restart}"
                ),
            )),
            (_, Some(_)) => Some(("its configuration is newer than it".to_owned(), restart)),
            _ => None,
        }
    }

    /// Returns when the process started, in seconds since 1970, rounded up.
    fn started(&self) -> Option<i64> {
        let status = fs::read(self.folder.join("stat")).ok()?;
        // The name, in brackets, may have any characters.
        let end = status.iter().rposition(|&byte| byte == b')')?;
        let rest = std::str::from_utf8(&status[end + 1..]).ok()?;
        /// The position of the start time, counted from the field after the name.
        const START: usize = 19;
        let ticks: i64 = rest.split_whitespace().nth(START)?.parse().ok()?;
        let system = fs::read_to_string("/proc/stat").ok()?;
        let boot = system.lines().find_map(|line| line.strip_prefix("btime "))?;
        let boot: i64 = boot.trim().parse().ok()?;
        let per_second = i64::try_from(rustix::param::clock_ticks_per_second()).ok()?;
        Some(boot + ticks.div_euclid(per_second.max(1)) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_maps_are_read() {
        let maps = b"7f00-7f01 r-xp 00000000 08:01 12   /usr/lib/libssl.so.3\n\
            7f01-7f02 r--p 00000000 08:01 12                   /usr/lib/libssl.so.3\n\
            7f02-7f03 rw-p 00000000 00:00 0\n\
            7f03-7f04 rw-p 00000000 00:00 0     [heap]\n\
            7f04-7f05 r-xp 00000000 08:01 13    /opt/a b/libcrypto.so.3 (deleted)\n\
            7f05-7f06 rw-s 00000000 00:01 9     /SYSV00000000 (deleted)\n\
            7f06-7f07 rw-s 00000000 00:01 9     /SYSV\n\
            7f07-7f08 r-xp 0 0:0 1 /\xff\xfe/x\n\
            \n/\nx\n7 7 7 7 7 /a";
        let files = mapped(maps);
        let names: Vec<_> = files.iter().map(|file| (file.name(), file.is_deleted)).collect();
        let expected = [
            ("libssl.so.3", false),
            ("libcrypto.so.3", true),
            ("SYSV00000000", true),
            ("SYSV", false),
            ("x", false),
            ("a", false),
        ];
        assert_eq!(names, expected);
        assert!(files[0].is_libssl() && files[1].is_libcrypto() && !files[2].is_libssl());
        assert_eq!(files[1].path, Path::new("/opt/a b/libcrypto.so.3"));
    }
}
