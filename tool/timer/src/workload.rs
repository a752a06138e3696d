//! Workloads: the exchange on a connection after the handshake.

use std::io;

use openssl_runtime::TlsStream;
use output::Failure;

use crate::wire::Wire;

/// An exchange of application data.
pub trait Workload: Sync {
    /// Performs it; returns the bytes of application data that were sent and received.
    ///
    /// # Errors
    /// The connection failed, or the answer is wrong.
    fn run(&self, stream: &mut TlsStream<Wire>) -> Result<Data, Fault>;

    /// Whether the time of a connection includes its end, else it is over when the workload is.
    fn times_the_end(&self) -> bool {
        true
    }
}

/// Bytes of application data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Before encryption.
    pub sent: usize,
    /// After decryption.
    pub received: usize,
}

/// The failure of a connection.
#[derive(Debug)]
pub enum Fault {
    /// TLS or the socket failed.
    Connection(io::Error),
    /// The answer is not one to the request.
    Answer(Failure),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

/// Nothing: the handshake is what is timed.
#[derive(Clone, Copy, Debug)]
pub struct Handshake;

impl Workload for Handshake {
    fn run(&self, _: &mut TlsStream<Wire>) -> Result<Data, Fault> {
        Ok(Data::default())
    }
}
