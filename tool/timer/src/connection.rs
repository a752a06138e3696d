//! One connection: TCP, handshake, workload, a clean end.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use openssl_runtime::{Error, PeerKey, Summary, TlsStream, TlsVersion};
use output::Failure;

use crate::client::Candidate;
use crate::endpoint::{Endpoint, in_words};
use crate::results::{MessageBytes, Series, Traffic};
use crate::wire::Wire;
use crate::workload::{Fault, Workload};

/// A client's settings, a server, and the workload of a connection.
pub struct Target<E> {
    /// The client's settings.
    pub candidate: Candidate,
    /// The server's address.
    pub endpoint: Endpoint,
    /// The name that the server's certificate is to be for, and that it is asked for (SNI).
    pub server_name: String,
    /// The exchange that follows the handshake.
    pub workload: E,
    /// Requests on a connection, for results.
    pub requests: Option<usize>,
    /// The time for which a server may send nothing.
    pub timeout: Duration,
    /// The server's processor time so far, if it can be told.
    pub server_seconds: Option<Box<dyn Fn() -> Option<f64> + Send + Sync>>,
}

const END: &str = "waiting for the server's end";

impl<E: Workload> Target<E> {
    /// A connection from its beginning to its end: how long it took.
    ///
    /// # Errors
    /// It failed, in words.
    pub(crate) fn make(&self) -> Result<Duration, Failure> {
        let start = Instant::now();
        let mut stream = self.handshake()?;
        self.workload.run(&mut stream).map_err(|fault| self.fault(fault))?;
        let workload_done = start.elapsed();
        self.part(stream)?;
        Ok(if self.workload.times_the_end() { start.elapsed() } else { workload_done })
    }

    /// Tries a connection that does not count.
    ///
    /// # Errors
    /// It failed, in words.
    pub fn try_once(&self) -> Result<(), Failure> {
        self.make().map(drop)
    }

    /// A connection that is looked at: what was negotiated, and what it carried.
    ///
    /// # Errors
    /// As [`Target::make`], or the protocol is not what is to be timed.
    pub(crate) fn preflight(&self) -> Result<Series, Failure> {
        let mut stream = self.handshake()?;
        let shaken = stream.summary();
        let key = stream.peer_key();
        let data = self.workload.run(&mut stream).map_err(|fault| self.fault(fault))?;
        stream.close().map_err(|error| self.failure("closing", error))?;
        // To the end, for what the server sends after the handshake; some servers end without a
        // word, but they end.
        if let Err(error) = io::copy(&mut stream, &mut io::sink())
            && matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
        {
            return Err(self.failure(END, error.into()));
        }
        let summary = stream.summary();
        if summary.version != Some(TlsVersion::Tls13) {
            return Err(Failure::new(format!(
                "{}: the server does not speak TLS 1.3",
                self.endpoint
            )));
        }
        let group = summary.group.as_ref();
        let id = group.map_or(0, |group| group.id);
        Ok(Series {
            label: self.candidate.label.clone(),
            requests: self.requests,
            group: name_of(id, group.and_then(|group| group.name.as_deref())),
            group_id: id,
            hello_retry: summary.hello_retry,
            certificate: key.map_or_else(|| "unknown".into(), certificate),
            traffic: Traffic {
                messages: summary.messages.iter().map(message).collect(),
                handshake_sent: shaken.bytes_sent,
                handshake_received: shaken.bytes_received,
                sent: summary.bytes_sent,
                received: summary.bytes_received,
                data_sent: data.sent,
                data_received: data.received,
            },
            samples: Vec::new(),
            first_failure: None,
        })
    }

    fn handshake(&self) -> Result<TlsStream<Wire>, Failure> {
        let wire = Wire::connect(self.endpoint.address(), self.timeout)
            .map_err(|error| self.failure("connecting", error.into()))?;
        TlsStream::new(&self.candidate.settings, wire, Some(&self.server_name))
            .map_err(|error| self.failure("handshake", error))
    }

    /// Says that no more will be sent, and waits until the server has closed: what it may send
    /// before that is of no interest. Who closes first keeps the port for a minute, so that is left
    /// to the server.
    fn part(&self, mut stream: TlsStream<Wire>) -> Result<(), Failure> {
        stream.close().map_err(|error| self.failure("closing", error))?;
        let mut wire = stream.into_inner();
        let mut rest = [0; 1024];
        loop {
            match wire.read(&mut rest) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(self.failure(END, error.into()));
                }
            }
        }
    }

    fn fault(&self, fault: Fault) -> Failure {
        match fault {
            Fault::Connection(error) => self.failure("request", error.into()),
            Fault::Answer(failure) => Failure::new(format!("{}: {failure}", self.endpoint)),
        }
    }

    fn failure(&self, during: &str, error: Error) -> Failure {
        let endpoint = &self.endpoint;
        match error {
            Error::Io(error) => {
                Failure::new(format!("{endpoint}: {during}: {}", in_words(&error, self.timeout)))
            }
            Error::Handshake(summary) => {
                Failure::new(format!("{endpoint}: {}", self.refusal(&summary)))
            }
            other => Failure::new(format!("{endpoint}: {during}: {other}")),
        }
    }

    /// A handshake that came to nothing; what is told of it names the groups, as they are most
    /// often the reason.
    fn refusal(&self, summary: &Summary) -> String {
        let ended = summary.bytes_received == 0 && summary.alert_received.is_none();
        if ended {
            return "the server closed the connection without a word of TLS".into();
        }
        format!("{summary} (offered: {})", self.candidate.label)
    }
}

/// libssl's name, if it has one, else ours.
fn name_of(id: u16, libssls: Option<&str>) -> String {
    let ours = kex::TLS_GROUPS.iter().find(|group| group.code_point == id);
    match (ours, libssls) {
        (Some(group), _) => group.name.into(),
        // OpenSSL 3.0 calls it by the curve.
        (None, Some("secp256r1")) => "P-256".into(),
        (None, Some("x25519")) => "X25519".into(),
        (None, Some(name)) => name.into(),
        (None, None) => format!("{id:#06x}"),
    }
}

fn certificate(key: PeerKey) -> String {
    match key.algorithm.as_str() {
        "RSA" => format!("RSA-{}", key.bits),
        "EC" => format!("ECDSA P-{}", key.bits),
        "ED25519" => "Ed25519".into(),
        "ED448" => "Ed448".into(),
        other => other.into(),
    }
}

/// RFC 8446, appendix B.3.
fn message(message: &openssl_runtime::Message) -> MessageBytes {
    let name = match message.kind {
        1 => "ClientHello",
        2 => "ServerHello",
        4 => "NewSessionTicket",
        8 => "EncryptedExtensions",
        11 => "Certificate",
        13 => "CertificateRequest",
        15 => "CertificateVerify",
        20 => "Finished",
        24 => "KeyUpdate",
        25 => "CompressedCertificate",
        _ => "another message",
    };
    MessageBytes { name: name.into(), sent: message.sent, bytes: message.bytes }
}
