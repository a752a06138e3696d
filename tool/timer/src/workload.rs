//! Workloads: the exchange on a connection after the handshake.

use std::io;

use openssl_runtime::TlsStream;
use output::Failure;

use crate::wire::Wire;

/// An exchange of application data.
pub trait Workload: Sync {
    /// Performs the exchange; returns the number of bytes of application data sent and received.
    ///
    /// # Errors
    /// The connection failed, or the answer is wrong.
    fn run(&self, stream: &mut TlsStream<Wire>) -> Result<Data, Fault>;

    /// True if a connection's time includes its end. Otherwise the time ends with the workload.
    fn times_the_end(&self) -> bool {
        true
    }
}

/// Numbers of bytes of application data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Bytes sent, before encryption.
    pub sent: usize,
    /// Bytes received, after decryption.
    pub received: usize,
}

/// The failure of a connection.
#[derive(Debug)]
pub enum Fault {
    /// TLS or the socket failed.
    Connection(io::Error),
    /// The answer does not match the request.
    Answer(Failure),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

/// The empty workload, for timing the handshake alone.
#[derive(Clone, Copy, Debug)]
pub struct Handshake;

impl Workload for Handshake {
    fn run(&self, _: &mut TlsStream<Wire>) -> Result<Data, Fault> {
        Ok(Data::default())
    }
}
