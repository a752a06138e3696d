//! The first message of a server, read from bytes that may be anything.

use std::fmt;

use openssl_runtime::{Alert, wire};

use crate::client_hello::{HANDSHAKE, MAX_RECORD_BYTES, RECORD_HEADER_BYTES};

/// The answer to a ClientHello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A ServerHello.
    Hello(ServerHello),
    /// A HelloRetryRequest. Its group is the one of which the server wants a key share.
    Retry(ServerHello),
    /// A fatal alert, or the end of the connection (close_notify).
    Alert(Alert),
}

/// The choices in a ServerHello or HelloRetryRequest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerHello {
    /// The version.
    pub version: u16,
    /// The group; before TLS 1.3 it is in a later message, and `None` here.
    pub group: Option<u16>,
    /// Bytes of the message and of the header of its record.
    pub bytes: usize,
}

/// Bytes that are no answer of a TLS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nonsense {
    /// They do not begin as records of TLS do. Holds their start, with special characters escaped.
    NotTls(String),
    /// They are records, with this error.
    Malformed(&'static str),
}

impl fmt::Display for Nonsense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Nonsense::NotTls(start) => write!(f, "not TLS: the answer begins with \"{start}\""),
            Nonsense::Malformed(error) => write!(f, "malformed TLS: {error}"),
        }
    }
}

const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const APPLICATION_DATA: u8 = 23;
const SERVER_HELLO: u8 = 2;
const MESSAGE_HEADER_BYTES: usize = 4;
/// The longest first message that is read. Those of servers have less than 2 KB.
const MAX_MESSAGE_BYTES: usize = 1 << 14;
/// Bytes of records after which there must be an answer.
const MAX_ANSWER_BYTES: usize = 1 << 16;
/// Bytes of the start of other protocols that are shown.
const SHOWN_BYTES: usize = 40;

/// Reads the answer from what was received so far; `None` if there is more to come.
///
/// # Errors
/// The bytes are no answer of a TLS server.
pub fn read_answer(received: &[u8]) -> Result<Option<Answer>, Nonsense> {
    let mut rest = received;
    let mut message = Vec::new();
    while let Some((header, body)) = rest.split_first_chunk::<RECORD_HEADER_BYTES>() {
        let [kind, major, _, high, low] = *header;
        let length = usize::from(u16::from_be_bytes([high, low]));
        // Records after the hello may be encrypted and longer, but they are not read.
        let is_record = (CHANGE_CIPHER_SPEC..=APPLICATION_DATA).contains(&kind)
            && major == 3
            && length <= MAX_RECORD_BYTES;
        if !is_record {
            return Err(match rest.len() == received.len() {
                true => not_tls(received),
                false => Nonsense::Malformed("a record with a wrong header"),
            });
        }
        let is_complete = body.len() >= length;
        let (contents, next) = body.split_at(length.min(body.len()));
        match kind {
            HANDSHAKE => {
                if length == 0 {
                    return Err(Nonsense::Malformed("an empty record"));
                }
                message.extend_from_slice(contents);
                if let Some(answer) = first_message(&message)? {
                    return Ok(Some(answer));
                }
            }
            _ if !message.is_empty() => {
                return Err(Nonsense::Malformed("another record inside a message"));
            }
            ALERT if is_complete => match *contents {
                // Servers warn of a name that they do not know, and go on.
                [1, number] if number != CLOSE_NOTIFY => {}
                [level, number] => return Ok(Some(Answer::Alert(Alert { level, number }))),
                _ => return Err(Nonsense::Malformed("an alert that has not two bytes")),
            },
            ALERT | CHANGE_CIPHER_SPEC => {}
            _ => return Err(Nonsense::Malformed("data before any hello")),
        }
        if !is_complete {
            return unfinished(received);
        }
        rest = next;
    }
    // The start of a header tells other protocols, too.
    let is_first = rest.len() == received.len();
    let kind_is_wrong = rest.first().is_some_and(|kind| !(20..=23).contains(kind));
    if is_first && (kind_is_wrong || rest.get(1).is_some_and(|&major| major != 3)) {
        return Err(not_tls(received));
    }
    unfinished(received)
}

