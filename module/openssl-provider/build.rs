//! How the module is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_CFG_FUZZING");
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=FASTKEX_TARGET={target}");
    // The module stays mapped once loaded: destructors of threads that used it may run after libcrypto has let go of it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo::rerun-if-env-changed=CARGO_CFG_SANITIZE");
    // Nothing may be left undefined, libcrypto's functions least of all. (A fuzzer's or sanitizer's hooks come with the program.)
    let hooked = ["CARGO_CFG_FUZZING", "CARGO_CFG_SANITIZE"].map(std::env::var_os);
    if hooked.iter().all(Option::is_none) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,defs");
    }
}
