//! What must be installed, told in one line if it is not.

use std::env;
use std::path::Path;

use cli::Failure;

/// Programs, and the packages of Debian that have them.
const PROGRAMS: [(&str, &str); 7] = [
    ("epiphany-browser", "epiphany-browser"),
    ("WebKitWebDriver", "webkit2gtk-driver"),
    ("Xvfb", "xvfb"),
    ("dbus-daemon", "dbus-daemon"),
    ("stunnel", "stunnel4"),
    ("apache2", "apache2-bin"),
    ("curl", "curl"),
];
/// Without it certificates are not made.
const OPENSSL: (&str, &str) = ("openssl", "openssl");
/// What the backend's build takes.
const BUILD_PROGRAMS: [(&str, &str); 5] = [
    ("meson", "meson"),
    ("ninja", "ninja-build"),
    ("cc", "gcc"),
    ("pkg-config", "pkg-config"),
    ("xz", "xz-utils"),
];
/// The same, as files.
const BUILD_FILES: [(&str, &str); 3] = [
    ("/usr/include/glib-2.0/gio/gio.h", "libglib2.0-dev"),
    ("/usr/include/openssl/core_dispatch.h", "libssl-dev"),
    ("/usr/share/pkgconfig/gsettings-desktop-schemas.pc", "gsettings-desktop-schemas-dev"),
];

/// Says what is missing: what the backend's build takes only where it is not built.
///
/// # Errors
/// Something is, in one line with the packages.
pub(crate) fn check(backend: &Path) -> Result<(), Failure> {
    let mut programs = PROGRAMS.to_vec();
    programs.push(OPENSSL);
    let mut files = Vec::new();
    if !super::backend::is_built(backend) {
        programs.extend(BUILD_PROGRAMS);
        files.extend(BUILD_FILES);
    }
    let packages = missing(&programs, &files, in_path, |file| Path::new(file).exists());
    if packages.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "missing: {}; 'tools/prerequisites browser' installs what is",
        packages.join(" ")
    )))
}

/// The packages of what is not there.
fn missing<'a>(
    programs: &[(&str, &'a str)],
    files: &[(&str, &'a str)],
    is_program: impl Fn(&str) -> bool,
    is_file: impl Fn(&str) -> bool,
) -> Vec<&'a str> {
    let programs = programs.iter().filter(|(program, _)| !is_program(program));
    let files = files.iter().filter(|(file, _)| !is_file(file));
    programs.chain(files).map(|(_, package)| *package).collect()
}

/// Whether a program is where [`stage::Stage::prepare`] has it looked for.
fn in_path(program: &str) -> bool {
    let mut path = env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    env::split_paths(&path).any(|folder| folder.join(program).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_by_its_package() {
        let programs = [("Xvfb", "xvfb"), ("cc", "gcc")];
        let files = [("/a", "a-dev"), ("/b", "b-dev")];
        let found = missing(&programs, &files, |program| program == "cc", |file| file == "/b");
        assert_eq!(found, ["xvfb", "a-dev"]);
        assert!(missing(&programs, &files, |_| true, |_| true).is_empty());
    }

    #[test]
    fn the_script_installs_all_of_it() {
        let script = include_str!("../../../../tools/prerequisites");
        let line = script.lines().find(|line| line.starts_with("browser)")).unwrap();
        let all = PROGRAMS.iter().chain([&OPENSSL]).chain(&BUILD_PROGRAMS).chain(&BUILD_FILES);
        for (what, package) in all {
            // meson brings it.
            if *package == "ninja-build" {
                continue;
            }
            assert!(line.contains(&format!(":{package}")), "{what} is not in: {line}");
        }
    }
}
