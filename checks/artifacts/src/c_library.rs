//! Checks of a C library: its header, what it exports, and a C program that uses it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{build, root, skipped};

/// A C library of `crypto`: its crate is `NAME-capi`, its header `include/NAME.h`, and a program
/// that tests it `tests/program.c`.
pub struct CLibrary {
    name: &'static str,
    folder: PathBuf,
}

impl CLibrary {
    /// The library `libNAME`.
    pub fn new(name: &'static str) -> Self {
        CLibrary { name, folder: root().join("crypto").join(format!("{name}-capi")) }
    }

    fn header(&self) -> String {
        let path = self.folder.join("include").join(format!("{}.h", self.name));
        std::fs::read_to_string(path).unwrap()
    }

    fn built(&self, extension: &str) -> PathBuf {
        let file = format!("lib{}.{extension}", self.name);
        build(&format!("{}-capi", self.name), &file).unwrap()
    }

    /// The name inside the shared object, which is the version of its symbols as well.
    fn soname(&self) -> String {
        format!("lib{}.so.0", self.name)
    }

    /// Checks the sizes that the header has for a parameter set, with the end of each macro's name.
    ///
    /// # Panics
    /// A size is not in the header.
    pub fn check_sizes(&self, set: &str, sizes: &[(&str, usize)]) {
        let header = self.header();
        for (what, size) in sizes {
            let line = format!("#define crypto_kem_{set}_{what} {size}\n");
            assert!(header.contains(&line), "{line}");
        }
    }

    /// Checks that the shared object exports the functions that the header declares, each with the
    /// library's version, and nothing else.
    ///
    /// # Panics
    /// It does not, or the library cannot be built.
    pub fn check_exports(&self) {
        if !has_gcc() {
            return;
        }
        let header = self.header();
        let declared: BTreeSet<_> = header
            .lines()
            .filter_map(|line| line.strip_prefix("int ")?.split('(').next())
            .map(|function| format!("{function}@@{}", self.soname()))
            .collect();
        assert!(!declared.is_empty());
        let output =
            Command::new("nm").args(["-D", "--defined-only"]).arg(self.built("so")).output();
        let output = String::from_utf8(output.unwrap().stdout).unwrap();
        let exported: BTreeSet<_> = output
            .lines()
            .filter_map(|line| line.rsplit(' ').next())
            // The version itself is a symbol, too.
            .filter(|symbol| symbol.split('@').next() != Some(&self.soname()))
            .map(str::to_owned)
            .collect();
        assert_eq!(exported, declared);
    }

    /// Compiles the test program, runs it with the shared and with the static library, and returns
    /// what it printed each time. Returns nothing if there is no compiler.
    ///
    /// # Panics
    /// It does not compile, or it fails.
    pub fn run_program(&self) -> Vec<String> {
        if !has_gcc() {
            return Vec::new();
        }
        let (shared, fixed) = (self.built("so"), self.built("a"));
        let folder = tempfile::tempdir().unwrap();
        // The program finds the library by the name inside it.
        std::os::unix::fs::symlink(&shared, folder.path().join(self.soname())).unwrap();
        let run = |(name, library): (&str, &Path)| {
            let program = folder.path().join(name);
            let compiled = Command::new("gcc")
                .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
                .arg(&program)
                .arg("-I")
                .arg(self.folder.join("include"))
                .arg("-I")
                .arg(root().join("crypto/kem-capi/tests"))
                .arg(self.folder.join("tests/program.c"))
                .arg(library)
                .args(["-lpthread", "-ldl", "-lm", "-lgcc_s"])
                .output()
                .unwrap();
            assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
            let ran = Command::new(&program).env("LD_LIBRARY_PATH", folder.path()).output();
            let ran = ran.unwrap();
            assert!(ran.status.success(), "{name}: {}", String::from_utf8_lossy(&ran.stderr));
            String::from_utf8(ran.stdout).unwrap()
        };
        [("shared", &*shared), ("static", &*fixed)].map(run).to_vec()
    }
}

fn has_gcc() -> bool {
    let there = Command::new("gcc").arg("--version").output().is_ok();
    if !there {
        skipped("no gcc (apt-get install gcc)");
    }
    there
}
