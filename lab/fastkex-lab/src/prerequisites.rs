//! Checks for installed packages. One line names the missing ones.

use std::path::Path;

use output::Failure;

/// Checks that programs and files exist. Each comes with the Debian package that has it. `target`
/// is the argument of `scripts/prerequisites` that installs all of them.
///
/// # Errors
/// Something is missing. The error names the packages in one line.
pub(crate) fn check(
    target: &str,
    programs: &[(&str, &str)],
    files: &[(&str, &str)],
) -> Result<(), Failure> {
    let packages = missing(programs, files, testbed::is_installed, |file| Path::new(file).exists());
    if packages.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "missing: {}; 'scripts/prerequisites {target}' installs what is",
        packages.join(" ")
    )))
}

/// Returns the packages of missing programs and files.
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

/// Checks that the script's line for a target has all of these packages.
#[cfg(test)]
pub(crate) fn assert_installed_by_script<'a>(
    target: &str,
    all: impl Iterator<Item = &'a (&'a str, &'a str)>,
) {
    let script = include_str!("../../../scripts/prerequisites");
    let line = script.lines().find(|line| line.starts_with(&format!("{target})"))).unwrap();
    for (what, package) in all {
        assert!(line.contains(&format!(":{package}")), "{what} is not in: {line}");
    }
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
}
