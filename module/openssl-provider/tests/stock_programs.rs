//! The distribution's `openssl` program with the module in its configuration.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use common::scene::Scene;
use kex::TLS_GROUPS;
use openssl_runtime::wire;
use testbed::Server;

fn scene() -> Option<Scene> {
    Scene::new(&[("openssl", "openssl")])
}

#[test]
fn lists_show_names_and_version() {
    let Some(scene) = scene() else { return };
    let providers = scene.text(&["list", "-providers", "-verbose"]);
    let ours = providers.split("  fastkex\n").nth(1).unwrap();
    assert!(ours.contains("name: fastkex\n"), "{providers}");
    assert!(ours.contains(concat!("version: ", env!("CARGO_PKG_VERSION"), "\n")), "{providers}");
    assert!(ours.contains("status: active\n"), "{providers}");
    assert!(ours.contains(concat!("build info: ", env!("CARGO_PKG_VERSION"))), "{providers}");

    for list in ["-kem-algorithms", "-key-managers", "-encoders", "-decoders"] {
        let listed = scene.text(&["list", list]);
        for group in TLS_GROUPS {
            let is_named =
                |line: &str| line.contains(group.algorithm()) && line.contains("@ fastkex");
            let named = listed.lines().any(is_named);
            let expected = group.identifier.is_some() || !list.ends_with("coders");
            assert_eq!(named, expected, "{list}: {}\n{listed}", group.name);
        }
    }
    let groups = scene.output(&["list", "-tls-groups"]);
    if groups.status.success() {
        let listed = String::from_utf8_lossy(&groups.stdout);
        assert!(TLS_GROUPS.iter().all(|group| listed.contains(group.name)), "{listed}");
    } else {
        artifacts::skipped("this openssl has no 'list -tls-groups' (from 3.5 on)");
    }
}

