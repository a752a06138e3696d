//! NIST's deterministic random bit generator for known answers: CTR_DRBG (SP 800-90A, section
//! 10.2.1) with AES-256, without derivation function, personalisation or reseeding, as the known
//! answers of the post-quantum project use it.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use rand_core::utils::next_word_via_fill;
use rand_core::{Infallible, TryCryptoRng, TryRng};

/// Bytes in a seed: a 32-byte key and a 16-byte counter.
pub const SEED_BYTES: usize = 48;

const KEY_BYTES: usize = 32;
const BLOCK_BYTES: usize = 16;

/// The generator: an AES-256 key and a 128-bit big-endian counter.
///
/// It takes a new key and counter after every call, so one call for 8 bytes and two calls for 4
/// bytes each give different bytes. Every method of [`rand_core::Rng`] is one call:
/// `fill_bytes` of the buffer's size, `next_u32` of 4 bytes and `next_u64` of 8 bytes, both
/// little-endian.
///
/// There is neither `Clone` nor `Debug`: a copied or printed state gives away every later byte.
pub struct Drbg {
    key: [u8; KEY_BYTES],
    counter: [u8; BLOCK_BYTES],
}

impl Drbg {
    /// Starts the generator from a seed (CTR_DRBG_Instantiate, the seed being the entropy input).
    pub fn new(seed: &[u8; SEED_BYTES]) -> Self {
        let mut drbg = Drbg { key: [0; KEY_BYTES], counter: [0; BLOCK_BYTES] };
        drbg.update(seed);
        drbg
    }

    /// Fills `bytes` as one call of the generator (CTR_DRBG_Generate without additional input).
    ///
    /// An empty buffer is a call too: it yields nothing and still changes the state.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.keystream(bytes);
        self.update(&[0; SEED_BYTES]);
    }

    /// Encrypts the counter, incremented before each block, until `bytes` is full.
    fn keystream(&mut self, bytes: &mut [u8]) {
        let cipher = Aes256::new(&Array::from(self.key));
        for chunk in bytes.chunks_mut(BLOCK_BYTES) {
            self.counter = u128::from_be_bytes(self.counter).wrapping_add(1).to_be_bytes();
            let mut block = Array::from(self.counter);
            cipher.encrypt_block(&mut block);
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    }

    /// CTR_DRBG_Update: the next 48 bytes, with `provided` added, become key and counter.
    fn update(&mut self, provided: &[u8; SEED_BYTES]) {
        let mut next = [0; SEED_BYTES];
        self.keystream(&mut next);
        for (byte, p) in next.iter_mut().zip(provided) {
            *byte ^= p;
        }
        self.key.copy_from_slice(&next[..KEY_BYTES]);
        self.counter.copy_from_slice(&next[KEY_BYTES..]);
    }
}

impl TryRng for Drbg {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.fill(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Drbg {}
