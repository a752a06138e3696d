//! The shared library's name carries the version of its C API.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsntrup.so.0");
}
