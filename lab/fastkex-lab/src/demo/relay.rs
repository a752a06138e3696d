//! A relay of bytes that reads both hellos on their way, for a program that does not report its
//! group.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use openssl_runtime::wire;

use output::Failure;

use crate::groups;

/// Relays one connection.
pub(crate) struct Relay {
    /// The relay's port on loopback.
    pub(crate) port: u16,
    hellos: Receiver<Hellos>,
}

/// The first bytes from both ends.
struct Hellos {
    client: Vec<u8>,
    server: Vec<u8>,
}

/// More bytes than any two hellos.
const KEPT_BYTES: usize = 16 * 1024;
/// Time for the connection to end after the page has arrived.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Relay {
    /// Starts relaying to a port on loopback.
    pub(crate) fn start(to: u16) -> Result<Self, Failure> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Failure::about("relay"))?;
        let port = listener.local_addr().map_err(Failure::about("relay"))?.port();
        let (sender, hellos) = channel();
        thread::spawn(move || {
            // Without hellos nothing is sent, and `group` returns `None`.
            if let Ok(read) = relay(&listener, to) {
                let _ = sender.send(read);
            }
        });
        Ok(Self { port, hellos })
    }

    /// Returns the group of the connection, once it has ended: the group in the server's answer, if
    /// the client sent a share for it.
    pub(crate) fn group(&self) -> Option<String> {
        let Hellos { client, server } = self.hellos.recv_timeout(TIMEOUT).ok()?;
        let offered = wire::find_client_key_shares(&client)?;
        let chosen = wire::find_server_key_share(&server)?.group;
        offered.iter().any(|share| share.group == chosen).then(|| groups::name_of(chosen))
    }
}

fn relay(listener: &TcpListener, to: u16) -> io::Result<Hellos> {
    let (client, _) = listener.accept()?;
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, to))?;
    let (client_again, server_again) = (client.try_clone()?, server.try_clone()?);
    let back = thread::spawn(move || pump(server_again, client_again));
    let client = pump(client, server);
    let server = back.join().unwrap_or_default();
    Ok(Hellos { client, server })
}

/// Forwards bytes until one end closes, and returns the first of them.
fn pump(mut from: TcpStream, mut to: TcpStream) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let room = KEPT_BYTES - kept.len();
        kept.extend_from_slice(&buffer[..read.min(room)]);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    kept
}

#[cfg(test)]
mod tests {
    use openssl_runtime::{Certificate, KeyType, Libraries, LibraryContext, SslContext, TlsStream};

    use super::*;

    #[test]
    fn the_relay_hears_both_hellos_and_changes_nothing() {
        let Ok(libraries) = Libraries::system() else {
            return artifacts::skipped("no OpenSSL 3.0 or later here");
        };
        let context = LibraryContext::new(&libraries).unwrap();
        let names = ["localhost"];
        let certificate = Certificate::self_signed(&context, KeyType::EcP256, &names).unwrap();
        let server = SslContext::server(&context, &certificate).unwrap().build();
        let client = SslContext::client(&context).unwrap().trust(&certificate).unwrap();
        let client = client.groups("P-256").unwrap().build();

        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let relay = Relay::start(listener.local_addr().unwrap().port()).unwrap();
        let page = vec![7; 3 * KEPT_BYTES];
        let sent = page.clone();
        let serving = thread::spawn(move || {
            let mut stream = TlsStream::new(&server, listener.accept().unwrap().0, None).unwrap();
            stream.write_all(&sent).unwrap();
            stream.close().unwrap();
        });
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port)).unwrap();
        let mut stream = TlsStream::new(&client, stream, Some("localhost")).unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        drop(stream);
        serving.join().unwrap();
        assert!(received == page);
        assert_eq!(relay.group().as_deref(), Some("P-256"));
    }

    #[test]
    fn bytes_that_are_not_tls_have_no_group() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let relay = Relay::start(listener.local_addr().unwrap().port()).unwrap();
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port)).unwrap();
        client.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        drop(listener.accept().unwrap());
        drop(client);
        assert_eq!(relay.group(), None);
    }
}
