//! Passes the version of the compiler to the crate.

#![forbid(unsafe_code)]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output();
    let version = version.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let version = version.as_deref().map_or("rustc of an unknown version", str::trim);
    println!("cargo::rustc-env=MEASURE_RUSTC={version}");
}
