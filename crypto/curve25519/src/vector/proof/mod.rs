//! Kernels on lanes of symbols: ranges and values for all inputs. What a value is compared with is
//! in `crate::proof`.

mod curve;
mod kernels;
mod operations;

use lanes::FIELD_LANES;
use lanes::proof::{Residue, Symbol, Symbols, examine};
use reference::drbg::Drbg;

use super::field::Elements;
use crate::field::LIMBS;
use crate::proof::definition::Number;

/// Lanes with products as AVX-512 splits them, or, if `SIGNED`, AVX2.
type Proof<const SIGNED: bool> = Symbols<Number, SIGNED>;
type Vectors = Elements<Proof<false>>;

/// The largest limb of reduced vectors, which are factors, of wide ones, and of what no lanes take
/// for a factor.
const REDUCED: u64 = (1 << 51) + (1 << 17) - 1;
const WIDE: u64 = (1 << 61) - 1;
const NO_FACTOR: u64 = 1 << 52;

/// Limbs up to the given one: they are variables, with a random value each.
fn vectors(random: &mut Drbg, largest: u64) -> Vectors {
    let mut v = [[Symbol::default(); FIELD_LANES]; LIMBS];
    for limb in v.as_flattened_mut() {
        *limb = Symbol::new(0..=largest, Number::random(random));
    }
    v
}

/// The same, of elements with the given values.
fn vectors_of(random: &mut Drbg, largest: u64, values: [Number; FIELD_LANES]) -> Vectors {
    let mut v = vectors(random, largest);
    for lane in 0..FIELD_LANES {
        // The lowest limb counts once.
        let excess = value(&v, lane).sub(values[lane]);
        v[0][lane] = Symbol::new(0..=largest, v[0][lane].value().sub(excess));
    }
    v
}

/// The element in a lane.
fn value(v: &Vectors, lane: usize) -> Number {
    let mut limbs = [Number::default(); LIMBS];
    for i in 0..LIMBS {
        limbs[i] = v[i][lane].value();
    }
    Number::of_limbs(&limbs)
}

fn values(v: &Vectors) -> [Number; FIELD_LANES] {
    core::array::from_fn(|lane| value(v, lane))
}

fn is_within(v: &Vectors, largest: u64) -> bool {
    v.as_flattened().iter().all(|limb| limb.high() <= largest)
}

/// Whether nothing goes wrong, and what comes out is right.
fn holds(claim: impl FnOnce() -> bool) -> bool {
    let (right, violations) = examine(claim);
    right && violations.is_empty()
}

/// The claim holds, and no longer if an operation on the way gives one more than it should: every
/// one, or every `step`th.
fn holds_by_operations(step: usize, name: &str, claim: impl Fn() -> bool) {
    lanes::proof::prove(|| assert!(claim(), "{name}: another value or a larger one"));
    let mut operations = 0;
    while let Some(held) = lanes::proof::with_fault(operations, || holds(&claim)) {
        assert!(!held, "{name}: operation {operations} may be wrong");
        operations += step as u64;
    }
    assert!(operations > 0, "{name}");
}
