//! A workload of HTTP/1.1 requests (RFC 9112), one after the other on one connection.

use std::io::{ErrorKind, Read, Write};

use http::Uri;
use http::uri::Scheme;
use httparse::{Response, Status};
use openssl_runtime::TlsStream;
use output::Failure;

use crate::wire::Wire;
use crate::workload::{Data, Fault, Workload};

/// A number of requests for one page.
pub struct HttpRequests {
    request: Vec<u8>,
    count: usize,
}

/// The parts of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The host, without brackets if it is an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The path and query.
    path: String,
}

const HTTPS_PORT: u16 = 443;
/// The maximum length of a response's head. A longer head is an error.
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;
const READ_BYTES: usize = 16 * 1024;

impl Page {
    /// Parses an HTTPS URL.
    ///
    /// # Errors
    /// The text is not such a URL.
    pub fn parse(url: &str) -> Result<Self, Failure> {
        let wrong = || {
            Failure::new(format!(
                "'{url}' is no URL that can be timed: expected https://HOST[:PORT]/PATH"
            ))
        };
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        let host = authority.host();
        // The rest must be a port. `Uri` accepts a text here that it cannot interpret.
        let port = match authority.as_str().strip_prefix(host).ok_or_else(wrong)? {
            "" => HTTPS_PORT,
            rest => rest.strip_prefix(':').and_then(|port| port.parse().ok()).ok_or_else(wrong)?,
        };
        if uri.scheme() != Some(&Scheme::HTTPS) || host.is_empty() || port == 0 {
            return Err(wrong());
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Self { host, port, path })
    }
}

