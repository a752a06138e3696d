//! Handshakes in memory between rustls with our groups and stock OpenSSL: with the module, and with
//! OpenSSL's own ML-KEM where it has it.

mod common;

use std::path::PathBuf;
use std::sync::LazyLock;

use common::{IDENTITY, accept, client, feed, open, server};
use kex::{TLS_GROUPS, TlsGroup};
use openssl_runtime::{
    Certificate, Libraries, LibraryContext, MemoryConnection, Received, SslContext,
};
use rustls::Connection;

/// The module, built for release once.
fn module() -> PathBuf {
    static MODULE: LazyLock<PathBuf> = LazyLock::new(|| artifacts::module().unwrap());
    MODULE.clone()
}

/// The OpenSSL under test: that of the folder in `FASTKEX_TEST_OPENSSL`, else the system's. `None`,
/// with a line that says so, if there is none.
fn libraries() -> Option<Libraries> {
    if let Some(folder) = std::env::var_os("FASTKEX_TEST_OPENSSL") {
        return Some(Libraries::open_directory(folder).unwrap());
    }
    Libraries::system().map_err(|error| artifacts::skipped(&error.to_string())).ok()
}

/// A context with the default provider.
fn stock(libraries: &Libraries) -> LibraryContext {
    let context = LibraryContext::new(libraries).unwrap();
    context.load_provider("default").unwrap().keep();
    context
}

/// A context with the module, whose groups are preferred to OpenSSL's own of the same name.
fn with_module(libraries: &Libraries) -> LibraryContext {
    let context = stock(libraries);
    context.load_provider_with(module(), &[("groups", "all")]).unwrap().keep();
    context.set_default_properties("?provider=fastkex").unwrap();
    context
}

/// Runs a handshake, sends data in both directions, and returns OpenSSL's code point of the group.
fn shake(mut ours: Connection, context: &SslContext) -> u16 {
    use std::io::{Read, Write};

    let mut theirs = MemoryConnection::new(context, Some("localhost")).unwrap();
    let mut to_ours = Vec::new();
    for _ in 0..8 {
        let (flight, result) = feed(&mut ours, &to_ours);
        theirs.feed(&flight).unwrap();
        let progress = theirs.handshake();
        if let (Err(error), _) | (_, Err(error)) =
            (result.map_err(|error| error.to_string()), progress.map_err(|error| error.to_string()))
        {
            panic!("{error}");
        }
        to_ours = theirs.take_outgoing();
    }
    assert!(!ours.is_handshaking() && theirs.is_finished());

    let mut buffer = [0; 9];
    ours.writer().write_all(b"some data").unwrap();
    theirs.feed(&feed(&mut ours, &[]).0).unwrap();
    assert_eq!(theirs.read(&mut buffer).unwrap(), Received::Data(9));
    theirs.write(&buffer).unwrap();
    buffer.fill(0);
    feed(&mut ours, &theirs.take_outgoing()).1.unwrap();
    ours.reader().read_exact(&mut buffer).unwrap();
    assert_eq!(&buffer, b"some data");

    let told = theirs.summary().group.unwrap().id;
    assert_eq!(u16::from(ours.negotiated_key_exchange_group().unwrap().name()), told);
    told
}

/// Both directions with one group.
fn in_both_directions(context: &LibraryContext, group: &TlsGroup) {
    let (certificate, key) = (IDENTITY.cert.pem(), IDENTITY.signing_key.serialize_pem());
    let identity = Certificate::from_pem(context, &certificate, &key, None).unwrap();
    let theirs = SslContext::server(context, &identity).unwrap().groups(group.name).unwrap();
    let told = shake(open(&client(&[group.name])), &theirs.build());
    assert_eq!(told, group.code_point, "{}", group.name);

    let theirs = SslContext::client(context).unwrap().trust_pem(&certificate).unwrap();
    let theirs = theirs.groups(group.name).unwrap().build();
    let told = shake(accept(&server(&[group.name])), &theirs);
    assert_eq!(told, group.code_point, "{}", group.name);
}

#[test]
fn openssl_with_the_module_has_every_group() {
    let Some(libraries) = libraries() else { return };
    let context = with_module(&libraries);
    for group in TLS_GROUPS {
        in_both_directions(&context, group);
    }
}

#[test]
fn openssl_has_ml_kem_itself() {
    let Some(libraries) = libraries() else { return };
    let context = stock(&libraries);
    let told = context.tls_groups();
    let known = |group: &&&TlsGroup| told.iter().any(|told| told.id == group.code_point);
    let groups: Vec<_> = TLS_GROUPS.iter().filter(known).collect();
    if groups.is_empty() {
        let version = libraries.version();
        artifacts::skipped(&format!("OpenSSL {version} has no ML-KEM: expected 3.5 or later"));
    }
    for group in groups {
        in_both_directions(&context, group);
    }
}

#[test]
fn openssl_without_the_module_takes_the_x25519_share() {
    let Some(libraries) = libraries() else { return };
    let context = stock(&libraries);
    let (certificate, key) = (IDENTITY.cert.pem(), IDENTITY.signing_key.serialize_pem());
    let identity = Certificate::from_pem(&context, &certificate, &key, None).unwrap();
    let theirs = SslContext::server(&context, &identity).unwrap().groups("X25519").unwrap();
    let ours = open(&client(&["X25519SNTRUP761", "X25519"]));
    assert_eq!(shake(ours, &theirs.build()), common::X25519);
}
