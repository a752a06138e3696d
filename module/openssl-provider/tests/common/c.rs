//! Programs in C, as applications are.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A program of this folder, compiled, and a folder for what it needs.
pub(crate) struct Program {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Standard error of a program.
pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Compiles `name`.c with the libcrypto under test. `None`, with a line that says so, if something
/// is missing.
pub(crate) fn compile(name: &str) -> Option<Program> {
    compile_with(name, &[])
}

/// [`compile`] with more arguments for the compiler.
pub(crate) fn compile_with(name: &str, arguments: &[&str]) -> Option<Program> {
    let libraries = super::libraries()?;
    if !there("gcc") {
        artifacts::skipped("no gcc (apt-get install gcc libssl-dev)");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/{name}.c"));
    let libcrypto = libraries.libcrypto_path();
    // Headers of the OpenSSL under test, if it is another than the system's.
    let include = libcrypto.parent().unwrap().join("../include");
    let include = std::env::var_os("FASTKEX_TEST_OPENSSL").map(|_| include);
    let include = include.iter().flat_map(|folder| ["-I".as_ref(), folder.as_os_str()]);
    let compiled = Command::new("gcc")
        .args(include)
        .args(["-Wall", "-Wextra", "-Werror", "-g", "-pthread", "-o"])
        .args([&path, &source])
        .args(arguments)
        .arg(libcrypto)
        .arg(format!("-Wl,-rpath,{}", libcrypto.parent().unwrap().display()))
        .output()
        .unwrap();
    if !compiled.status.success() && errors(&compiled).contains("openssl/err.h") {
        artifacts::skipped("no OpenSSL headers (apt-get install libssl-dev)");
        return None;
    }
    assert!(compiled.status.success(), "{}", errors(&compiled));
    Some(Program { folder, path })
}

impl Program {
    /// Writes a configuration of OpenSSL that activates the module, with `extra` lines in its
    /// section, and says where it is.
    pub(crate) fn configure(&self, extra: &str) -> PathBuf {
        let text = super::configuration(&format!("activate = 1\n{extra}"), "");
        let path = self.folder.path().join("openssl.cnf");
        std::fs::write(&path, text).unwrap();
        path
    }
}
