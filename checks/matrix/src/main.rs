//! Builds releases of OpenSSL for `scripts/test-matrix`, `scripts/ceiling` and
//! `lab/legacy/openssl-1.1.1`.
//!
//! - `matrix build FOLDER [VERSION]...` builds the releases below the folder, each once, and prints
//!   their versions and prefixes: the newest one, and the newest with long-term support. With
//!   arguments, it builds the releases whose versions begin with one of them.
//! - `matrix between FOLDER` does the same with all others since 3.0.
//! - `matrix legacy FOLDER [stock|reference]` does the same with OpenSSL 1.1.1, patched by default.
//! - `matrix groups` prints the names and code points of fastkex's TLS groups.

#![forbid(unsafe_code)]

mod release;
mod source;

use std::path::Path;
use std::process::ExitCode;

use release::{Legacy, Release};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["build", folder, ref versions @ ..] => build(Path::new(folder), versions),
        ["between", folder] => between(Path::new(folder)),
        ["legacy", folder] => legacy(Path::new(folder), Legacy::Patched),
        ["legacy", folder, "stock"] => legacy(Path::new(folder), Legacy::Stock),
        ["legacy", folder, "reference"] => legacy(Path::new(folder), Legacy::Reference),
        ["groups"] => {
            kex::TLS_GROUPS
                .iter()
                .for_each(|group| println!("{} {:04x}", group.name, group.code_point));
            Ok(())
        }
        _ => Err("usage: matrix build FOLDER [VERSION]... | matrix between FOLDER | matrix legacy FOLDER [stock|reference] | matrix groups".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("matrix: {message}");
            ExitCode::from(2)
        }
    }
}

/// Crates with the other releases since 3.0. Cargo takes only one crate of a major number as a
/// dependency.
const BETWEEN: [&str; 5] =
    ["300.1.6+3.1.4", "300.2.3+3.2.1", "300.3.2+3.3.2", "300.4.2+3.4.1", "300.6.1+3.6.3"];

fn between(folder: &Path) -> Result<(), String> {
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    BETWEEN.iter().try_for_each(|&version| {
        let source = source::fetch(version, &folder)?;
        install(&Release::new(version, source), &folder)
    })
}

fn build(folder: &Path, versions: &[&str]) -> Result<(), String> {
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    let releases = [
        Release::new(openssl_3_5::version(), openssl_3_5::source_dir()),
        Release::new(openssl_4_0::version(), openssl_4_0::source_dir()),
    ];
    let begins = |release: &Release, version: &str| release.version().starts_with(version);
    if let Some(unknown) =
        versions.iter().find(|version| !releases.iter().any(|release| begins(release, version)))
    {
        let known: Vec<_> = releases.iter().map(Release::version).collect();
        return Err(format!("no release {unknown}: expected one of {}", known.join(", ")));
    }
    let is_wanted = |release: &&Release| {
        versions.is_empty() || versions.iter().any(|version| begins(release, version))
    };
    releases.iter().filter(is_wanted).try_for_each(|release| install(release, &folder))
}

fn legacy(folder: &Path, kind: Legacy) -> Result<(), String> {
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    let source = openssl_1_1_1::source_dir();
    install(&Release::legacy(openssl_1_1_1::version(), source, kind), &folder)
}

fn install(release: &Release, folder: &Path) -> Result<(), String> {
    let prefix = release.build(folder).map_err(|error| format!("{release}: {error}"))?;
    println!("{} {}", release.version(), prefix.display());
    Ok(())
}
