//! The two algorithms, X25519 and Ed25519, and their key pairs.

use core::ffi::CStr;

use curve25519::{ed25519, x25519};
use kex::{Backend, Error, KeyExchange, X25519Secret};
use random::OperationRandom;
use secret::Secret;

use crate::context::Provider;

/// Size of a public key and of a secret key in bytes.
pub(super) const KEY_BYTES: usize = 32;

/// One of the two algorithms, as key management sees it.
pub(crate) trait Scheme: 'static {
    const NAME: &'static str;
    /// The default provider's names. With other names libcrypto would take it for another
    /// algorithm.
    const NAMES: &'static CStr;
    /// Number of the RFC that defines it.
    const RFC: u32;
    const BITS: u32;
    /// Size of a shared secret or a signature in bytes.
    const MAX_SIZE: u32;
    /// True for key exchange, false for signatures.
    const EXCHANGES: bool;

    /// A key pair; erased on drop.
    type Pair: Send + Sync;

    fn generate(provider: &Provider) -> Result<Self::Pair, Error>;

    /// The key pair of a secret key.
    fn pair(backend: Backend, secret: &[u8; KEY_BYTES]) -> Self::Pair;

    fn public(pair: &Self::Pair) -> &[u8; KEY_BYTES];

    /// Calls `work` with the secret key.
    fn with_secret<R>(pair: &Self::Pair, work: impl FnOnce(&[u8; KEY_BYTES]) -> R) -> R;
}

/// Security strength of both in bits.
pub(super) const SECURITY_BITS: u32 = 128;

pub(crate) struct X25519;

impl Scheme for X25519 {
    const NAME: &'static str = "X25519";
    const NAMES: &'static CStr = c"X25519:1.3.101.110";
    const RFC: u32 = 7748;
    const BITS: u32 = 253;
    const MAX_SIZE: u32 = x25519::SHARED_SECRET_BYTES as u32;
    const EXCHANGES: bool = true;

    type Pair = ExchangePair;

    fn generate(provider: &Provider) -> Result<ExchangePair, Error> {
        provider.pools.exchanges().take().map(ExchangePair::Generated)
    }

    fn pair(backend: Backend, secret: &[u8; KEY_BYTES]) -> ExchangePair {
        let secret = x25519::SecretKey::from_bytes(secret);
        ExchangePair::Own(x25519::KeyPair { public: x25519::public_key(backend, &secret), secret })
    }

    fn public(pair: &ExchangePair) -> &[u8; KEY_BYTES] {
        match pair {
            ExchangePair::Generated(pair) => &pair.public().0,
            ExchangePair::Own(pair) => &pair.public.0,
        }
    }

    fn with_secret<R>(pair: &ExchangePair, work: impl FnOnce(&[u8; KEY_BYTES]) -> R) -> R {
        match pair {
            ExchangePair::Generated(pair) => {
                let mut bytes = Secret::<[u8; KEY_BYTES]>::zeroed();
                kex::X25519::write_secret(pair, &mut *bytes);
                // Clamped, as the default provider exports it; the public key stays the same.
                clamp(&mut bytes);
                work(&bytes)
            }
            ExchangePair::Own(pair) => work(pair.secret.as_bytes()),
        }
    }
}

/// A key pair for key exchange.
pub(crate) enum ExchangePair {
    /// Made by the module, for a handshake as a rule.
    Generated(X25519Secret),
    /// Imported by the program.
    Own(x25519::KeyPair),
}

/// Sets the fixed bits of a scalar (RFC 7748, section 5).
pub(super) fn clamp(secret: &mut [u8; KEY_BYTES]) {
    secret[0] &= 0xf8;
    secret[KEY_BYTES - 1] &= 0x7f;
    secret[KEY_BYTES - 1] |= 0x40;
}

pub(crate) struct Ed25519;

impl Scheme for Ed25519 {
    const NAME: &'static str = "ED25519";
    const NAMES: &'static CStr = c"ED25519:1.3.101.112";
    const RFC: u32 = 8032;
    const BITS: u32 = 256;
    const MAX_SIZE: u32 = ed25519::SIGNATURE_BYTES as u32;
    const EXCHANGES: bool = false;

    type Pair = ed25519::SigningKey;

    fn generate(provider: &Provider) -> Result<ed25519::SigningKey, Error> {
        let mut random = OperationRandom::new();
        let mut keys = ed25519::generate_batch(provider.backend, &mut random, 1)?;
        keys.pop().ok_or(Error::RandomSource)
    }

    fn pair(backend: Backend, secret: &[u8; KEY_BYTES]) -> ed25519::SigningKey {
        ed25519::SigningKey::from_seed(backend, secret)
    }

    fn public(pair: &ed25519::SigningKey) -> &[u8; KEY_BYTES] {
        &pair.verifying_key().0
    }

    fn with_secret<R>(pair: &ed25519::SigningKey, work: impl FnOnce(&[u8; KEY_BYTES]) -> R) -> R {
        work(pair.seed())
    }
}
