//! A stunnel for OpenSSL 1.1.1, built once from Debian's unmodified source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use output::Failure;
use testbed::Stage;

use crate::source::Source;

/// The source in Debian 12.
const SOURCE: Source = Source {
    name: "stunnel 5.68",
    address: "http://deb.debian.org/debian/pool/main/s/stunnel4/stunnel4_5.68.orig.tar.gz",
    sha_256: "dcd895ab088b043d4e0bafa8b934e7ab3e697293828dbe9fce46cb7609a7dacf",
};
const FOLDER: &str = "stunnel-5.68";
/// Options that disable parts of Debian's build which need libraries and do not concern TLS.
const OPTIONS: [&str; 3] = ["--disable-libwrap", "--disable-systemd", "--disable-fips"];
/// The program's file name in the folder of the build.
const PROGRAM: &str = "stunnel";
/// A file that records the source and the options of the build.
const STAMP: &str = "stamp";
const TIMEOUT: Duration = Duration::from_secs(900);

/// Returns the folder of the build, beside its OpenSSL.
fn folder(openssl: &Path) -> PathBuf {
    openssl.with_file_name(FOLDER)
}

/// Returns true if it has been built from this source for this OpenSSL.
pub(crate) fn is_built(openssl: &Path) -> bool {
    let folder = folder(openssl);
    fs::read_to_string(folder.join(STAMP)).is_ok_and(|text| text == stamp(openssl))
        && folder.join(PROGRAM).exists()
}

/// Returns the program, and builds it if necessary.
pub(crate) fn provide(openssl: &Path, source: Option<&Path>) -> Result<PathBuf, Failure> {
    if !is_built(openssl) {
        build(openssl, source)?;
    }
    Ok(folder(openssl).join(PROGRAM))
}

fn build(openssl: &Path, source: Option<&Path>) -> Result<(), Failure> {
    const ARCHIVE: &str = "stunnel.tar.gz";
    eprintln!("building {} for OpenSSL 1.1.1: half a minute", SOURCE.name);
    let stage = Stage::new()?;
    SOURCE.provide(&stage, ARCHIVE, source)?;
    let run = |command: &mut Command| {
        // A `make` that runs this program must not pass on its flags.
        command.env_remove("MAKEFLAGS").env_remove("MFLAGS");
        let name = command.get_program().display().to_string();
        stage.run_within(TIMEOUT, command)?.output_of(&name)
    };
    run(stage.stock("tar").args(["-xf", ARCHIVE]))?;
    let tree = stage.folder().join(FOLDER);
    run(stage.stock("sh").arg("-c").arg(script(openssl)))?;

    let folder = folder(openssl);
    fs::create_dir_all(&folder).map_err(Failure::about(folder.display()))?;
    // Another process may build or run the program now: it appears when it is complete. The stamp
    // comes last, so that an incomplete build is not taken for a program.
    let new = folder.join(format!("{PROGRAM}-{}", std::process::id()));
    fs::copy(tree.join("src").join(PROGRAM), &new).map_err(Failure::about(PROGRAM))?;
    fs::rename(&new, folder.join(PROGRAM)).map_err(Failure::about(PROGRAM))?;
    fs::write(folder.join(STAMP), stamp(openssl)).map_err(Failure::about(STAMP))
}

/// Returns the build script. It runs in the stage's folder, like all of the stage's commands.
fn script(openssl: &Path) -> String {
    let openssl = openssl.display();
    format!(
        "cd {FOLDER} && ./configure --with-ssl='{openssl}' {} LDFLAGS='-Wl,-rpath,{openssl}/lib' && make -C src {PROGRAM}",
        OPTIONS.join(" ")
    )
}

fn stamp(openssl: &Path) -> String {
    format!("{} {}\n", SOURCE.sha_256, script(openssl))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_for_another_openssl_is_not_taken() {
        let target = tempfile::tempdir().unwrap();
        let openssl = target.path().join("openssl-1.1.1w");
        assert!(!is_built(&openssl));
        let folder = folder(&openssl);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(STAMP), stamp(&openssl)).unwrap();
        assert!(!is_built(&openssl));
        fs::write(folder.join(PROGRAM), "").unwrap();
        assert!(is_built(&openssl));
        fs::write(folder.join(STAMP), stamp(Path::new("/elsewhere"))).unwrap();
        assert!(!is_built(&openssl));
    }
}
