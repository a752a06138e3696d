//! The state of a TLS connection, as a value.

use std::fmt;

use crate::alert::Alert;
use crate::failure::Failure;
use crate::observer::Message;
use crate::tls::{Role, TlsVersion};

/// A negotiated group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The code point on the wire.
    pub id: u16,
    /// The name in libssl.
    pub name: Option<String>,
}

/// The state of a connection, as one side knows it.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The side of the connection.
    pub role: Role,
    /// True if this side has finished its handshake. The other side may still refuse it later: see
    /// `failure`.
    pub finished: bool,
    /// The first failure.
    pub failure: Option<Failure>,
    /// The alert sent last.
    pub alert_sent: Option<Alert>,
    /// The alert received last.
    pub alert_received: Option<Alert>,
    /// The protocol version; `None` before it is negotiated.
    pub version: Option<TlsVersion>,
    /// The cipher suite; `None` before it is negotiated.
    pub cipher: Option<String>,
    /// The group that the server chose; `None` before it has chosen.
    pub group: Option<Group>,
    /// True if the server asked the client for another ClientHello.
    pub hello_retry: bool,
    /// The first handshake messages, at most a few dozen.
    pub messages: Vec<Message>,
    /// The number of bytes taken from this side to be sent.
    pub bytes_sent: usize,
    /// The number of bytes fed to this side.
    pub bytes_received: usize,
}

impl Summary {
    /// True if the handshake was completed and nothing has failed since.
    pub fn is_ok(&self) -> bool {
        self.finished && self.failure.is_none()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.failure {
            Some(failure) => failure.fmt(f)?,
            None if self.finished => f.write_str("TLS handshake finished")?,
            None => f.write_str("TLS handshake not finished")?,
        }
        if let Some(alert) = self.alert_sent {
            write!(f, "; sent {alert}")?;
        }
        if let Some(alert) = self.alert_received {
            write!(f, "; received {alert}")?;
        }
        Ok(())
    }
}
