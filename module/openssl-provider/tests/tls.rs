//! TLS 1.3 handshakes in memory between two library contexts of stock OpenSSL.

mod common;

use common::{client, context, has_ml_kem, libraries, server, stock_context};
use kex::TLS_GROUPS;
use openssl_runtime::{Direction, HandshakeReport, InMemoryHandshake, wire};

fn group_of(report: &HandshakeReport) -> (u16, u16) {
    let id = |group: &Option<openssl_runtime::Group>| group.as_ref().map_or(0, |group| group.id);
    (id(&report.client.group), id(&report.server.group))
}

#[test]
fn every_group_shakes_hands() {
    let Some(libraries) = libraries() else { return };
    let (ours, theirs) = (context(&libraries), context(&libraries));
    for group in TLS_GROUPS {
        let (client, server) = (client(&ours, group.name), server(&theirs, group.name));
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
        assert!(report.is_ok(), "{}: {} / {}", group.name, report.client, report.server);
        assert_eq!(group_of(&report), (group.code_point, group.code_point));
        assert!(!report.client.hello_retry);
        // The sizes on the wire are those of the table.
        let client_share = &client_share.unwrap()[0];
        let server_share = server_share.unwrap();
        assert_eq!(client_share.group, group.code_point);
        assert_eq!(client_share.bytes.len(), group.public_key_bytes);
        assert_eq!(server_share.bytes.len(), group.ciphertext_bytes);
    }
}

#[test]
fn the_groups_are_told_as_the_table_has_them() {
    let Some(libraries) = libraries() else { return };
    let context = context(&libraries);
    let told = context.tls_groups();
    for group in TLS_GROUPS {
        // Once each: the module does not announce groups that OpenSSL has.
        let [told] = &told.iter().filter(|told| told.name == group.name).collect::<Vec<_>>()[..]
        else {
            panic!("{} in {told:?}", group.name);
        };
        assert_eq!((told.id, told.is_kem), (group.code_point, true), "{}", group.name);
        assert!(told.in_tls13());
    }
}

#[test]
fn a_client_with_several_groups_meets_a_server_with_one() {
    let Some(libraries) = libraries() else { return };
    let (ours, theirs) = (context(&libraries), context(&libraries));
    let names: Vec<_> = TLS_GROUPS.iter().map(|group| group.name).collect();
    let all = names.join(":");
    for (index, group) in TLS_GROUPS.iter().enumerate() {
        let report = InMemoryHandshake::new(&client(&ours, &all), &server(&theirs, group.name))
            .run(&mut |_, _| {})
            .unwrap();
        assert!(report.is_ok(), "{}: {} / {}", group.name, report.client, report.server);
        assert_eq!(group_of(&report), (group.code_point, group.code_point));
        // The client sends a share for its first group only, and another one when asked.
        assert_eq!(report.client.hello_retry, index > 0, "{}", group.name);
    }
}

#[test]
fn the_servers_order_and_the_clients_share_decide() {
    let Some(libraries) = libraries() else { return };
    let (ours, theirs) = (context(&libraries), context(&libraries));
    for (client_groups, server_groups, expected, retry) in [
        ("sntrup761:X25519SNTRUP761", "X25519SNTRUP761:sntrup761", "sntrup761", false),
        ("X25519:X25519SNTRUP761", "X25519SNTRUP761", "X25519SNTRUP761", true),
        ("sntrup653:X25519", "sntrup857:X25519", "X25519", true),
        ("X25519SNTRUP761:X25519", "X25519", "X25519", true),
    ] {
        let (client, server) = (client(&ours, client_groups), server(&theirs, server_groups));
        let report = InMemoryHandshake::new(&client, &server).run(&mut |_, _| {}).unwrap();
        assert!(report.is_ok(), "{client_groups} with {server_groups}: {}", report.client);
        let group = report.client.group.as_ref().unwrap();
        let expected = kex::group_named(expected).map_or(0x001d, |group| group.code_point);
        assert_eq!(group.id, expected, "{client_groups} with {server_groups}");
        assert_eq!(report.client.hello_retry, retry, "{client_groups} with {server_groups}");
    }
}

#[test]
fn a_server_without_the_group_falls_back_or_fails_with_an_alert() {
    let Some(libraries) = libraries() else { return };
    let (ours, stock) = (context(&libraries), stock_context(&libraries));
    let server = server(&stock, "X25519");

    let allowed = client(&ours, "X25519SNTRUP761:X25519");
    let report = InMemoryHandshake::new(&allowed, &server).echo(10).run(&mut |_, _| {}).unwrap();
    assert!(report.is_ok(), "{}", report.client);
    assert_eq!(group_of(&report), (0x001d, 0x001d));
    assert!(report.client.hello_retry);

    let not_allowed = client(&ours, "X25519SNTRUP761:sntrup761");
    let report = InMemoryHandshake::new(&not_allowed, &server).run(&mut |_, _| {}).unwrap();
    assert!(!report.client.finished && !report.server.finished);
    let (sent, received) =
        (report.server.alert_sent.unwrap(), report.client.alert_received.unwrap());
    assert_eq!((sent, sent.name()), (received, Some("handshake_failure")));
}

