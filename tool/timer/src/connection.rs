//! One connection: TCP, handshake, workload and shutdown.

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
    /// The name for SNI and for the check of the server's certificate.
    pub server_name: String,
    /// The exchange that follows the handshake.
    pub workload: E,
    /// The number of requests on a connection, for results.
    pub requests: Option<usize>,
    /// The maximum time without data from the server.
    pub timeout: Duration,
    /// A function that returns the server's processor time so far, in seconds; `None` if it is not
    /// known.
    pub server_seconds: Option<Box<dyn Fn() -> Option<f64> + Send + Sync>>,
}

const END: &str = "waiting for the server's end";

impl<E: Workload> Target<E> {
    /// Makes a connection from its beginning to its end, and returns its duration.
    ///
    /// # Errors
    /// The connection failed; the error is a message for the user.
    pub(crate) fn make(&self) -> Result<Duration, Failure> {
        let start = Instant::now();
        let mut stream = self.handshake()?;
        self.workload.run(&mut stream).map_err(|fault| self.fault(fault))?;
        let workload_done = start.elapsed();
        self.part(stream)?;
        Ok(if self.workload.times_the_end() { start.elapsed() } else { workload_done })
    }

    /// Makes a connection that is not counted.
    ///
    /// # Errors
    /// The connection failed; the error is a message for the user.
    pub fn try_once(&self) -> Result<(), Failure> {
        self.make().map(drop)
    }

    /// Makes a connection and records the negotiated parameters and the traffic.
    ///
    /// # Errors
    /// As for [`Target::make`], or the server does not speak TLS 1.3.
    pub(crate) fn preflight(&self) -> Result<Series, Failure> {
        let mut stream = self.handshake()?;
        let shaken = stream.summary();
        let key = stream.peer_key();
        let data = self.workload.run(&mut stream).map_err(|fault| self.fault(fault))?;
        stream.close().map_err(|error| self.failure("closing", error))?;
        // Reads to the end, to count the server's messages after the handshake. Some servers end
        // without a close_notify alert, so other errors do not matter.
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

    /// Closes the sending direction, and waits until the server has closed. Ignores any data that
    /// the server sends before that. The side that closes first keeps the port for a minute, so the
    /// server shall be that side.
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

    /// Describes a failed handshake. The text names the offered groups, because they are the most
    /// frequent reason.
    fn refusal(&self, summary: &Summary) -> String {
        let ended = summary.bytes_received == 0 && summary.alert_received.is_none();
        if ended {
            return "the server closed the connection without a word of TLS".into();
        }
        format!("{summary} (offered: {})", self.candidate.label)
    }
}

/// Returns the name in our tables of groups, otherwise libssl's name, otherwise the code point.
fn name_of(id: u16, libssls: Option<&str>) -> String {
    let name = kex::group_name(id).or(libssls);
    name.map_or_else(|| kex::shown_group(id), str::to_owned)
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

/// Returns the size and name of a handshake message (RFC 8446, appendix B.3).
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
