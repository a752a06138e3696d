//! Tests of handshakes in memory, successful and failing.

mod common;

use openssl_runtime::wire::{
    find_client_key_shares, find_retry_group, find_server_key_share, find_supported_groups,
    is_hello_retry, replace_client_key_share, replace_server_key_share,
};
use openssl_runtime::{
    Certificate, Direction, Error, HandshakeReport, InMemoryHandshake, KeyType, LibraryContext,
    MemoryConnection, Progress, Received, Role, SslContext, TlsVersion, handshake_in_memory,
};

const X25519: u16 = 0x001D;
const P256: u16 = 0x0017;

struct Pair {
    client: SslContext,
    server: SslContext,
}

/// Returns a client that trusts the server, and the server, with these groups.
fn pair(context: &LibraryContext, client_groups: &str, server_groups: &str) -> Pair {
    let certificate =
        Certificate::self_signed(context, KeyType::EcP256, &["localhost", "127.0.0.1"]).unwrap();
    let client = SslContext::client(context).unwrap().trust(&certificate).unwrap();
    let server = SslContext::server(context, &certificate).unwrap();
    Pair {
        client: client.groups(client_groups).unwrap().build(),
        server: server.groups(server_groups).unwrap().build(),
    }
}

impl Pair {
    fn run(&self, tamper: &mut dyn FnMut(Direction, &mut Vec<u8>)) -> HandshakeReport {
        handshake_in_memory(&self.client, &self.server, tamper).unwrap()
    }

    /// Tampers only with the first flight of one direction.
    fn run_with_first(
        &self,
        tampered: Direction,
        change: impl Fn(&mut Vec<u8>),
    ) -> HandshakeReport {
        let mut done = false;
        self.run(&mut |direction, flight| {
            if direction == tampered && !done {
                done = true;
                change(flight);
            }
        })
    }
}

fn alerts(report: &HandshakeReport) -> [Option<&'static str>; 4] {
    let (client, server) = (&report.client, &report.server);
    [client.alert_sent, client.alert_received, server.alert_sent, server.alert_received]
        .map(|alert| alert.and_then(|alert| alert.name()))
}

#[test]
fn handshakes_succeed_with_every_kind_of_key() {
    let Some(context) = common::context() else { return };
    for key_type in KeyType::ALL {
        let certificate = Certificate::self_signed(&context, key_type, &["localhost"]).unwrap();
        let pem = certificate.to_pem().unwrap();
        let key = certificate.key().to_private_pem().unwrap();
        let certificate = Certificate::from_pem(&context, &pem, &*key, None).unwrap();
        let server =
            SslContext::server(&context, &certificate).unwrap().groups("X25519").unwrap().build();
        let client = SslContext::client(&context).unwrap().trust_pem(&pem).unwrap().build();
        let handshake =
            InMemoryHandshake::new(&client, &server).server_name("localhost").echo(100_000);
        let report = handshake.run(&mut |_, _| {}).unwrap();
        assert!(report.is_ok(), "{key_type:?}: {}; {}", report.client, report.server);
        assert_eq!(report.echoed, Some(true));
        for side in [&report.client, &report.server] {
            assert_eq!(side.version, Some(TlsVersion::Tls13));
            assert!(side.cipher.as_ref().unwrap().starts_with("TLS_"));
            let group = side.group.as_ref().unwrap();
            assert_eq!((group.id, group.name.as_deref()), (X25519, Some("x25519")));
            assert!(!side.hello_retry);
            assert_eq!((side.alert_sent, side.alert_received), (None, None));
        }
        assert_eq!(report.client.bytes_sent, report.server.bytes_received);
        assert_eq!(report.server.bytes_sent, report.client.bytes_received);
        let kinds: Vec<_> =
            report.client.messages.iter().map(|message| (message.sent, message.kind)).collect();
        // ClientHello, ServerHello, EncryptedExtensions, Certificate, CertificateVerify and
        // Finished from both sides.
        let expected =
            [(true, 1), (false, 2), (false, 8), (false, 11), (false, 15), (false, 20), (true, 20)];
        assert_eq!(kinds, expected);
    }
}

