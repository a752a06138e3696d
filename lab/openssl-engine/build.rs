//! How the ENGINE is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // It stays mapped once loaded: destructors of threads that used it may run after libcrypto has let go of it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // Nothing is left undefined: libcrypto's functions are looked up in the libcrypto that loads it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,defs");
}
