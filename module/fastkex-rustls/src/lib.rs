//! fastkex's TLS groups for rustls: ML-KEM alone and with X25519, P-256 or P-384, and Streamlined
//! NTRU Prime alone and with X25519.
//!
//! rustls takes everything else from the application's own [`CryptoProvider`]: ciphers, signatures,
//! random bytes. [`with_groups`] puts the groups that most applications need before those of the
//! provider, [`with`] any others.
//!
//! ```
//! use rustls::{ClientConfig, RootCertStore};
//!
//! let provider = fastkex_rustls::with_groups(rustls::crypto::ring::default_provider());
//! assert_eq!(provider.kx_groups[0].name(), rustls::NamedGroup::X25519MLKEM768);
//!
//! let config = ClientConfig::builder_with_provider(provider.into())
//!     .with_safe_default_protocol_versions()?
//!     .with_root_certificates(RootCertStore::empty())
//!     .with_no_client_auth();
//! # drop(config);
//! # Ok::<(), rustls::Error>(())
//! ```
//!
//! **Choice of group.** A client sends a key share of the first group in its list. If that group is
//! a hybrid, such as with X25519, and the list has X25519 as well, rustls sends the hybrid's X25519
//! share as a second one, so a server without the hybrid needs no further round trip. A server
//! takes the first group of the client's list that it has. All groups are for TLS 1.3 only.
//!
//! **Pools.** Key shares come from pools ([`keypool`]), one set for each process. Each share is
//! used once. Stock is zero in a child of fork, which makes its own. [`configure`] changes the
//! settings.
//!
//! **Secrets.** Keys and shared secrets lie in protected memory and are erased after use. rustls
//! copies each shared secret to ordinary memory of its own and erases this copy
//! ([`rustls::crypto::SharedSecret`]).
//!
//! **Errors.** A share that no honest peer sends is [`PeerMisbehaved::InvalidKeyShare`], and the
//! peer gets the alert illegal_parameter. [`rustls::Error::FailedToGetRandomBytes`] means that the
//! operating system has no random bytes.
//!
//! The groups are not validated for FIPS: with them, [`CryptoProvider::fips`] is false.
//!
//! [`PeerMisbehaved::InvalidKeyShare`]: rustls::PeerMisbehaved::InvalidKeyShare

#![forbid(unsafe_code)]

mod exchange;
mod group;
mod pools;

pub use group::{group_named, groups, kx_group, recommended_groups};
pub use keypool::{Batch, Refill, Settings};
pub use pools::{SettingsError, configure, flush};

use rustls::crypto::{CryptoProvider, SupportedKxGroup};

/// The provider with the [`recommended_groups`] before its own groups.
pub fn with_groups(provider: CryptoProvider) -> CryptoProvider {
    with(provider, recommended_groups())
}

/// The provider with these groups, in this order, before its own. Later groups of the same name are
/// left out.
///
/// ```
/// use fastkex_rustls::kx_group::{X25519MLKEM768, X25519SNTRUP761};
///
/// let provider = rustls::crypto::ring::default_provider();
/// let provider = fastkex_rustls::with(provider, [X25519SNTRUP761, X25519MLKEM768]);
/// assert_eq!(provider.kx_groups[0].name(), rustls::NamedGroup::Unknown(0xFEE9));
/// ```
pub fn with(
    mut provider: CryptoProvider,
    groups: impl IntoIterator<Item = &'static dyn SupportedKxGroup>,
) -> CryptoProvider {
    let own = core::mem::take(&mut provider.kx_groups);
    for group in groups.into_iter().chain(own) {
        if provider.kx_groups.iter().all(|other| other.name() != group.name()) {
            provider.kx_groups.push(group);
        }
    }
    provider
}

/// Compiles the examples of the document.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rustls.md")]
struct Document;
