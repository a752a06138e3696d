//! Random bytes for one operation, such as the generation of a batch of keys: AES-256 in counter mode.
//!
//! Asking the operating system for every byte would cost more than all the arithmetic of a batch, and even a key from it more than some
//! operations' arithmetic saves. So each thread keeps a key. An operation's first bytes replace it: what the operation draws cannot be
//! found out from what the thread has afterwards. The operating system gives a new one after [`OPERATIONS_PER_SEED`] operations, and in
//! a child of fork, where the parent's must not be used; where the kernel cannot tell a child, for each operation.

#![forbid(unsafe_code)]

use core::cell::RefCell;
use core::num::NonZeroU64;

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use aes::{Aes256, Block};
use getrandom::SysRng;
#[cfg(target_arch = "x86_64")]
use lanes::cipher::{RoundKeys, WideAes};
use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};
use zeroize::Zeroizing;

const KEY_BYTES: usize = 32;
const BLOCK_BYTES: usize = 16;
/// Many blocks take little more time than one.
const CHUNK_BYTES: usize = 64 * BLOCK_BYTES;

/// Operations after which a thread draws a new key from the operating system.
pub const OPERATIONS_PER_SEED: u32 = 64;

/// Random bytes for one operation; made anew for each. Takes its key when it is first asked; its state is erased on drop.
#[derive(Default)]
pub struct OperationRandom(Option<Stream>);

impl OperationRandom {
    /// A generator that nobody else has.
    pub fn new() -> Self {
        Self::default()
    }
}

/// What a thread keeps between operations.
#[derive(Default)]
struct Root {
    key: Zeroizing<[u8; KEY_BYTES]>,
    /// Operations that may still use the key and its successors.
    uses: u32,
    /// The process that may.
    generation: Option<NonZeroU64>,
}

thread_local! {
    static ROOT: RefCell<Root> = RefCell::default();
}

impl Root {
    fn stream(&mut self) -> Result<Stream, getrandom::Error> {
        let generation = fork::generation();
        if self.uses == 0 || generation.is_none() || self.generation != generation {
            self.uses = 0;
            SysRng.try_fill_bytes(&mut *self.key)?;
            (self.uses, self.generation) = (OPERATIONS_PER_SEED, generation);
        }
        self.uses -= 1;
        let mut stream = Stream::new(Cipher::new(&self.key));
        stream.fill(&mut *self.key);
        Ok(stream)
    }
}

/// A stream that nobody else has.
fn stream() -> Result<Stream, getrandom::Error> {
    let of_thread = ROOT.try_with(|root| root.try_borrow_mut().ok().map(|mut root| root.stream()));
    if let Ok(Some(stream)) = of_thread {
        return stream;
    }
    // The thread is ending, or a signal came while it had its key in hand.
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    SysRng.try_fill_bytes(&mut *key)?;
    Ok(Stream::new(Cipher::new(&key)))
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
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        let stream = match &mut self.0 {
            Some(stream) => stream,
            none => none.insert(stream()?),
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
    fn threads_are_seeded_anew_and_keys_are_replaced() {
        let mut root =
            Root { key: Zeroizing::new([0; KEY_BYTES]), uses: 0, generation: fork::generation() };
        let mut keys = std::collections::HashSet::new();
        for i in 0..2 * OPERATIONS_PER_SEED {
            let mut drawn = [0; KEY_BYTES];
            root.stream().unwrap().fill(&mut drawn);
            assert!(keys.insert(drawn) && keys.insert(*root.key));
            if root.generation.is_some() {
                assert_eq!(root.uses, OPERATIONS_PER_SEED - 1 - i % OPERATIONS_PER_SEED);
            }
        }
        // What another process left.
        root.generation = root.generation.and_then(|number| number.checked_add(1));
        root.uses = 2;
        root.stream().unwrap();
        assert_eq!(root.uses, OPERATIONS_PER_SEED - 1);
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
