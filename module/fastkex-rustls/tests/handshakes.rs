//! TLS 1.3 handshakes in memory between two sides of rustls.

mod common;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use common::{Group, client, client_with, group, provider_of, server, server_with, shake};
use fastkex_rustls::{groups, kx_group, recommended_groups, with, with_groups};
use kex::{GroupVisitor, TLS_GROUPS, TlsGroup, TlsKem, visit_groups};
use openssl_runtime::wire::{find_client_key_shares, find_server_key_share, find_supported_groups};
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::{HandshakeKind, NamedGroup, ProtocolVersion};

/// The key shares in a client's first flight.
fn shares(hello: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let shares = find_client_key_shares(hello).unwrap();
    shares.into_iter().map(|share| (share.group, hello[share.bytes].to_vec())).collect()
}

#[test]
fn every_group_shakes_hands() {
    for group in TLS_GROUPS {
        let done = shake(&client(&[group.name]), &server(&[group.name])).unwrap();
        assert_eq!(done.group(), group.code_point, "{}", group.name);
        assert_eq!(done.client.handshake_kind(), Some(HandshakeKind::Full));
        // The sizes on the wire are those of the table.
        let [(offered, share)] = &shares(&done.hello)[..] else { panic!("{}", group.name) };
        assert_eq!((*offered, share.len()), (group.code_point, group.public_key_bytes));
        let answer = find_server_key_share(&done.answer).unwrap();
        assert_eq!((answer.group, answer.bytes.len()), (group.code_point, group.ciphertext_bytes));
    }
}

#[test]
fn groups_are_those_of_the_table() {
    assert_eq!(groups().len(), TLS_GROUPS.len());
    for (group, row) in groups().zip(TLS_GROUPS) {
        assert_eq!(u16::from(group.name()), row.code_point);
        assert_eq!(format!("{group:?}"), row.name);
        let named = fastkex_rustls::group_named(&row.name.to_lowercase()).unwrap();
        assert_eq!(named.name(), group.name());
        assert!(group.usable_for_version(ProtocolVersion::TLSv1_3));
        assert!(!group.usable_for_version(ProtocolVersion::TLSv1_2) && !group.fips());
        assert!(group.ffdhe_group().is_none());
    }
    assert!(fastkex_rustls::group_named("X25519").is_none());
    assert_eq!(kx_group::X25519MLKEM768.name(), NamedGroup::X25519MLKEM768);
    assert_eq!(kx_group::MLKEM1024.name(), NamedGroup::MLKEM1024);
    assert_eq!(kx_group::X25519SNTRUP1277.name(), NamedGroup::Unknown(0xFEED));
}

#[test]
fn our_groups_come_first_and_once() {
    let ring = ring::default_provider();
    let ours: Vec<_> = recommended_groups().map(|group| group.name()).collect();
    assert_eq!(ours.len(), kex::RECOMMENDED_GROUPS.len());
    let own: Vec<_> = ring.kx_groups.iter().map(|group| group.name()).collect();
    let both = with_groups(ring);
    let names = || both.kx_groups.iter().map(|group| group.name());
    assert_eq!(names().collect::<Vec<_>>(), [ours, own].concat());

    // Again, and with another group of the same name before it, as with rustls's own.
    let again = with(both.clone(), [kx_group::MLKEM512, kx_group::MLKEM512]);
    let expected: Vec<_> = [NamedGroup::MLKEM512].into_iter().chain(names()).collect();
    let names: Vec<_> = again.kx_groups.iter().map(|group| group.name()).collect();
    assert_eq!(names, expected);
    let names: Vec<_> = with_groups(both).kx_groups.iter().map(|group| group.name()).collect();
    assert_eq!(names, expected[1..]);
}

