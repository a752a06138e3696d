//! The protocols inside of TLS, as far as the tests need them: one request and its answer, for both
//! ends, and what comes before TLS.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};

use crate::peer::TIMEOUT;

/// A text that both sides send, to check that the connection carries data.
pub(crate) const SERVED: &str = "served";

/// The content of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Http,
    Dns,
    Imap,
    /// With STARTTLS.
    Smtp,
    /// With AUTH TLS.
    Ftp,
    Redis,
    Memcached,
    Mqtt,
    /// MariaDB's protocol, with its request for TLS.
    MariaDb,
    /// PostgreSQL's protocol, with its request for TLS.
    PostgreSql,
}

/// A query for the address of example.test (RFC 1035, section 4.1), and the record of its answer.
const QUESTION: &[u8] = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x07example\x04test\0\0\x01\0\x01";
const RECORD: &[u8] = b"\xc0\x0c\0\x01\0\x01\0\0\x0e\x10\0\x04\xc0\0\x02\x01";

/// Does a client's part before TLS.
pub(crate) fn request_tls(stream: &mut TcpStream, content: Content) -> Option<()> {
    match content {
        Content::Smtp => {
            lines_until(stream, "220 ")?;
            say(stream, "EHLO localhost\r\n")?;
            lines_until(stream, "250 ")?;
            say(stream, "STARTTLS\r\n")?;
            lines_until(stream, "220 ").map(drop)
        }
        Content::Ftp => {
            lines_until(stream, "220 ")?;
            say(stream, "AUTH TLS\r\n")?;
            lines_until(stream, "234 ").map(drop)
        }
        Content::MariaDb => {
            read_packet(stream)?;
            stream.write_all(&packet(1, &mariadb_login())).ok()
        }
        Content::PostgreSql => {
            stream.write_all(b"\0\0\0\x08\x04\xd2\x16\x2f").ok()?;
            let mut answer = [0];
            stream.read_exact(&mut answer).ok()?;
            (answer == *b"S").then_some(())
        }
        _ => Some(()),
    }
}

/// Does a server's part before TLS.
pub(crate) fn offer_tls(stream: &mut TcpStream, content: Content) -> Option<()> {
    match content {
        Content::Smtp => {
            say(stream, "220 localhost ESMTP\r\n")?;
            line(stream)?;
            say(stream, "250-localhost\r\n250 STARTTLS\r\n")?;
            line(stream)?;
            say(stream, "220 go ahead\r\n")
        }
        Content::MariaDb => {
            // Protocol 10, version, thread, challenge, capabilities, and the method
            // mysql_native_password.
            let mut hello = b"\x0a5.5.5-10.11.0-MariaDB\0\x01\0\0\0challeng\0".to_vec();
            hello.extend(b"\xff\xff\x21\x02\0\x0f\x80\x15");
            hello.extend([0; 10]);
            hello.extend(b"challenge123\0mysql_native_password\0");
            stream.write_all(&packet(0, &hello)).ok()?;
            read_packet(stream).map(drop)
        }
        Content::PostgreSql => {
            stream.read_exact(&mut [0; 8]).ok()?;
            stream.write_all(b"S").ok()
        }
        _ => Some(()),
    }
}

