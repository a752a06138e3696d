//! Times connections to any server: full TLS 1.3 handshakes (OpenSSLNTRU, section 4.4), DNS over TLS (ENG25519, section 4.4), HTTP (the AWS
//! benchmark of hybrid key exchange).
//!
//! A [`Trip`] is who goes where and what for; an [`Errand`] is what is done there after the handshake. [`run`] takes samples of several
//! trips in turns, [`search`] looks for the most that a server can take, [`own_time`] tells what the tool adds itself. Connections are full
//! handshakes: no session is kept.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod client;
mod connection;
mod dns;
mod errand;
mod http;
mod own_time;
mod peak;
mod processor;
pub mod results;
mod runner;
mod target;
mod wire;

pub use client::{Candidate, Client, Trust, libraries, taken_apart};
pub use connection::Trip;
pub use dns::DnsQuery;
pub use errand::{Data, Errand, Fault, Handshake};
pub use http::{HttpRequests, Page};
pub use own_time::{OwnTime, own_time};
pub use peak::{Found, Search, search};
pub use runner::{Ended, Watch, run};
pub use target::Target;
pub use wire::Wire;
