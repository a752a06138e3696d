//! Times connections to any server: full TLS 1.3 handshakes (OpenSSLNTRU, section 4.4), DNS over
//! TLS (ENG25519, section 4.4), HTTP (the AWS benchmark of hybrid key exchange).
//!
//! A [`Target`] is a client's settings, a server and a [`Workload`], which follows the handshake.
//! [`run`] takes samples of several targets in turns, [`search`] searches the maximum load of a
//! server, and [`own_time`] measures the time that the tool itself adds. Connections are full
//! handshakes: no session is kept. [`handshake_costs`] measures the processor time of handshakes
//! without any server.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod client;
mod connection;
mod dns;
mod endpoint;
mod http;
mod in_process;
mod label;
mod own_time;
mod peak;
mod processor;
pub mod results;
mod runner;
mod wire;
mod workload;

pub use client::{Candidate, Client, Trust, libraries};
pub use connection::Target;
pub use dns::DnsQuery;
pub use endpoint::Endpoint;
pub use http::{HttpRequests, Page};
pub use in_process::{Cost, Sides, handshake_costs};
pub use label::Label;
pub use own_time::{OwnTime, own_time};
pub use peak::{Found, Search, search};
pub use runner::{Ended, Watch, run};
pub use wire::Wire;
pub use workload::{Data, Fault, Handshake, Workload};
