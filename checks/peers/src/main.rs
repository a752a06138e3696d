//! rustls with its default provider (AWS-LC), as a client or as a server of one page. The folder in
//! which it runs has `cert.pem`, which the client trusts, and `key.pem`.
//!
//! - `rustls-peer version` prints the version of rustls and the code points of its groups.
//! - `rustls-peer client GROUPS PORT` fetches the page from `localhost`.
//! - `rustls-peer server GROUPS` prints its port and serves until it is ended.
//!
//! GROUPS are code points between commas: `0x11ec,0x001d`. Client and server print the group of
//! each connection in the same way: `group 0x11ec`.

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, RootCertStore, ServerConfig,
    ServerConnection, SideData, Stream, version,
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const CERTIFICATE: &str = "cert.pem";
const KEY: &str = "key.pem";
/// The timeout of one read.
const TIMEOUT: Duration = Duration::from_secs(10);
const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["version"] => describe(),
        ["client", groups, port] => client(groups, port),
        ["server", groups] => server(groups),
        _ => Err("usage: rustls-peer version | client GROUPS PORT | server GROUPS".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rustls-peer: {error}");
            ExitCode::from(2)
        }
    }
}

fn describe() -> Outcome<()> {
    // The version that `Cargo.lock` pins.
    let lock = include_str!("../Cargo.lock");
    let version = lock.split_once("name = \"rustls\"\nversion = \"").ok_or("no rustls")?.1;
    let version = version.split('"').next().unwrap_or_default();
    let groups: Vec<_> = aws_lc_rs::ALL_KX_GROUPS.iter().map(|group| code_point(*group)).collect();
    println!("{version} {}", groups.join(","));
    Ok(())
}

fn code_point(group: &dyn SupportedKxGroup) -> String {
    format!("{:#06x}", u16::from(group.name()))
}

/// Returns rustls's default provider with these groups only.
fn provider(groups: &str) -> Outcome<Arc<CryptoProvider>> {
    let find = |wanted: &str| {
        let mut all = aws_lc_rs::ALL_KX_GROUPS.iter().copied();
        all.find(|group| code_point(*group) == wanted).ok_or(format!("no group {wanted}"))
    };
    let kx_groups = groups.split(',').map(find).collect::<Result<_, _>>()?;
    Ok(Arc::new(CryptoProvider { kx_groups, ..aws_lc_rs::default_provider() }))
}

fn client(groups: &str, port: &str) -> Outcome<()> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(CERTIFICATE)?)?;
    let config = ClientConfig::builder_with_provider(provider(groups)?)
        .with_protocol_versions(&[&version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut tls = ClientConnection::new(Arc::new(config), "localhost".try_into()?)?;
    let mut tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, port.parse()?))?;
    tcp.set_read_timeout(Some(TIMEOUT))?;
    report(&mut tls, &mut tcp)?;
    let mut stream = Stream::new(&mut tls, &mut tcp);
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    let mut page = Vec::new();
    match stream.read_to_end(&mut page) {
        // Some servers end TCP without a close_notify alert.
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error.into()),
        _ => {}
    }
    println!("{}", String::from_utf8_lossy(&page));
    Ok(())
}

fn server(groups: &str) -> Outcome<()> {
    let certificate = CertificateDer::from_pem_file(CERTIFICATE)?;
    let config = ServerConfig::builder_with_provider(provider(groups)?)
        .with_protocol_versions(&[&version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::from_pem_file(KEY)?)?;
    let config = Arc::new(config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    println!("port {}", listener.local_addr()?.port());
    for tcp in listener.incoming() {
        let (config, tcp) = (config.clone(), tcp?);
        thread::spawn(move || {
            if let Err(error) = serve(config, tcp) {
                eprintln!("rustls-peer: {error}");
            }
        });
    }
    Ok(())
}

fn serve(config: Arc<ServerConfig>, mut tcp: TcpStream) -> Outcome<()> {
    tcp.set_read_timeout(Some(TIMEOUT))?;
    let mut tls = ServerConnection::new(config)?;
    report(&mut tls, &mut tcp)?;
    let mut stream = Stream::new(&mut tls, &mut tcp);
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        request.extend(byte);
    }
    stream.write_all(PAGE)?;
    // The client closes the connection.
    let _ = stream.read(&mut [0]);
    Ok(())
}

/// Finishes the handshake and prints the group.
fn report<D: SideData>(tls: &mut ConnectionCommon<D>, tcp: &mut TcpStream) -> Outcome<()> {
    while tls.is_handshaking() {
        tls.complete_io(tcp)?;
    }
    let group = tls.negotiated_key_exchange_group().ok_or("no group")?;
    println!("group {}", code_point(group));
    Ok(())
}
