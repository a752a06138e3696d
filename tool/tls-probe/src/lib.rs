//! Finds out what a TLS server takes, from the first messages of handshakes: which groups, in which
//! order of preference, whether it asks for another key share, and whether a ClientHello arrives
//! that needs more than one TCP segment.
//!
//! A server names the group of a connection in plain text, in its ServerHello or HelloRetryRequest
//! (RFC 8446, section 4.2.8). So no handshake is finished, and nothing is encrypted or
//! authenticated. [`ClientHello`] makes a ClientHello with any groups and key shares, [`Target`]
//! delivers it, whole or in pieces, and [`read_answer`] reads what comes back. [`Survey`] asks all
//! of the questions, one connection after the other.
//!
//! A server may send anything. All lengths are checked, and what is kept of an answer is bounded in
//! size and in time.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod answer;
mod client_hello;
mod connection;
mod preference;
mod share;
mod start_tls;
mod survey;

pub use answer::{Answer, Nonsense, ServerHello, read_answer};
pub use client_hello::{ClientHello, TooLong, Versions};
pub use connection::{Outcome, Target};
pub use preference::{Order, Tiers};
pub use share::{Share, key_share};
pub use start_tls::StartTls;
pub use survey::{Delivery, Given, Groups, Keeps, Survey, Surveyed};

/// The number of TLS 1.3 on the wire.
pub const TLS_1_3: u16 = 0x0304;
/// The number of TLS 1.2 on the wire.
pub const TLS_1_2: u16 = 0x0303;