#[test]
fn genpkey_and_pkey_make_and_show_keys() {
    let Some(scene) = scene() else { return };
    for group in TLS_GROUPS {
        let Some(identifier) = group.identifier else { continue };
        scene.text(&["genpkey", "-algorithm", group.algorithm(), "-out", "key.pem"]);
        let pem = fs::read_to_string(scene.path("key.pem")).unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----"), "{pem}");
        scene.text(&["pkey", "-in", "key.pem", "-check", "-noout"]);
        let shown = scene.text(&["pkey", "-in", "key.pem", "-text", "-noout"]);
        assert!(shown.starts_with(&format!("{} Private-Key:", group.algorithm())), "{shown}");

        let public = scene.text(&["pkey", "-in", "key.pem", "-pubout"]);
        fs::write(scene.path("public.pem"), &public).unwrap();
        assert_eq!(public, scene.text(&["pkey", "-pubin", "-in", "public.pem", "-pubout"]));
        scene.text(&["pkey", "-pubin", "-in", "public.pem", "-pubcheck", "-noout"]);
        scene.text(&["pkey", "-in", "key.pem", "-outform", "DER", "-out", "key.der"]);
        let back = scene.text(&["pkey", "-inform", "DER", "-in", "key.der", "-pubout"]);
        assert_eq!(back, public);
        let parsed = scene.text(&["asn1parse", "-in", "public.pem"]);
        // Newer releases know the names of some identifiers.
        let named = [identifier.dotted(), group.algorithm().to_owned()];
        assert!(named.iter().any(|name| parsed.contains(&format!(":{name}\n"))), "{parsed}");
    }
    scene.text(&[
        "genpkey",
        "-algorithm",
        "X25519SNTRUP761",
        "-aes-256-cbc",
        "-pass",
        "pass:word",
        "-out",
        "secret.pem",
    ]);
    let pem = fs::read_to_string(scene.path("secret.pem")).unwrap();
    assert!(pem.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----"), "{pem}");
    scene.text(&["pkey", "-in", "secret.pem", "-passin", "pass:word", "-noout"]);
    let refused = scene.output(&["pkey", "-in", "secret.pem", "-passin", "pass:other", "-noout"]);
    assert!(!refused.status.success());
}

#[test]
fn pkeyutl_encapsulates_and_decapsulates() {
    let Some(scene) = scene() else { return };
    let help = scene.output(&["pkeyutl", "-help"]);
    if !String::from_utf8_lossy(&help.stderr).contains("-encap") {
        artifacts::skipped("this openssl has no 'pkeyutl -encap' (from 3.4 on)");
        return;
    }
    for group in TLS_GROUPS.iter().filter(|group| group.identifier.is_some()) {
        scene.text(&["genpkey", "-algorithm", group.algorithm(), "-out", "key.pem"]);
        scene.text(&["pkey", "-in", "key.pem", "-pubout", "-out", "public.pem"]);
        let public = ["-pubin", "-inkey", "public.pem", "-out", "sent", "-secret", "ours"];
        scene.text(&[&["pkeyutl", "-encap"], &public[..]].concat());
        let private = ["-inkey", "key.pem", "-in", "sent", "-secret", "theirs"];
        scene.text(&[&["pkeyutl", "-decap"], &private[..]].concat());
        let read = |name: &str| fs::read(scene.path(name)).unwrap();
        assert_eq!(read("sent").len(), group.ciphertext_bytes, "{}", group.name);
        assert_eq!(read("ours").len(), group.shared_secret_bytes, "{}", group.name);
        assert_eq!(read("ours"), read("theirs"), "{}", group.name);
    }
}

/// The group of the ServerHello that `s_client -msg` shows in hexadecimal.
fn group_in_trace(trace: &str) -> Option<u16> {
    let after = trace.split(", ServerHello\n").nth(1)?;
    let mut message: Vec<u8> = after
        .lines()
        .take_while(|line| line.starts_with("    "))
        .flat_map(str::split_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect();
    let length = u16::try_from(message.len()).unwrap().to_be_bytes();
    let header = [22, 3, 3, length[0], length[1]];
    message.splice(0..0, header);
    Some(wire::find_server_key_share(&message)?.group)
}

fn start_server(scene: &Scene, groups: &str) -> (Server, u16) {
    let [port] = testbed::free_ports().unwrap();
    let accept = format!("127.0.0.1:{port}");
    let mut command = scene.openssl(&[
        "s_server",
        "-accept",
        &accept,
        "-cert",
        "cert.pem",
        "-key",
        "cert.key",
        "-tls1_3",
        "-groups",
        groups,
        "-www",
        "-no_ticket",
    ]);
    let listens = |log: &str| log.lines().any(|line| line == "ACCEPT");
    (scene.stage.start("s_server", &mut command, listens).unwrap(), port)
}

fn make_certificate(scene: &Scene) {
    scene.text(&[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        "cert.key",
        "-out",
        "cert.pem",
        "-subj",
        "/CN=localhost",
        "-days",
        "2",
    ]);
}

fn connect(scene: &Scene, port: u16, groups: &str) -> Output {
    let address = format!("127.0.0.1:{port}");
    let mut client = scene
        .openssl(&[
            "s_client", "-connect", &address, "-CAfile", "cert.pem", "-groups", groups, "-msg",
            "-quiet",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    client.wait_with_output().unwrap()
}

#[test]
fn s_server_and_s_client_agree_on_every_group() {
    let Some(scene) = scene() else { return };
    make_certificate(&scene);
    let all: Vec<_> = TLS_GROUPS.iter().map(|group| group.name).collect();
    let (_server, port) = start_server(&scene, &all.join(":"));
    for group in TLS_GROUPS {
        let output = connect(&scene, port, group.name);
        let trace = String::from_utf8_lossy(&output.stdout);
        assert_eq!(group_in_trace(&trace), Some(group.code_point), "{}: {trace}", group.name);
        assert!(trace.contains("HTTP/1.0 200 ok"), "{}: {trace}", group.name);
    }

    // A client with several groups against a server with one, by way of a HelloRetryRequest; and
    // without a common one.
    let (_server, port) = start_server(&scene, "sntrup857");
    let output = connect(&scene, port, "X25519SNTRUP761:sntrup857");
    let trace = String::from_utf8_lossy(&output.stdout);
    assert_eq!(trace.matches(", ClientHello\n").count(), 2, "{trace}");
    assert!(trace.contains("HTTP/1.0 200 ok"), "{trace}");
    let output = connect(&scene, port, "X25519SNTRUP761");
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("handshake failure"), "{errors}");
}

/// An invalid configuration is reported when the provider is loaded by name.
#[test]
fn a_bad_configuration_is_refused_by_name() {
    let Some(scene) = scene() else { return };
    for (line, expected) in [
        ("backend = fast", "backend: unknown backend 'fast': expected one of "),
        (
            "code_points.sntrup761 = 29",
            "code_points.sntrup761 = 29: expected a number such as 0xFE00",
        ),
        ("code_points.sntrup761 = many", "code_points.sntrup761 = many: expected a number"),
        (
            "code_points.sntrup653 = 0xFEE1",
            "code_points.sntrup653 and code_points.sntrup761 are both 0xfee1",
        ),
    ] {
        scene.configure(line);
        let output = scene.output(&["list", "-providers", "-provider", "fastkex"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{line}");
        assert!(errors.contains(expected), "{line}: {errors}");
    }
    // Keys that the module does not know are left to `fastkex doctor`.
    for line in [
        "code_points.X448 = 0xFE10",
        "frobnicate = 1",
        "more = more_section\n[more_section]\ninner = 1",
    ] {
        scene.configure(line);
        let listed = scene.text(&["list", "-providers", "-provider", "fastkex"]);
        assert!(listed.contains("name: fastkex"), "{line}: {listed}");
    }
    scene.configure("backend = portable\ncode_points.sntrup761 = 0x0233");
    let listed = scene.text(&["list", "-providers", "-provider", "fastkex"]);
    assert!(listed.contains("name: fastkex"), "{listed}");
    assert!(Path::new(&common::module()).is_absolute());
}
