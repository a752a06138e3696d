//! A slow link on loopback: a TCP proxy that delays bytes as a link with a given round-trip time
//! and bandwidth would. On loopback itself bytes cost almost nothing. On links they cost time, and
//! flights that are too large for TCP's first window cost round trips.
//!
//! ```
//! use std::net::{TcpListener, TcpStream};
//!
//! use shaper::{Link, Shaper};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = TcpListener::bind("127.0.0.1:0")?;
//! let link = Link { round_trip: Link::parse_round_trip("20ms")?, bits_per_second: None };
//! let shaper = Shaper::start(link, server.local_addr()?)?;
//! let _client = TcpStream::connect(shaper.address())?;
//! # Ok(())
//! # }
//! ```
//!
//! # Model
//!
//! - **Latency** is the round trip, as `ping` shows it: each direction takes half of it. There is
//!   no jitter.
//! - **Connecting** takes a round trip. The client's own `connect` returns at once, since the
//!   kernel answers it. In exchange, the client's data is held back by one round trip until it has
//!   heard from the server. So the time that a client spends between connecting and sending counts
//!   in full, and its first data arrives at least one and a half round trips after it began to
//!   connect. The proxy connects to the server after half a round trip, and holds back the server's
//!   data in the same way until the server has heard from the client.
//! - **Bandwidth** applies to each direction. All connections share it in the order in which
//!   segments leave. A segment of up to 1448 bytes has 66 bytes of headers (Ethernet, IPv4, TCP
//!   with time stamps). The end of a stream and a reset are segments without bytes.
//! - **Slow start**: the window begins with ten segments (RFC 6928) and grows by one for each
//!   segment that is acknowledged, as long as the sender uses it. Data that has no room in the
//!   window stays in the kernel's buffer, then in the sending program. The window grows up to twice
//!   what the link holds in a round trip, and to 4 MiB at most.
//! - **A receiver that takes nothing** stops the sender, as data that it does not take is not
//!   acknowledged.
//! - **Ends** arrive as ends, in order, one direction at a time, and resets as resets. If the
//!   server refuses, the client sees a reset a round trip after it began to connect, as its
//!   connection has already been accepted.
//!
//! Not modelled: losses, hence no window that shrinks; acknowledgements that take bandwidth or are
//! delayed; a window that starts again after a pause; Nagle's algorithm; TCP's own handshake in
//! bandwidth. The time to reach the server itself is added, so the server should be on loopback,
//! too.
//!
//! # Accuracy
//!
//! Nothing arrives before its time, and a late segment does not make later segments of a flight
//! late. `cargo run --release -p shaper --example accuracy` measured these low quartiles in several
//! runs on a virtual machine with two processors, busy with other work:
//!
//! - A round trip of 20 ms took 0.12 to 0.19 ms more. Of this, loopback and waking both programs
//!   take 0.03 to 0.08 ms without the link.
//! - Connecting and a round trip took 0.27 to 0.6 ms more than 40 ms.
//! - 290 kB at 10 Mbit/s took 0.28 to 0.31 ms more than 250.3 ms.
//!
//! One time in a hundred the delay was 2 to 10 ms, when other programs had the processors. So low
//! quartiles and medians can be trusted, high percentiles only on an idle machine. The link's
//! thread takes about 0.16 ms of processor time for each round trip.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod channel;
mod connection;
mod engine;
mod flow;
mod link;
mod window;

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::thread::{Builder, JoinHandle};

use engine::Engine;
pub use link::{InvalidLink, Link};

/// A link to one server. Dropping it ends the link and all connections through it.
pub struct Shaper {
    link: Link,
    address: SocketAddr,
    /// The thread ends when this is closed.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Shaper {
    /// Listens on a free port of 127.0.0.1 and connects to `upstream` for each connection there.
    ///
    /// # Errors
    /// The link's numbers are out of range, or the system has no free port, file descriptor or
    /// thread.
    pub fn start(link: Link, upstream: SocketAddr) -> io::Result<Self> {
        link.check()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let (stop, stopped) = UnixStream::pair()?;
        let engine = Engine::new(link, upstream, listener, stopped)?;
        let thread = Builder::new().name("shaper".into()).spawn(move || {
            if let Err(error) = engine.run() {
                let _ = writeln!(io::stderr(), "shaper: {error}");
            }
        })?;
        Ok(Shaper { link, address, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address for clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the link's parameters.
    pub fn link(&self) -> Link {
        self.link
    }
}

impl Drop for Shaper {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic has already been printed.
            let _ = thread.join();
        }
    }
}
