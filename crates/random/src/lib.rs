//! Random bytes for one operation, such as the generation of a batch of keys: AES-256 in counter mode under a key that the
//! operating system draws for it.
//!
//! Asking the operating system for every byte would cost more than all the arithmetic of a batch. A generator kept between
//! operations would have to notice forks, or parent and child would draw the same bytes. One that lives no longer than an
//! operation need not: a child of fork goes on with nothing but the thread that forked, and this one was in no operation.

#![forbid(unsafe_code)]

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use aes::{Aes256, Block};
use getrandom::SysRng;
use rand_core::{TryCryptoRng, TryRng};
use zeroize::Zeroizing;

const KEY_BYTES: usize = 32;
const BLOCK_BYTES: usize = 16;

/// Random bytes for one operation; made anew for each. Draws its key when it is first asked; its state is erased on drop.
#[derive(Default)]
pub struct OperationRandom(Option<Stream>);

impl OperationRandom {
    /// A generator that nobody else has.
    pub fn new() -> Self {
        Self::default()
    }
}

/// The encrypted numbers 0, 1, 2, ... as little-endian blocks. Each call begins with a new block.
struct Stream {
    cipher: Aes256,
    next: u64,
}

impl Stream {
    fn new(key: &[u8; KEY_BYTES]) -> Self {
        Stream { cipher: Aes256::new(key.into()), next: 0 }
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        let (blocks, rest) = Array::slice_as_chunks_mut(bytes);
        self.fill_blocks(blocks);
        if !rest.is_empty() {
            let mut block = Zeroizing::new([0; BLOCK_BYTES]);
            self.fill_blocks(core::slice::from_mut((&mut *block).into()));
            rest.copy_from_slice(&block[..rest.len()]);
        }
    }

    fn fill_blocks(&mut self, blocks: &mut [Block]) {
        for block in &mut *blocks {
            *block = u128::from(self.next).to_le_bytes().into();
            self.next += 1;
        }
        self.cipher.encrypt_blocks(blocks);
    }
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
        let stream = match &mut self.0 {
            Some(stream) => stream,
            none => {
                let mut key = Zeroizing::new([0; KEY_BYTES]);
                SysRng.try_fill_bytes(&mut *key)?;
                none.insert(Stream::new(&key))
            }
        };
        stream.fill(bytes);
        Ok(())
    }
}

impl TryCryptoRng for OperationRandom {}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `openssl enc -aes-256-ecb -nopad` makes of the numbers 0 to 3.
    #[test]
    fn is_counter_mode() {
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len() / 2)
                .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
                .collect()
        };
        let key = hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
        let expected = hex(
            "e568f68194cf76d6174d4cc04310a85463bf4feec619cf9dd1407170575e254c0a6fec9d16ec416bd55691702d02fbdd06abca5895d6e1115e4525b4905d10f9",
        );
        let mut bytes = [0; 64];
        Stream::new(&key.clone().try_into().unwrap()).fill(&mut bytes);
        assert_eq!(bytes.as_slice(), expected);

        // In pieces, each of which begins with a block.
        let mut stream = Stream::new(&key.try_into().unwrap());
        let mut at = 0;
        for length in [1, 16, 15] {
            let mut piece = vec![0xff; length];
            stream.fill(&mut piece);
            assert_eq!(piece, expected[at..at + length]);
            at += 16;
        }
    }

    #[test]
    fn long_fills_are_many_blocks() {
        let key = [7; KEY_BYTES];
        let mut whole = vec![0; 10_000];
        Stream::new(&key).fill(&mut whole);
        let mut stream = Stream::new(&key);
        for expected in whole.chunks(BLOCK_BYTES) {
            let mut block = vec![0; expected.len()];
            stream.fill(&mut block);
            assert_eq!(block, expected);
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
