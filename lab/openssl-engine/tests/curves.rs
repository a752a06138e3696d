//! X25519 and Ed25519 of the ENGINE in stock programs: TLS, certificates, key files.

mod common;

use common::{Side, bare_stage, legacy, stock};
use testbed::{Finished, Stage};

/// On any machine.
const ENGINE: Side = Side::Engine("X25519 = on\nED25519 = on");
const PORTABLE: Side = Side::Engine("BACKEND = portable\nX25519 = on\nED25519 = on");
const OTHERS: [Side; 2] = [Side::Stock, Side::System];

fn is_built() -> bool {
    legacy().is_some() && stock().is_some()
}

fn run(side: Side, stage: &Stage, arguments: &[&str]) -> Finished {
    stage.run(side.openssl(stage).unwrap().args(arguments)).unwrap()
}

fn say(side: Side, stage: &Stage, arguments: &[&str]) -> String {
    run(side, stage, arguments).output_of(arguments[0]).unwrap()
}

/// Writes `key.pem` and `certificate.pem`, a self-signed certificate.
fn certify(side: Side, stage: &Stage) {
    say(side, stage, &["genpkey", "-algorithm", "ED25519", "-out", "key.pem"]);
    let subject = ["-subj", "/CN=localhost", "-days", "2"];
    let files = ["-key", "key.pem", "-out", "certificate.pem"];
    let request = ["req", "-config", "request.cnf", "-x509"];
    say(side, stage, &[&request[..], &subject, &files].concat());
}

#[test]
fn handshakes_with_everybody_over_x25519_with_an_ed25519_certificate() {
    if !is_built() {
        return;
    }
    let pairs = OTHERS.iter().flat_map(|&other| [(ENGINE, other), (other, ENGINE)]);
    for (server, client) in
        pairs.chain([(ENGINE, ENGINE), (PORTABLE, Side::Stock), (Side::System, PORTABLE)])
    {
        let stage = bare_stage();
        // The certificate and the key are made by the client's OpenSSL, as the file formats are the
        // same.
        certify(client, &stage);
        for version in ["-tls1_3", "-tls1_2"] {
            let (_running, port) = server.server(&stage, "X25519", &[version]).unwrap();
            for _ in 0..3 {
                let said = client.client(&stage, port, "X25519", &[version]).unwrap();
                let case = format!("{server:?} and {client:?}, {version}: {said}");
                assert!(said.lines().any(|line| line == "xektsaf"), "{case}");
                assert!(said.contains("Server Temp Key: X25519, 253 bits"), "{case}");
                let line = said.lines().find(|line| line.starts_with("Peer signature type: "));
                let signature =
                    line.map(|line| line["Peer signature type: ".len()..].to_lowercase());
                assert_eq!(signature.as_deref(), Some("ed25519"), "{case}");
                assert!(said.contains("Verify return code: 0 (ok)"), "{case}");
            }
        }
    }
}

#[test]
fn certificates_of_one_are_verified_by_the_others() {
    if !is_built() {
        return;
    }
    for (signer, verifier) in [
        (ENGINE, Side::Stock),
        (ENGINE, Side::System),
        (Side::Stock, ENGINE),
        (Side::System, PORTABLE),
        (ENGINE, ENGINE),
    ] {
        let stage = bare_stage();
        certify(signer, &stage);
        // A request with its own signature, and a certificate that the first one signs.
        let request = ["req", "-config", "request.cnf", "-new", "-newkey", "ed25519", "-nodes"];
        let more = ["-subj", "/CN=leaf", "-keyout", "leaf-key.pem", "-out", "leaf.csr"];
        say(signer, &stage, &[&request[..], &more].concat());
        let case = format!("{signer:?} and {verifier:?}");
        let verified = run(
            verifier,
            &stage,
            &["req", "-config", "request.cnf", "-in", "leaf.csr", "-verify", "-noout"],
        );
        let said = format!("{}{}", verified.output, verified.errors).to_lowercase();
        assert!(said.contains("verify ok"), "{case}: {said}");
        let sign = [
            "x509",
            "-req",
            "-in",
            "leaf.csr",
            "-CA",
            "certificate.pem",
            "-CAkey",
            "key.pem",
            "-set_serial",
            "7",
        ];
        say(signer, &stage, &[&sign[..], &["-days", "2", "-out", "leaf.pem"]].concat());
        let verify = ["verify", "-check_ss_sig", "-CAfile", "certificate.pem", "leaf.pem"];
        assert_eq!(say(verifier, &stage, &verify), "leaf.pem: OK\n", "{case}");
        let text = ["x509", "-in", "leaf.pem", "-noout", "-text"];
        let text = say(signer, &stage, &text);
        assert!(text.contains("Signature Algorithm: ED25519"), "{case}: {text}");

        // The 40th byte from the end belongs to the signature.
        for file in ["leaf", "certificate"] {
            say(
                signer,
                &stage,
                &["x509", "-in", &format!("{file}.pem"), "-outform", "DER", "-out", "spoilt.der"],
            );
            let path = stage.folder().join("spoilt.der");
            let mut der = std::fs::read(&path).unwrap();
            let at = der.len() - 40;
            der[at] ^= 1;
            std::fs::write(&path, der).unwrap();
            say(
                signer,
                &stage,
                &["x509", "-in", "spoilt.der", "-inform", "DER", "-out", "spoilt.pem"],
            );
            let root = if file == "leaf" { "certificate.pem" } else { "spoilt.pem" };
            let verify = ["verify", "-check_ss_sig", "-CAfile", root, "spoilt.pem"];
            let refused = run(verifier, &stage, &verify);
            assert!(!refused.status.success(), "{case}: {}", refused.output);
            let said = refused.output + &refused.errors;
            assert!(said.contains("certificate signature failure"), "{case}: {said}");
        }
    }
}

