//! Keys of the ENGINE in C programs that are built with the headers of patched OpenSSL 1.1.1.

mod common;

use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{engine, legacy, reference};
use reference::drbg::Drbg;
use reference::kat::{self, Record};
use reference::sntrup;
use testbed::{Finished, Stage};

/// Compiles a program of this folder.
fn compile(stage: &Stage, prefix: &Path, name: &str) -> PathBuf {
    let source = format!("{}/tests/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let program = stage.folder().join(name);
    let path = |folder: &str| prefix.join(folder).display().to_string();
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program).arg(source);
    compiler.arg(format!("-I{}", path("include"))).arg(format!("-L{}", path("lib")));
    compiler.arg(format!("-Wl,-rpath,{}", path("lib"))).args(["-lssl", "-lcrypto"]);
    stage.run(&mut compiler).unwrap().output_of("cc").unwrap();
    program
}

/// Compiles a program of this folder and runs it. `input` is a file in the stage for standard
/// input.
fn run(
    stage: &Stage,
    prefix: &Path,
    name: &str,
    arguments: &[&Path],
    input: Option<&str>,
) -> Finished {
    let program = compile(stage, prefix, name);
    let mut command = stage.stock(program.to_str().unwrap());
    command.args(arguments);
    if let Some(input) = input {
        command.stdin(File::open(stage.folder().join(input)).unwrap());
    }
    stage.run(&mut command).unwrap()
}

fn succeeds(prefix: &Path, name: &str, arguments: &[&Path]) {
    let ran = run(&Stage::new().unwrap(), prefix, name, arguments, None);
    assert!(ran.status.success() && ran.output == "done\n", "{}{}", ran.output, ran.errors);
}

#[test]
fn a_program_encapsulates_decapsulates_and_derives() {
    let Some(prefix) = legacy() else { return };
    succeeds(&prefix, "operations", &[&engine()]);
}

#[test]
fn the_engine_has_the_place_of_the_reference() {
    let Some(prefix) = reference() else { return };
    // Refusals raise errors of the ENGINE.
    succeeds(&prefix, "operations", &[&engine()]);
}

#[test]
fn curves_agree_with_libcrypto_on_every_instruction_set() {
    let Some(prefix) = legacy() else { return };
    for backend in kex::Backend::available() {
        succeeds(&prefix, "curves", &[&engine(), Path::new(backend.name())]);
    }
}

/// Returns records of known answers in the format that `known.c` reads.
fn known_answers(count: usize) -> String {
    let file = kat::parse(kat::embedded("sntrup761").unwrap()).unwrap();
    let parameters = file.parameters().unwrap();
    let hex = |bytes: &[u8]| {
        bytes.iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
    };
    let mut text = String::new();
    for record in file.records.iter().take(count) {
        let Record::Count(record) = record else { panic!("key pairs come first") };
        let (mut generator, mut drawn) = (Drbg::new(&record.seed), Vec::new());
        let mut random = |out: &mut [u8]| {
            generator.fill(out);
            drawn.extend_from_slice(out);
        };
        let (public, secret) = sntrup::key_generation(&parameters, &mut random);
        let (ciphertext, shared) = sntrup::encapsulate(&parameters, &public, &mut random).unwrap();
        assert!(record.pk.matches(&public) && record.sk.matches(&secret));
        assert!(record.ct.matches(&ciphertext) && record.ss == shared);
        let place = (record.count % ciphertext.len()) as u16;
        let fields = [&drawn[..], &secret, &ciphertext, &shared, &record.ss_reject];
        let fields = fields.map(hex).join(" ");
        writeln!(text, "{fields} {}", hex(&place.to_be_bytes())).unwrap();
    }
    text
}

#[test]
fn known_answers_are_those_of_the_reference_and_of_the_engine() {
    const COUNT: usize = 12;
    let stage = Stage::new().unwrap();
    stage.write("answers", &known_answers(COUNT)).unwrap();
    let check = |prefix: &Path, arguments: &[&Path]| {
        let ran = run(&stage, prefix, "known", arguments, Some("answers"));
        let all = ran.status.success() && ran.output == format!("{COUNT}\n");
        assert!(all, "{}{}", ran.output, ran.errors);
    };
    if let Some(prefix) = legacy() {
        check(&prefix, &[&engine()]);
    }
    if let Some(prefix) = reference() {
        check(&prefix, &[]);
        check(&prefix, &[&engine()]);
    }
}

/// Checks branches and addresses. `docs/SIDE-CHANNELS.md` lists the limits of valgrind's memcheck.
#[test]
fn the_reference_does_not_depend_on_secrets() {
    let Some(prefix) = reference() else { return };
    let valgrind = Command::new("valgrind").arg("--version").output();
    if !valgrind.is_ok_and(|output| output.status.success()) {
        artifacts::skipped("no valgrind (apt-get install valgrind)");
        return;
    }
    let stage = Stage::new().unwrap();
    let program = compile(&stage, &prefix, "secrets");
    let mut command = stage.stock("valgrind");
    let ran = stage.run(command.arg("--quiet").arg(program)).unwrap();
    assert!(ran.status.success() && ran.output == "done\n", "{}{}", ran.output, ran.errors);
}