#[test]
fn client_and_server_may_live_in_contexts_of_their_own() {
    let (Some(ours), Some(theirs)) = (common::context(), common::context()) else { return };
    let certificate = Certificate::self_signed(&theirs, KeyType::Ed25519, &["localhost"]).unwrap();
    let server = SslContext::server(&theirs, &certificate).unwrap().build();
    let client = SslContext::client(&ours).unwrap().trust(&certificate).unwrap();
    let client = client.groups("P-256").unwrap().build();
    assert!(matches!(SslContext::server(&ours, &certificate), Err(Error::Input(_))));
    assert_eq!((client.role(), server.role()), (Role::Client, Role::Server));
    // Connections keep the objects that they need.
    drop((ours, theirs, certificate));
    let report = handshake_in_memory(&client, &server, &mut |_, _| {}).unwrap();
    assert!(report.is_ok(), "{}; {}", report.client, report.server);
    assert_eq!(report.client.group.unwrap().id, P256);
}

#[test]
fn flights_show_their_key_shares() {
    let Some(context) = common::context() else { return };
    let pair = pair(&context, "X25519:P-256", "X25519");
    let mut shares = Vec::new();
    let report = pair.run(&mut |direction, flight| match direction {
        Direction::ClientToServer => {
            if let Some(found) = find_client_key_shares(flight) {
                shares.extend(found.iter().map(|share| (share.group, share.bytes.len())));
                assert_eq!(find_supported_groups(flight), Some(vec![X25519, P256]));
            }
        }
        Direction::ServerToClient => {
            shares.extend(
                find_server_key_share(flight).map(|share| (share.group, share.bytes.len())),
            );
            assert!(!is_hello_retry(flight));
        }
    });
    assert!(report.is_ok());
    assert_eq!(shares, [(X25519, 32), (X25519, 32)]);
}

#[test]
fn servers_ask_for_another_hello() {
    let Some(context) = common::context() else { return };
    let pair = pair(&context, "X25519:P-256", "P-256");
    let mut retries = Vec::new();
    let report = pair.run(&mut |_, flight| retries.extend(find_retry_group(flight)));
    assert!(report.is_ok(), "{}; {}", report.client, report.server);
    assert_eq!(retries, [P256]);
    for side in [report.client, report.server] {
        assert!(side.hello_retry);
        assert_eq!(side.group.unwrap().id, P256);
    }
}

#[test]
fn no_common_group_is_an_alert_on_both_sides() {
    let Some(context) = common::context() else { return };
    let report = pair(&context, "X25519", "P-256").run(&mut |_, _| {});
    assert!(!report.is_ok());
    assert_eq!(alerts(&report), [None, Some("handshake_failure"), Some("handshake_failure"), None]);
    assert!(
        report.server.failure.as_ref().unwrap().has_reason("no suitable key share"),
        "{}",
        report.server
    );
    assert!(
        report.client.to_string().ends_with("received fatal alert 40 handshake_failure"),
        "{}",
        report.client
    );
    assert_eq!(
        (report.client.finished, report.server.finished, report.echoed),
        (false, false, None)
    );
}

#[test]
fn shares_of_the_wrong_length_are_refused() {
    let Some(context) = common::context() else { return };
    let pair = pair(&context, "P-256", "P-256");
    for length in [0, 1, 64, 66, 1000] {
        let report = pair.run_with_first(Direction::ClientToServer, |flight| {
            *flight = replace_client_key_share(flight, P256, &vec![4; length]).unwrap();
        });
        let [None, received, sent, None] = alerts(&report) else { panic!("{:?}", alerts(&report)) };
        assert_eq!(received, sent);
        // An empty share cannot be decoded; the others can, but are not valid shares.
        let expected = if length == 0 { "decode_error" } else { "illegal_parameter" };
        assert_eq!(sent, Some(expected), "{length}: {}", report.server);

        let report = pair.run_with_first(Direction::ServerToClient, |flight| {
            *flight = replace_server_key_share(flight, &vec![4; length]).unwrap();
        });
        assert_eq!(alerts(&report), [Some(expected), None, None, Some(expected)], "{length}");
    }
}