#[test]
fn code_points_can_be_configured() {
    let Some(libraries) = libraries() else { return };
    let configured = || {
        let context = stock_context(&libraries);
        let pairs = [
            ("code_points.sntrup761", "0x0233"),
            ("code_points.X25519SNTRUP761", "12211"),
            ("groups", "all"),
        ];
        context.load_provider_with(common::module(), &pairs).unwrap().keep();
        context
    };
    let (ours, theirs) = (configured(), configured());
    for (name, expected) in [("sntrup761", 0x0233), ("X25519SNTRUP761", 12211)] {
        let report = InMemoryHandshake::new(&client(&ours, name), &server(&theirs, name))
            .run(&mut |_, _| {})
            .unwrap();
        assert!(report.is_ok(), "{name}: {}", report.client);
        assert_eq!(group_of(&report), (expected, expected));
    }
    // A context of its own keeps the defaults, in the same process.
    let default = context(&libraries);
    let report =
        InMemoryHandshake::new(&client(&ours, "sntrup857"), &server(&default, "sntrup857"))
            .run(&mut |_, _| {})
            .unwrap();
    assert!(report.is_ok());
    let mixed = InMemoryHandshake::new(&client(&ours, "sntrup761"), &server(&default, "sntrup761"))
        .run(&mut |_, _| {})
        .unwrap();
    assert!(!mixed.is_ok(), "different code points cannot agree");
}

#[test]
fn many_threads_share_a_context() {
    let Some(libraries) = libraries() else { return };
    let context = context(&libraries);
    let groups = "X25519SNTRUP761";
    let (client, server) = (client(&context, groups), server(&context, groups));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let report =
                        InMemoryHandshake::new(&client, &server).run(&mut |_, _| {}).unwrap();
                    assert!(report.is_ok(), "{}", report.client);
                }
            });
        }
    });
}

/// Handshakes between the module's groups and OpenSSL's own of the same name.
#[test]
fn openssls_own_groups_meet_ours() {
    let Some(libraries) = libraries() else { return };
    if !has_ml_kem(&libraries) {
        artifacts::skipped("this OpenSSL has no groups with ML-KEM itself (from 3.5 on)");
        return;
    }
    let (ours, theirs) = (context(&libraries), stock_context(&libraries));
    let shared: Vec<_> = TLS_GROUPS.iter().filter(|group| !group.is_private()).collect();
    assert_eq!(shared.len(), 6);
    for group in shared {
        for (one, other) in [(&ours, &theirs), (&theirs, &ours), (&ours, &ours)] {
            let (client, server) = (client(one, group.name), server(other, group.name));
            for _ in 0..3 {
                let report = InMemoryHandshake::new(&client, &server)
                    .echo(1000)
                    .run(&mut |_, _| {})
                    .unwrap();
                assert!(report.is_ok(), "{}: {} / {}", group.name, report.client, report.server);
                assert_eq!(group_of(&report), (group.code_point, group.code_point));
                assert!(!report.client.hello_retry);
            }
        }
    }
}

/// OpenSSL's own hybrids are made of keys of other algorithms, which a property query may take from
/// the module.
#[test]
fn openssls_own_hybrids_use_the_modules_ml_kem() {
    let Some(libraries) = libraries() else { return };
    if !has_ml_kem(&libraries) {
        artifacts::skipped("this OpenSSL has no hybrids with ML-KEM itself (from 3.5 on)");
        return;
    }
    let stock = stock_context(&libraries);
    let parts = stock_context(&libraries);
    let only_ml_kem = [("groups", "MLKEM768:MLKEM1024")];
    parts.load_provider_with(common::module(), &only_ml_kem).unwrap().keep();
    parts.set_default_properties("?provider=fastkex").unwrap();
    let key = openssl_runtime::Key::generate(&parts, "ML-KEM-768", None).unwrap();
    assert_eq!(key.provider().as_deref(), Some("fastkex"));
    for name in ["X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024"] {
        let key = openssl_runtime::Key::generate(&parts, name, None).unwrap();
        assert_eq!(key.provider().as_deref(), Some("default"), "{name}");
        for (one, other) in [(&parts, &stock), (&stock, &parts), (&parts, &parts)] {
            let (client, server) = (client(one, name), server(other, name));
            let report =
                InMemoryHandshake::new(&client, &server).echo(1000).run(&mut |_, _| {}).unwrap();
            assert!(report.is_ok(), "{name}: {} / {}", report.client, report.server);
        }
    }
}
