//! Random bytes for one operation, such as the generation of a batch of keys: AES-256 in counter
//! mode.
//!
//! Asking the operating system for every byte would cost more than all the arithmetic of a batch,
//! and even a key from it more than some operations' arithmetic saves. So each thread keeps a key.
//! An operation's first bytes replace it: what the operation draws cannot be found out from what
//! the thread has afterwards. The operating system gives a new one after [`OPERATIONS_PER_SEED`]
//! operations, and in a child of fork, where the parent's must not be used; where the kernel cannot
//! tell a child, for each operation.

#![forbid(unsafe_code)]

mod given;

use core::cell::RefCell;
use core::num::NonZeroU64;

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use aes::{Aes256, Block};
use getrandom::SysRng;
#[cfg(target_arch = "x86_64")]
use lanes::cipher::{RoundKeys, WideAes};
use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};
use secret::{Secret, wiped_on_fork};
use zerocopy::FromZeros;

pub use given::{Exhausted, Given};

const KEY_BYTES: usize = 32;
const BLOCK_BYTES: usize = 16;
/// Many blocks take little more time than one.
const CHUNK_BYTES: usize = 64 * BLOCK_BYTES;

/// Operations after which a thread draws a new key from the operating system.
pub const OPERATIONS_PER_SEED: u32 = 64;

/// Random bytes for one operation; made anew for each. Takes its key when it is first asked; its
/// state is erased on drop.
///
/// A child of fork that goes on with an operation of its parent draws from a key of its own.
#[derive(Default)]
pub struct OperationRandom(Option<Secret<Stream>>);

impl OperationRandom {
    /// A generator with a key of its own.
    pub fn new() -> Self {
        Self::default()
    }
}

/// A key that a thread keeps between operations. In a child of fork it is zero: used up.
#[derive(FromZeros)]
struct Root {
    key: [u8; KEY_BYTES],
    /// Operations that may still use the key and its successors.
    uses: u32,
    /// The process that may.
    generation: Generation,
}

/// A process's [`fork::generation`].
type Generation = Option<NonZeroU64>;

thread_local! {
    static ROOT: RefCell<Option<Secret<Root>>> = const { RefCell::new(None) };
}

impl Root {
    fn new() -> Secret<Self> {
        wiped_on_fork(Secret::zeroed)
    }

    /// Begins a stream by a key of its own, and replaces the thread's.
    fn begin(&mut self, stream: &mut Stream) -> Result<(), getrandom::Error> {
        let generation = fork::generation();
        if self.uses == 0 || generation.is_none() || self.generation != generation {
            self.uses = 0;
            SysRng.try_fill_bytes(&mut self.key)?;
            (self.uses, self.generation) = (OPERATIONS_PER_SEED, generation);
        }
        // Not below zero, in a child that a signal handler forked just now.
        self.uses = self.uses.saturating_sub(1);
        stream.begin(&self.key, generation);
        stream.fill(&mut self.key);
        Ok(())
    }
}

/// Begins a stream with a key of its own.
fn begin(stream: &mut Stream) -> Result<(), getrandom::Error> {
    let of_thread = ROOT.try_with(|root| {
        let mut root = root.try_borrow_mut().ok()?;
        Some(root.get_or_insert_with(Root::new).begin(stream))
    });
    if let Ok(Some(begun)) = of_thread {
        return begun;
    }
    // The thread is ending, or a signal came while it had its key in use.
    let mut key = wiped_on_fork(Secret::<[u8; KEY_BYTES]>::zeroed);
    SysRng.try_fill_bytes(&mut *key)?;
    stream.begin(&key, fork::generation());
    Ok(())
}

/// The encrypted numbers 0, 1, 2, ... as little-endian blocks. Zeros are a stream that has not
/// begun.
#[derive(FromZeros)]
struct Stream {
    keys: Keys,
    next: u64,
    /// The latest chunk that was not used up as a whole, and how many of its last bytes are unused.
    chunk: [u8; CHUNK_BYTES],
    unused: usize,
    /// The process that began it.
    generation: Generation,
    /// Zero until it has begun.
    has_begun: u8,
}

impl Stream {
    fn new() -> Secret<Self> {
        wiped_on_fork(Secret::zeroed)
    }

    fn begin(&mut self, key: &[u8; KEY_BYTES], generation: Generation) {
        self.keys.set(key);
        (self.next, self.unused) = (0, 0);
        (self.generation, self.has_begun) = (generation, 1);
    }

    /// Whether this process began it. A child of fork finds it wiped.
    fn is_ours(&self) -> bool {
        self.has_begun == 1 && self.generation == fork::generation()
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        let taken = self.take(bytes);
        let (chunks, rest) = bytes[taken..].as_chunks_mut();
        self.keys.fill(&mut self.next, chunks);
        if !rest.is_empty() {
            self.keys.fill(&mut self.next, core::slice::from_mut(&mut self.chunk));
            self.unused = CHUNK_BYTES;
            self.take(rest);
        }
    }

    /// Begins to fill `bytes` with the rest of the chunk, and returns how much that was.
    fn take(&mut self, bytes: &mut [u8]) -> usize {
        let count = bytes.len().min(self.unused);
        let used = CHUNK_BYTES - self.unused;
        bytes[..count].copy_from_slice(&self.chunk[used..used + count]);
        self.unused -= count;
        count
    }
}

