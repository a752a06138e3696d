//! Shared by the tests: rustls with ring for everything but the key exchange, and handshakes in
//! memory.

#![allow(dead_code)]

use std::sync::{Arc, LazyLock};

use openssl_runtime::Direction;
use rcgen::{CertifiedKey, KeyPair};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Connection, Error, RootCertStore};
use rustls::{ServerConfig, ServerConnection};

/// A client without any of fastkex's groups sends a share of this one.
pub(crate) const X25519: u16 = 0x001D;

/// The server's certificate, which clients trust.
pub(crate) static IDENTITY: LazyLock<CertifiedKey<KeyPair>> =
    LazyLock::new(|| rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap());

/// A group of rustls.
pub(crate) type Group = &'static dyn SupportedKxGroup;

/// fastkex's group of that name in the table, else ring's X25519.
pub(crate) fn group(name: &str) -> Group {
    match name {
        "X25519" => ring::kx_group::X25519,
        name => fastkex_rustls::group_named(name).unwrap(),
    }
}

/// A provider with these groups only.
pub(crate) fn provider_of(kx_groups: &[Group]) -> CryptoProvider {
    CryptoProvider { kx_groups: kx_groups.to_vec(), ..ring::default_provider() }
}

/// A provider with the groups of these names only.
pub(crate) fn provider(names: &[&str]) -> CryptoProvider {
    provider_of(&names.iter().map(|name| group(name)).collect::<Vec<_>>())
}

/// A client that trusts [`IDENTITY`] and resumes no sessions.
pub(crate) fn client_with(provider: CryptoProvider) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(IDENTITY.cert.der().clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.into()
}

pub(crate) fn server_with(provider: CryptoProvider) -> Arc<ServerConfig> {
    let key = PrivatePkcs8KeyDer::from(IDENTITY.signing_key.serialize_der());
    ServerConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![IDENTITY.cert.der().clone()], PrivateKeyDer::from(key))
        .unwrap()
        .into()
}

/// A client with these groups.
pub(crate) fn client(names: &[&str]) -> Arc<ClientConfig> {
    client_with(provider(names))
}

/// A server with these groups.
pub(crate) fn server(names: &[&str]) -> Arc<ServerConfig> {
    server_with(provider(names))
}

/// The client's side of a new connection.
pub(crate) fn open(config: &Arc<ClientConfig>) -> Connection {
    let name = ServerName::try_from("localhost").unwrap();
    ClientConnection::new(config.clone(), name).unwrap().into()
}

/// The server's side of a new connection.
pub(crate) fn accept(config: &Arc<ServerConfig>) -> Connection {
    ServerConnection::new(config.clone()).unwrap().into()
}

/// Passes bytes to a side, and returns the bytes that it has to send.
pub(crate) fn feed(side: &mut Connection, mut bytes: &[u8]) -> (Vec<u8>, Result<(), Error>) {
    let mut result = Ok(());
    while !bytes.is_empty() && result.is_ok() {
        side.read_tls(&mut bytes).unwrap();
        result = side.process_new_packets().map(drop);
    }
    let mut outgoing = Vec::new();
    while side.wants_write() {
        side.write_tls(&mut outgoing).unwrap();
    }
    (outgoing, result)
}

/// A handshake that has succeeded.
pub(crate) struct Done {
    pub(crate) client: Connection,
    pub(crate) server: Connection,
    /// The client's first flight.
    pub(crate) hello: Vec<u8>,
    /// The flight with the server's key share.
    pub(crate) answer: Vec<u8>,
}

impl Done {
    /// The code point of the group, which both sides report.
    pub(crate) fn group(&self) -> u16 {
        let of = |side: &Connection| side.negotiated_key_exchange_group().unwrap().name();
        assert_eq!(of(&self.client), of(&self.server));
        of(&self.client).into()
    }
}

/// A handshake in memory, and data in both directions.
pub(crate) fn shake(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> Result<Done, (Direction, Error)> {
    let (mut client, mut server) = (open(client), accept(server));
    let (hello, _) = feed(&mut client, &[]);
    let (mut answer, mut to_server) = (Vec::new(), hello.clone());
    while !to_server.is_empty() {
        let (to_client, result) = feed(&mut server, &to_server);
        result.map_err(|error| (Direction::ClientToServer, error))?;
        if openssl_runtime::wire::find_server_key_share(&to_client).is_some() {
            answer.clone_from(&to_client);
        }
        let (next, result) = feed(&mut client, &to_client);
        result.map_err(|error| (Direction::ServerToClient, error))?;
        to_server = next;
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    echo(&mut client, &mut server);
    Ok(Done { client, server, hello, answer })
}

fn echo(client: &mut Connection, server: &mut Connection) {
    use std::io::{Read, Write};

    let send = |from: &mut Connection, to: &mut Connection| {
        from.writer().write_all(b"some data").unwrap();
        let (flight, _) = feed(from, &[]);
        feed(to, &flight).1.unwrap();
        let mut read = [0; 9];
        to.reader().read_exact(&mut read).unwrap();
        assert_eq!(&read, b"some data");
    };
    send(client, server);
    send(server, client);
}

/// The number of the fatal alert at the end of an unencrypted flight.
pub(crate) fn alert(flight: &[u8]) -> Option<u8> {
    match flight {
        [.., 21, 3, _, 0, 2, 2, number] => Some(*number),
        _ => None,
    }
}
