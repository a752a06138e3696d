//! Servers with name, port and address.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use output::Failure;

/// A server. Its address is looked up once, so that the measured time does not include the name
/// service.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The host as it was given.
    host: String,
    port: u16,
    address: SocketAddr,
}

impl Endpoint {
    /// Looks up `HOST:PORT` and takes the first of its addresses that accepts a connection. The
    /// name service may take `timeout`, each address too, and all addresses twice `timeout`.
    ///
    /// # Errors
    /// The text does not have that form, the host is not known, or none of its addresses accepts a
    /// connection in time.
    pub fn find(text: &str, timeout: Duration) -> Result<Self, Failure> {
        let (host, port) = split(text)?;
        Self::at(host, port, timeout)
    }

    /// Does the same as [`Endpoint::find`], with host and port as separate arguments.
    ///
    /// # Errors
    /// The same as [`Endpoint::find`].
    pub fn at(host: &str, port: u16, timeout: Duration) -> Result<Self, Failure> {
        let name = format!("{host}:{port}");
        let addresses = look_up(host, port, timeout);
        let addresses =
            addresses.map_err(|error| Failure::about(&name)(in_words(&error, timeout)))?;
        let give_up = Instant::now() + 2 * timeout;
        let mut last = None;
        for address in addresses {
            let left = give_up.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match TcpStream::connect_timeout(&address, left.min(timeout)) {
                Ok(_) => return Ok(Self { host: host.into(), port, address }),
                Err(error) => last = Some(error),
            }
        }
        Err(Failure::new(match last {
            Some(error) => format!("{name}: {}", in_words(&error, timeout)),
            None => format!("{name}: the host has no address"),
        }))
    }

    /// Returns the same server with another address for connections, such as the address of a
    /// proxy. Certificates and requests still name the original server.
    pub fn by_way_of(self, address: SocketAddr) -> Self {
        Self { address, ..self }
    }

    /// Returns the name or address of the host, as it was given.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the address for connections.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            return write!(f, "[{}]:{}", self.host, self.port);
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Asks the name service, which has time limits of its own that can be long.
fn look_up(host: &str, port: u16, timeout: Duration) -> io::Result<Vec<SocketAddr>> {
    let host = host.to_owned();
    let (sender, receiver) = mpsc::channel();
    // A thread that is still waiting ends with the process.
    thread::spawn(move || {
        let found = (host.as_str(), port).to_socket_addrs().map(Vec::from_iter);
        let _ = sender.send(found);
    });
    let found = receiver.recv_timeout(timeout);
    found.unwrap_or_else(|_| Err(io::Error::other("the name service does not answer in time")))
}

/// Splits host and port; an IPv6 address stands in brackets.
fn split(text: &str) -> Result<(&str, u16), Failure> {
    let wrong = || {
        Failure::new(format!(
            "'{text}' is no server: expected HOST:PORT, such as example.org:443 or [::1]:853"
        ))
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').ok_or_else(wrong)?,
        None if host.contains(':') => return Err(wrong()),
        None => host,
    };
    match port.parse() {
        Ok(port @ 1..) if !host.is_empty() => Ok((host, port)),
        _ => Err(wrong()),
    }
}

/// Describes a socket's error. Timeouts get a message of their own, because the system's message
/// says little.
pub(crate) fn in_words(error: &io::Error, timeout: Duration) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("no answer within {} s", timeout.as_secs_f64())
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(5);

    #[test]
    fn servers_are_host_and_port() {
        assert_eq!(split("example.org:443").unwrap(), ("example.org", 443));
        assert_eq!(split("[::1]:853").unwrap(), ("::1", 853));
        for wrong in ["example.org", ":443", "a:b", "a:0", "a:65536", "::1:443", "[::1:443", ""] {
            let message = split(wrong).unwrap_err().to_string();
            assert!(message.contains("expected HOST:PORT"), "{message}");
        }
    }

    #[test]
    fn a_server_is_there_or_not() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let endpoint = Endpoint::find(&format!("localhost:{port}"), TIMEOUT).unwrap();
        assert_eq!((endpoint.address().port(), endpoint.host()), (port, "localhost"));
        drop(listener);
        let message =
            Endpoint::find(&format!("127.0.0.1:{port}"), TIMEOUT).unwrap_err().to_string();
        assert!(message.contains("refused"), "{message}");
        let message = Endpoint::find("no-such-host.invalid:443", TIMEOUT).unwrap_err().to_string();
        assert!(message.starts_with("no-such-host.invalid:443: "), "{message}");
    }
}
