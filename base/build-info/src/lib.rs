//! Describes the build: version, commit, compiler and target.

#![forbid(unsafe_code)]

use std::ffi::CStr;

/// The version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The compiler, as it prints its own version.
pub const RUSTC: &str = env!("BUILD_RUSTC");
/// Version, commit, compiler and target, a line each.
pub const DESCRIPTION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nbuilt from ",
    env!("BUILD_SOURCE"),
    "\nby ",
    env!("BUILD_RUSTC"),
    "\nfor ",
    env!("BUILD_TARGET"),
);

/// [`VERSION`] for C.
pub const C_VERSION: &CStr = c_string(concat!(env!("CARGO_PKG_VERSION"), "\0"));
/// Version, commit, compiler and target in one line for C.
pub const C_DESCRIPTION: &CStr = c_string(concat!(
    env!("CARGO_PKG_VERSION"),
    ", built from ",
    env!("BUILD_SOURCE"),
    " by ",
    env!("BUILD_RUSTC"),
    " for ",
    env!("BUILD_TARGET"),
    "\0",
));

const fn c_string(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a null byte in a description of the build"),
    }
}
