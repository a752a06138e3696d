//! What `tools/test-matrix` needs of Rust: `matrix build FOLDER` builds the releases of OpenSSL below the folder, each once,
//! and prints their versions and prefixes; `matrix groups` prints the names and code points of our TLS groups.

#![forbid(unsafe_code)]

mod release;

use std::path::Path;
use std::process::ExitCode;

use release::Release;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["build", folder] => build(Path::new(folder)),
        ["groups"] => {
            kex::TLS_GROUPS
                .iter()
                .for_each(|group| println!("{} {:04x}", group.name, group.code_point));
            Ok(())
        }
        _ => Err("usage: matrix build FOLDER | matrix groups".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("matrix: {message}");
            ExitCode::from(2)
        }
    }
}

fn build(folder: &Path) -> Result<(), String> {
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    for release in [
        Release::new(openssl_3_5::version(), openssl_3_5::source_dir()),
        Release::new(openssl_4_0::version(), openssl_4_0::source_dir()),
    ] {
        let prefix = release.build(&folder).map_err(|error| format!("{release}: {error}"))?;
        println!("{} {}", release.version(), prefix.display());
    }
    Ok(())
}
