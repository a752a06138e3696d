//! Installed programs in a temporary folder, and servers on loopback: setup, processor time,
//! teardown.
//!
//! A [`Stage`] is a folder and the processes in it. A [`Set`] adds what the servers share:
//! certificates, the module, a processor to run on. Each start function starts one kind of server
//! with a port for each [`Offer`], and returns the [`Listening`] ports once they answer. Dropping
//! the set ends the processes and removes the folder. A [`Browser`] in a stage loads pages and
//! tells the group of their connection.
//!
//! ```no_run
//! use openssl_runtime::{KeyType, Libraries};
//! use testbed::{Offer, Set, Started};
//!
//! # fn main() -> Result<(), output::Failure> {
//! let libraries = Libraries::system().map_err(output::Failure::new)?;
//! let set = Set::new(&libraries, "fastkex.so".as_ref(), "fastkex".as_ref())?;
//! let set = set.on(testbed::processor::last());
//! let stock = Offer::new("X25519");
//! let offers = [stock.clone(), stock.with_fastkex(), Offer::new("sntrup761")];
//! match testbed::nginx(&set, KeyType::Rsa2048, &offers)? {
//!     Started::Listening(servers) => {
//!         let before = servers[0].seconds();
//!         // Connect to 127.0.0.1:{servers[0].port} and trust the certificate,
//!         // set.certificate(KeyType::Rsa2048)?.certificate.
//!         # let _ = before;
//!     }
//!     Started::Absent(why) => eprintln!("left out: {why}"),
//! }
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod apache;
mod backend;
mod browser;
mod configuration;
mod counts;
mod haproxy;
pub mod minimal;
mod nginx;
mod proc;
pub mod processor;
mod server;
mod set;
mod stage;
mod stunnel;
mod unbound;
mod user;
mod version;

use std::net::{Ipv4Addr, Ipv6Addr, TcpStream};
use std::path::PathBuf;

pub use apache::{BASE as APACHE, start as apache};
pub use browser::{Browser, BrowserKind, Loaded};
pub use configuration::preference;
pub use counts::{Purpose, keys_taken};
pub use haproxy::{before as haproxy_before, start as haproxy};
pub use nginx::start as nginx;
pub use proc::{children, is_running, resident_bytes};
pub use set::{CertificateFiles, Set};
pub use stage::{
    Finished, Server, Signal, Stage, free_port_list, free_ports, interrupts, is_installed, wait_for,
};
pub use stunnel::{OwnStunnel, start as stunnel, start_own as own_stunnel};
pub use unbound::{program as unbound_program, start as unbound};
pub use user::{for_this_user, is_root};

/// The host name in every certificate, besides 127.0.0.1.
pub const SERVER_NAME: &str = "localhost";
/// The only name that unbound answers.
pub const DNS_NAME: &str = "example.test";
/// Its A record: an address of RFC 5737, for documentation.
pub const DNS_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Its AAAA record: an address of RFC 3849.
pub const DNS_ADDRESS_6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// The groups that one port accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Groups, as in OpenSSL's lists.
    pub groups: String,
    /// True if fastkex computes X25519 and Ed25519 on any machine, false if OpenSSL does.
    pub uses_fastkex: bool,
}

/// A server, or a program between it and the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name and version: `nginx 1.22.1`.
    pub name: String,
    /// The processes that were started. Their children, such as workers, are looked up at each
    /// query.
    pub processes: Vec<u32>,
}

/// A port that accepts connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listening {
    /// The groups that the port accepts.
    pub offer: Offer,
    /// The port on 127.0.0.1.
    pub port: u16,
    /// The TLS server. Several ports may share its processes.
    pub tls: Program,
    /// The version of the TLS server's OpenSSL: `3.0.22`.
    pub openssl: String,
    /// The TLS server's output. Several ports may share it.
    pub log: PathBuf,
    /// Programs in front of the TLS server and behind it, in order from the client.
    pub others: Vec<Program>,
}

/// The result of starting a server.
#[derive(Clone, Debug)]
pub enum Started {
    /// One port for each offer, in their order.
    Listening(Vec<Listening>),
    /// The program is not installed. Holds a line that names its package.
    Absent(String),
}

impl Offer {
    /// Makes an offer of these groups, with X25519 and Ed25519 by OpenSSL.
    pub fn new(groups: impl Into<String>) -> Self {
        Self { groups: groups.into(), uses_fastkex: false }
    }

    /// Makes the same offer with X25519 and Ed25519 by fastkex.
    pub fn with_fastkex(self) -> Self {
        Self { uses_fastkex: true, ..self }
    }
}

impl Program {
    /// Returns the processor time of all its processes so far, in seconds, or `None` if a started
    /// process has ended.
    pub fn seconds(&self) -> Option<f64> {
        let mut seconds = 0.0;
        for &process in &self.processes {
            seconds += processor::seconds_of(process)?;
            // A child that ends during the query is not counted, like children that ended earlier.
            seconds += children(process).into_iter().filter_map(processor::seconds_of).sum::<f64>();
        }
        Some(seconds)
    }
}

impl Program {
    /// Returns its running processes, children included.
    pub fn all_processes(&self) -> Vec<u32> {
        let each = |&process: &u32| [process].into_iter().chain(children(process));
        self.processes.iter().flat_map(each).collect()
    }
}

impl Listening {
    /// Returns the processor time of the TLS server so far, in seconds, like [`Program::seconds`].
    /// Ports that share processes share this time.
    pub fn seconds(&self) -> Option<f64> {
        self.tls.seconds()
    }

    /// Returns all programs with their versions, the TLS server first.
    pub fn programs(&self) -> Vec<String> {
        [&self.tls].into_iter().chain(&self.others).map(|program| program.name.clone()).collect()
    }
}

/// Returns true if a port on loopback accepts connections.
fn answers(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}