const CLOSE_NOTIFY: u8 = 0;

fn unfinished(received: &[u8]) -> Result<Option<Answer>, Nonsense> {
    match received.len() > MAX_ANSWER_BYTES {
        true => Err(Nonsense::Malformed("no hello in 64 KB of records")),
        false => Ok(None),
    }
}

fn not_tls(received: &[u8]) -> Nonsense {
    let line = received.split(|&byte| byte == b'\r' || byte == b'\n').next().unwrap_or_default();
    let start = &line[..line.len().min(SHOWN_BYTES)];
    Nonsense::NotTls(start.escape_ascii().to_string())
}

/// Reads the first handshake message, as far as it is there.
fn first_message(message: &[u8]) -> Result<Option<Answer>, Nonsense> {
    if message.first().is_some_and(|&kind| kind != SERVER_HELLO) {
        return Err(Nonsense::Malformed("the first message is no ServerHello"));
    }
    let Some((&[_, a, b, c], body)) = message.split_first_chunk::<MESSAGE_HEADER_BYTES>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([0, a, b, c]) as usize;
    if length > MAX_MESSAGE_BYTES {
        return Err(Nonsense::Malformed("a ServerHello of more than 16 KB"));
    }
    if body.len() < length {
        return Ok(None);
    }
    let message = &message[..MESSAGE_HEADER_BYTES + length];
    read_hello(message).map(Some).ok_or(Nonsense::Malformed("a ServerHello with wrong lengths"))
}

