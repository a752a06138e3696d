//! glib-networking's OpenSSL backend, which Debian does not build. It is built once from Debian's
//! unmodified source.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use output::Failure;
use testbed::Stage;

use crate::source::Source;

/// The release in Debian 13. It builds on Debian 12.
pub(crate) const VERSION: &str = "2.80.1";
/// Debian's copy of the source.
const SOURCE: Source = Source {
    name: "glib-networking 2.80.1",
    address: "http://deb.debian.org/debian/pool/main/g/glib-networking/glib-networking_2.80.1.orig.tar.xz",
    sha_256: "b80e2874157cd55071f1b6710fa0b911d5ac5de106a9ee2a4c9c7bee61782f8e",
};
/// Options of the build: only the backend.
const OPTIONS: [&str; 4] =
    ["-Dopenssl=enabled", "-Dgnutls=disabled", "-Dlibproxy=disabled", "-Dgnome_proxy=disabled"];
/// The backend in the build folder.
const MODULE: &str = "tls/openssl/libgioopenssl.so";
/// The file name that GLib expects.
pub(crate) const FILE: &str = "libgioopenssl.so";
/// A file that records the source and options of the build.
const STAMP: &str = "stamp";
const TIMEOUT: Duration = Duration::from_secs(300);

/// Returns the folder that holds only the backend and its stamp.
pub(crate) fn folder() -> PathBuf {
    artifacts::target_folder().join("glib-networking")
}

/// Returns true if the folder holds the backend of this source.
pub(crate) fn is_built(folder: &Path) -> bool {
    fs::read_to_string(folder.join(STAMP)).is_ok_and(|text| text == stamp())
        && folder.join(FILE).exists()
}

/// Returns the folder with the backend, and builds it if necessary.
pub(crate) fn provide(stage: &Stage, source: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = folder();
    if !is_built(&folder) {
        build(stage, source, &folder)?;
    }
    folder.canonicalize().map_err(Failure::about(folder.display()))
}

fn build(stage: &Stage, source: Option<&Path>, folder: &Path) -> Result<(), Failure> {
    const ARCHIVE: &str = "glib-networking.tar.xz";
    eprintln!("building glib-networking {VERSION}'s OpenSSL backend: some seconds");
    SOURCE.provide(stage, ARCHIVE, source)?;
    let run = |program: &str, arguments: &[&str]| {
        let finished = stage.run_within(TIMEOUT, stage.stock(program).args(arguments))?;
        finished.output_of(program)
    };
    run("tar", &["-xf", ARCHIVE])?;
    let source = format!("glib-networking-{VERSION}");
    run("meson", &[&["setup", "build", &source][..], &OPTIONS].concat())?;
    run("ninja", &["-C", "build", MODULE])?;

    fs::create_dir_all(folder).map_err(Failure::about(folder.display()))?;
    // The stamp comes last, so that an incomplete build is not taken for a backend.
    let module = stage.folder().join("build").join(MODULE);
    fs::copy(module, folder.join(FILE)).map_err(Failure::about(FILE))?;
    fs::write(folder.join(STAMP), stamp()).map_err(Failure::about(STAMP))
}

fn stamp() -> String {
    format!("{} {}\n", SOURCE.sha_256, OPTIONS.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_of_another_source_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_built(folder.path()));
        fs::write(folder.path().join(STAMP), stamp()).unwrap();
        assert!(!is_built(folder.path()));
        fs::write(folder.path().join(FILE), "").unwrap();
        assert!(is_built(folder.path()));
        fs::write(folder.path().join(STAMP), stamp().replace("b80e", "b80f")).unwrap();
        assert!(!is_built(folder.path()));
    }
}
