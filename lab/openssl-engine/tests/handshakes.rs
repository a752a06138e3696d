//! TLS 1.3 handshakes of stock programs: patched OpenSSL 1.1.1 with the ENGINE, with each other and
//! with OpenSSL 3 with the provider.

mod common;

use common::{Side, groups, has_server_share, legacy, messages, stage};

const ENGINE: Side = Side::Engine("");
const SERIAL: Side = Side::Engine("BATCH = off");
const BATCHES: Side = Side::Engine("BATCH = on\nBATCH_SIZE = 32");

fn assert_handshakes(server: Side, client: Side) {
    if legacy().is_none() {
        return;
    }
    let stage = stage();
    for group in groups() {
        let Some((running, port)) = server.server(&stage, group.name, &["-tls1_3"]) else { return };
        for _ in 0..3 {
            let said = client.client(&stage, port, group.name, &["-tls1_3"]).unwrap();
            let case = format!("{}, {server:?} and {client:?}", group.name);
            assert!(said.lines().any(|line| line == "xektsaf"), "{case}: {said}");
            assert!(has_server_share(&said, group), "{case}: {said}");
            if matches!(client, Side::Engine(_)) {
                let bits = 8 * group.public_key_bytes;
                let line = format!("Server Temp Key: {}, {bits} bits", group.name);
                assert!(said.contains(&line), "{case}: {said}");
            }
        }
        let log = running.log().unwrap();
        assert!(has_server_share(&log, group), "{log}");
    }
}

#[test]
fn the_engine_shakes_hands_with_itself() {
    assert_handshakes(ENGINE, ENGINE);
}

#[test]
fn key_pairs_may_be_made_one_by_one_or_in_batches() {
    assert_handshakes(SERIAL, BATCHES);
    assert_handshakes(BATCHES, SERIAL);
}

#[test]
fn servers_with_the_engine_serve_clients_with_the_provider() {
    assert_handshakes(ENGINE, Side::Provider);
}

#[test]
fn clients_with_the_engine_are_served_by_the_provider() {
    assert_handshakes(Side::Provider, ENGINE);
}

#[test]
fn another_group_is_agreed_on_if_one_side_wants_it() {
    if legacy().is_none() {
        return;
    }
    let stage = stage();
    let [small, large] = groups();
    // The client sends a share of its first group, and the server asks for another.
    for (server, client) in [(ENGINE, ENGINE), (ENGINE, Side::Provider), (Side::Provider, ENGINE)] {
        let (_server, port) = server.server(&stage, "sntrup857", &["-tls1_3"]).unwrap();
        let said = client.client(&stage, port, "sntrup761:X25519:sntrup857", &[]).unwrap();
        assert_eq!(messages(&said, "ClientHello").len(), 2, "{said}");
        assert!(has_server_share(&said, large) && !has_server_share(&said, small), "{said}");
        assert!(said.lines().any(|line| line == "xektsaf"), "{said}");
    }
    let (_server, port) = ENGINE.server(&stage, "X25519", &[]).unwrap();
    let said = ENGINE.client(&stage, port, "sntrup761:X25519", &[]).unwrap();
    assert!(said.contains("Server Temp Key: X25519, 253 bits"), "{said}");
}

#[test]
fn without_the_engine_the_groups_are_neither_offered_nor_taken() {
    if legacy().is_none() {
        return;
    }
    let stage = stage();
    for (server, client) in [(ENGINE, Side::Patched), (Side::Patched, ENGINE)] {
        let (_server, port) = server.server(&stage, "sntrup761:X25519", &[]).unwrap();
        let said = client.client(&stage, port, "sntrup761:X25519", &[]).unwrap();
        assert!(said.contains("Server Temp Key: X25519, 253 bits"), "{said}");
        assert!(said.lines().any(|line| line == "xektsaf"), "{said}");
    }
    let (_server, port) = ENGINE.server(&stage, "sntrup761", &[]).unwrap();
    let said = Side::Patched.client(&stage, port, "sntrup761", &["-tls1_3"]).unwrap();
    assert!(said.contains("no suitable key share"), "{said}");
}

#[test]
fn tls_1_2_never_uses_a_kem() {
    if legacy().is_none() {
        return;
    }
    let stage = stage();
    let (_server, port) = ENGINE.server(&stage, "sntrup761:P-256", &["-tls1_2"]).unwrap();
    for more in [&[][..], &["-tls1_2"]] {
        let said = ENGINE.client(&stage, port, "sntrup761:P-256", more).unwrap();
        assert!(said.contains("Server Temp Key: ECDH, P-256, 256 bits"), "{said}");
        assert!(said.lines().any(|line| line == "xektsaf"), "{said}");
    }
    let said = ENGINE.client(&stage, port, "sntrup761", &["-tls1_2"]).unwrap();
    assert!(said.contains("handshake failure"), "{said}");
}

#[test]
fn sessions_are_resumed_with_a_new_secret() {
    if legacy().is_none() {
        return;
    }
    let stage = stage();
    let group = groups()[0];
    let (_server, port) = ENGINE.server(&stage, group.name, &["-tls1_3"]).unwrap();
    let first = ENGINE.client(&stage, port, group.name, &["-sess_out", "session.pem"]).unwrap();
    assert!(first.contains("New, TLSv1.3"), "{first}");
    let again = ENGINE.client(&stage, port, group.name, &["-sess_in", "session.pem"]).unwrap();
    assert!(again.contains("Reused, TLSv1.3"), "{again}");
    assert!(has_server_share(&again, group), "{again}");
    assert!(again.lines().any(|line| line == "xektsaf"), "{again}");
}
