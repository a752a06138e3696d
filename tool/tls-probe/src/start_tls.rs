//! Protocols that begin without TLS, and the words that start it.

use std::io::{self, ErrorKind, Read, Write};

/// A protocol that begins without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartTls {
    /// SMTP (RFC 3207).
    Smtp,
    /// IMAP (RFC 9051, section 6.2.1).
    Imap,
    /// POP3 (RFC 2595).
    Pop3,
    /// PostgreSQL (its documentation, section "SSL Session Encryption").
    Postgres,
}

/// The longest line, in bytes, of these protocols.
const MAX_LINE_BYTES: usize = 2048;
/// The most lines of an answer.
const MAX_LINES: usize = 100;
/// Bytes of a line that an error shows.
const SHOWN_BYTES: usize = 60;

impl StartTls {
    /// Asks the server to start TLS.
    pub(crate) fn begin(self, stream: &mut (impl Read + Write)) -> io::Result<()> {
        match self {
            StartTls::Smtp => {
                reply(stream, "220")?;
                // An address in brackets needs no name of this machine.
                stream.write_all(b"EHLO [127.0.0.1]\r\n")?;
                reply(stream, "250")?;
                stream.write_all(b"STARTTLS\r\n")?;
                reply(stream, "220")
            }
            StartTls::Imap => {
                expect(&line(stream)?, "* OK")?;
                stream.write_all(b"a STARTTLS\r\n")?;
                for _ in 0..MAX_LINES {
                    let answer = line(stream)?;
                    if !answer.starts_with(b"* ") {
                        return expect(&answer, "a OK");
                    }
                }
                Err(refusal(b""))
            }
            StartTls::Pop3 => {
                expect(&line(stream)?, "+OK")?;
                stream.write_all(b"STLS\r\n")?;
                expect(&line(stream)?, "+OK")
            }
            StartTls::Postgres => {
                // The length and the code of an SSLRequest.
                stream.write_all(&[0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x2F])?;
                let mut answer = [0];
                stream.read_exact(&mut answer)?;
                if answer == *b"S" { Ok(()) } else { Err(refusal(&answer)) }
            }
        }
    }
}

/// Reads a reply of SMTP, with all of its lines.
fn reply(stream: &mut impl Read, code: &str) -> io::Result<()> {
    for _ in 0..MAX_LINES {
        let line = line(stream)?;
        expect(&line, code)?;
        if line.get(code.len()) != Some(&b'-') {
            return Ok(());
        }
    }
    Err(refusal(b""))
}

fn expect(line: &[u8], start: &str) -> io::Result<()> {
    if line.starts_with(start.as_bytes()) { Ok(()) } else { Err(refusal(line)) }
}

fn refusal(line: &[u8]) -> io::Error {
    let shown = line[..line.len().min(SHOWN_BYTES)].escape_ascii();
    io::Error::new(
        ErrorKind::InvalidData,
        format!("the server does not start TLS: it answered \"{shown}\""),
    )
}

/// Reads a line, byte by byte, because what follows it belongs to TLS.
fn line(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte)?;
        match byte {
            [b'\n'] => return Ok(line),
            [b'\r'] => {}
            [other] => line.push(other),
        }
        if line.len() > MAX_LINE_BYTES {
            return Err(refusal(&line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that says what it always says.
    struct Script<'a> {
        says: &'a [u8],
        heard: Vec<u8>,
    }

    impl Read for Script<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.says.read(buffer)
        }
    }

    impl Write for Script<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.heard.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn begin(protocol: StartTls, says: &[u8]) -> (Result<(), String>, usize, String) {
        let mut script = Script { says, heard: Vec::new() };
        let result = protocol.begin(&mut script).map_err(|error| error.to_string());
        (result, script.says.len(), String::from_utf8_lossy(&script.heard).into_owned())
    }

    #[test]
    fn each_protocol_starts_tls_and_reads_no_further() {
        let smtp =
            "220-mail\r\n220 ready\r\n250-mail\r\n250-STARTTLS\r\n250 HELP\r\n220 go\r\n\x16";
        for (protocol, says, heard) in [
            (StartTls::Smtp, smtp, "EHLO [127.0.0.1]\r\nSTARTTLS\r\n"),
            (StartTls::Imap, "* OK hello\r\n* NOTE\r\na OK go\r\n\x16", "a STARTTLS\r\n"),
            (StartTls::Pop3, "+OK hello\n+OK go\n\x16", "STLS\r\n"),
            (StartTls::Postgres, "S\x16", "\0\0\0\x08\x04\u{FFFD}\x16/"),
        ] {
            let (result, left, sent) = begin(protocol, says.as_bytes());
            assert_eq!((result, left), (Ok(()), 1), "{protocol:?}");
            assert_eq!(sent, heard);
        }
    }

    #[test]
    fn refusals_are_shown() {
        for (protocol, says, shown) in [
            (StartTls::Smtp, "220 hi\r\n250 hi\r\n502 \x1b no\r\n", "502 \\x1b no"),
            (StartTls::Smtp, "* OK imap\r\n", "* OK imap"),
            (StartTls::Imap, "* OK hi\r\na BAD no\r\n", "a BAD no"),
            (StartTls::Pop3, "+OK hi\r\n-ERR no\r\n", "-ERR no"),
            (StartTls::Postgres, "N", "N"),
        ] {
            let (result, ..) = begin(protocol, says.as_bytes());
            assert!(result.unwrap_err().ends_with(&format!("it answered \"{shown}\"")));
        }
    }

    #[test]
    fn endless_and_short_answers_are_errors() {
        let endless = [
            (StartTls::Smtp, "220-a\r\n".repeat(1000)),
            (StartTls::Imap, "* OK\r\n".repeat(1000)),
            (StartTls::Pop3, "+".repeat(100_000)),
        ];
        for (protocol, says) in endless {
            let (result, left, _) = begin(protocol, says.as_bytes());
            assert!(result.is_err() && left > 0, "{protocol:?}");
        }
        for protocol in [StartTls::Smtp, StartTls::Imap, StartTls::Pop3, StartTls::Postgres] {
            assert!(begin(protocol, b"").0.is_err());
        }
    }
}
