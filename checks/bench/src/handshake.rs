//! TLS 1.3 handshakes in memory between two sides of rustls, with AWS-LC for all but the key
//! exchange.

use std::sync::{Arc, LazyLock};

use rcgen::{CertifiedKey, KeyPair};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Connection, NamedGroup, RootCertStore};
use rustls::{ServerConfig, ServerConnection};

/// A group of rustls.
pub type Group = &'static dyn SupportedKxGroup;

/// Our group of that name.
///
/// # Panics
/// There is none.
pub fn ours(name: &str) -> Group {
    fastkex_rustls::group_named(name).expect("a group in the table")
}

/// The server's certificate, for ECDSA on P-256.
static IDENTITY: LazyLock<CertifiedKey<KeyPair>> = LazyLock::new(|| {
    rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate")
});

/// A client and a server.
pub struct Handshake {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Handshake {
    /// A client and a server with one group each. Sessions are not resumed.
    ///
    /// # Panics
    /// rustls refuses the certificate.
    pub fn new(clients: Group, servers: Group) -> Self {
        let provider = |group| {
            let kx_groups = vec![group];
            Arc::new(CryptoProvider { kx_groups, ..aws_lc_rs::default_provider() })
        };
        let certificate = IDENTITY.cert.der();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone()).expect("a certificate");
        let mut client = ClientConfig::builder_with_provider(provider(clients))
            .with_safe_default_protocol_versions()
            .expect("TLS 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.resumption = Resumption::disabled();
        let key = PrivatePkcs8KeyDer::from(IDENTITY.signing_key.serialize_der());
        let mut server = ServerConfig::builder_with_provider(provider(servers))
            .with_safe_default_protocol_versions()
            .expect("TLS 1.3")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], PrivateKeyDer::from(key))
            .expect("a key for the certificate");
        server.send_tls13_tickets = 0;
        Handshake { client: client.into(), server: server.into() }
    }

    /// Runs a handshake and returns its group.
    ///
    /// # Panics
    /// The handshake fails.
    pub fn run(&self) -> NamedGroup {
        let name = ServerName::try_from("localhost").expect("a name");
        let client = ClientConnection::new(self.client.clone(), name).expect("a client");
        let server = ServerConnection::new(self.server.clone()).expect("a server");
        let (mut client, mut server) = (Connection::from(client), Connection::from(server));
        while client.is_handshaking() || server.is_handshaking() {
            pass(&mut client, &mut server);
            pass(&mut server, &mut client);
        }
        let of = |side: &Connection| side.negotiated_key_exchange_group().map(|group| group.name());
        assert_eq!(of(&client), of(&server));
        of(&client).expect("a group")
    }
}

/// Passes a flight from one side to the other.
fn pass(from: &mut Connection, to: &mut Connection) {
    let mut flight = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut flight).expect("memory");
    }
    assert!(!flight.is_empty() || !to.is_handshaking() || from.is_handshaking());
    let mut rest = &flight[..];
    while !rest.is_empty() {
        to.read_tls(&mut rest).expect("memory");
        to.process_new_packets().expect("a good flight");
    }
}
