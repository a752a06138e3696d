//! The module in stock OpenSSL. Tests that depend on the environment run in a process of their own.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

use fastkex_insecure_null::{FILE, GROUPS, NullGroup, VARIABLE};
use openssl_runtime::{
    Certificate, Direction, InMemoryHandshake, Key, KeyType, Libraries, LibraryContext, SslContext,
    Value, wire,
};

fn module() -> PathBuf {
    static MODULE: LazyLock<PathBuf> =
        LazyLock::new(|| artifacts::build("openssl-null", FILE).unwrap());
    MODULE.clone()
}

/// Opens the OpenSSL under test, with the default provider: the libraries in the folder
/// `FASTKEX_TEST_OPENSSL`, or the system's.
fn stock_context() -> Option<LibraryContext> {
    let libraries = match std::env::var_os("FASTKEX_TEST_OPENSSL") {
        Some(folder) => Libraries::open_directory(folder).unwrap(),
        None => match Libraries::system() {
            Ok(libraries) => libraries,
            Err(error) => {
                artifacts::skipped(&format!("{error}"));
                return None;
            }
        },
    };
    let context = LibraryContext::new(&libraries).unwrap();
    context.load_provider("default").unwrap().keep();
    Some(context)
}

fn context() -> LibraryContext {
    let context = stock_context().unwrap();
    context.load_provider(module().to_str().unwrap()).unwrap().keep();
    context
}

/// Runs the test `test` of this file in a process with `VARIABLE` as given.
fn again(test: &str, variable: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture"]).env_remove(VARIABLE);
    if let Some(value) = variable {
        command.env(VARIABLE, value);
    }
    command.output().unwrap()
}

/// Runs a test with `VARIABLE` set, and fails if it fails.
fn with_variable(test: &str) {
    if stock_context().is_none() {
        return;
    }
    let output = again(test, Some("1"));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn without_the_variable_it_does_not_load() {
    if stock_context().is_none() {
        return;
    }
    for value in [None, Some(""), Some("0"), Some("11")] {
        let output = again("loads", value);
        let text = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success(), "{value:?}: {text}");
        assert!(text.contains("expected FASTKEX_INSECURE_NULL=1"), "{value:?}: {text}");
    }
    with_variable("loads");
}

#[test]
#[ignore = "run by another test"]
fn loads() {
    let groups = context().tls_groups();
    for group in GROUPS {
        let told = groups.iter().find(|told| told.name == name(group)).unwrap();
        assert_eq!(told.id, group.code_point);
        assert!(told.in_tls13());
    }
}

#[test]
fn handshakes() {
    with_variable("shakes_hands");
}

fn name(group: &NullGroup) -> &'static str {
    group.name.to_str().unwrap()
}

fn ends(context: &LibraryContext, groups: &str) -> (SslContext, SslContext) {
    let certificate = Certificate::self_signed(context, KeyType::EcP256, &["localhost"]).unwrap();
    let client = SslContext::client(context).unwrap().groups(groups).unwrap();
    let server = SslContext::server(context, &certificate).unwrap().groups(groups).unwrap();
    (client.without_verification().build(), server.build())
}

#[test]
#[ignore = "run by another test"]
fn shakes_hands() {
    let context = context();
    for group in GROUPS {
        let (client, server) = ends(&context, name(group));
        let (mut client_share, mut server_share) = (None, None);
        let report = InMemoryHandshake::new(&client, &server)
            .echo(100_000)
            .run(&mut |direction, flight| match direction {
                Direction::ClientToServer if client_share.is_none() => {
                    client_share = wire::find_client_key_shares(flight);
                }
                Direction::ServerToClient if server_share.is_none() => {
                    server_share = wire::find_server_key_share(flight);
                }
                _ => {}
            })
            .unwrap();
        assert!(report.is_ok(), "{group:?}: {} / {}", report.client, report.server);
        assert!(!report.client.hello_retry);
        let (client_share, server_share) = (client_share.unwrap(), server_share.unwrap());
        assert_eq!(client_share.len(), 1);
        assert_eq!(
            (client_share[0].group, server_share.group),
            (group.code_point, group.code_point)
        );
        assert_eq!(client_share[0].bytes.len(), group.client_bytes);
        assert_eq!(server_share.bytes.len(), group.server_bytes);
    }
}

#[test]
fn other_shares() {
    with_variable("refuses_other_shares");
}

/// Either end answers a share that is not its peer's constant with an alert.
#[test]
#[ignore = "run by another test"]
fn refuses_other_shares() {
    let context = context();
    for group in GROUPS {
        let (client, server) = ends(&context, name(group));
        for hostile in [Direction::ClientToServer, Direction::ServerToClient] {
            let report = InMemoryHandshake::new(&client, &server)
                .run(&mut |direction, flight| {
                    let share = match direction {
                        _ if direction != hostile => return,
                        Direction::ClientToServer => {
                            wire::find_client_key_shares(flight).and_then(|mut shares| shares.pop())
                        }
                        Direction::ServerToClient => wire::find_server_key_share(flight),
                    };
                    if let Some(share) = share {
                        flight[share.bytes.start] ^= 1;
                    }
                })
                .unwrap();
            assert!(!report.client.finished && !report.server.finished, "{hostile:?}");
            let end = match hostile {
                Direction::ClientToServer => report.server,
                Direction::ServerToClient => report.client,
            };
            assert!(end.alert_sent.is_some_and(|alert| alert.is_fatal()), "{end}");
        }
    }
}

#[test]
fn keys() {
    with_variable("keys_are_constants");
}

#[test]
#[ignore = "run by another test"]
fn keys_are_constants() {
    let context = context();
    for group in GROUPS {
        let key = Key::generate(&context, name(group), None).unwrap();
        let share = key.encoded_public_key().unwrap();
        assert_eq!(share.len(), group.client_bytes);
        assert!(share.starts_with(b"INSECURE"));
        let mut peer = Key::generate_parameters(&context, name(group), None, &[]).unwrap();
        peer.set_encoded_public_key(&share).unwrap();
        let (ciphertext, secret) = peer.encapsulate().unwrap();
        assert_eq!((ciphertext.len(), secret.len()), (group.server_bytes, 32));
        assert!(key.decapsulate(&ciphertext).unwrap()[..] == secret[..]);

        assert!(peer.set_encoded_public_key(&share[1..]).is_err());
        assert!(key.decapsulate(&ciphertext[1..]).is_err());
        let other = [("group", Value::Text("sntrup761"))];
        assert!(Key::generate_with(&context, name(group), None, &other).is_err());
        let same = [("group", Value::Text(name(group)))];
        assert!(Key::generate_with(&context, name(group), None, &same).is_ok());
    }
    assert!(Key::generate(&context, "insecure-null-large", None).is_err());
    let unknown = SslContext::client(&context).unwrap().groups("insecure-null-large");
    assert!(unknown.is_err());
}

/// `make install` (in a dry run) installs nothing of this crate.
#[test]
fn it_is_not_installed() {
    let make = Command::new("make")
        .args(["--dry-run", "install", "CARGO=true", "DESTDIR=/nowhere"])
        .current_dir(artifacts::root())
        .env_remove("MAKEFLAGS")
        .output();
    let Ok(output) = make else {
        artifacts::skipped("no make (apt-get install make)");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("fastkex.so"), "{text}");
    assert!(!text.contains("openssl-null") && !text.contains("insecure"), "{text}");
}
