//! The other end of each connection: stock libssl with the module.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use openssl_runtime::{Certificate, SslContext, Summary, TlsStream};

use crate::protocol::{Content, ask, offer_tls, request_tls, serve};
use crate::setup::Setup;
use crate::words::name_of;

/// The preferred group, and the list that adds a fallback.
pub(crate) const GROUP: &str = "X25519MLKEM768";
const GROUPS: &str = "X25519MLKEM768:X25519";
/// The timeout of one read.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the group of a connection as one end sees it. Only X25519 may need a second ClientHello.
pub(crate) fn group_of(summary: &Summary) -> String {
    let id = summary.group.as_ref().map(|group| group.id);
    match id {
        Some(0x1D) => "X25519".into(),
        Some(id) if !summary.hello_retry => name_of(id),
        other => format!("{other:?} after another hello"),
    }
}

/// A connection that is open until this is dropped.
pub(crate) struct Visit {
    _stream: TlsStream<TcpStream>,
}

/// Connects to a server and reads its page or answer. Returns the group, the text, and the
/// connection, because some servers have a process for each, which ends with it.
pub(crate) fn visit(setup: &Setup, port: u16, content: Content) -> (String, String, Visit) {
    let client = SslContext::client(&setup.context)
        .and_then(|client| client.trust_pem(&setup.certificate)?.groups(GROUPS))
        .unwrap()
        .build();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    request_tls(&mut stream, content).unwrap();
    let mut stream = TlsStream::new(&client, stream, Some("localhost")).unwrap();
    let text = ask(&mut stream, content).unwrap();
    // Some servers wait for the close_notify alert.
    if content != Content::Ftp {
        let _ = stream.close();
    }
    (group_of(&stream.summary()), text, Visit { _stream: stream })
}

/// A server for the clients under test.
pub(crate) struct Host {
    pub(crate) port: u16,
    groups: Receiver<String>,
}

impl Host {
    /// Starts a server for one connection after the other. It runs until the program ends.
    pub(crate) fn start(setup: &Setup, content: Content) -> Host {
        let files = &setup.files;
        let certificate =
            Certificate::from_pem_files(&setup.context, &files.certificate, &files.key, None);
        let server = SslContext::server(&setup.context, &certificate.unwrap())
            .and_then(|server| server.groups(GROUPS))
            .unwrap()
            .build();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, groups) = channel();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                stream.set_read_timeout(Some(TIMEOUT)).unwrap();
                if offer_tls(&mut stream, content).is_none() {
                    continue;
                }
                let Ok(mut stream) = TlsStream::new(&server, stream, None) else { continue };
                // The group is sent before the page, so that it is available when the client has
                // the page.
                let told = sender.send(group_of(&stream.summary()));
                if told.is_err() || serve(&mut stream, content).is_none() {
                    continue;
                }
                let _ = stream.close();
                let _ = stream.read(&mut [0]);
            }
        });
        Host { port, groups }
    }

    /// Returns the groups of all connections since the last call.
    pub(crate) fn groups(&self) -> Vec<String> {
        self.groups.try_iter().collect()
    }
}

/// Starts a server without TLS for one connection after the other, which runs until the program
/// ends. Returns its port.
pub(crate) fn serve_plainly(content: Content) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.set_read_timeout(Some(TIMEOUT)).unwrap();
            let _ = serve(&mut stream, content);
        }
    });
    port
}