#[test]
fn changed_shares_and_hellos_break_the_transcript() {
    let Some(context) = common::context() else { return };
    let pair = pair(&context, "X25519", "X25519");
    let report = pair.run_with_first(Direction::ClientToServer, |flight| {
        let share = find_client_key_shares(flight).unwrap().remove(0);
        flight[share.bytes.start] ^= 1;
    });
    assert_eq!(
        report.client.alert_sent.unwrap().name(),
        Some("bad_record_mac"),
        "{}",
        report.client
    );
    assert!(!report.client.is_ok() && !report.server.is_ok());

    // The group of the only share becomes another one, which the server does not support.
    let report = pair.run_with_first(Direction::ClientToServer, |flight| {
        let share = find_client_key_shares(flight).unwrap().remove(0);
        flight[share.bytes.start - 3] ^= 0x40;
    });
    assert!(report.server.alert_sent.is_some_and(|alert| alert.is_fatal()), "{}", report.server);

    // An X25519 share of small order gives an all-zero secret.
    let report = pair.run_with_first(Direction::ClientToServer, |flight| {
        *flight = replace_client_key_share(flight, X25519, &[0; 32]).unwrap();
    });
    assert!(report.server.alert_sent.is_some_and(|alert| alert.is_fatal()), "{}", report.server);
}

#[test]
fn a_client_that_finished_may_still_be_refused() {
    let Some(context) = common::context() else { return };
    let pair = pair(&context, "X25519", "X25519");
    let mut client_flights = 0;
    let report = pair.run(&mut |direction, flight| {
        client_flights += usize::from(direction == Direction::ClientToServer);
        if direction == Direction::ClientToServer && client_flights == 2 {
            *flight.last_mut().unwrap() ^= 1;
        }
    });
    assert!(report.client.finished && !report.server.finished);
    assert!(!report.client.is_ok() && !report.server.is_ok());
    assert_eq!(alerts(&report), [None, Some("bad_record_mac"), Some("bad_record_mac"), None]);
}

#[test]
fn truncated_and_lost_flights_end_in_an_error() {
    let Some(context) = common::context() else { return };
    let pair = pair(&context, "X25519", "X25519");
    for direction in [Direction::ClientToServer, Direction::ServerToClient] {
        for kept in [0, 1, 5, 6, 50, 150] {
            let report = pair.run_with_first(direction, |flight| flight.truncate(kept));
            assert!(!report.client.is_ok() && !report.server.is_ok(), "{direction:?} {kept}");
            for side in [report.client, report.server] {
                assert!(side.failure.is_some() && !side.finished, "{direction:?} {kept}: {side}");
            }
        }
    }
}

#[test]
fn garbage_ends_in_an_error() {
    let Some(context) = common::context() else { return };
    let pair = pair(&context, "X25519:P-256", "P-256:X25519");
    let mut numbers = artifacts::Numbers::new(7);
    for _ in 0..300 {
        let report = pair.run(&mut |_, flight| {
            let (at, value) = (numbers.below(flight.len()), numbers.bits() as u8 | 1);
            flight[at] ^= value;
        });
        assert!(!report.is_ok());
    }
}

#[test]
fn certificates_are_verified() {
    let Some(context) = common::context() else { return };
    let trusting = pair(&context, "X25519", "X25519");
    let run = |client: &SslContext, name| {
        InMemoryHandshake::new(client, &trusting.server)
            .server_name(name)
            .run(&mut |_, _| {})
            .unwrap()
    };
    for name in ["localhost", "127.0.0.1"] {
        let report = run(&trusting.client, name);
        assert!(report.is_ok(), "{}", report.client);
    }
    for name in ["example.org", "127.0.0.2"] {
        let report = run(&trusting.client, name);
        assert_eq!(report.client.alert_sent.unwrap().name(), Some("bad_certificate"), "{name}");
        assert!(report.client.to_string().contains("mismatch"), "{}", report.client);
    }
    let distrusting = SslContext::client(&context).unwrap().build();
    let report = run(&distrusting, "localhost");
    assert_eq!(report.client.alert_sent.unwrap().name(), Some("unknown_ca"));
    let careless = SslContext::client(&context).unwrap().without_verification().build();
    assert!(run(&careless, "example.org").is_ok());
}

