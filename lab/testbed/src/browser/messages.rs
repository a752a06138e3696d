//! Messages in JSON to a browser and from it.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::time::{Duration, Instant};

use serde_json::Value;

use output::Failure;

/// Time limit for each answer. A browser may take long to start on a busy machine.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);

/// How messages are told apart.
#[derive(Clone, Copy, Debug)]
pub(super) enum Framing {
    /// A zero byte ends each.
    Zero,
    /// The length in decimal and a colon precede each.
    Length,
}

/// A connection that carries messages. The stream has [`TIMEOUT`] as its timeout.
pub(super) struct Messages<S> {
    stream: S,
    framing: Framing,
    /// Bytes that were received and not yet read.
    received: Vec<u8>,
}

impl Framing {
    fn wrap(self, text: &str) -> Vec<u8> {
        match self {
            Self::Zero => [text.as_bytes(), &[0]].concat(),
            Self::Length => format!("{}:{text}", text.len()).into_bytes(),
        }
    }

    /// Returns the place of the first message, and the end of its frame. Returns `None` if it is
    /// incomplete.
    fn first(self, bytes: &[u8]) -> io::Result<Option<(Range<usize>, usize)>> {
        let find = |wanted: u8| bytes.iter().position(|byte| *byte == wanted);
        Ok(match self {
            Self::Zero => find(0).map(|end| (0..end, end + 1)),
            Self::Length => match find(b':') {
                Some(colon) => {
                    let length = str::from_utf8(&bytes[..colon]).ok();
                    let length = length.and_then(|length| length.parse::<usize>().ok());
                    let length =
                        length.ok_or_else(|| io::Error::other("no length of a message"))?;
                    let end = colon.saturating_add(1).saturating_add(length);
                    (end <= bytes.len()).then_some((colon + 1..end, end))
                }
                None => None,
            },
        })
    }
}

impl<S: Read + Write> Messages<S> {
    pub(super) fn new(stream: S, framing: Framing) -> Self {
        Self { stream, framing, received: Vec::new() }
    }

    pub(super) fn send(&mut self, message: &Value) -> Result<(), Failure> {
        let frame = self.framing.wrap(&message.to_string());
        self.stream.write_all(&frame).map_err(Failure::about("sending a command"))
    }

    /// Returns what `choose` returns for the first message for which it returns something, in
    /// [`TIMEOUT`]. `what` describes it.
    pub(super) fn wait_for<T>(
        &mut self,
        what: &str,
        mut choose: impl FnMut(Value) -> Option<T>,
    ) -> Result<T, Failure> {
        let give_up = Instant::now() + TIMEOUT;
        while Instant::now() < give_up {
            let message = match self.next() {
                Ok(message) => message,
                Err(error) if is_timeout(&error) => break,
                Err(error) => return Err(Failure::new(format!("waiting for {what}: {error}"))),
            };
            if let Some(chosen) = choose(message) {
                return Ok(chosen);
            }
        }
        Err(Failure::new(format!("no {what} in {} seconds", TIMEOUT.as_secs())))
    }

    fn next(&mut self) -> io::Result<Value> {
        loop {
            if let Some((message, end)) = self.framing.first(&self.received)? {
                let message = serde_json::from_slice(&self.received[message])?;
                self.received.drain(..end);
                return Ok(message);
            }
            let mut more = [0; 16 * 1024];
            match self.stream.read(&mut more)? {
                0 => return Err(io::Error::other("the browser has closed the connection")),
                read => self.received.extend_from_slice(&more[..read]),
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use serde_json::json;

    use super::*;

    #[test]
    fn messages_come_in_pieces_and_together() {
        for (framing, bytes) in
            [(Framing::Zero, &b"{\"id\":1}\0[2]\0"[..]), (Framing::Length, b"8:{\"id\":1}3:[2]")]
        {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let mut messages = Messages::new(ours, framing);
            messages.send(&json!([2])).unwrap();
            let mut sent = vec![0; framing.wrap("[2]").len()];
            theirs.read_exact(&mut sent).unwrap();
            assert_eq!(sent, bytes[bytes.len() - sent.len()..]);

            theirs.write_all(&bytes[..5]).unwrap();
            let writer = std::thread::spawn(move || {
                theirs.write_all(&bytes[5..]).unwrap();
            });
            assert_eq!(messages.wait_for("first", Some).unwrap(), json!({"id": 1}));
            let second = messages.wait_for("second", |message| message.get(0).cloned());
            assert_eq!(second.unwrap(), json!(2));
            writer.join().unwrap();
            let end = messages.wait_for("third", Some).unwrap_err().to_string();
            assert_eq!(end, "waiting for third: the browser has closed the connection");
        }
    }

    #[test]
    fn a_message_that_does_not_come_is_named() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let mut messages = Messages::new(ours, Framing::Length);
        let failure = messages.wait_for("greeting", Some).unwrap_err().to_string();
        assert_eq!(failure, "no greeting in 60 seconds");
        drop(theirs);
        assert!(Framing::Length.first(b"HTTP/1.1: ").is_err());
    }
}
