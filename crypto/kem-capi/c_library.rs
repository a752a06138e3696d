//! The build script of the C libraries. The name of the shared object carries the version of its C
//! API, and its symbols carry that name as their version: `crypto_kem_..._enc@@libsntrup.so.0`.
//!
//! rustc passes the linker a version script that names no version. Only GNU ld then takes versions
//! without another script, by `--default-symver`, which LLD and gold do not have. So these
//! libraries are linked with GNU ld.

fn main() {
    let package = std::env::var("CARGO_PKG_NAME").expect("cargo names the package");
    let name = package.strip_suffix("-capi").expect("a C library is called NAME-capi");
    let soname = format!("-Wl,-soname,lib{name}.so.0");
    println!("cargo::rerun-if-changed=../kem-capi/c_library.rs");
    for argument in [&soname, "-fuse-ld=bfd", "-Wl,--default-symver"] {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
