//! Complete handshakes in memory; the caller can change the bytes in flight.

use crate::connection::{MemoryConnection, Progress, Received};
use crate::error::Error;
use crate::summary::Summary;
use crate::tls_context::SslContext;

/// The direction of a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client to the server.
    ClientToServer,
    /// From the server to the client.
    ServerToClient,
}

/// A handshake between a client and a server in this thread's memory.
pub struct InMemoryHandshake<'a> {
    client: &'a SslContext,
    server: &'a SslContext,
    server_name: Option<&'a str>,
    echo_bytes: usize,
}

/// The result of an [`InMemoryHandshake`].
#[derive(Clone, Debug)]
pub struct HandshakeReport {
    /// The state of the client.
    pub client: Summary,
    /// The state of the server.
    pub server: Summary,
    /// True if application data reached the server and came back unchanged; `None` if this was not
    /// tried.
    pub echoed: Option<bool>,
}

impl HandshakeReport {
    /// True if both sides finished without a failure and the echo, if requested, came back.
    pub fn is_ok(&self) -> bool {
        self.client.is_ok() && self.server.is_ok() && self.echoed != Some(false)
    }
}

/// The maximum number of rounds; a round is one flight in each direction. A handshake has at most
/// three rounds. Tampering can add some, but not many.
const MAX_ROUNDS: usize = 32;

impl<'a> InMemoryHandshake<'a> {
    /// Creates a handshake between two settings, which may belong to different library contexts and
    /// libraries.
    pub fn new(client: &'a SslContext, server: &'a SslContext) -> Self {
        Self { client, server, server_name: None, echo_bytes: 0 }
    }

    /// Sets the name that the client expects of the server; see [`MemoryConnection::new`].
    pub fn server_name(self, name: &'a str) -> Self {
        Self { server_name: Some(name), ..self }
    }

    /// Requests an echo: after a successful handshake, `bytes` bytes of application data are sent
    /// to the server and back.
    pub fn echo(self, bytes: usize) -> Self {
        Self { echo_bytes: bytes, ..self }
    }

    /// Runs the handshake until it succeeds or fails. Passes every flight to `tamper`, which may
    /// change it in any way. A side that still waits for bytes at the end gets an end of file and
    /// fails.
    ///
    /// # Errors
    ///
    /// The errors of [`MemoryConnection::new`]; failures of the handshake are in the report.
    pub fn run(
        &self,
        tamper: &mut dyn FnMut(Direction, &mut Vec<u8>),
    ) -> Result<HandshakeReport, Error> {
        let mut client = MemoryConnection::new(self.client, self.server_name)?;
        let mut server = MemoryConnection::new(self.server, None)?;
        for _ in 0..MAX_ROUNDS {
            let sent = step(&mut client, &mut server, Direction::ClientToServer, tamper)?;
            let answered = step(&mut server, &mut client, Direction::ServerToClient, tamper)?;
            if !sent && !answered {
                break;
            }
        }
        for side in [&mut client, &mut server] {
            if !side.is_finished() {
                side.end_incoming();
                // A failure is kept in the side's summary.
                let _ = side.handshake();
            }
        }
        let mut report =
            HandshakeReport { client: client.summary(), server: server.summary(), echoed: None };
        if self.echo_bytes > 0 && report.is_ok() {
            let data: Vec<u8> = (0..self.echo_bytes).map(|index| index as u8).collect();
            let there = pass(&data, &mut client, &mut server, Direction::ClientToServer, tamper);
            let back = pass(&there, &mut server, &mut client, Direction::ServerToClient, tamper);
            report = HandshakeReport {
                client: client.summary(),
                server: server.summary(),
                echoed: Some(back == data),
            };
        }
        Ok(report)
    }
}

/// Runs a handshake between the two sides without an expected server name, and then a short echo:
/// see [`InMemoryHandshake`].
///
/// # Errors
///
/// The errors of [`InMemoryHandshake::run`].
pub fn handshake_in_memory(
    client: &SslContext,
    server: &SslContext,
    tamper: &mut dyn FnMut(Direction, &mut Vec<u8>),
) -> Result<HandshakeReport, Error> {
    const ECHO_BYTES: usize = 64;
    InMemoryHandshake::new(client, server).echo(ECHO_BYTES).run(tamper)
}

/// Lets one side continue, and passes its flight to the other side; returns true if there was a
/// flight.
fn step(
    from: &mut MemoryConnection,
    to: &mut MemoryConnection,
    direction: Direction,
    tamper: &mut dyn FnMut(Direction, &mut Vec<u8>),
) -> Result<bool, Error> {
    // The side's summary keeps failures, and their alert is to be sent.
    if let Ok(Progress::Finished) = from.handshake() {
        // The other side may still refuse this side's last flight.
        let _ = from.read(&mut []);
    }
    carry(from, to, direction, tamper)
}

fn carry(
    from: &mut MemoryConnection,
    to: &mut MemoryConnection,
    direction: Direction,
    tamper: &mut dyn FnMut(Direction, &mut Vec<u8>),
) -> Result<bool, Error> {
    let mut flight = from.take_outgoing();
    if flight.is_empty() {
        return Ok(false);
    }
    tamper(direction, &mut flight);
    to.feed(&flight)?;
    Ok(true)
}

/// Sends data and returns the data that arrives.
fn pass(
    data: &[u8],
    from: &mut MemoryConnection,
    to: &mut MemoryConnection,
    direction: Direction,
    tamper: &mut dyn FnMut(Direction, &mut Vec<u8>),
) -> Vec<u8> {
    let mut arrived = Vec::new();
    if from.write(data).and_then(|()| carry(from, to, direction, tamper)).is_err() {
        return arrived;
    }
    let mut buffer = [0; 4096];
    while let Ok(Received::Data(bytes)) = to.read(&mut buffer) {
        arrived.extend_from_slice(&buffer[..bytes]);
    }
    arrived
}
