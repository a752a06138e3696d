//! Releases of OpenSSL, and how they are built from the source in `openssl-src` crates.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Replaces a script that the crates leave out and that links shared libraries.
const MKDEF: &str = include_str!("../mkdef.pl");

/// fastkex's patches to 1.1.1, in this order. The last is for [`Legacy::Reference`] only.
const PATCHES: [&str; 3] = [
    include_str!("../../../lab/legacy/openssl-1.1.1/patches/0001-identifiers.patch"),
    include_str!("../../../lab/legacy/openssl-1.1.1/patches/0002-kem-groups.patch"),
    include_str!("../../../lab/legacy/openssl-1.1.1/patches/0003-reference.patch"),
];
/// The groups that the patches add.
const PATCHED_GROUPS: [&str; 2] = ["sntrup761", "sntrup857"];

/// A release of OpenSSL whose source comes with an `openssl-src` crate.
pub(crate) struct Release {
    crate_version: &'static str,
    source: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// 3.0 and later.
    WithProviders,
    Legacy(Legacy),
}

/// The patches of a build of 1.1.1.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Legacy {
    /// No patches.
    Stock,
    /// Identifiers and TLS groups for sntrup.
    Patched,
    /// The same with a reference implementation of sntrup761.
    Reference,
}

impl Legacy {
    fn patches(self) -> &'static [&'static str] {
        match self {
            Legacy::Stock => &[],
            Legacy::Patched => &PATCHES[..2],
            Legacy::Reference => &PATCHES,
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Legacy(Legacy::Patched) => ", patched",
            Kind::Legacy(Legacy::Reference) => ", patched, with a reference implementation",
            Kind::WithProviders | Kind::Legacy(Legacy::Stock) => "",
        };
        write!(f, "OpenSSL {}{kind}", self.version())
    }
}

impl Release {
    /// Makes a release from a crate's version, such as `400.0.2+4.0.3`, and its source folder.
    pub(crate) fn new(crate_version: &'static str, source: PathBuf) -> Self {
        Self { crate_version, source, kind: Kind::WithProviders }
    }

    /// Makes a release of 1.1.1. Patched, it has TLS groups for sntrup with the code points of
    /// `kex`.
    pub(crate) fn legacy(crate_version: &'static str, source: PathBuf, legacy: Legacy) -> Self {
        Self { crate_version, source, kind: Kind::Legacy(legacy) }
    }

    /// Returns OpenSSL's own version.
    pub(crate) fn version(&self) -> &'static str {
        self.crate_version.rsplit('+').next().unwrap_or(self.crate_version)
    }

    /// Builds and installs shared libraries, headers and the program `openssl` below `folder`,
    /// unless this was done before, and returns the prefix. It runs OpenSSL's own Makefile, with
    /// OpenSSL's defaults.
    pub(crate) fn build(&self, folder: &Path) -> io::Result<PathBuf> {
        let suffix = match self.kind {
            Kind::WithProviders | Kind::Legacy(Legacy::Patched) => "",
            Kind::Legacy(Legacy::Stock) => "-stock",
            Kind::Legacy(Legacy::Reference) => "-reference",
        };
        let name = format!("openssl-{}{suffix}", self.version());
        let (prefix, tree) = (folder.join(&name), folder.join(format!("{name}.build")));
        let log = folder.join(format!("{name}.log"));
        let options = self.options(&prefix);
        // Written last. Its contents identify the crate, the options with the prefix, and the
        // changes of a complete build.
        let (stamp, recipe) = (
            prefix.join("recipe"),
            format!("{}\n{}\n{}", self.crate_version, options.join("\n"), self.changes()),
        );

        fs::create_dir_all(folder)?;
        let lock = File::create(folder.join(format!("{name}.lock")))?;
        lock.lock()?;
        if fs::read_to_string(&stamp).is_ok_and(|found| found == recipe) {
            return Ok(prefix);
        }
        eprintln!("building {self}, which takes minutes; see {}", log.display());
        remove(&prefix)?;
        remove(&tree)?;
        let log = Log { file: File::create(&log)?, path: log };
        log.run(Command::new("cp").arg("-R").args([&self.source, &tree]))?;
        match self.kind {
            Kind::WithProviders => {
                fs::write(tree.join("util/mkdef.pl"), MKDEF)?;
                log.run(Command::new("perl").arg("Configure").args(&options).current_dir(&tree))?;
            }
            Kind::Legacy(legacy) => {
                // The patches and OpenSSL's own scripts change files, which may be read-only in a
                // vendored crate.
                log.run(Command::new("chmod").args(["-R", "u+w"]).arg(&tree))?;
                for patch in legacy.patches() {
                    let file = tree.join("fastkex.patch");
                    fs::write(&file, patch)?;
                    let arguments = ["--strip=1", "--fuzz=0", "--input=fastkex.patch"];
                    log.run(Command::new("patch").args(arguments).current_dir(&tree))?;
                }
                log.run(Command::new("sh").arg("config").args(&options).current_dir(&tree))?;
                if legacy != Legacy::Stock {
                    log.make("-j1", "generate_crypto_objects", &tree)?;
                }
            }
        }
        let jobs = format!("-j{}", std::thread::available_parallelism()?);
        // One goal at a time: OpenSSL's recursive goals build the same files when they run in
        // parallel.
        for goal in ["build_libs", "build_programs", "install_dev", "install_programs"] {
            log.make(&jobs, goal, &tree)?;
        }
        remove(&tree)?;
        fs::write(&stamp, recipe)?;
        Ok(prefix)
    }

    fn options(&self, prefix: &Path) -> Vec<String> {
        let mut options = vec![
            format!("--prefix={}", prefix.display()),
            format!("--openssldir={}/ssl", prefix.display()),
            "--libdir=lib".into(),
            format!("-Wl,-rpath,{}/lib", prefix.display()),
            "no-tests".into(),
        ];
        match self.kind {
            // The legacy provider, whose list of symbols the crates leave out, too.
            Kind::WithProviders => options.push("no-legacy".into()),
            Kind::Legacy(Legacy::Stock) => {}
            Kind::Legacy(Legacy::Patched | Legacy::Reference) => options.extend(
                kex::TLS_GROUPS
                    .iter()
                    .filter(|group| PATCHED_GROUPS.contains(&group.name))
                    .map(|group| format!("-DTLSEXT_group_{}={:#x}", group.name, group.code_point)),
            ),
        }
        options
    }

    /// Returns the changes to the crate's source.
    fn changes(&self) -> String {
        match self.kind {
            Kind::WithProviders => MKDEF.into(),
            Kind::Legacy(legacy) => legacy.patches().concat(),
        }
    }
}

/// The log file for the output of a build.
struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    fn make(&self, jobs: &str, goal: &str, tree: &Path) -> io::Result<()> {
        // A `make` that runs this program must not pass on its flags.
        let mut command = Command::new("make");
        command.args([jobs, goal]).current_dir(tree).env_remove("MAKEFLAGS").env_remove("MFLAGS");
        self.run(&mut command)
    }

    fn run(&self, command: &mut Command) -> io::Result<()> {
        let status = command
            .stdin(Stdio::null())
            .stdout(self.file.try_clone()?)
            .stderr(self.file.try_clone()?)
            .status()?;
        if !status.success() {
            let message = format!("{command:?}: {status}; see {}", self.path.display());
            return Err(io::Error::other(message));
        }
        Ok(())
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
