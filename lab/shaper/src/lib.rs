//! A slow link on loopback: a TCP proxy through which bytes take the time that they would take on a link with a given round-trip
//! time and bandwidth. On loopback itself bytes cost next to nothing; on links they cost time, and flights that are
//! too large for TCP's first window cost round trips.
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
//! # What is modelled
//!
//! - **Latency** is the round trip, as `ping` shows it: each direction takes half of it. There is no jitter.
//! - **Connecting** takes a round trip. The client's own `connect` returns at once, since the kernel answers it; in exchange, what the
//!   client sends is held back by one round trip until it has heard from the server. So time that a client spends between connecting
//!   and sending counts in full, and what it sends first arrives at least one and a half round trips after it began to connect. The server's
//!   side is connected to after half a round trip, and what a server sends before it has heard from the client is held back likewise.
//! - **Bandwidth** is that of each direction, shared by all connections in the order in which segments leave. A segment of up to 1448
//!   bytes has 66 bytes of headers (Ethernet, IPv4, TCP with time stamps); the end of a stream and a reset are segments without bytes.
//! - **Slow start**: ten segments at first (RFC 6928), one more for each that is acknowledged as long as the window is made use of. What
//!   has no room in the window stays in the kernel's buffer, then in the program that sends. The window grows up to twice what the
//!   link holds in a round trip, and to 4 MiB at most.
//! - **A receiver that takes nothing** stops the sender, as what it does not take is not acknowledged.
//! - **Ends** arrive as ends, in order, one direction at a time; resets as resets. A server that refuses is a reset a round trip
//!   after the client began to connect, as there is no other way to tell a client that has been accepted.
//!
//! Not modelled: losses, hence no window that shrinks; acknowledgements that take bandwidth or are delayed; a window that starts
//! again after a pause; Nagle's algorithm; TCP's own handshake in bandwidth. What it takes to reach the server itself comes on top, so it
//! should be on loopback, too.
//!
//! # How accurate it is
//!
//! Nothing arrives before its time, and what was late does not make later segments of a flight late. On a virtual machine with two
//! processors, busy with other work (`cargo run --release -p shaper --example accuracy`; low quartiles of several runs): a round trip
//! of 20 ms took 0.12 to 0.19 ms more, of which 0.03 to 0.08 are what loopback and waking both programs take without the link; connecting
//! and a round trip 0.27 to 0.6 ms more than 40; 290 kB at 10 Mbit/s 0.28 to 0.31 ms more than 250.3. One time in a hundred it was 2
//! to 10 ms, when other programs had the processors: low quartiles and medians can be trusted, high percentiles only on an idle
//! machine. The link's thread takes about 0.16 ms of processor time a round trip.

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

/// A link to one server. It goes, with all connections through it, when this is dropped.
pub struct Shaper {
    link: Link,
    address: SocketAddr,
    /// The thread ends when this is closed.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Shaper {
    /// Listens on a free port of 127.0.0.1, and connects to `upstream` for each connection there.
    ///
    /// # Errors
    /// The link's numbers are out of range; or there is no port, file descriptor or thread to be had.
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

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What is modelled.
    pub fn link(&self) -> Link {
        self.link
    }
}

impl Drop for Shaper {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been printed.
            let _ = thread.join();
        }
    }
}
