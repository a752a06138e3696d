//! Compiles a C program with gcc and runs it against the shared and the static library.

use std::path::Path;
use std::process::Command;

use sntrup_kem::{
    ParameterSet, Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013, Sntrup1277,
};

fn header() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/sntrup.h");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_header_has_the_sizes() {
    fn check<P: ParameterSet>(header: &str) {
        for (what, size) in [
            ("PUBLICKEYBYTES", P::PUBLIC_KEY_BYTES),
            ("SECRETKEYBYTES", P::SECRET_KEY_BYTES),
            ("CIPHERTEXTBYTES", P::CIPHERTEXT_BYTES),
            ("BYTES", sntrup_kem::SHARED_SECRET_BYTES),
        ] {
            let line = format!("#define crypto_kem_{}_{what} {size}\n", P::NAME);
            assert!(header.contains(&line), "{line}");
        }
    }
    let header = header();
    check::<Sntrup653>(&header);
    check::<Sntrup761>(&header);
    check::<Sntrup857>(&header);
    check::<Sntrup953>(&header);
    check::<Sntrup1013>(&header);
    check::<Sntrup1277>(&header);
}

#[test]
fn a_c_program_uses_it() {
    if Command::new("gcc").arg("--version").output().is_err() {
        artifacts::skipped("no gcc (apt-get install gcc)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = artifacts::build("sntrup-capi", "libsntrup.so").unwrap();
    let fixed = artifacts::build("sntrup-capi", "libsntrup.a").unwrap();

    // The program finds the library by the name inside it.
    std::os::unix::fs::symlink(&shared, folder.path().join("libsntrup.so.0")).unwrap();
    for (name, library) in [("shared", &shared), ("static", &fixed)] {
        let program = folder.path().join(name);
        let compiled = Command::new("gcc")
            .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
            .arg(&program)
            .arg("-I")
            .arg(crate_folder.join("include"))
            .arg(crate_folder.join("tests/program.c"))
            .arg(library)
            .args(["-lpthread", "-ldl", "-lm", "-lgcc_s"])
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let ran = Command::new(&program).env("LD_LIBRARY_PATH", folder.path()).output().unwrap();
        assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}
