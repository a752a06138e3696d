use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Stands in for a script that the crates leave out and that links shared libraries.
const MKDEF: &str = include_str!("../mkdef.pl");

/// A release of OpenSSL whose source an `openssl-src` crate carries.
pub(crate) struct Release {
    crate_version: &'static str,
    source: PathBuf,
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenSSL {}", self.version())
    }
}

impl Release {
    /// From what the crate tells: its version, such as `400.0.2+4.0.3`, and its folder of sources.
    pub(crate) fn new(crate_version: &'static str, source: PathBuf) -> Self {
        Self { crate_version, source }
    }

    /// OpenSSL's own version.
    pub(crate) fn version(&self) -> &'static str {
        self.crate_version.rsplit('+').next().unwrap_or(self.crate_version)
    }

    /// Builds and installs shared libraries, headers and the program `openssl` below `folder`, unless that was done before,
    /// and returns the prefix. OpenSSL's own Makefile does it, with OpenSSL's defaults.
    pub(crate) fn build(&self, folder: &Path) -> io::Result<PathBuf> {
        let name = format!("openssl-{}", self.version());
        let (prefix, tree) = (folder.join(&name), folder.join(format!("{name}.build")));
        let log = folder.join(format!("{name}.log"));
        let options = [
            format!("--prefix={}", prefix.display()),
            format!("--openssldir={}/ssl", prefix.display()),
            "--libdir=lib".into(),
            format!("-Wl,-rpath,{}/lib", prefix.display()),
            "no-tests".into(),
            // A module, whose list of symbols the crates leave out, too.
            "no-legacy".into(),
        ];
        // Written last, so that it tells a build that is complete and was made in this way in this place.
        let (stamp, recipe) = (
            prefix.join("recipe"),
            format!("{}\n{}\n{MKDEF}", self.crate_version, options.join("\n")),
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
        fs::write(tree.join("util/mkdef.pl"), MKDEF)?;
        log.run(Command::new("perl").arg("Configure").args(&options).current_dir(&tree))?;
        let jobs = format!("-j{}", std::thread::available_parallelism()?);
        // One goal at a time: OpenSSL's recursive goals build the same files when they run side by side.
        for goal in ["build_libs", "build_programs", "install_dev", "install_programs"] {
            // A `make` that runs us must not hand its own flags down.
            log.run(
                Command::new("make")
                    .args([&jobs, goal])
                    .current_dir(&tree)
                    .env_remove("MAKEFLAGS")
                    .env_remove("MFLAGS"),
            )?;
        }
        remove(&tree)?;
        fs::write(&stamp, recipe)?;
        Ok(prefix)
    }
}

/// The file that the output of a build goes to.
struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
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
