//! A replacement for getrandom 0.3 in this workspace: AES-256 in counter mode, seeded by the
//! operating system once for each thread.
//!
//! Streamlined NTRU Prime draws kilobytes for each key. Drawn from the operating system, they can
//! take longer than the rest of the operation. So implementations are comparable only if they draw
//! from the same source. PQClean's code calls getrandom 0.3.

#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::convert::Infallible;

use aes::Aes256;
use ctr::Ctr64LE;
use ctr::cipher::{KeyIvInit, StreamCipher};
use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};

pub use system::Error;

/// A thread's generator.
struct Generator {
    key_stream: Ctr64LE<Aes256>,
    drawn: u64,
}

impl Generator {
    fn seeded() -> Result<Self, Error> {
        let (mut key, mut counter) = ([0; 32], [0; 16]);
        system::fill(&mut key)?;
        system::fill(&mut counter)?;
        Ok(Generator { key_stream: Ctr64LE::new(&key.into(), &counter.into()), drawn: 0 })
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        bytes.fill(0);
        self.key_stream.apply_keystream(bytes);
        self.drawn += bytes.len() as u64;
    }
}

thread_local! {
    static GENERATOR: RefCell<Option<Generator>> = const { RefCell::new(None) };
}

/// Fills `bytes` with random bytes.
///
/// # Errors
/// The operating system provides no seed.
pub fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    GENERATOR.with_borrow_mut(|generator| {
        let generator = match generator {
            Some(generator) => generator,
            None => generator.insert(Generator::seeded()?),
        };
        generator.fill(bytes);
        Ok(())
    })
}

/// Returns the number of bytes that this thread has drawn.
pub fn drawn() -> u64 {
    GENERATOR.with_borrow(|generator| generator.as_ref().map_or(0, |generator| generator.drawn))
}

/// This thread's generator as a random source. It panics if the operating system provides no seed.
#[derive(Clone, Copy, Debug)]
pub struct Random;

impl TryRng for Random {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        fill(bytes).expect("a seed from the operating system");
        Ok(())
    }
}

impl TryCryptoRng for Random {}
