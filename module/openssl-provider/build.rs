//! Linker options of the module.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_CFG_FUZZING");
    // The module stays mapped after unloading: destructors of threads that used it may run later.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-env-changed=CARGO_CFG_SANITIZE");
    // No symbol may stay undefined, libcrypto's in particular. (Hooks of a fuzzer or sanitizer come
    // from the program.)
    let hooked = ["CARGO_CFG_FUZZING", "CARGO_CFG_SANITIZE"].map(std::env::var_os);
    if hooked.iter().all(Option::is_none) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,defs");
    }
}
