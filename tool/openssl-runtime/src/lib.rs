//! A safe interface to the stock libssl and libcrypto, OpenSSL 3.0 to 4.x, which are found and
//! loaded at run time. For clients and servers with ENGINEs it also supports OpenSSL 1.1.1:
//! [`Libraries::is_legacy`].
//!
//! The program does not link to OpenSSL when it is built, and needs no headers and no generated
//! bindings. [`Libraries`] finds the system's OpenSSL or opens another one. A [`LibraryContext`]
//! holds providers and configuration. A [`Key`] is a key of any algorithm that those providers
//! know. [`SslContext`] and [`MemoryConnection`] do TLS in memory, and [`handshake_in_memory`] and
//! [`wire`] let a test tamper with it. [`TlsStream`] does TLS over a socket.
//!
//! ```
//! use openssl_runtime::{
//!     Certificate, KeyType, Libraries, LibraryContext, SslContext, handshake_in_memory,
//! };
//!
//! # fn main() -> Result<(), openssl_runtime::Error> {
//! # if Libraries::system().is_err() { return Ok(()); }
//! let context = LibraryContext::new(&Libraries::system()?)?;
//! context.load_provider("default")?.keep();
//! let certificate = Certificate::self_signed(&context, KeyType::EcP256, &["localhost"])?;
//! let server = SslContext::server(&context, &certificate)?.groups("X25519")?.build();
//! let client = SslContext::client(&context)?.trust(&certificate)?.build();
//! let report = handshake_in_memory(&client, &server, &mut |_, _| {})?;
//! assert_eq!(report.client.group.map(|group| group.id), Some(0x001D));
//! # Ok(())
//! # }
//! ```
//!
//! Every failure carries the text of OpenSSL's error queue. Loaded modules and libraries run as
//! part of the program, with its rights. The guarantees of safe Rust do not apply to them, and this
//! crate trusts that they follow OpenSSL's documented interfaces.

#![cfg(unix)]

mod absent;
mod alert;
mod algorithm;
mod bio;
mod c_string;
mod certificate;
mod connection;
mod constants;
mod context;
mod error;
mod failure;
mod handshake;
mod inside;
mod key;
mod key_encoding;
mod key_operation;
mod legacy;
mod library;
mod observer;
mod owned;
mod parameter;
#[cfg(test)]
mod probe;
mod provider;
mod provider_loading;
mod raw_context;
mod secret;
mod stream;
mod summary;
mod symbols;
mod thread_use;
mod tls;
mod tls_context;
mod types;
pub mod wire;

pub use alert::Alert;
pub use algorithm::{Algorithm, Operation};
pub use certificate::{Certificate, KeyType};
pub use connection::{MemoryConnection, PeerKey, Progress, Received};
pub use context::LibraryContext;
pub use error::Error;
pub use failure::{Failure, QueueEntry};
pub use handshake::{Direction, HandshakeReport, InMemoryHandshake, handshake_in_memory};
pub use inside::{count_time_inside, time_inside};
pub use key::{Check, Key, Selection};
pub use key_encoding::{Format, Structure};
pub use library::{Libraries, Version};
pub use observer::Message;
pub use parameter::{ProviderValue, Value};
pub use provider::{Provider, ProviderInfo, TlsGroup};
pub use secret::Secret;
pub use stream::TlsStream;
pub use summary::{Group, Summary};
pub use tls::{Role, TlsVersion};
pub use tls_context::{SslContext, SslContextBuilder};