#[test]
fn bad_settings_are_refused() {
    let Some(context) = common::context() else { return };
    let client = || SslContext::client(&context).unwrap();
    let Err(error) = client().groups("X25519:no-such-group") else { panic!() };
    assert!(
        error.to_string().starts_with("cannot set the groups \"X25519:no-such-group\""),
        "{error}"
    );
    assert!(client().signature_algorithms("no-such-algorithm").is_err());
    assert!(client().cipher_suites("no-such-suite").is_err());
    assert!(client().trust_pem("garbage").is_err());
    let suites = client().cipher_suites("TLS_CHACHA20_POLY1305_SHA256").unwrap();
    let client = suites
        .signature_algorithms("ecdsa_secp256r1_sha256")
        .unwrap()
        .without_verification()
        .build();
    let report =
        handshake_in_memory(&client, &pair(&context, "X25519", "X25519").server, &mut |_, _| {});
    assert_eq!(report.unwrap().client.cipher.as_deref(), Some("TLS_CHACHA20_POLY1305_SHA256"));

    let certificate = Certificate::self_signed(&context, KeyType::EcP256, &["localhost"]).unwrap();
    let other = Certificate::self_signed(&context, KeyType::EcP256, &["localhost"]).unwrap();
    let key = other.key().to_private_pem().unwrap();
    let Err(error) = Certificate::from_pem(&context, certificate.to_pem().unwrap(), &*key, None)
    else {
        panic!()
    };
    assert!(error.to_string().contains("key values mismatch"), "{error}");
}

#[test]
fn tls_1_2_negotiates_groups_too() {
    let Some(context) = common::context() else { return };
    let certificate = Certificate::self_signed(&context, KeyType::EcP256, &["localhost"]).unwrap();
    let server = SslContext::server(&context, &certificate).unwrap().groups("P-256").unwrap();
    let server = server.versions(TlsVersion::Tls12, TlsVersion::Tls13).unwrap().build();
    let client = SslContext::client(&context).unwrap().trust(&certificate).unwrap();
    let client = client.versions(TlsVersion::Tls12, TlsVersion::Tls12).unwrap().build();
    let report = handshake_in_memory(&client, &server, &mut |_, _| {}).unwrap();
    assert!(report.is_ok(), "{}; {}", report.client, report.server);
    assert_eq!(report.client.version, Some(TlsVersion::Tls12));
    assert_eq!(report.client.group.unwrap().id, P256);

    let strict = pair(&context, "X25519", "X25519");
    let report = handshake_in_memory(&client, &strict.server, &mut |_, _| {}).unwrap();
    assert_eq!(report.server.alert_sent.unwrap().name(), Some("protocol_version"));
}

#[test]
fn connections_can_be_driven_by_hand() {
    let Some(context) = common::context() else { return };
    let pair = pair(&context, "X25519", "X25519");
    let mut client = MemoryConnection::new(&pair.client, Some("localhost")).unwrap();
    let mut server = MemoryConnection::new(&pair.server, None).unwrap();
    assert!(matches!(client.write(b"early"), Err(Error::OpenSsl(_))));
    assert_eq!(server.handshake().unwrap(), Progress::NeedsInput);
    assert_eq!(server.take_outgoing(), []);

    assert_eq!(client.handshake().unwrap(), Progress::NeedsInput);
    // Passing the bytes one by one gives the same result as passing them at once.
    for byte in client.take_outgoing() {
        server.feed(&[byte]).unwrap();
        assert_eq!(server.handshake().unwrap(), Progress::NeedsInput);
    }
    client.feed(&server.take_outgoing()).unwrap();
    assert_eq!(client.handshake().unwrap(), Progress::Finished);
    server.feed(&client.take_outgoing()).unwrap();
    assert_eq!(server.handshake().unwrap(), Progress::Finished);
    assert!(client.is_finished() && server.is_finished());

    client.write(b"question").unwrap();
    server.feed(&client.take_outgoing()).unwrap();
    let mut buffer = [0; 4];
    assert_eq!(server.read(&mut buffer).unwrap(), Received::Data(4));
    assert_eq!(&buffer, b"ques");
    assert_eq!(server.read(&mut buffer).unwrap(), Received::Data(4));
    assert_eq!(server.read(&mut buffer).unwrap(), Received::NeedsInput);

    client.close().unwrap();
    server.feed(&client.take_outgoing()).unwrap();
    assert_eq!(server.read(&mut buffer).unwrap(), Received::Closed);
    server.write(b"last word").unwrap();
    client.feed(&server.take_outgoing()).unwrap();
    assert_eq!(client.read(&mut [0; 100]).unwrap(), Received::Data(9));
    assert_eq!(client.summary().alert_sent.unwrap().name(), Some("close_notify"));

    client.end_incoming();
    assert!(client.read(&mut buffer).is_err());
    assert!(client.summary().failure.is_some());
}