/// A key of AES-256 in counter mode.
#[derive(FromZeros)]
struct Keys {
    key: [u8; KEY_BYTES],
    /// The key, expanded, where there is [`WideAes`].
    #[cfg(target_arch = "x86_64")]
    rounds: RoundKeys,
}

impl Keys {
    fn set(&mut self, key: &[u8; KEY_BYTES]) {
        self.key.copy_from_slice(key);
        #[cfg(target_arch = "x86_64")]
        if let Some(aes) = WideAes::detect() {
            aes.expand(key, &mut self.rounds);
        }
    }

    /// Fills `chunks` with the numbers from `next` on.
    fn fill(&self, next: &mut u64, chunks: &mut [[u8; CHUNK_BYTES]]) {
        if chunks.is_empty() {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(aes) = WideAes::detect() {
            // Our own, where there are instructions for which the crate takes twice the time.
            aes.fill(&self.rounds, *next, chunks);
            *next += (chunks.as_flattened().len() / BLOCK_BYTES) as u64;
            return;
        }
        fill_by_crate(&self.key, next, chunks);
    }
}

/// [`Keys::fill`] on any processor.
fn fill_by_crate(key: &[u8; KEY_BYTES], next: &mut u64, chunks: &mut [[u8; CHUNK_BYTES]]) {
    let cipher = Aes256::new(key.into());
    let (blocks, _) = Array::slice_as_chunks_mut(chunks.as_flattened_mut());
    for block in &mut *blocks {
        let block: &mut Block = block;
        *block = u128::from(*next).to_le_bytes().into();
        *next += 1;
    }
    cipher.encrypt_blocks(blocks);
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
        let stream = self.0.get_or_insert_with(Stream::new);
        loop {
            if !stream.is_ours() {
                begin(stream)?;
            }
            stream.fill(bytes);
            // A signal handler may have forked meanwhile: then the child filled them from a wiped
            // stream.
            if stream.is_ours() {
                return Ok(());
            }
        }
    }
}

impl TryCryptoRng for OperationRandom {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first `length` bytes of a key's stream, by each implementation that this machine has.
    fn streams(key: &[u8; KEY_BYTES], length: usize) -> [Vec<u8>; 2] {
        let mut by_crate = vec![[0; CHUNK_BYTES]; length.div_ceil(CHUNK_BYTES)];
        fill_by_crate(key, &mut 0, &mut by_crate);
        let mut bytes = vec![0; length];
        begun(key).fill(&mut bytes);
        [by_crate.as_flattened()[..length].to_vec(), bytes]
    }

    fn begun(key: &[u8; KEY_BYTES]) -> Secret<Stream> {
        let mut stream = Stream::new();
        stream.begin(key, fork::generation());
        stream
    }

    /// The output of `openssl enc -aes-256-ecb -nopad` for the numbers 0 to 3.
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
        for stream in streams(&key.try_into().unwrap(), 64) {
            assert_eq!(stream, expected);
        }
    }

    #[test]
    fn pieces_are_those_of_one_stream() {
        let key = [7; KEY_BYTES];
        let [whole, other] = streams(&key, 10_000);
        assert_eq!(whole, other);
        for lengths in [[1, 16, 15], [1023, 1, 1024], [1025, 0, 3044], [3044, 3044, 191]] {
            let (mut stream, mut at) = (begun(&key), 0);
            for length in lengths {
                let mut piece = vec![0xff; length];
                stream.fill(&mut piece);
                assert_eq!(piece, whole[at..at + length]);
                at += length;
            }
        }
    }

    #[test]
    fn threads_are_seeded_anew_and_keys_are_replaced() {
        let (mut root, mut stream) = (Root::new(), Stream::new());
        root.generation = fork::generation();
        let mut keys = std::collections::HashSet::new();
        for i in 0..2 * OPERATIONS_PER_SEED {
            let mut drawn = [0; KEY_BYTES];
            root.begin(&mut stream).unwrap();
            stream.fill(&mut drawn);
            assert!(keys.insert(drawn) && keys.insert(root.key));
            if root.generation.is_some() {
                assert_eq!(root.uses, OPERATIONS_PER_SEED - 1 - i % OPERATIONS_PER_SEED);
            }
        }
        // State of another process.
        root.generation = root.generation.and_then(|number| number.checked_add(1));
        root.uses = 2;
        root.begin(&mut stream).unwrap();
        assert_eq!(root.uses, OPERATIONS_PER_SEED - 1);
    }

    /// A child that a signal handler forked, and that goes on with its parent's operation.
    #[test]
    fn a_wiped_stream_begins_anew() {
        let mut random = OperationRandom::new();
        let mut bytes = [0; 64];
        random.try_fill_bytes(&mut bytes).unwrap();
        let mut stream = random.0.take().unwrap();
        stream.zero();
        assert!(!stream.is_ours());
        let mut of_zeros = Stream::new();
        of_zeros.fill(&mut bytes);
        let mut random = OperationRandom(Some(stream));
        let mut drawn = [0; 64];
        random.try_fill_bytes(&mut drawn).unwrap();
        assert_ne!(drawn, bytes);
        assert!(random.0.unwrap().is_ours());
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
