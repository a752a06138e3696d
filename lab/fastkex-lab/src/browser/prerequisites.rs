//! Checks for the packages of `demo-browser`.

use std::path::Path;

use output::Failure;

use crate::prerequisites;

/// Programs and their Debian packages.
const PROGRAMS: [(&str, &str); 7] = [
    ("epiphany-browser", "epiphany-browser"),
    ("WebKitWebDriver", "webkit2gtk-driver"),
    ("Xvfb", "xvfb"),
    ("dbus-daemon", "dbus-daemon"),
    ("stunnel", "stunnel4"),
    ("apache2", "apache2-bin"),
    ("curl", "curl"),
];
/// Makes the certificates.
const OPENSSL: (&str, &str) = ("openssl", "openssl");
/// Programs that build the backend, and their packages.
const BUILD_PROGRAMS: [(&str, &str); 5] = [
    ("meson", "meson"),
    ("ninja", "ninja-build"),
    ("cc", "gcc"),
    ("pkg-config", "pkg-config"),
    ("xz", "xz-utils"),
];
/// Files that building the backend needs, and their packages.
const BUILD_FILES: [(&str, &str); 3] = [
    ("/usr/include/glib-2.0/gio/gio.h", "libglib2.0-dev"),
    ("/usr/include/openssl/core_dispatch.h", "libssl-dev"),
    ("/usr/share/pkgconfig/gsettings-desktop-schemas.pc", "gsettings-desktop-schemas-dev"),
];

/// Checks for missing packages. The backend's build packages count only if it is not built.
///
/// # Errors
/// A package is missing. The error names all missing packages in one line.
pub(crate) fn check(backend: &Path) -> Result<(), Failure> {
    let mut programs = PROGRAMS.to_vec();
    programs.push(OPENSSL);
    let mut files = Vec::new();
    if !super::backend::is_built(backend) {
        programs.extend(BUILD_PROGRAMS);
        files.extend(BUILD_FILES);
    }
    prerequisites::check("browser", &programs, &files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_installs_all_of_it() {
        let programs = PROGRAMS.iter().chain([&OPENSSL]).chain(&BUILD_PROGRAMS);
        // The package meson depends on it.
        let programs = programs.filter(|(_, package)| *package != "ninja-build");
        prerequisites::assert_installed_by_script("browser", programs.chain(&BUILD_FILES));
    }
}
