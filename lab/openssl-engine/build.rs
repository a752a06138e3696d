//! Linker arguments of the ENGINE.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The module stays mapped once loaded: destructors of threads that used it may run after
    // libcrypto has unloaded it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // No symbol stays undefined: libcrypto's functions are looked up in the libcrypto that loads
    // the module.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,defs");
}