#[test]
fn files_are_those_of_libcrypto() {
    if !is_built() {
        return;
    }
    let stage = bare_stage();
    for name in ["X25519", "ED25519"] {
        for (maker, reader) in [(ENGINE, Side::Stock), (Side::Stock, ENGINE)] {
            say(maker, &stage, &["genpkey", "-algorithm", name, "-out", "k.pem"]);
            let public = say(maker, &stage, &["pkey", "-in", "k.pem", "-pubout", "-out", "p.pem"]);
            assert_eq!(public, "");
            let encrypted =
                ["pkey", "-in", "k.pem", "-aes256", "-passout", "pass:secret", "-out", "e.pem"];
            say(maker, &stage, &encrypted);
            for arguments in [
                &["pkey", "-in", "k.pem"][..],
                &["pkey", "-in", "k.pem", "-pubout"],
                &["pkey", "-in", "k.pem", "-text", "-noout"],
                &["pkey", "-in", "e.pem", "-passin", "pass:secret"],
                &["pkey", "-pubin", "-in", "p.pem"],
                &["pkey", "-pubin", "-in", "p.pem", "-text_pub", "-noout"],
            ] {
                let [ours, theirs] = [maker, reader].map(|side| say(side, &stage, arguments));
                assert_eq!(ours, theirs, "{name}, made by {maker:?}, {arguments:?}");
            }
        }
    }
    // Invalid private keys: a wrong length inside the octet string, and a type other than octet
    // string.
    for key in [
        "MC4CAQAwBQYDK2VuBCIEIQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
        "MC4CAQAwBQYDK2VuBCIDIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
    ] {
        let text = format!("-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n");
        stage.write("k.pem", &text).unwrap();
        for side in [ENGINE, Side::Stock] {
            assert!(!run(side, &stage, &["pkey", "-in", "k.pem"]).status.success(), "{side:?}");
        }
    }
}

#[test]
fn secrets_are_derived_alike() {
    if !is_built() {
        return;
    }
    let stage = bare_stage();
    for name in ["a", "b"] {
        say(ENGINE, &stage, &["genpkey", "-algorithm", "X25519", "-out", &format!("{name}.pem")]);
        say(
            ENGINE,
            &stage,
            &["pkey", "-in", &format!("{name}.pem"), "-pubout", "-out", &format!("{name}.pub")],
        );
    }
    let derive = |side: Side, own: &str, peer: &str| {
        let arguments = ["pkeyutl", "-derive", "-inkey", own, "-peerkey", peer, "-out", "secret"];
        say(side, &stage, &arguments);
        std::fs::read(stage.folder().join("secret")).unwrap()
    };
    let secret = derive(ENGINE, "a.pem", "b.pub");
    assert_eq!(secret.len(), 32);
    for side in [ENGINE, PORTABLE, Side::Stock, Side::System] {
        assert_eq!(derive(side, "b.pem", "a.pub"), secret, "{side:?}");
    }
}
