//! The program `fastkex`. All of its code is in the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    fastkex::main()
}