/// The hybrids, each with its key exchange as a group of ring.
fn hybrids() -> Vec<(&'static TlsGroup, Group)> {
    struct Visitor(Vec<(&'static TlsGroup, Group)>);
    impl GroupVisitor for Visitor {
        fn visit<K: TlsKem>(&mut self) {
            let Some(part) = K::EXCHANGE else { return };
            let mut of_ring = ring::ALL_KX_GROUPS.iter();
            let alone = of_ring.find(|group| u16::from(group.name()) == part.code_point);
            self.0.push((K::GROUP, *alone.unwrap()));
        }
    }
    let mut visitor = Visitor(Vec::new());
    visit_groups(&mut visitor);
    visitor.0
}

#[test]
fn a_hybrids_second_share_serves_servers_without_the_hybrid() {
    let server = server_with(ring::default_provider());
    for (hybrid, alone) in hybrids() {
        let client = client_with(provider_of(&[group(hybrid.name), alone]));
        let done = shake(&client, &server).unwrap();
        assert_eq!(done.group(), alone.name().into(), "{}", hybrid.name);
        assert_eq!(done.client.handshake_kind(), Some(HandshakeKind::Full), "{}", hybrid.name);
        let [(first, whole), (second, part)] = &shares(&done.hello)[..] else { panic!() };
        assert_eq!((*first, *second), (hybrid.code_point, alone.name().into()));
        assert!(whole.starts_with(part) || whole.ends_with(part));
        // Without the group alone in the list, there is no second share.
        let done = shake(&common::client(&[hybrid.name]), &common::server(&[hybrid.name])).unwrap();
        assert_eq!(shares(&done.hello).len(), 1);
    }
    let x25519 = |(_, alone): &(_, Group)| alone.name() == NamedGroup::X25519;
    assert!(hybrids().iter().any(x25519));
}

#[test]
fn a_server_asks_for_its_group() {
    let mut tried = 0;
    for row in TLS_GROUPS {
        // The client's share is for a group that the server does not have.
        let client = client(&["X25519", row.name]);
        let done = shake(&client, &server(&[row.name])).unwrap();
        assert_eq!(done.group(), row.code_point, "{}", row.name);
        let retried = Some(HandshakeKind::FullWithHelloRetryRequest);
        assert_eq!(done.client.handshake_kind(), retried, "{}", row.name);
        assert_eq!(done.server.handshake_kind(), retried, "{}", row.name);
        tried += 1;
    }
    assert!(tried > 0);
    // A group of ours first, without a share that fits.
    let done = shake(&client(&["sntrup653", "X25519SNTRUP761"]), &server(&["X25519SNTRUP761"]));
    let done = done.unwrap();
    assert_eq!(done.group(), 0xFEE9);
    assert_eq!(done.client.handshake_kind(), Some(HandshakeKind::FullWithHelloRetryRequest));
    // With nothing in common there is no connection.
    assert!(shake(&client(&["sntrup653"]), &server(&["sntrup761", "X25519"])).is_err());
}

#[test]
fn with_groups_on_both_sides_the_first_is_used() {
    let client = client_with(with_groups(ring::default_provider()));
    let done = shake(&client, &server_with(with_groups(ring::default_provider()))).unwrap();
    assert_eq!(done.group(), group("X25519MLKEM768").name().into());
    let offered = find_supported_groups(&done.hello).unwrap();
    let names: Vec<_> = client.crypto_provider().kx_groups.iter().map(|g| g.name()).collect();
    assert_eq!(offered, names.iter().map(|&name| name.into()).collect::<Vec<u16>>());
    // One share for the group, and its X25519 share.
    assert_eq!(shares(&done.hello).len(), 2);
}

#[test]
fn resumed_sessions_have_key_shares_of_their_own() {
    let mut client = client(&["X25519MLKEM768"]);
    Arc::make_mut(&mut client).resumption = Resumption::in_memory_sessions(8);
    let server = server(&["X25519MLKEM768"]);
    let full = shake(&client, &server).unwrap();
    assert_eq!(full.client.handshake_kind(), Some(HandshakeKind::Full));
    let resumed = shake(&client, &server).unwrap();
    assert_eq!(resumed.client.handshake_kind(), Some(HandshakeKind::Resumed));
    assert_eq!(resumed.group(), full.group());
    assert_ne!(shares(&full.hello), shares(&resumed.hello));
}

#[test]
fn no_part_of_a_key_share_is_used_twice() {
    const THREADS: usize = 8;
    const HANDSHAKES: usize = 60;

    let seen = Mutex::new(HashSet::new());
    let names = ["X25519MLKEM768", "MLKEM512", "sntrup761", "X25519SNTRUP761"];
    let pairs = names.map(|name| (client(&[name]), server(&[name])));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (pairs, seen) = (&pairs, &seen);
            scope.spawn(move || {
                for round in 0..HANDSHAKES {
                    let (client, server) = &pairs[(thread + round) % pairs.len()];
                    let done = shake(client, server).unwrap();
                    let (_, share) = shares(&done.hello).remove(0);
                    let answer = find_server_key_share(&done.answer).unwrap();
                    let answer = done.answer[answer.bytes].to_vec();
                    let mut seen = seen.lock().unwrap();
                    for share in [share, answer] {
                        // The ends of hybrids are X25519's part.
                        let (start, end) = share.split_at(share.len() - 32);
                        assert!(seen.insert(start.to_vec()) && seen.insert(end.to_vec()));
                    }
                }
            });
        }
    });
    assert_eq!(seen.into_inner().unwrap().len(), 4 * THREADS * HANDSHAKES);
}
