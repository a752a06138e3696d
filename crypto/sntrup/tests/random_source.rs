//! Behaviour on a random source that fails, or whose output has a negligible probability.

use core::convert::Infallible;

use rand_core::{TryCryptoRng, TryRng};
use reference::drbg::Drbg;
use sntrup::*;

/// Fails at draw number `good`.
struct Failing {
    good: usize,
    stream: Drbg,
}

#[derive(Debug)]
struct Failure;

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no entropy")
    }
}

impl core::error::Error for Failure {}

impl TryRng for Failing {
    type Error = Failure;

    fn try_next_u32(&mut self) -> Result<u32, Failure> {
        Err(Failure)
    }

    fn try_next_u64(&mut self) -> Result<u64, Failure> {
        Err(Failure)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Failure> {
        self.good = self.good.checked_sub(1).ok_or(Failure)?;
        self.stream.fill(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Failing {}

#[test]
fn a_failing_source_is_an_error_at_every_draw() {
    let backend = Backend::best();
    let mut failures = 0;
    for good in 0..40 {
        let mut source = Failing { good, stream: Drbg::new(&[9; 48]) };
        match KeyPair::<Sntrup761>::generate_batch(backend, 5, &mut source) {
            Err(error) => {
                assert_eq!(error, Error::RandomSource);
                failures += 1;
            }
            Ok(keys) => assert_eq!(keys.len(), 5),
        }
    }
    // Three draws a key, one more for each discarded g.
    assert!((15..40).contains(&failures), "{failures}");

    let key = KeyPair::<Sntrup761>::generate(backend, &mut Drbg::new(&[9; 48])).unwrap();
    let mut source = Failing { good: 0, stream: Drbg::new(&[9; 48]) };
    let refused = key.public_key().encapsulate(backend, &mut source);
    assert!(matches!(refused, Err(Error::RandomSource)));
}

/// Draws whose first few g are multiples of a factor of x^p - x - 1 that only the inversion
/// detects.
struct Rigged {
    bad: usize,
    g: Vec<i32>,
    stream: Drbg,
    draws: usize,
}

impl TryRng for Rigged {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("keys are made of byte strings")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("keys are made of byte strings")
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.stream.fill(bytes);
        // Draws come as g, f, rho.
        if self.draws < 3 * self.bad && self.draws.is_multiple_of(3) {
            for (four, g) in bytes.chunks_exact_mut(4).zip(&self.g) {
                // The middle of the third of 2^30 that stands for this coefficient.
                let word = ((g + 1) as u32 * 2 + 1) * ((1 << 30) / 6);
                four.copy_from_slice(&word.to_le_bytes());
            }
        }
        self.draws += 1;
        Ok(())
    }
}

impl TryCryptoRng for Rigged {}

/// The factor of degree 60 of x^761 - x - 1 modulo 3.
const FACTOR: &str = "+-++00+-0-0-0+++++00-0++00+0+00--++-0++00++-00++++-00+-0--+0+";

#[test]
fn a_g_that_only_the_inversion_finds_wanting_costs_its_batch() {
    let backend = Backend::best();
    let parameters = reference::sntrup::Parameters::by_name("sntrup761").unwrap();
    let mut g: Vec<i32> =
        FACTOR.bytes().map(|c| i32::from(c == b'+') - i32::from(c == b'-')).collect();
    g.resize(761, 0);
    assert!(reference::sntrup::r3_inverse(&parameters, &g).is_none(), "not a factor");

    let source = |bad| Rigged { bad, g: g.clone(), stream: Drbg::new(&[3; 48]), draws: 0 };
    // One such key in a batch of four: the batch is drawn again.
    let mut random = source(1);
    let keys = KeyPair::<Sntrup761>::generate_batch(backend, 4, &mut random).unwrap();
    assert_eq!((keys.len(), random.draws >= 24), (4, true));
    for key in keys {
        key.into_parts().1.check(backend).unwrap();
    }
    // Nothing but such keys: no random source does that.
    let refused = KeyPair::<Sntrup761>::generate(backend, &mut source(usize::MAX / 3));
    assert!(matches!(refused, Err(Error::RandomSource)));
}
