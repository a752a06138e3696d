//! Random bytes for one operation, such as the generation of a batch of keys: AES-256 in counter mode under a key and a counter
//! that the operating system draws for it.
//!
//! Asking the operating system for every byte would cost more than all the arithmetic of a batch. A generator kept between
//! operations would have to notice forks, or parent and child would draw the same bytes. One that lives no longer than an
//! operation need not: a child of fork goes on with nothing but the thread that forked, and this one was in no operation.

#![forbid(unsafe_code)]

use aes::Aes256;
use ctr::cipher::{KeyIvInit, StreamCipher};
use getrandom::SysRng;
use rand_core::{TryCryptoRng, TryRng};
use zeroize::Zeroizing;

/// Bytes of the cipher's key.
const KEY_BYTES: usize = 32;
/// Bytes of the cipher's first counter.
const COUNTER_BYTES: usize = 16;

/// Random bytes for one operation; made anew for each. Draws its key when it is first asked; its state is erased on drop.
#[derive(Default)]
pub struct OperationRandom(Option<ctr::Ctr128BE<Aes256>>);

impl OperationRandom {
    /// A generator that nobody else has.
    pub fn new() -> Self {
        Self::default()
    }
}

fn from_seed(seed: &[u8; KEY_BYTES + COUNTER_BYTES]) -> ctr::Ctr128BE<Aes256> {
    let (key, counter) = seed.split_at(KEY_BYTES);
    let key = key.try_into().expect("the key's size");
    let counter = counter.try_into().expect("the counter's size");
    ctr::Ctr128BE::new(key, counter)
}

/// Fails if the operating system gives no random bytes.
impl TryRng for OperationRandom {
    type Error = getrandom::Error;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        if self.0.is_none() {
            let mut seed = Zeroizing::new([0; KEY_BYTES + COUNTER_BYTES]);
            SysRng.try_fill_bytes(&mut *seed)?;
            self.0 = Some(from_seed(&seed));
        }
        bytes.fill(0);
        if let Some(stream) = &mut self.0 {
            stream.apply_keystream(bytes);
        }
        Ok(())
    }
}

impl TryCryptoRng for OperationRandom {}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeded(seed: &[u8; KEY_BYTES + COUNTER_BYTES]) -> OperationRandom {
        OperationRandom(Some(from_seed(seed)))
    }

    /// NIST SP 800-38A, F.5.5: CTR-AES256, the key stream.
    #[test]
    fn is_the_standard_counter_mode() {
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len() / 2)
                .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
                .collect()
        };
        let key = hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
        let counter = hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
        let seed = [key, counter].concat().try_into().unwrap();
        let mut bytes = [0; 64];
        seeded(&seed).try_fill_bytes(&mut bytes).unwrap();
        let expected = hex("0bdf7df1591716335e9a8b15c860c502 5a6e699d536119065433863c8f657b94 \
             1bc12c9c01610d5d0d8bd6a3378eca62 2956e1c8693536b1bee99c73a31576b6"
            .replace([' ', '\n'], "")
            .as_str());
        assert_eq!(bytes.as_slice(), expected);
    }

    #[test]
    fn calls_of_any_length_read_one_stream() {
        let seed = [7; KEY_BYTES + COUNTER_BYTES];
        let mut whole = vec![0; 10_000];
        seeded(&seed).try_fill_bytes(&mut whole).unwrap();
        let mut pieces = seeded(&seed);
        let (mut at, mut length) = (0, 0);
        while at < whole.len() {
            length = (length + 37).min(whole.len() - at);
            let mut piece = vec![0xff; length];
            pieces.try_fill_bytes(&mut piece).unwrap();
            assert_eq!(piece, whole[at..at + length]);
            at += length;
        }
    }

    #[test]
    fn no_two_are_alike() {
        let mut first = [0; 32];
        let mut second = [0; 32];
        OperationRandom::new().try_fill_bytes(&mut first).unwrap();
        OperationRandom::new().try_fill_bytes(&mut second).unwrap();
        assert_ne!(first, second);
    }
}
