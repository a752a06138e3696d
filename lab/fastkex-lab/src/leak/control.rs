//! Controls: a leak that must be found, and a comparison without a leak.

use std::hint::black_box;

use reference::drbg::Drbg;

use sntrup::Error;

use super::collect::{INPUTS, Limit, Pair, Times, collect};

/// The number of bytes to compare.
const BYTES: usize = 64;

type Value = [u8; BYTES];

/// A comparison of secrets.
pub(crate) struct Control {
    pub(crate) operation: &'static str,
    pub(crate) leaks: bool,
    compare: fn(&Value, &Value) -> bool,
}

/// The two classes of every control.
pub(crate) const CLASSES: &str = "equal or different bytes";

pub(crate) const CONTROLS: [Control; 2] = [
    Control { operation: "leaky control", leaks: true, compare: compare_leaking },
    Control { operation: "constant control", leaks: false, compare: compare_constant },
];

/// Returns at the first byte that differs.
#[inline(never)]
fn compare_leaking(a: &Value, b: &Value) -> bool {
    for (x, y) in a.iter().zip(b) {
        if black_box(*x) != *y {
            return false;
        }
    }
    true
}

#[inline(never)]
fn compare_constant(a: &Value, b: &Value) -> bool {
    black_box(a.iter().zip(b).fold(0, |bits, (x, y)| bits | (x ^ y))) == 0
}

impl Control {
    /// Times the comparison of a secret with itself, and with values that differ from some byte on.
    pub(crate) fn run(&self, limit: &Limit<'_>, random: &mut Drbg) -> Result<Times, Error> {
        let mut secret = [0; BYTES];
        random.fill(&mut secret);
        let inputs: Vec<Pair> = (0..INPUTS)
            .map(|i| {
                let mut other = secret;
                other[i % BYTES..].iter_mut().for_each(|byte| *byte ^= 0xff);
                [secret.to_vec(), other.to_vec()]
            })
            .collect();
        let load = |place: &mut Value, input: &[u8]| {
            place.copy_from_slice(input);
            Ok(())
        };
        let mut state = secret;
        collect(limit, random, &inputs, &mut state, load, |other| {
            (self.compare)(&secret, black_box(other))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_compare() {
        for control in CONTROLS {
            let mut other = [5; BYTES];
            assert!((control.compare)(&[5; BYTES], &other), "{}", control.operation);
            other[BYTES - 1] = 6;
            assert!(!(control.compare)(&[5; BYTES], &other), "{}", control.operation);
        }
    }
}
