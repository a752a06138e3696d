//! Key encapsulation ([`Kem`]) and key exchange ([`KeyExchange`]) behind one trait each, hybrids of
//! the two ([`Hybrid`]), and the one table of TLS groups ([`TLS_GROUPS`]).
//!
//! All outputs are written to the caller's buffers, whose sizes are constants of the traits, so
//! that no secret is copied on its way.
//!
//! ```
//! use kex::{Backend, Hybrid, Kem, KeyPair, Sntrup, X25519};
//! use sntrup::Sntrup761;
//!
//! type Group = Hybrid<Sntrup<Sntrup761>, X25519>;
//! let (backend, random) = (Backend::best(), &mut getrandom::SysRng);
//!
//! // The client's key share.
//! let client = KeyPair::<Group>::generate(backend, random)?;
//! let mut share = [0; Group::PUBLIC_KEY_BYTES];
//! Group::write_public_key(&client.public, &mut share);
//!
//! // The server's answer, and its secret.
//! let public = Group::read_public_key(backend, &share)?;
//! let mut answer = [0; Group::CIPHERTEXT_BYTES];
//! let mut ours = [0; Group::SHARED_SECRET_BYTES];
//! Group::encapsulate(&public, backend, random, &mut answer, &mut ours)?;
//!
//! // The client's secret is the same.
//! let mut theirs = [0; Group::SHARED_SECRET_BYTES];
//! client.decapsulate(backend, &answer, &mut theirs)?;
//! assert_eq!(ours, theirs);
//! # Ok::<(), kex::Error>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod groups;
mod hybrid;
mod libraries;
mod nist;
mod other_groups;
mod traits;
mod x25519;

pub use error::Error;
pub use groups::{
    GroupVisitor, Identifier, PRIVATE_CODE_POINTS, RECOMMENDED_GROUPS, TLS_GROUPS, TlsGroup,
    TlsKem, UUID, group_named, visit_groups,
};
pub use hybrid::{Ephemeral, ExchangeFirst, Hybrid, KemFirst, Order};
pub use lanes::{Backend, BackendError};
pub use libraries::{MlKem, Sntrup};
pub use nist::{Curve, Ecdh, P256, P384, Point, Scalar};
pub use other_groups::{
    OTHER_GROUPS, OtherGroup, code_point_named, group_name, is_post_quantum, shown_group,
};
pub use traits::{ExchangePart, Kem, KeyExchange, KeyPair, Storable};
pub use x25519::{Secret as X25519Secret, X25519};
