//! The program `openssl` with the ENGINE: its list of commands, keys in files, and errors.

mod common;

use common::{Side, engine, groups, legacy, stage, stock};
use testbed::{Finished, Stage};

const ENGINE: Side = Side::Engine("");

fn run(side: Side, stage: &Stage, arguments: &[&str]) -> Finished {
    stage.run(side.openssl(stage).unwrap().args(arguments)).unwrap()
}

#[test]
fn the_engine_is_listed_with_its_commands() {
    if legacy().is_none() {
        return;
    }
    let stage = stage();
    let listed = run(ENGINE, &stage, &["engine", "-vv", "-t", "-c", "engntru"]).output;
    for line in
        ["[ available ]", "BATCH: on: ", "BATCH_SIZE: ", "BACKEND: ", "X25519: in ", "ED25519: in "]
    {
        assert!(listed.contains(line), "{listed}");
    }
    for (commands, types) in [
        ("X25519 = on\nED25519 = on", "[X25519, sntrup761, sntrup857, ED25519]"),
        ("X25519 = off\nED25519 = on", "[sntrup761, sntrup857, ED25519]"),
        ("X25519 = on\nED25519 = off\n", "[X25519, sntrup761, sntrup857]"),
        ("X25519 = off\nED25519 = off\n\n", "[sntrup761, sntrup857]"),
        ("BACKEND = portable", "[sntrup761, sntrup857]"),
    ] {
        let listed = run(Side::Engine(commands), &stage, &["engine", "-c", "engntru"]).output;
        assert!(listed.contains(types), "{commands}: {listed}");
    }
}

#[test]
fn keys_in_files_are_those_of_the_provider() {
    if legacy().is_none() {
        return;
    }
    let stage = stage();
    for group in groups() {
        for (maker, reader) in [(ENGINE, Side::Provider), (Side::Provider, ENGINE)] {
            let made = run(maker, &stage, &["genpkey", "-algorithm", group.name, "-out", "k.pem"]);
            made.output_of("genpkey").unwrap();
            for more in [&["-pubout"][..], &["-text", "-noout"], &[]] {
                let arguments = [&["pkey", "-in", "k.pem"], more].concat();
                let [ours, theirs] = [maker, reader]
                    .map(|side| run(side, &stage, &arguments).output_of("pkey").unwrap());
                assert_eq!(ours, theirs, "{}, made by {maker:?}, {more:?}", group.name);
            }
            let public = run(maker, &stage, &["pkey", "-in", "k.pem", "-pubout"]).output;
            stage.write("p.pem", &public).unwrap();
            let arguments = ["pkey", "-pubin", "-in", "p.pem", "-text_pub", "-noout"];
            let [ours, theirs] = [maker, reader]
                .map(|side| run(side, &stage, &arguments).output_of("pkey").unwrap());
            assert_eq!(ours, theirs, "{}", group.name);
            // A public key of another length, with bytes that no key has.
            let spoilt = public.lines().filter(|line| !line.starts_with("//")).collect::<Vec<_>>();
            let spoilt = spoilt.join("\n").replacen("-----\n", "-----\nAAAA", 1);
            stage.write("p.pem", &spoilt).unwrap();
            assert!(!run(reader, &stage, &arguments).status.success());
        }
    }
}

#[test]
fn control_commands_are_checked() {
    if legacy().is_none() {
        return;
    }
    let stage = stage();
    let engine = engine().display().to_string();
    for (command, complaint) in [
        ("BATCH:maybe", "BATCH = maybe: expected on or off"),
        ("BATCH_SIZE:0", "BATCH_SIZE = 0: expected auto or a number from 1 to 1024"),
        ("BATCH_SIZE:1025", "BATCH_SIZE = 1025: expected auto or a number from 1 to 1024"),
        ("BACKEND:mmx", "BACKEND = mmx: "),
        ("X25519:yes", "X25519 = yes: expected auto, on or off"),
        ("ED25519:", "ED25519 = : expected auto, on or off"),
        ("X25519:on", ""),
        ("X25519:off", ""),
        ("ED25519:auto", ""),
        ("BATCH:off", ""),
        ("BATCH_SIZE:auto", ""),
        ("BATCH_SIZE:1024", ""),
        ("BACKEND:portable", ""),
    ] {
        let path = format!("SO_PATH:{engine}");
        let load = ["engine", "-t", "-pre", &path, "-pre", "LOAD", "-post", command, "dynamic"];
        let prefix = legacy().unwrap();
        let said = stage.run(stage.stock(prefix.join("bin/openssl").to_str().unwrap()).args(load));
        let said = said.map(|finished| finished.output + &finished.errors).unwrap();
        assert!(said.contains("[Success]: LOAD"), "{said}");
        assert_eq!(said.contains(&format!("[Success]: {command}")), complaint.is_empty(), "{said}");
        assert!(said.contains(complaint), "{said}");
    }
}

/// Returns the output of a program `openssl` that loads the ENGINE.
fn load(stage: &Stage, program: &str) -> String {
    let path = format!("SO_PATH:{}", engine().display());
    let arguments = ["engine", "-pre", &path, "-pre", "LOAD", "dynamic"];
    let said = stage.run(stage.stock(program).args(arguments)).unwrap();
    said.output + &said.errors
}

#[test]
fn openssl_3_is_refused() {
    let stage = stage();
    let version = stage.run(stage.stock("openssl").arg("version")).unwrap().output;
    let says = version.split(" (").next().unwrap().trim();
    if !says.starts_with("OpenSSL 3.") {
        artifacts::skipped(&format!("the system's openssl is {says}, not 3.x"));
        return;
    }
    let said = load(&stage, "openssl");
    assert!(said.contains("[Failure]: LOAD"), "{said}");
    let patched = "engntru is for OpenSSL 1.1.1 with the patches in lab/legacy/openssl-1.1.1";
    assert!(said.contains(&format!("{patched}: this is {says}")), "{said}");
}

#[test]
fn openssl_1_1_1_without_the_patches_is_refused() {
    let Some(prefix) = stock() else { return };
    let said = load(&stage(), prefix.join("bin/openssl").to_str().unwrap());
    assert!(said.contains("[Failure]: LOAD"), "{said}");
    assert!(said.contains("OpenSSL 1.1.1 without them: it has no sntrup761"), "{said}");
}
