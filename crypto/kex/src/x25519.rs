//! X25519 as a key exchange.

use curve25519::x25519::{self, KeyPair, PublicKey, SecretKey};
use lanes::Backend;
use rand_core::TryCryptoRng;

use crate::{Error, KeyExchange, Storable};

const BYTES: usize = 32;

/// X25519 (RFC 7748).
pub struct X25519;

/// The canonical u-coordinates of the points of small order on curve25519 and its twist, and 2^255
/// - 19 and 2^255 - 18, which are 0 and 1 again. A peer that sends one makes the result zero for
///   every secret.
const SMALL_ORDER: [[u8; BYTES]; 7] = {
    const fn repeated(first: u8, middle: u8, last: u8) -> [u8; BYTES] {
        let mut u = [middle; BYTES];
        u[0] = first;
        u[BYTES - 1] = last;
        u
    }
    [
        repeated(0x00, 0x00, 0x00),
        repeated(0x01, 0x00, 0x00),
        [
            0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f,
            0xc4, 0x6a, 0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16,
            0x5f, 0x49, 0xb8, 0x00,
        ],
        [
            0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83,
            0xef, 0x5b, 0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd,
            0xd0, 0x9f, 0x11, 0x57,
        ],
        repeated(0xec, 0xff, 0x7f),
        repeated(0xed, 0xff, 0x7f),
        repeated(0xee, 0xff, 0x7f),
    ]
};

impl KeyExchange for X25519 {
    const CODE_POINT: u16 = 0x001D;
    const PUBLIC_BYTES: usize = BYTES;
    const SECRET_BYTES: usize = BYTES;
    const SHARED_SECRET_BYTES: usize = BYTES;

    type Public = PublicKey;
    type Secret = Secret;

    fn start_batch<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<Secret>, Error> {
        let pairs = x25519::generate_batch(backend, random, count)?;
        Ok(pairs.into_iter().map(Secret).collect())
    }

    fn public(secret: &Secret) -> PublicKey {
        secret.0.public
    }

    /// Refuses points of small order. Non-canonical values are taken, as RFC 7748 demands.
    fn read_public(bytes: &[u8]) -> Result<PublicKey, Error> {
        Error::check_length("X25519 public key", BYTES, bytes)?;
        let mut public = [0; BYTES];
        public.copy_from_slice(bytes);
        let mut u = public;
        u[BYTES - 1] &= 0x7f;
        if SMALL_ORDER.contains(&u) {
            return Err(Error::SmallOrder);
        }
        Ok(PublicKey(public))
    }

    fn write_public(public: &PublicKey, out: &mut [u8]) {
        out.copy_from_slice(&public.0);
    }

    fn read_secret(backend: Backend, bytes: &[u8]) -> Result<Secret, Error> {
        let wrong =
            |_| Error::Length { object: "X25519 secret key", expected: BYTES, actual: bytes.len() };
        let secret = SecretKey::from_bytes(bytes.try_into().map_err(wrong)?);
        let public = x25519::public_key(backend, &secret);
        Ok(Secret(KeyPair { public, secret }))
    }

    fn write_secret(secret: &Secret, out: &mut [u8]) {
        out.copy_from_slice(secret.0.secret.as_bytes());
    }

    fn complete(
        secret: &Secret,
        backend: Backend,
        peer: &PublicKey,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let shared = x25519::shared_secret(backend, &secret.0.secret, peer)?;
        out.copy_from_slice(shared.as_bytes());
        Ok(())
    }
}

/// A secret value, and the public one, whose computation is a part of a key exchange.
#[derive(Clone)]
pub struct Secret(KeyPair);

impl Secret {
    /// The public value.
    pub fn public(&self) -> &PublicKey {
        &self.0.public
    }
}

impl Storable for Secret {
    const STORED_BYTES: usize = 2 * BYTES;

    fn store(&self, out: &mut [u8]) {
        let (scalar, public) = out.split_at_mut(BYTES);
        scalar.copy_from_slice(self.0.secret.as_bytes());
        public.copy_from_slice(&self.0.public.0);
    }

    fn is_protected(&self) -> bool {
        self.0.secret.is_protected()
    }

    fn restore(_: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let ([scalar, public], []) = bytes.as_chunks() else {
            let (expected, actual) = (Self::STORED_BYTES, bytes.len());
            return Err(Error::Length { object: "stored X25519 secret", expected, actual });
        };
        let secret = SecretKey::from_bytes(scalar);
        Ok(Secret(KeyPair { public: PublicKey(*public), secret }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Secret {
        X25519::start(Backend::best(), &mut getrandom::SysRng).unwrap()
    }

    #[test]
    fn small_order_points_are_refused_with_either_top_bit() {
        let secret = start();
        for u in SMALL_ORDER {
            for top in [0, 0x80] {
                let mut u = u;
                u[BYTES - 1] |= top;
                assert_eq!(X25519::read_public(&u), Err(Error::SmallOrder), "{u:02x?}");
                // The list holds nothing but such points.
                let result =
                    X25519::complete(&secret, Backend::best(), &PublicKey(u), &mut [0; BYTES]);
                assert_eq!(result, Err(Error::SmallOrder), "{u:02x?}");
            }
        }
    }

    #[test]
    fn what_is_stored_is_what_is_read() {
        let secret = start();
        let mut stored = [0; Secret::STORED_BYTES];
        secret.store(&mut stored);
        let restored = Secret::restore(Backend::best(), &stored).unwrap();
        let read = X25519::read_secret(Backend::best(), secret.0.secret.as_bytes()).unwrap();
        for other in [restored, read] {
            assert_eq!(other.0.secret.as_bytes(), secret.0.secret.as_bytes());
            assert_eq!(X25519::public(&other), X25519::public(&secret));
        }
    }

    #[test]
    fn rfc_7748_section_5_2() {
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len() / 2)
                .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
                .collect()
        };
        let secret = hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
        let peer = hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
        let shared = hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
        let secret = X25519::read_secret(Backend::best(), &secret).unwrap();
        let peer = X25519::read_public(&peer).unwrap();
        let mut out = [0; BYTES];
        X25519::complete(&secret, Backend::best(), &peer, &mut out).unwrap();
        assert_eq!(out.as_slice(), shared);
    }
}
