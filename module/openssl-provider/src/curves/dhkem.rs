//! A key pair from given bytes, as hybrid public key encryption derives it.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::curves::{KEY_BYTES, clamp};

/// DHKEM(X25519, HKDF-SHA256): "KEM" and 0x0020.
const SUITE: &[u8] = b"KEM\x00\x20";
/// Of SHA-256.
const BLOCK_BYTES: usize = 64;
const VERSION: &[u8] = b"HPKE-v1";

/// The secret half of `DeriveKeyPair` (RFC 9180, section 7.1.3). `None` if there is too little to derive it from.
pub(super) fn derive(material: &[u8]) -> Option<Zeroizing<[u8; KEY_BYTES]>> {
    if material.len() < KEY_BYTES {
        return None;
    }
    let key = hmac(&[0; KEY_BYTES], &[VERSION, SUITE, b"dkp_prk", material]);
    // One block of HKDF-Expand is all that is needed.
    let length = (KEY_BYTES as u16).to_be_bytes();
    let mut secret = hmac(&key, &[&length, VERSION, SUITE, b"sk", &[1]]);
    // As the default provider exports it.
    clamp(&mut secret);
    Some(secret)
}

fn hmac(key: &[u8; KEY_BYTES], parts: &[&[u8]]) -> Zeroizing<[u8; KEY_BYTES]> {
    // Short keys are filled up with zeros.
    let mut block = Zeroizing::new([0; BLOCK_BYTES]);
    block[..KEY_BYTES].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new((&*block).into());
    for part in parts {
        mac.update(part);
    }
    Zeroizing::new(mac.finalize().into_bytes().into())
}