/// Sends a request and returns the answer.
pub(crate) fn ask(stream: &mut (impl Read + Write), content: Content) -> Option<String> {
    match content {
        Content::Http => {
            say(stream, "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
            let mut page = Vec::new();
            // Some servers end TCP without a close_notify alert.
            let _ = stream.read_to_end(&mut page);
            String::from_utf8(page).ok()
        }
        Content::Dns => {
            stream.write_all(&[&[0, QUESTION.len() as u8], QUESTION].concat()).ok()?;
            let mut length = [0; 2];
            stream.read_exact(&mut length).ok()?;
            let mut answer = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut answer).ok()?;
            Some(is_answer(&answer))
        }
        Content::Imap => {
            lines_until(stream, "* OK")?;
            say(stream, "a CAPABILITY\r\n")?;
            lines_until(stream, "a ")
        }
        Content::Smtp => {
            say(stream, "EHLO localhost\r\n")?;
            lines_until(stream, "250 ")
        }
        Content::Ftp => {
            say(stream, "FEAT\r\n")?;
            lines_until(stream, "211 ")
        }
        Content::Redis => {
            say(stream, "PING\r\n")?;
            line(stream)
        }
        Content::Memcached => {
            say(stream, "version\r\n")?;
            line(stream)
        }
        Content::Mqtt => {
            // CONNECT (MQTT 3.1.1), a clean session without a name.
            stream.write_all(b"\x10\x0c\0\x04MQTT\x04\x02\0\x0a\0\0").ok()?;
            let mut answer = [0; 4];
            stream.read_exact(&mut answer).ok()?;
            (answer == [0x20, 2, 0, 0]).then(|| SERVED.into())
        }
        Content::MariaDb => {
            // The same once more, and then the user, whose password is empty.
            stream.write_all(&packet(2, &[&mariadb_login()[..], b"root\0\0"].concat())).ok()?;
            (*read_packet(stream)?.first()? == 0).then(|| SERVED.into())
        }
        Content::PostgreSql => {
            // Protocol 3.0 and the user; then a query.
            stream.write_all(b"\0\0\0\x10\0\x03\0\0user\0u\0\0").ok()?;
            stream.write_all(b"Q\0\0\0\x0dselect 1\0").ok()?;
            let mut answer = Vec::new();
            while !answer.ends_with(SERVED.as_bytes()) {
                let mut byte = [0];
                stream.read_exact(&mut byte).ok()?;
                answer.extend(byte);
            }
            Some(SERVED.into())
        }
    }
}

/// Answers a request.
pub(crate) fn serve(stream: &mut (impl Read + Write), content: Content) -> Option<()> {
    match content {
        Content::Http => {
            while line(stream)? != "\r\n" {}
            let length = SERVED.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            say(stream, &(head + SERVED))
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
        Content::Imap => {
            say(stream, "* OK [CAPABILITY IMAP4rev1] hello\r\n")?;
            loop {
                let request = line(stream)?;
                let mut words = request.split_whitespace();
                let (tag, command) = (words.next()?, words.next()?);
                match command {
                    "LIST" => say(stream, &format!("* LIST () \"/\" {SERVED}\r\n"))?,
                    "CAPABILITY" => say(stream, "* CAPABILITY IMAP4rev1\r\n")?,
                    _ => {}
                }
                say(stream, &format!("{tag} OK done\r\n"))?;
            }
        }
        Content::Smtp => loop {
            let command = line(stream)?;
            if command.starts_with("DATA") {
                say(stream, "354 go ahead\r\n")?;
                while line(stream)? != ".\r\n" {}
            }
            say(stream, "250 done\r\n")?;
        },
        Content::Redis | Content::Memcached | Content::Ftp => {
            line(stream)?;
            say(stream, &format!("+{SERVED}\r\n"))
        }
        Content::Mqtt => {
            read_mqtt(stream)?;
            stream.write_all(b"\x20\x02\0\0").ok()?;
            let subscription = read_mqtt(stream)?;
            let number = subscription.get(..2)?;
            stream.write_all(&[b"\x90\x03", number, b"\0"].concat()).ok()?;
            // PUBLISH on the topic `a`.
            let length = 3 + SERVED.len() as u8;
            stream.write_all(&[&[0x30, length, 0, 1, b'a'], SERVED.as_bytes()].concat()).ok()
        }
        Content::MariaDb => {
            const OK: &[u8] = b"\0\0\0\x02\0\0\0";
            read_packet(stream)?;
            stream.write_all(&packet(3, OK)).ok()?;
            loop {
                read_packet(stream)?;
                stream.write_all(&packet(1, OK)).ok()?;
            }
        }
        Content::PostgreSql => {
            let message = |kind: u8, body: &[u8]| {
                let length = (4 + body.len() as u32).to_be_bytes();
                [&[kind], &length[..], body].concat()
            };
            let ready = message(b'Z', b"I");
            let mut length = [0; 4];
            stream.read_exact(&mut length).ok()?;
            stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize - 4]).ok()?;
            stream.write_all(&[message(b'R', &[0; 4]), ready.clone()].concat()).ok()?;
            stream.read_exact(&mut [0]).ok()?;
            stream.read_exact(&mut length).ok()?;
            stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize - 4]).ok()?;
            // One column of type text, one row.
            let column =
                [&[0, 1][..], b"a\0", &[0; 6], &[0, 0, 0, 25, 255, 255], &[255; 4], &[0; 2]];
            let row = [&[0, 1, 0, 0, 0, SERVED.len() as u8], SERVED.as_bytes()].concat();
            let answer = [
                message(b'T', &column.concat()),
                message(b'D', &row),
                message(b'C', b"SELECT 1\0"),
                ready,
            ];
            stream.write_all(&answer.concat()).ok()
        }
    }
}

