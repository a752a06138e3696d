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
#[cfg(target_arch = "x86_64")]
use lanes::cipher::{RoundKeys, WideAes};
use rand_core::{TryCryptoRng, TryRng};
use zeroize::Zeroizing;

const KEY_BYTES: usize = 32;
const BLOCK_BYTES: usize = 16;
/// Many blocks take little more time than one.
const CHUNK_BYTES: usize = 64 * BLOCK_BYTES;

/// Random bytes for one operation; made anew for each. Draws its key when it is first asked; its state is erased on drop.
#[derive(Default)]
pub struct OperationRandom(Option<Stream>);

impl OperationRandom {
    /// A generator that nobody else has.
    pub fn new() -> Self {
        Self::default()
    }
}

/// The encrypted numbers 0, 1, 2, ... as little-endian blocks.
struct Stream {
    cipher: Cipher,
    next: u64,
    /// The latest chunk that was not used up as a whole, and where its unused bytes begin.
    chunk: Zeroizing<[u8; CHUNK_BYTES]>,
    used: usize,
}

impl Stream {
    fn new(cipher: Cipher) -> Self {
        let chunk = Zeroizing::new([0; CHUNK_BYTES]);
        Stream { cipher, next: 0, chunk, used: CHUNK_BYTES }
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        let taken = self.take(bytes);
        let (chunks, rest) = bytes[taken..].as_chunks_mut();
        self.cipher.fill(&mut self.next, chunks);
        if !rest.is_empty() {
            self.cipher.fill(&mut self.next, core::slice::from_mut(&mut self.chunk));
            self.used = 0;
            self.take(rest);
        }
    }

    /// Begins to fill `bytes` with what is left of the chunk, and says how much that was.
    fn take(&mut self, bytes: &mut [u8]) -> usize {
        let count = bytes.len().min(CHUNK_BYTES - self.used);
        bytes[..count].copy_from_slice(&self.chunk[self.used..self.used + count]);
        self.used += count;
        count
    }
}

/// AES-256 in counter mode.
#[cfg_attr(
    target_arch = "x86_64",
    expect(clippy::large_enum_variant, reason = "there is one at a time")
)]
enum Cipher {
    Crate(Aes256),
    /// Ours, where there are instructions for which the crate takes twice the time.
    #[cfg(target_arch = "x86_64")]
    Wide(WideAes, Zeroizing<RoundKeys>),
}

impl Cipher {
    fn new(key: &[u8; KEY_BYTES]) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(aes) = WideAes::detect() {
            let mut keys = Zeroizing::new(RoundKeys::default());
            aes.expand(key, &mut keys);
            return Cipher::Wide(aes, keys);
        }
        Cipher::Crate(Aes256::new(key.into()))
    }

    /// Fills `chunks` with the numbers from `next` on.
    fn fill(&self, next: &mut u64, chunks: &mut [[u8; CHUNK_BYTES]]) {
        match self {
            Cipher::Crate(cipher) => {
                let (blocks, _) = Array::slice_as_chunks_mut(chunks.as_flattened_mut());
                for (block, number) in blocks.iter_mut().zip(*next..) {
                    let block: &mut Block = block;
                    *block = u128::from(number).to_le_bytes().into();
                }
                cipher.encrypt_blocks(blocks);
            }
            #[cfg(target_arch = "x86_64")]
            Cipher::Wide(aes, keys) => aes.fill(keys, *next, chunks),
        }
        *next += (chunks.as_flattened().len() / BLOCK_BYTES) as u64;
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
                none.insert(Stream::new(Cipher::new(&key)))
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

    /// Every implementation that this machine has.
    fn ciphers(key: &[u8; KEY_BYTES]) -> Vec<Cipher> {
        vec![Cipher::Crate(Aes256::new(key.into())), Cipher::new(key)]
    }

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
        for cipher in ciphers(&key.try_into().unwrap()) {
            let mut bytes = [0; 64];
            Stream::new(cipher).fill(&mut bytes);
            assert_eq!(bytes.as_slice(), expected);
        }
    }

    #[test]
    fn pieces_are_those_of_one_stream() {
        let key = [7; KEY_BYTES];
        let mut whole = vec![0; 10_000];
        Stream::new(Cipher::Crate(Aes256::new(&key.into()))).fill(&mut whole);
        for lengths in [[1, 16, 15], [1023, 1, 1024], [1025, 0, 3044], [3044, 3044, 191]] {
            for cipher in ciphers(&key) {
                let (mut stream, mut at) = (Stream::new(cipher), 0);
                for length in lengths {
                    let mut piece = vec![0xff; length];
                    stream.fill(&mut piece);
                    assert_eq!(piece, whole[at..at + length]);
                    at += length;
                }
            }
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
