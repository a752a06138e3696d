//! A random source with given bytes.

use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};

/// A random source that returns given bytes and then fails.
pub struct Replay<'a>(pub &'a [u8]);

/// The error of a [`Replay`] without enough bytes.
#[derive(Debug)]
pub struct Exhausted;

impl core::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no bytes left to draw")
    }
}

impl core::error::Error for Exhausted {}

impl TryRng for Replay<'_> {
    type Error = Exhausted;

    fn try_next_u32(&mut self) -> Result<u32, Exhausted> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Exhausted> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Exhausted> {
        let (drawn, left) = self.0.split_at_checked(bytes.len()).ok_or(Exhausted)?;
        bytes.copy_from_slice(drawn);
        self.0 = left;
        Ok(())
    }
}

impl TryCryptoRng for Replay<'_> {}
