//! DHKEM's derivation of a key pair from input keying material, as for HPKE (RFC 9180).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::curves::scheme::{KEY_BYTES, clamp};

/// The suite DHKEM(X25519, HKDF-SHA256): "KEM" and 0x0020.
const SUITE: &[u8] = b"KEM\x00\x20";
/// Block size of SHA-256.
const BLOCK_BYTES: usize = 64;
const VERSION: &[u8] = b"HPKE-v1";

/// The secret key of `DeriveKeyPair` (RFC 9180, section 7.1.3). `None` if `material` has fewer than
/// 32 bytes.
pub(super) fn derive(material: &[u8]) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    if material.len() < KEY_BYTES {
        return None;
    }
    let key = hmac(&[0; KEY_BYTES], &[VERSION, SUITE, b"dkp_prk", material]);
    // HKDF-Expand needs one block only.
    let length = (KEY_BYTES as u16).to_be_bytes();
    let mut secret = hmac(&key, &[&length, VERSION, SUITE, b"sk", &[1]]);
    // Clamped, as the default provider exports it.
    clamp(&mut secret);
    Some(secret)
}

fn hmac(key: &[u8; KEY_BYTES], parts: &[&[u8]]) -> Zeroizing<[u8; KEY_BYTES]> {
    // HMAC pads short keys with zeros.
    let mut block = Zeroizing::new([0; BLOCK_BYTES]);
    block[..KEY_BYTES].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new((&*block).into());
    for part in parts {
        mac.update(part);
    }
    Zeroizing::new(mac.finalize().into_bytes().into())
}
