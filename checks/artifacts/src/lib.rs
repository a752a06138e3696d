//! Builds files that tests and demonstrations load at run time: shared objects that cargo does not
//! build for a test by itself.

#![forbid(unsafe_code)]

mod c_library;
mod numbers;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

pub use c_library::CLibrary;
pub use numbers::Numbers;

/// Returns the project's root folder.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Returns cargo's target folder.
pub fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into)
}

/// Returns the folder of release builds.
pub fn release_folder() -> PathBuf {
    target_folder().join("release")
}

/// Builds `package` for release and returns the path of its artifact called `file`.
///
/// # Errors
/// Cargo cannot be run or fails, or makes no such file. Cargo's own messages go to standard error.
pub fn build(package: &str, file: &str) -> io::Result<PathBuf> {
    build_with(package, &[], file)
}

/// Builds like [`build`], with some of the package's features.
///
/// # Errors
/// The same as for [`build`].
pub fn build_with(package: &str, features: &[&str], file: &str) -> io::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", package])
        .args(["--features", &features.join(",")])
        .current_dir(root())
        .stdin(Stdio::null())
        .status()?;
    let path = release_folder().join(file);
    if !status.success() {
        return Err(io::Error::other(format!("cargo build of {package} failed")));
    }
    if !path.exists() {
        return Err(io::Error::other(format!("{} was not built", path.display())));
    }
    Ok(path)
}

/// Builds the OpenSSL module and returns its path.
///
/// # Errors
/// The same as for [`build`], or the file cannot be copied to its own name.
pub fn module() -> io::Result<PathBuf> {
    renamed(build("openssl-provider", "libfastkex_provider.so")?, "fastkex.so")
}

/// Builds the ENGINE for OpenSSL 1.1.1 and returns its path.
///
/// # Errors
/// The same as for [`module`].
pub fn engine() -> io::Result<PathBuf> {
    renamed(build("openssl-engine", "libengntru.so")?, "engntru.so")
}

/// Copies an artifact to the file name under which it is used.
fn renamed(built: PathBuf, name: &str) -> io::Result<PathBuf> {
    let module = built.with_file_name(name);
    // Copied to a temporary name and then renamed, as another process may be loading the old file.
    // The temporary name is unique to this process, so its threads take turns.
    static COPY: Mutex<()> = Mutex::new(());
    let _one = COPY.lock();
    let fresh = |path: &Path| path.metadata().and_then(|data| data.modified());
    if fresh(&module).ok() < fresh(&built).ok() {
        let beside = module.with_extension(format!("so.{}", std::process::id()));
        std::fs::copy(&built, &beside)?;
        std::fs::rename(&beside, &module)?;
    }
    Ok(module)
}

/// Returns the folder in which `lab/legacy/openssl-1.1.1/build` has installed OpenSSL 1.1.1,
/// patched or stock, or `None` if it has not.
pub fn legacy_openssl(patched: bool) -> Option<PathBuf> {
    legacy(if patched { "openssl-1.1.1w" } else { "openssl-1.1.1w-stock" })
}

/// Returns the folder in which `lab/legacy/openssl-1.1.1/build --reference` has installed it with a
/// reference implementation of sntrup761.
pub fn legacy_reference() -> Option<PathBuf> {
    legacy("openssl-1.1.1w-reference")
}

fn legacy(name: &str) -> Option<PathBuf> {
    let prefix = target_folder().join("legacy").join(name);
    // Written last.
    prefix.join("recipe").exists().then_some(prefix)
}

/// Returns the folders in which `make test-matrix` or `make test-peers` have installed newer
/// releases of OpenSSL, in the order of their names.
pub fn openssl_releases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("checks/matrix/target"));
    let entries = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    // The recipe is written last.
    let is_release = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("openssl-") && path.join("recipe").exists()
    };
    let mut found: Vec<_> = entries.filter(is_release).collect();
    found.sort();
    found
}

/// Returns the program of `checks/peers` that `make test-peers` has built, or `None` if it has not,
/// or if the source has changed since.
pub fn rustls_peer() -> Option<PathBuf> {
    let folder = root().join("checks/peers");
    let changed = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    let program = folder.join("target/release/rustls-peer");
    let built = changed(&program)?;
    let sources = ["src/main.rs", "Cargo.lock"].map(|name| changed(&folder.join(name)));
    sources.iter().all(|source| *source <= Some(built)).then_some(program)
}

/// Prints a line about a skipped test and the reason, past the test harness, which captures printed
/// lines.
pub fn skipped(why: &str) {
    say(&format!("skipped: {why}"));
}

/// Reports that an application is missing, like [`skipped`].
///
/// # Panics
/// `make test-applications`, which has installed all applications, runs the test.
pub fn absent(what: &str) {
    assert!(std::env::var_os("FASTKEX_TEST_APPLICATIONS").is_none(), "{what}");
    skipped(what);
}

/// Prints a line of a test past the test harness.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
