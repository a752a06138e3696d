//! Keys of the ENGINE in a C program that was built against the headers of patched OpenSSL 1.1.1.

mod common;

use std::process::Command;

use common::{engine, legacy};
use stage::Stage;

#[test]
fn a_program_encapsulates_decapsulates_and_derives() {
    let Some(prefix) = legacy() else { return };
    let stage = Stage::new().unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/operations.c");
    let program = stage.folder().join("operations");
    let path = |folder: &str| prefix.join(folder).display().to_string();
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program).arg(source);
    compiler.arg(format!("-I{}", path("include"))).arg(format!("-L{}", path("lib")));
    compiler.arg(format!("-Wl,-rpath,{}", path("lib"))).args(["-lssl", "-lcrypto"]);
    stage.run(&mut compiler).unwrap().output_of("cc").unwrap();
    let mut command = stage.stock(program.to_str().unwrap());
    let ran = stage.run(command.arg(engine())).unwrap();
    assert!(ran.status.success() && ran.output == "done\n", "{}{}", ran.output, ran.errors);
}