/// Reads a whole ServerHello message, which may have come in several records.
fn read_hello(message: &[u8]) -> Option<Answer> {
    let length = u16::try_from(message.len()).ok()?.to_be_bytes();
    let flight = [&[HANDSHAKE, 3, 3], &length[..], message].concat();
    let version = wire::find_server_version(&flight)?;
    let bytes = flight.len();
    if wire::is_hello_retry(&flight) {
        let group = wire::find_retry_group(&flight);
        return Some(Answer::Retry(ServerHello { version, group, bytes }));
    }
    let group = wire::find_server_key_share(&flight).map(|share| share.group);
    Some(Answer::Hello(ServerHello { version, group, bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TLS_1_2, TLS_1_3};

    const VERSION: [u8; 6] = [0, 43, 0, 2, 3, 4];

    fn message(random: [u8; 32], extensions: &[u8]) -> Vec<u8> {
        let mut body = [&[3, 3][..], &random, &[0, 0x13, 1, 0]].concat();
        if !extensions.is_empty() {
            body.extend((extensions.len() as u16).to_be_bytes());
            body.extend(extensions);
        }
        [&[2, 0, 0, body.len() as u8], &body[..]].concat()
    }

    fn record(kind: u8, contents: &[u8]) -> Vec<u8> {
        [&[kind, 3, 3], &(contents.len() as u16).to_be_bytes()[..], contents].concat()
    }

    fn hello() -> Vec<u8> {
        let share = [0, 51, 0, 6, 0, 29, 0, 2, 8, 9];
        message([7; 32], &[&VERSION[..], &share].concat())
    }

    fn retry() -> Vec<u8> {
        message(wire::HELLO_RETRY_RANDOM, &[&VERSION[..], &[0, 51, 0, 2, 0x11, 0xEC]].concat())
    }

    #[test]
    fn answers_are_read() {
        let expected = ServerHello { version: TLS_1_3, group: Some(29), bytes: hello().len() + 5 };
        let flight = [record(22, &hello()), record(20, &[1]), record(23, &[0; 40])].concat();
        assert_eq!(read_answer(&flight), Ok(Some(Answer::Hello(expected))));
        let Ok(Some(Answer::Retry(retry))) = read_answer(&record(22, &retry())) else { panic!() };
        assert_eq!((retry.version, retry.group), (TLS_1_3, Some(0x11EC)));
        let old = read_answer(&record(22, &message([7; 32], &[])));
        let Ok(Some(Answer::Hello(old))) = old else { panic!("{old:?}") };
        assert_eq!((old.version, old.group), (TLS_1_2, None));
        let refused = read_answer(&record(21, &[2, 40]));
        assert_eq!(refused, Ok(Some(Answer::Alert(Alert { level: 2, number: 40 }))));
    }

    #[test]
    fn a_message_may_come_in_many_records_and_after_a_warning() {
        let mut flight = record(21, &[1, 112]);
        flight.extend(hello().iter().flat_map(|&byte| record(22, &[byte])));
        for end in 0..flight.len() {
            assert_eq!(read_answer(&flight[..end]), Ok(None), "{end}");
        }
        assert!(matches!(read_answer(&flight), Ok(Some(Answer::Hello(_)))));
    }

    #[test]
    fn other_protocols_are_shown() {
        let http = b"HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n";
        let expected = Err(Nonsense::NotTls("HTTP/1.1 400 Bad Request".into()));
        assert_eq!(read_answer(http), expected);
        assert_eq!(read_answer(b"H"), Err(Nonsense::NotTls("H".into())));
        let colours = read_answer(b"\x1b[31m\"red\"");
        assert_eq!(colours, Err(Nonsense::NotTls("\\x1b[31m\\\"red\\\"".into())));
        let Err(Nonsense::NotTls(long)) = read_answer(&[b'x'; 5000]) else { panic!() };
        assert_eq!(long.len(), SHOWN_BYTES);
        assert!(matches!(read_answer(&[22, 2]), Err(Nonsense::NotTls(_))));
        assert!(matches!(read_answer(&[22, 3, 3, 0xFF, 0xFF]), Err(Nonsense::NotTls(_))));
    }

    #[test]
    fn malformed_answers_are_refused() {
        let malformed = |flight: &[u8]| match read_answer(flight) {
            Err(Nonsense::Malformed(error)) => error,
            other => panic!("{other:?}"),
        };
        assert_eq!(malformed(&record(22, &[])), "an empty record");
        assert_eq!(malformed(&record(22, &[11])), "the first message is no ServerHello");
        assert_eq!(malformed(&record(22, &[2, 1, 0, 0])), "a ServerHello of more than 16 KB");
        assert_eq!(malformed(&record(22, &[2, 0, 0, 1, 3])), "a ServerHello with wrong lengths");
        assert_eq!(malformed(&record(23, &[1])), "data before any hello");
        assert_eq!(malformed(&record(21, &[2])), "an alert that has not two bytes");
        let torn = [record(22, &hello()[..9]), record(21, &[2, 40])].concat();
        assert_eq!(malformed(&torn), "another record inside a message");
        let wrong = [record(20, &[1]), vec![9; 9]].concat();
        assert_eq!(malformed(&wrong), "a record with a wrong header");
        let endless = record(21, &[1, 112]).repeat(10_000);
        assert_eq!(malformed(&endless), "no hello in 64 KB of records");
    }

    #[test]
    fn garbage_is_refused_without_panic() {
        let mut numbers = artifacts::Numbers::new(7);
        let mut next = || (numbers.bits() >> 33) as usize;
        for original in [record(22, &hello()), record(22, &retry()), record(21, &[2, 40])] {
            for length in 0..original.len() {
                assert_eq!(read_answer(&original[..length]), Ok(None));
            }
            for _ in 0..20_000 {
                let mut flight = original.clone();
                for _ in 0..1 + next() % 4 {
                    let at = next() % flight.len();
                    flight[at] = next() as u8;
                }
                let _ = read_answer(&flight);
            }
        }
    }
}
