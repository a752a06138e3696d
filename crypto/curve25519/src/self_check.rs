//! Known answers, in less than a millisecond.

use lanes::Backend;

use crate::error::Error;
use crate::x25519::SecretKey;
use crate::{ed25519, x25519};

/// Computes a known answer with each operation, so that a program that loads this can refuse an
/// implementation that computes wrong.
///
/// # Errors
/// [`Error::SelfCheck`], with the operation that failed.
pub fn self_check(backend: Backend) -> Result<(), Error> {
    let check = |holds, operation| {
        if holds { Ok(()) } else { Err(Error::SelfCheck { operation }) }
    };

    // Keys made one by one and in a batch are equal, and both sides compute the same secret.
    let secrets: Vec<SecretKey> =
        (0..9).map(|i| SecretKey::from_bytes(&[0x11 * i as u8; 32])).collect();
    let publics = x25519::public_keys(backend, &secrets);
    check(publics[3].0 == KNOWN_PUBLIC, "X25519 key generation")?;
    check(x25519::public_key(backend, &secrets[3]) == publics[3], "X25519 key generation")?;
    let shared = x25519::shared_secret(backend, &secrets[3], &publics[8])?;
    check(*shared.as_bytes() == KNOWN_SHARED, "X25519")?;
    let mut peers = publics.clone();
    peers.reverse();
    let all = x25519::shared_secrets(backend, &secrets, &peers);
    for i in 0..peers.len() {
        let (Ok(ours), Ok(theirs)) = (&all[i], &all[peers.len() - 1 - i]) else {
            return Err(Error::SelfCheck { operation: "X25519 of several keys" });
        };
        check(ours.as_bytes() == theirs.as_bytes(), "X25519 of several keys")?;
    }

    let key = ed25519::SigningKey::from_seed(backend, &[0x42; 32]);
    let mut signature = ed25519::sign(backend, &key, MESSAGE);
    check(signature == KNOWN_SIGNATURE, "Ed25519 signing")?;
    let verdict = ed25519::verify(backend, key.verifying_key(), &signature, MESSAGE);
    check(verdict.is_ok(), "Ed25519 verification")?;
    signature[40] ^= 1;
    let verdict = ed25519::verify(backend, key.verifying_key(), &signature, MESSAGE);
    check(verdict == Err(Error::Signature), "Ed25519 verification")
}

const MESSAGE: &[u8] = b"known answer";
const KNOWN_PUBLIC: [u8; 32] = [
    0x7b, 0x0d, 0x47, 0xd9, 0x34, 0x27, 0xf8, 0x31, 0x11, 0x60, 0x78, 0x1c, 0x7c, 0x73, 0x3f, 0xd8,
    0x9f, 0x88, 0x97, 0x0a, 0xef, 0x49, 0x0d, 0x8a, 0xa0, 0xee, 0x19, 0xa4, 0xcb, 0x8a, 0x1b, 0x14,
];
const KNOWN_SHARED: [u8; 32] = [
    0x48, 0x19, 0x31, 0xc3, 0xfe, 0xf8, 0xb8, 0x0f, 0xd1, 0xaf, 0x1b, 0x26, 0x95, 0xa1, 0xec, 0x06,
    0xe6, 0x3c, 0x27, 0x38, 0xfc, 0x28, 0x63, 0x73, 0xe1, 0xbb, 0x3e, 0x3e, 0x2d, 0xef, 0x21, 0x2b,
];
const KNOWN_SIGNATURE: [u8; 64] = [
    0xa0, 0x71, 0xff, 0x67, 0x97, 0x14, 0x63, 0x56, 0xa4, 0xc7, 0x4e, 0xe1, 0x05, 0x69, 0x90, 0xb4,
    0x5b, 0x6b, 0x98, 0x01, 0x25, 0x5e, 0x6e, 0x9f, 0x48, 0x56, 0xbb, 0x20, 0x8d, 0x06, 0x08, 0x8f,
    0x01, 0x2c, 0x9e, 0x2a, 0x5d, 0x2f, 0x91, 0xd5, 0x8b, 0x7c, 0x38, 0xda, 0x1c, 0x63, 0x86, 0x80,
    0x2f, 0x4d, 0x7c, 0x10, 0xa7, 0x15, 0xed, 0x02, 0xb2, 0x03, 0x5c, 0xe8, 0x4c, 0xd1, 0x2e, 0x00,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_backend_passes() {
        for backend in Backend::available() {
            assert_eq!(self_check(backend), Ok(()), "{}", backend.name());
        }
    }

    /// The known answers, by other implementations.
    #[test]
    fn answers_are_those_of_others() {
        use ed25519_dalek::Signer;
        use x25519_dalek::{PublicKey, StaticSecret};
        let secret = StaticSecret::from([0x33; 32]);
        let peer = PublicKey::from(&StaticSecret::from([0x88; 32]));
        assert_eq!(*PublicKey::from(&secret).as_bytes(), KNOWN_PUBLIC);
        assert_eq!(*secret.diffie_hellman(&peer).as_bytes(), KNOWN_SHARED);
        let key = ed25519_dalek::SigningKey::from_bytes(&[0x42; 32]);
        assert_eq!(key.sign(MESSAGE).to_bytes(), KNOWN_SIGNATURE);
    }
}
