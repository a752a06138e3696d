//! Sampling: Short (weight w) by sorting, and uniform Small.

use rand_core::TryCryptoRng;

use crate::error::Error;
use crate::params::{Array, ParameterSet};
use crate::product::{Coefficients, wipe};

/// The largest p of all parameter sets.
const MAX_P: usize = 1277;

/// Fills `sample` with a Short drawn as one call of 4p bytes.
pub(crate) fn short<P: ParameterSet, R: TryCryptoRng + ?Sized>(
    sample: &mut Coefficients<P>,
    random: &mut R,
) -> Result<(), Error> {
    let mut bytes = P::SampleBytes::filled(0);
    let drawn = random.try_fill_bytes(bytes.as_mut());
    short_derand(sample, &bytes);
    wipe(bytes.as_mut());
    drawn.map_err(|_| Error::RandomSource)
}

/// Fills `sample` with the Short of given random bytes: the low bits of the first w words are even, those of the others 1, and
/// sorting on the high bits permutes them.
pub(crate) fn short_derand<P: ParameterSet>(sample: &mut Coefficients<P>, bytes: &P::SampleBytes) {
    let mut words = [0u32; MAX_P];
    for (i, (word, four)) in words.iter_mut().zip(bytes.as_ref().chunks_exact(4)).enumerate() {
        let random = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        *word = if i < P::W { random & !1 } else { random & !3 | 1 };
    }
    sort(&mut words[..P::P]);
    for (x, word) in sample.as_mut_slice().iter_mut().zip(&words) {
        *x = (word & 3) as i16 - 1;
    }
    wipe(&mut words);
}

/// Fills `sample` with a uniform Small drawn as one call of 4p bytes.
pub(crate) fn small<P: ParameterSet, R: TryCryptoRng + ?Sized>(
    sample: &mut Coefficients<P>,
    random: &mut R,
) -> Result<(), Error> {
    let mut bytes = P::SampleBytes::filled(0);
    let drawn = random.try_fill_bytes(bytes.as_mut());
    for (x, four) in sample.as_mut_slice().iter_mut().zip(bytes.as_ref().chunks_exact(4)) {
        let random = u32::from_le_bytes([four[0], four[1], four[2], four[3]]) & ((1 << 30) - 1);
        *x = ((random * 3) >> 30) as i16 - 1;
    }
    wipe(bytes.as_mut());
    drawn.map_err(|_| Error::RandomSource)
}

/// Sorts by a network whose comparisons do not depend on the data: Batcher's merge exchange (Knuth, volume 3,
/// algorithm 5.2.2M), its partners taken in runs so that compilers can vectorise them.
fn sort(words: &mut [u32]) {
    let n = words.len();
    let top = n.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        // Positions i with bit p equal to that of `phase` are compared with i + distance.
        let (mut q, mut phase, mut distance) = (top, 0, p);
        loop {
            let mut start = phase;
            while start + distance < n {
                let run = p.min(n - distance - start);
                let (low, high) = words.split_at_mut(start + distance);
                exchange(&mut low[start..start + run], &mut high[..run]);
                start += 2 * p;
            }
            if q == p {
                break;
            }
            distance = q - p;
            q /= 2;
            phase = p;
        }
        p /= 2;
    }
}

#[inline(always)]
fn exchange(low: &mut [u32], high: &mut [u32]) {
    for (a, b) in low.iter_mut().zip(high) {
        // The borrow of a - b is all ones if and only if a < b.
        let smaller = (u64::from(*a).wrapping_sub(u64::from(*b)) >> 32) as u32;
        let difference = (*a ^ *b) & !smaller;
        *a ^= difference;
        *b ^= difference;
    }
}

#[cfg(test)]
mod tests {
    use super::sort;

    /// By the 0-1 principle a network sorts everything if it sorts all sequences of zeros and ones; sorted-then-cut
    /// patterns and pseudo-random words cover the lengths in use.
    #[test]
    fn sorts() {
        let mut state = 1u32;
        for n in [1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 653, 761, 857, 953, 1013, 1277] {
            for round in 0..200 {
                let mut words: Vec<u32> = (0..n)
                    .map(|_| {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        if round % 3 == 0 { state >> 31 } else { state }
                    })
                    .collect();
                let mut expected = words.clone();
                expected.sort_unstable();
                sort(&mut words);
                assert_eq!(words, expected, "n = {n}");
            }
        }
        for n in 1..=16 {
            for bits in 0..1u32 << n {
                let mut words: Vec<u32> = (0..n).map(|i| bits >> i & 1).collect();
                let mut expected = words.clone();
                expected.sort_unstable();
                sort(&mut words);
                assert_eq!(words, expected);
            }
        }
    }
}
