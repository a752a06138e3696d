//! Random bytes that the caller gives: for keys and encapsulations that can be repeated.

use core::fmt;

use rand_core::utils::next_word_via_fill;
use rand_core::{TryCryptoRng, TryRng};

/// A source that gives out the caller's bytes, once, and then fails.
pub struct Given<'a>(pub &'a [u8]);

/// All of the caller's bytes have been drawn.
#[derive(Debug)]
pub struct Exhausted;

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too few random bytes were given")
    }
}

impl core::error::Error for Exhausted {}

impl TryRng for Given<'_> {
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

impl TryCryptoRng for Given<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_given_out_once() {
        let mut given = Given(&[1, 2, 3, 4, 5]);
        let mut drawn = [0; 2];
        given.try_fill_bytes(&mut drawn).unwrap();
        assert_eq!(drawn, [1, 2]);
        given.try_fill_bytes(&mut drawn).unwrap();
        assert_eq!(drawn, [3, 4]);
        assert!(given.try_fill_bytes(&mut drawn).is_err());
        assert_eq!(given.0, [5]);
    }
}