/// Sends a request without TLS, and returns the answer.
pub(crate) fn ask_plainly(port: u16, content: Content) -> String {
    let connect = || {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    };
    match content {
        Content::Dns => {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            socket.set_read_timeout(Some(TIMEOUT)).unwrap();
            socket.send_to(QUESTION, (Ipv4Addr::LOCALHOST, port)).unwrap();
            let mut answer = [0; 512];
            let length = socket.recv(&mut answer).unwrap();
            is_answer(&answer[..length])
        }
        Content::Smtp => {
            let mut stream = connect();
            lines_until(&mut stream, "220 ").unwrap();
            for (command, reply) in [
                ("EHLO localhost\r\n", "250 "),
                ("MAIL FROM:<a@example.test>\r\n", "250 "),
                ("RCPT TO:<b@example.test>\r\n", "250 "),
                ("DATA\r\n", "354 "),
            ] {
                say(&mut stream, command).unwrap();
                lines_until(&mut stream, reply).unwrap();
            }
            say(&mut stream, "Subject: test\r\n\r\ntext\r\n.\r\n").unwrap();
            lines_until(&mut stream, "250 ").unwrap()
        }
        content => ask(&mut connect(), content).unwrap(),
    }
}

fn is_answer(answer: &[u8]) -> String {
    let is_it = answer.starts_with(&QUESTION[..2]) && answer.ends_with(&RECORD[12..]);
    assert!(is_it, "{answer:?}");
    SERVED.into()
}

fn say(stream: &mut impl Write, text: &str) -> Option<()> {
    stream.write_all(text.as_bytes()).ok()
}

/// Reads one line, with its end. Reads no further, because TLS may follow.
fn line(stream: &mut impl Read) -> Option<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        line.extend(byte);
    }
    String::from_utf8(line).ok()
}

/// Reads lines up to one that begins with this text, and returns all of them.
fn lines_until(stream: &mut impl Read, start: &str) -> Option<String> {
    let mut text = String::new();
    loop {
        let line = line(stream)?;
        text += &line;
        if line.starts_with(start) {
            return Some(text);
        }
    }
}

/// Returns a packet of MariaDB's protocol: length, number, content.
fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&length[..3], &[number], body].concat()
}

fn read_packet(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

/// Returns the start of a login to MariaDB: capabilities (protocol 4.1, TLS, authentication of
/// 4.1), largest packet, character set.
fn mariadb_login() -> Vec<u8> {
    const CAPABILITIES: u32 = 0x200 | 0x800 | 0x8000;
    [&CAPABILITIES.to_le_bytes()[..], &[0, 0, 0, 1, 33], &[0; 23]].concat()
}

/// Reads a short packet of MQTT and returns its content.
fn read_mqtt(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; head[1].into()];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}
