//! The other end of each connection: stock libssl with the module.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use openssl_runtime::{Certificate, SslContext, Summary, TlsStream};

use crate::setup::Setup;

/// The preferred group, and the list that adds a fallback.
pub(crate) const GROUP: &str = "X25519MLKEM768";
const GROUPS: &str = "X25519MLKEM768:X25519";
/// The timeout of one read.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A text that both sides send, to check that the connection carries data.
pub(crate) const SERVED: &str = "served";

/// The content of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Http,
    Dns,
}

/// A query for the address of example.test (RFC 1035, section 4.1), and the record of its answer.
const QUESTION: &[u8] = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x07example\x04test\0\0\x01\0\x01";
const RECORD: &[u8] = b"\xc0\x0c\0\x01\0\x01\0\0\x0e\x10\0\x04\xc0\0\x02\x01";

/// Returns the group of a connection as one end sees it. Only X25519 may need a second ClientHello.
pub(crate) fn group_of(summary: &Summary) -> String {
    let id = summary.group.as_ref().map(|group| group.id);
    match id {
        Some(0x1D) => "X25519".into(),
        Some(id) if !summary.hello_retry => name_of(id),
        other => format!("{other:?} after another hello"),
    }
}

/// Returns the name of a code point.
pub(crate) fn name_of(id: u16) -> String {
    let ours = kex::TLS_GROUPS.iter().find(|group| group.code_point == id);
    ours.map_or_else(
        || if id == 0x1D { "X25519".into() } else { format!("{id:#x}") },
        |group| group.name.into(),
    )
}

/// Connects to a server and reads its page or answer. Returns the group and the text.
pub(crate) fn visit(setup: &Setup, port: u16, content: Content) -> (String, String) {
    let client = SslContext::client(&setup.context)
        .and_then(|client| client.trust_pem(&setup.certificate)?.groups(GROUPS))
        .unwrap()
        .build();
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut stream = TlsStream::new(&client, stream, Some("localhost")).unwrap();
    let text = match content {
        Content::Http => {
            stream.write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
            let mut page = Vec::new();
            // Some servers end TCP without a close_notify alert.
            let _ = stream.read_to_end(&mut page);
            // Other servers wait for one.
            let _ = stream.close();
            String::from_utf8(page).unwrap()
        }
        Content::Dns => {
            stream.write_all(&[&[0, QUESTION.len() as u8], QUESTION].concat()).unwrap();
            let mut length = [0; 2];
            stream.read_exact(&mut length).unwrap();
            let mut answer = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut answer).unwrap();
            is_answer(&answer)
        }
    };
    (group_of(&stream.summary()), text)
}

fn is_answer(answer: &[u8]) -> String {
    let is_it = answer.starts_with(&QUESTION[..2]) && answer.ends_with(&RECORD[12..]);
    assert!(is_it, "{answer:?}");
    SERVED.into()
}

/// Sends a request over TCP without TLS, or over UDP, and returns the answer.
pub(crate) fn ask_plainly(port: u16, content: Content) -> String {
    match content {
        Content::Http => {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.set_read_timeout(Some(TIMEOUT)).unwrap();
            stream.write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
            let mut page = String::new();
            stream.read_to_string(&mut page).unwrap();
            page
        }
        Content::Dns => {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            socket.set_read_timeout(Some(TIMEOUT)).unwrap();
            socket.send_to(QUESTION, (Ipv4Addr::LOCALHOST, port)).unwrap();
            let mut answer = [0; 512];
            let length = socket.recv(&mut answer).unwrap();
            is_answer(&answer[..length])
        }
    }
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
            for stream in listener.incoming().flatten() {
                stream.set_read_timeout(Some(TIMEOUT)).unwrap();
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
pub(crate) fn serve_plainly() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.set_read_timeout(Some(TIMEOUT)).unwrap();
            let _ = serve(&mut stream, Content::Http);
        }
    });
    port
}

/// Answers one HTTP request, or any number of DNS queries.
fn serve(stream: &mut (impl Read + Write), content: Content) -> Option<()> {
    match content {
        Content::Http => {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).ok()?;
                request.extend(byte);
            }
            let length = SERVED.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            stream.write_all((head + SERVED).as_bytes()).ok()
        }
        Content::Dns => loop {
            let mut length = [0; 2];
            stream.read_exact(&mut length).ok()?;
            let mut question = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut question).ok()?;
            // The answer is the query's header and question, without any further records, and one
            // record.
            let end = 12 + question.get(12..)?.iter().position(|byte| *byte == 0)? + 5;
            let mut answer = question.get(..end)?.to_vec();
            answer[2..4].copy_from_slice(&[0x81, 0x80]);
            answer[6..12].copy_from_slice(&[0, 1, 0, 0, 0, 0]);
            answer.extend(RECORD);
            stream.write_all(&[&[0, answer.len() as u8], &answer[..]].concat()).ok()?;
        },
    }
}
