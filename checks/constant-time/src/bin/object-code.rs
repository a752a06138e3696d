//! Lists the results of the object code check for each kernel, jump by jump. Usage:
//! `object-code FILE...`

#![forbid(unsafe_code)]

use std::process::ExitCode;

use constant_time::{Image, check};

fn run(file: &str) -> Result<bool, String> {
    let about = |error: String| format!("{file}: {error}");
    let bytes = std::fs::read(file).map_err(|error| about(error.to_string()))?;
    let reports = check(&Image::read(&bytes).map_err(about)?);
    if reports.is_empty() {
        return Err(about("no kernels in it".into()));
    }
    reports.iter().for_each(|report| print!("{report}"));
    Ok(reports.iter().all(|report| report.findings.is_empty()))
}

fn main() -> ExitCode {
    let files: Vec<_> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("object-code: no file given: expected shared objects or executables");
        return ExitCode::from(2);
    }
    let mut clean = true;
    for file in files {
        match run(&file) {
            Ok(none) => clean &= none,
            Err(message) => {
                eprintln!("object-code: {message}");
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::from(u8::from(!clean))
}
