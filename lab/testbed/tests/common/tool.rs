//! A program that runs as the minimal server, like the subcommand of the fastkex tool.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [role, plan] = &arguments[..] else { return ExitCode::from(2) };
    if role != testbed::minimal::ROLE {
        return ExitCode::from(2);
    }
    match testbed::minimal::serve(Path::new(plan)) {
        Ok(_) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("testbed-tool: {failure}");
            ExitCode::from(2)
        }
    }
}