impl HttpRequests {
    /// Creates a workload of `count` requests, at least one.
    ///
    /// # Errors
    /// `count` is zero.
    pub fn new(page: &Page, count: usize) -> Result<Self, Failure> {
        if count == 0 {
            return Err(Failure::new("0 requests: expected at least 1"));
        }
        let Page { host, port, path } = page;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let host = if *port == HTTPS_PORT { host } else { format!("{host}:{port}") };
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: fastkex\r\nAccept: */*\r\n\r\n"
        );
        Ok(Self { request: request.into_bytes(), count })
    }
}

impl Workload for HttpRequests {
    fn run(&self, stream: &mut TlsStream<Wire>) -> Result<Data, Fault> {
        let mut data = Data::default();
        // The bytes read after the end of a response.
        let mut rest = Vec::new();
        for number in 1..=self.count {
            stream.write_all(&self.request)?;
            data.sent += self.request.len();
            let mut reader = Reader { stream: &mut *stream, bytes: rest, taken: 0, read: 0 };
            let head = reader.head()?;
            reader.body(&head)?;
            data.received += reader.read;
            rest = reader.rest();
            if head.closes && number < self.count {
                return Err(Fault::Answer(Failure::new(format!(
                    "the server ended the connection after {number} of {} requests",
                    self.count
                ))));
            }
        }
        Ok(data)
    }

    fn times_the_end(&self) -> bool {
        false
    }
}

/// The parsed head of a response.
struct Head {
    length: Length,
    /// True if the server accepts no more requests on this connection.
    closes: bool,
}

/// The position of the end of a response (RFC 9112, section 6.3).
enum Length {
    Bytes(usize),
    Chunks,
    UntilTheEnd,
}

/// The reader of a response.
struct Reader<'a, S> {
    stream: &'a mut S,
    bytes: Vec<u8>,
    /// The number of bytes in `bytes` that are processed.
    taken: usize,
    /// The number of bytes read from the stream.
    read: usize,
}

impl<S: Read> Reader<'_, S> {
    /// Reads more bytes; returns `false` at the end of the stream.
    fn more(&mut self) -> Result<bool, Fault> {
        let start = self.bytes.len();
        self.bytes.resize(start + READ_BYTES, 0);
        let outcome = self.stream.read(&mut self.bytes[start..]);
        self.bytes.truncate(start + outcome.as_ref().copied().unwrap_or(0));
        let read = outcome?;
        self.read += read;
        Ok(read > 0)
    }

    fn need_more(&mut self) -> Result<(), Fault> {
        if self.more()? { Ok(()) } else { Err(Fault::Connection(ErrorKind::UnexpectedEof.into())) }
    }

    fn unread(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    fn rest(mut self) -> Vec<u8> {
        self.bytes.split_off(self.taken)
    }

    fn head(&mut self) -> Result<Head, Fault> {
        loop {
            if let Some((length, head)) = parse_head(self.unread()).map_err(Fault::Answer)? {
                self.taken += length;
                return Ok(head);
            }
            if self.unread().len() > MAX_HEAD_BYTES {
                return Err(wrong("the head of the server's response does not end"));
            }
            self.need_more()?;
        }
    }

    fn body(&mut self, head: &Head) -> Result<(), Fault> {
        match head.length {
            Length::Bytes(length) => self.skip(length),
            Length::Chunks => self.chunks(),
            Length::UntilTheEnd => {
                while self.more()? {}
                self.taken = self.bytes.len();
                Ok(())
            }
        }
    }

    fn skip(&mut self, mut length: usize) -> Result<(), Fault> {
        loop {
            let here = length.min(self.unread().len());
            self.taken += here;
            length -= here;
            if length == 0 {
                return Ok(());
            }
            // All bytes read so far are processed. They are dropped so that a large body is not
            // kept in memory.
            self.bytes.clear();
            self.taken = 0;
            self.need_more()?;
        }
    }

    fn chunks(&mut self) -> Result<(), Fault> {
        const LINE_END: usize = 2;
        loop {
            let size = httparse::parse_chunk_size(self.unread());
            let Ok(size) = size else { return Err(wrong("the server's chunks have no size")) };
            match size {
                Status::Partial => self.need_more()?,
                Status::Complete((length, 0)) => {
                    self.taken += length;
                    return self.trailer();
                }
                Status::Complete((length, size)) => {
                    let size =
                        usize::try_from(size).ok().and_then(|size| size.checked_add(LINE_END));
                    let size = size.ok_or_else(|| wrong("the server sends too large a chunk"))?;
                    self.taken += length;
                    self.skip(size)?;
                }
            }
        }
    }

    /// Skips lines up to an empty one.
    fn trailer(&mut self) -> Result<(), Fault> {
        loop {
            match self.unread().iter().position(|&byte| byte == b'\n') {
                Some(end) => {
                    let is_empty = self.unread()[..end].iter().all(|&byte| byte == b'\r');
                    self.taken += end + 1;
                    if is_empty {
                        return Ok(());
                    }
                }
                None if self.unread().len() > MAX_HEAD_BYTES => {
                    return Err(wrong("the server's response does not end"));
                }
                None => self.need_more()?,
            }
        }
    }
}

fn wrong(what: &str) -> Fault {
    Fault::Answer(Failure::new(what))
}

/// Parses the head and returns it with its length; `None` if the head is not complete yet.
fn parse_head(bytes: &[u8]) -> Result<Option<(usize, Head)>, Failure> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = Response::new(&mut headers);
    let parsed = response
        .parse(bytes)
        .map_err(|error| Failure::new(format!("the server's response is not HTTP/1.1: {error}")))?;
    let Status::Complete(length) = parsed else { return Ok(None) };
    let code = response.code.unwrap_or_default();
    if !(200..300).contains(&code) {
        let reason = response.reason.unwrap_or_default();
        return Err(Failure::new(format!("the server answered {code} {reason}")));
    }
    let field = |name: &str| {
        let mut all = response.headers.iter();
        let header = all.find(|header| header.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(header.value).ok().map(str::trim)
    };
    let is_old = response.version == Some(0);
    let closes = match field("connection") {
        Some(value) if value.eq_ignore_ascii_case("close") => true,
        Some(value) => is_old && !value.eq_ignore_ascii_case("keep-alive"),
        None => is_old,
    };
    let chunked =
        field("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    let body = match field("content-length") {
        // 204 has no body (RFC 9110, section 15.3.5).
        _ if code == 204 => Length::Bytes(0),
        _ if chunked => Length::Chunks,
        Some(text) => Length::Bytes(text.parse().map_err(|_| {
            Failure::new(format!("the server's response has a Content-Length of '{text}'"))
        })?),
        None => Length::UntilTheEnd,
    };
    let closes = closes || matches!(body, Length::UntilTheEnd);
    Ok(Some((length, Head { length: body, closes })))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that returns a few bytes at a time.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    /// Returns the bytes that are left after a response.
    fn response(text: &str, at_a_time: usize) -> Result<String, String> {
        let mut stream = Trickle(text.as_bytes(), at_a_time);
        let mut reader = Reader { stream: &mut stream, bytes: Vec::new(), taken: 0, read: 0 };
        let outcome = reader.head().and_then(|head| reader.body(&head));
        match outcome {
            Ok(()) => {
                let mut rest = reader.rest();
                rest.extend(stream.0);
                Ok(String::from_utf8(rest).unwrap())
            }
            Err(Fault::Answer(failure)) => Err(failure.to_string()),
            Err(Fault::Connection(error)) => Err(error.to_string()),
        }
    }

    #[test]
    fn responses_end_where_they_say() {
        let whole = [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n",
        ];
        for text in whole {
            for at_a_time in [1, 2, 3, 7, 1000] {
                assert_eq!(
                    response(&format!("{text}HTTP"), at_a_time).unwrap(),
                    "HTTP",
                    "{text:?}"
                );
            }
        }
        assert_eq!(response("HTTP/1.0 200 OK\r\n\r\nall of it", 4).unwrap(), "");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = [
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404 Not Found"),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "Content-Length of 'x'"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "no size"),
            ("SSH-2.0-OpenSSH\r\n", "not HTTP/1.1"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", "unexpected end of file"),
        ];
        for (text, message) in wrong {
            let found = response(text, 3).unwrap_err();
            assert!(found.contains(message), "{found}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(2 * MAX_HEAD_BYTES));
        assert!(response(&endless, 5000).unwrap_err().contains("does not end"));
    }

    #[test]
    fn urls_are_of_https() {
        let page =
            |host: &str, port, path: &str| Page { host: host.into(), port, path: path.into() };
        let parse = |url| Page::parse(url).unwrap();
        assert_eq!(parse("https://example.org"), page("example.org", 443, "/"));
        assert_eq!(parse("https://example.org:8443/a?b=c"), page("example.org", 8443, "/a?b=c"));
        assert_eq!(parse("https://[::1]:8443/"), page("::1", 8443, "/"));
        for wrong in [
            "http://example.org/",
            "example.org",
            "https://",
            "https://a b/",
            "https://u@h/",
            "https://h:0x/",
        ] {
            let message = Page::parse(wrong).unwrap_err().to_string();
            assert!(message.contains("expected https://HOST"), "{message}");
        }
    }
}
