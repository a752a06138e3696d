//! Key encapsulation ([`Kem`]) and key exchange ([`KeyExchange`]) behind one trait each, hybrids of the two ([`Hybrid`]), and the
//! one table of TLS groups ([`TLS_GROUPS`]).
//!
//! All outputs go to the caller's buffers, whose sizes are the traits' constants, so that nothing secret is copied on its way.

#![forbid(unsafe_code)]

mod error;
mod groups;
mod hybrid;
mod sntrup_kem;
mod traits;
mod x25519;

pub use error::Error;
pub use groups::{
    CODE_POINTS, GroupVisitor, OID_ROOT, TLS_GROUPS, TlsGroup, TlsKem, group_named, visit_groups,
};
pub use hybrid::{Ephemeral, Hybrid};
pub use lanes::{Backend, BackendError};
pub use sntrup_kem::Sntrup;
pub use traits::{Kem, KeyExchange, KeyPair, Storable};
pub use x25519::{Secret as X25519Secret, X25519};
