//! Stock programs that get X25519 and Ed25519 from the module by configuration alone.

mod common;

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Output, Stdio};

use common::configuration;
use common::scene::Scene;
use keypool::{Counter, PAGE_NAME, Purpose, read_page};
use testbed::Server;

/// Lines that ask for the module's algorithms, and for counts that show their use.
const OURS: &str = "activate = 1\nx25519 = on\ned25519 = on\nstatistics = on";
const PLAIN: &str = "plain.cnf";

/// `None`, with a line that says so, without one of the programs.
fn scene(programs: &[(&str, &str)]) -> Option<Scene> {
    let scene = Scene::new(programs)?;
    let asked = configuration(OURS, "").replace(
        "[init]\n",
        "[init]\nalg_section = algorithms\n[algorithms]\ndefault_properties = ?provider=fastkex\n\
         [init]\n",
    );
    scene.stage.write("openssl.cnf", &asked).unwrap();
    scene.stage.write(PLAIN, &configuration("activate = 1", "")).unwrap();
    make_certificate(&scene);
    Some(scene)
}

fn make_certificate(scene: &Scene) {
    scene.text(&[
        "req",
        "-x509",
        "-newkey",
        "ed25519",
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

/// Key pairs of X25519 that a process had from the module.
fn exchanges(server: &Server) -> u64 {
    let folder = format!("/proc/{}/fd", server.id());
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let is_page = fs::read_link(entry.path())
            .is_ok_and(|to| to.to_string_lossy().contains(&format!("memfd:{PAGE_NAME}")));
        if is_page {
            let page = read_page(&fs::read(entry.path()).unwrap()).unwrap();
            let found = page
                .records
                .iter()
                .find(|record| record.name == "X25519" && record.purpose == Purpose::KeyPairs);
            return found.map_or(0, |record| {
                record.counts.get(Counter::FromPool) + record.counts.get(Counter::Inline)
            });
        }
    }
    0
}

fn listens(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn connect(scene: &Scene, port: u16, plain: bool) -> Output {
    let address = format!("127.0.0.1:{port}");
    let mut command = scene.openssl(&[
        "s_client",
        "-connect",
        &address,
        "-CAfile",
        "cert.pem",
        "-groups",
        "X25519",
        "-quiet",
        "-verify_return_error",
    ]);
    if plain {
        command.env("OPENSSL_CONF", scene.path(PLAIN));
    }
    let mut client = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    client.wait_with_output().unwrap()
}

#[test]
fn keys_and_certificates() {
    let Some(scene) = scene(&[("openssl", "openssl")]) else { return };
    for (name, file) in [("x25519", "x.pem"), ("ed25519", "ed.pem")] {
        scene.text(&["genpkey", "-algorithm", name, "-out", file]);
        scene.text(&["pkey", "-in", file, "-check", "-noout"]);
        let shown = scene.text(&["pkey", "-in", file, "-text", "-noout"]);
        assert!(shown.starts_with(&format!("{} Private-Key:", name.to_uppercase())), "{shown}");
        let public = scene.text(&["pkey", "-in", file, "-pubout"]);
        // The same as without us.
        let plain = scene
            .openssl(&["pkey", "-in", file, "-pubout"])
            .env("OPENSSL_CONF", scene.path(PLAIN))
            .output()
            .unwrap();
        assert_eq!(public.as_bytes(), plain.stdout);
        let beside = format!("{file}.pub");
        fs::write(scene.path(&beside), &public).unwrap();
        assert_eq!(public, scene.text(&["pkey", "-pubin", "-in", &beside, "-pubout"]));
    }
    let derive = ["pkeyutl", "-derive", "-inkey", "x.pem", "-peerkey", "x.pem.pub", "-hexdump"];
    let plain = scene.openssl(&derive).env("OPENSSL_CONF", scene.path(PLAIN)).output().unwrap();
    assert!(plain.status.success());
    assert_eq!(scene.text(&derive).as_bytes(), plain.stdout);
    fs::write(scene.path("message"), "message").unwrap();
    scene.text(&[
        "pkeyutl",
        "-sign",
        "-rawin",
        "-inkey",
        "ed.pem",
        "-in",
        "message",
        "-out",
        "signature",
    ]);
    let verify = ["pkeyutl", "-verify", "-rawin", "-inkey", "ed.pem", "-in", "message", "-sigfile"];
    let verified = scene.text(&[&verify[..], &["signature"]].concat());
    assert!(verified.contains("Signature Verified Successfully"), "{verified}");
    let mut wrong = fs::read(scene.path("signature")).unwrap();
    wrong[0] ^= 1;
    fs::write(scene.path("wrong"), wrong).unwrap();
    assert!(!scene.output(&[&verify[..], &["wrong"]].concat()).status.success());

    let shown = scene.text(&["x509", "-in", "cert.pem", "-noout", "-text"]);
    assert_eq!(shown.matches("Signature Algorithm: ED25519").count(), 2, "{shown}");
    scene.text(&["verify", "-CAfile", "cert.pem", "cert.pem"]);
    scene.text(&["req", "-new", "-key", "ed.pem", "-subj", "/CN=other", "-out", "request.pem"]);
    scene.text(&["req", "-in", "request.pem", "-verify", "-noout"]);
    scene.text(&[
        "x509",
        "-req",
        "-in",
        "request.pem",
        "-CA",
        "cert.pem",
        "-CAkey",
        "cert.key",
        "-CAcreateserial",
        "-out",
        "other.pem",
    ]);
    scene.text(&["verify", "-CAfile", "cert.pem", "other.pem"]);
    let plain = scene
        .openssl(&["verify", "-CAfile", "cert.pem", "other.pem"])
        .env("OPENSSL_CONF", scene.path(PLAIN))
        .output()
        .unwrap();
    assert!(plain.status.success());
}

/// Each side with ours and without; what the server counts tells whose key it used.
#[test]
fn s_server_and_s_client() {
    let Some(scene) = scene(&[("openssl", "openssl")]) else { return };
    for plain_server in [false, true] {
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
            "-www",
            "-no_ticket",
        ]);
        if plain_server {
            command.env("OPENSSL_CONF", scene.path(PLAIN));
        }
        let listening = |log: &str| log.lines().any(|line| line == "ACCEPT");
        let server = scene.stage.start("s_server", &mut command, listening).unwrap();
        for plain_client in [false, true] {
            let before = exchanges(&server);
            let output = connect(&scene, port, plain_client);
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(
                text.contains("HTTP/1.0 200 ok"),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert_eq!(exchanges(&server) - before, u64::from(!plain_server));
        }
    }
}

#[test]
fn nginx_with_an_ed25519_certificate() {
    let Some(scene) = scene(&[("openssl", "openssl"), ("nginx", "nginx")]) else { return };
    let [port] = testbed::free_ports().unwrap();
    scene
        .stage
        .write(
            "nginx.conf",
            &format!(
                "daemon off; master_process off; error_log stderr; pid nginx.pid;\nevents {{}}\n\
                 http {{ access_log off; server {{ listen 127.0.0.1:{port} ssl;\n\
                 ssl_certificate cert.pem; ssl_certificate_key cert.key; ssl_ecdh_curve X25519;\n\
                 location / {{ return 200 served; }} }} }}\n"
            ),
        )
        .unwrap();
    let mut command = scene.program("nginx", &["-e", "stderr", "-p", ".", "-c", "nginx.conf"]);
    let server = scene.stage.start("nginx", &mut command, |_| listens(port)).unwrap();
    let before = exchanges(&server);
    for plain in [false, true] {
        let output = connect(&scene, port, plain);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.ends_with("served"), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(exchanges(&server) - before, 2);
}
