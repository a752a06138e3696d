//! Pools of cheap items, for what has nothing to do with arithmetic.

use kex::{Backend, Error};
use keypool::{Kind, Purpose};
use rand_core::TryRng;
use random::OperationRandom;

/// Sixteen random bytes.
pub(crate) struct Numbers;

impl Kind for Numbers {
    type Item = u128;

    const PURPOSE: Purpose = Purpose::KeyPairs;
    const STORED_BYTES: usize = 16;
    const LARGEST_BATCH: usize = 256;

    fn generate(_: Backend, count: usize) -> Result<Vec<u128>, Error> {
        let mut random = OperationRandom::new();
        let mut number = || {
            let mut bytes = [0; 16];
            random.try_fill_bytes(&mut bytes).map_err(|_| Error::RandomSource)?;
            Ok(u128::from_ne_bytes(bytes))
        };
        (0..count).map(|_| number()).collect()
    }

    fn store(item: &u128, out: &mut [u8]) {
        out.copy_from_slice(&item.to_ne_bytes());
    }

    fn restore(_: Backend, bytes: &[u8]) -> Result<u128, Error> {
        let length = Error::Length { object: "number", expected: 16, actual: bytes.len() };
        Ok(u128::from_ne_bytes(bytes.try_into().map_err(|_| length)?))
    }
}
