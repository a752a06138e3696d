//! The module stays mapped once loaded: destructors of threads that used it may run after libcrypto has let go of it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,defs");
}
