//! One connection: it delivers a ClientHello and reads the answer, within a time limit.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use nix::libc::linger;
use nix::sys::socket::sockopt::{Linger, TcpMaxSeg};
use nix::sys::socket::{getsockopt, setsockopt};
use openssl_runtime::Alert;

use crate::answer::{Answer, Nonsense, ServerHello, read_answer};
use crate::start_tls::StartTls;

/// A server.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its address.
    pub address: SocketAddr,
    /// The name that the server is asked for (SNI), if any.
    pub name: Option<String>,
    /// The protocol that TLS is started in, if any.
    pub start_tls: Option<StartTls>,
    /// The time limit of a connection, from its beginning to the answer.
    pub timeout: Duration,
}

/// The outcome of a ClientHello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A ServerHello came back.
    Hello(ServerHello),
    /// A HelloRetryRequest came back.
    Retry(ServerHello),
    /// The server refused with this alert.
    Alert(Alert),
    /// Something else came back.
    Nonsense(Nonsense),
    /// The server closed the connection.
    Closed,
    /// The connection was reset.
    Reset,
    /// Nothing, or no whole answer, came back in time.
    Silence,
    /// There was no connection, or TLS was not started in it. Holds the reason.
    NotConnected(String),
}

impl Outcome {
    /// Returns the server's choices, if it made any.
    pub fn choices(&self) -> Option<&ServerHello> {
        match self {
            Outcome::Hello(hello) | Outcome::Retry(hello) => Some(hello),
            _ => None,
        }
    }

    /// Returns the group that was chosen.
    pub fn group(&self) -> Option<u16> {
        self.choices()?.group
    }

    /// True for a ServerHello or HelloRetryRequest.
    pub fn is_answer(&self) -> bool {
        self.choices().is_some()
    }

    /// True if the server received the ClientHello and ended the connection.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Outcome::Alert(_) | Outcome::Closed | Outcome::Reset)
    }

    fn of_error(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Outcome::Silence,
            ErrorKind::UnexpectedEof => Outcome::Closed,
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
                Outcome::Reset
            }
            _ => Outcome::NotConnected(error.to_string()),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Hello(_) => f.write_str("answered"),
            Outcome::Retry(_) => f.write_str("answered with a HelloRetryRequest"),
            Outcome::Alert(alert) => write!(f, "refused with {alert}"),
            Outcome::Nonsense(nonsense) => nonsense.fmt(f),
            Outcome::Closed => f.write_str("closed without an answer"),
            Outcome::Reset => f.write_str("reset"),
            Outcome::Silence => f.write_str("no answer"),
            Outcome::NotConnected(reason) => write!(f, "no connection: {reason}"),
        }
    }
}

/// The time between two pieces, so that they arrive as two.
const PAUSE: Duration = Duration::from_millis(100);

impl Target {
    /// Connects, sends the pieces with pauses between them, and reads until there is an answer.
    /// Returns what happened, and the size of a TCP segment on this connection if the system tells
    /// it.
    pub fn deliver(&self, pieces: &[&[u8]], give_up: Instant) -> (Outcome, Option<u32>) {
        let until = give_up.min(Instant::now() + self.timeout);
        let stream = match connect(&self.address, until) {
            Ok(stream) => stream,
            Err(error) if error.kind() == ErrorKind::TimedOut => return (Outcome::Silence, None),
            Err(error) => return (Outcome::NotConnected(error.to_string()), None),
        };
        let segment = getsockopt(&stream, TcpMaxSeg).ok();
        let mut stream = Bounded { stream, until };
        if let Some(protocol) = self.start_tls
            && let Err(error) = protocol.begin(&mut stream)
        {
            let outcome = match Outcome::of_error(&error) {
                Outcome::Closed | Outcome::Reset => {
                    Outcome::NotConnected("the server ended the connection before TLS".into())
                }
                other => other,
            };
            return (outcome, segment);
        }
        let sent = send(&mut stream, pieces);
        // The server may have said why before it ended the connection.
        let outcome = match (receive(&mut stream), sent) {
            (Outcome::Closed, Err(error)) => Outcome::of_error(&error),
            (outcome, _) => outcome,
        };
        if outcome == Outcome::Silence {
            abort(&stream.stream);
        }
        (outcome, segment)
    }
}

fn connect(address: &SocketAddr, until: Instant) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(address, left(until)?)?;
    // Each piece is sent at once.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Lets the end of a connection be a reset. Where something drops large segments, the usual end
/// would wait behind them, and a server that serves one connection at a time would wait with it.
fn abort(stream: &TcpStream) {
    // Without it, the connection ends as usual.
    let _ = setsockopt(stream, Linger, &linger { l_onoff: 1, l_linger: 0 });
}

fn send(stream: &mut Bounded, pieces: &[&[u8]]) -> io::Result<()> {
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 {
            thread::sleep(PAUSE.min(left(stream.until)?));
        }
        stream.write_all(piece)?;
    }
    Ok(())
}

fn receive(stream: &mut Bounded) -> Outcome {
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let bytes = match stream.read(&mut buffer) {
            Ok(0) => return Outcome::Closed,
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Outcome::of_error(&error),
        };
        received.extend_from_slice(&buffer[..bytes]);
        match read_answer(&received) {
            Ok(None) => {}
            Ok(Some(Answer::Hello(hello))) => return Outcome::Hello(hello),
            Ok(Some(Answer::Retry(hello))) => return Outcome::Retry(hello),
            Ok(Some(Answer::Alert(alert))) => return Outcome::Alert(alert),
            Err(nonsense) => return Outcome::Nonsense(nonsense),
        }
    }
}

/// A socket whose operations end at a certain time, so that a peer cannot prolong a connection by
/// sending a byte at intervals.
struct Bounded {
    stream: TcpStream,
    until: Instant,
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.until)?))?;
        self.stream.read(buffer)
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.until)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
