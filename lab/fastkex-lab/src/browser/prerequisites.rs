//! Checks for packages that must be installed; one line names the missing ones.

use std::path::Path;

use output::Failure;

use crate::prerequisites;

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
/// Programs that build the backend.
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
    prerequisites::check("browser", &programs, &files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_installs_all_of_it() {
        let programs = PROGRAMS.iter().chain([&OPENSSL]).chain(&BUILD_PROGRAMS);
        // meson brings it.
        let programs = programs.filter(|(_, package)| *package != "ninja-build");
        prerequisites::assert_installed_by_script("browser", programs.chain(&BUILD_FILES));
    }
}
