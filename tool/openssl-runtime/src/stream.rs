//! TLS over a stream such as a TCP connection.

use std::io::{self, ErrorKind, Read, Write};

use crate::connection::{MemoryConnection, PeerKey, Progress, Received};
use crate::error::Error;
use crate::summary::Summary;
use crate::tls_context::SslContext;

/// A TLS connection over a blocking stream, such as a `TcpStream`. The stream's own timeouts apply
/// to each of its reads and writes. Interrupted calls are repeated.
///
/// libssl works in memory, and this type reads and writes the stream, a whole flight at a time.
/// Therefore there is no SIGPIPE, and there are fewer system calls than with libssl's own socket
/// BIO.
pub struct TlsStream<S> {
    connection: MemoryConnection,
    stream: S,
    /// Bytes taken from the connection but not yet written.
    pending: Vec<u8>,
    buffer: Vec<u8>,
}

/// The size of the read buffer: one record with its header and tag.
const BUFFER_BYTES: usize = 18 * 1024;
/// The maximum size of application data that is encrypted at a time: one record.
const MAX_WRITE_BYTES: usize = 16 * 1024;

impl<S: Read + Write> TlsStream<S> {
    /// Performs a handshake over the stream, in the role of the context. For `server_name` see
    /// [`MemoryConnection::new`].
    ///
    /// # Errors
    ///
    /// [`Error::Handshake`] when the handshake failed (the alert, if any, has been sent),
    /// [`Error::Io`] when the stream failed, including timeouts.
    pub fn new(context: &SslContext, stream: S, server_name: Option<&str>) -> Result<Self, Error> {
        let connection = MemoryConnection::new(context, server_name)?;
        let mut this =
            Self { connection, stream, pending: Vec::new(), buffer: vec![0; BUFFER_BYTES] };
        loop {
            let progress = this.connection.handshake();
            let sent = this.send();
            match progress? {
                Progress::Finished => {
                    sent?;
                    return Ok(this);
                }
                Progress::NeedsInput => {
                    sent?;
                    this.receive()?;
                }
            }
        }
    }

    /// Returns the state of the connection, as this side knows it.
    pub fn summary(&self) -> Summary {
        self.connection.summary()
    }

    /// Returns the key in the other side's certificate.
    pub fn peer_key(&self) -> Option<PeerKey> {
        self.connection.peer_key()
    }

    /// Tells the other side that this side will send no more. The other side may still send;
    /// reading until 0 waits for its end.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the connection failed before, [`Error::Io`] when the stream fails.
    pub fn close(&mut self) -> Result<(), Error> {
        self.connection.close()?;
        Ok(self.send()?)
    }

    /// Returns the underlying stream.
    pub fn get_ref(&self) -> &S {
        &self.stream
    }

    /// Ends TLS without a close_notify alert, and returns the stream.
    pub fn into_inner(self) -> S {
        self.stream
    }

    /// Writes all bytes that the connection has to send. Keeps the bytes that a timeout leaves
    /// unwritten.
    fn send(&mut self) -> io::Result<()> {
        self.pending.extend(self.connection.take_outgoing());
        while !self.pending.is_empty() {
            match self.stream.write(&self.pending) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => drop(self.pending.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.stream.flush()
    }

    /// Reads the available bytes from the stream: at least one byte, or the end of the stream.
    fn receive(&mut self) -> Result<(), Error> {
        loop {
            match self.stream.read(&mut self.buffer) {
                Ok(0) => self.connection.end_incoming(),
                Ok(read) => self.connection.feed(&self.buffer[..read])?,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            return Ok(());
        }
    }
}

impl<S: Read + Write> Read for TlsStream<S> {
    /// Reads application data; returns 0 when the other side has closed. A stream that ends without
    /// a close_notify alert is an error.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let received = self.connection.read(buffer);
            // Sends answers to the received messages, such as a new key or an alert. If that fails,
            // data already read is still returned.
            let sent = self.send();
            match received? {
                Received::Data(bytes) => return Ok(bytes),
                Received::Closed => return Ok(0),
                Received::NeedsInput => {
                    sent?;
                    self.receive()?;
                }
            }
        }
    }
}

impl<S: Read + Write> Write for TlsStream<S> {
    /// Encrypts and sends data. Bytes that a timeout leaves unsent are kept for the next write or
    /// flush, which sends them before it accepts new data.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send()?;
        let taken = &bytes[..bytes.len().min(MAX_WRITE_BYTES)];
        self.connection.write(taken)?;
        match self.send() {
            Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(error)
            }
            _ => Ok(taken.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}
