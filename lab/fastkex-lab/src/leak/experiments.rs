//! Operations with two classes of inputs, whose times must not differ.

mod curves;
mod decapsulation;
mod ml_kem;
mod streamlined;

use reference::drbg::Drbg;
use sntrup::{Backend, Error};

use fastkex::curves::Curve;
use fastkex::sets::{ForFamily, for_family};

use super::collect::{INPUTS, Limit, Pair, Times, collect};

/// An operation that is timed with two classes of inputs.
pub(crate) struct Experiment {
    /// The operation, as `fastkex speed` calls it.
    pub(crate) operation: &'static str,
    /// The two classes.
    pub(crate) classes: &'static str,
    pub(crate) run: fn(&mut Setting<'_>) -> Result<Times, Error>,
}

/// Backend, duration and random source of an experiment.
pub(crate) struct Setting<'a> {
    pub(crate) backend: Backend,
    pub(crate) limit: Limit<'a>,
    pub(crate) random: &'a mut Drbg,
}

impl Setting<'_> {
    /// Calls [`collect`] with the setting's limit and random source.
    fn collect<S, T>(
        &mut self,
        inputs: &[Pair],
        mut state: S,
        load: impl Fn(&mut S, &[u8]) -> Result<(), Error>,
        operation: impl Fn(&mut S) -> T,
    ) -> Result<Times, Error> {
        collect(&self.limit, self.random, inputs, &mut state, load, operation)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.random.fill(&mut bytes);
        bytes
    }
}

/// The operations with experiments.
pub(crate) const OPERATIONS: [&str; 9] = [
    KEYGEN,
    PREPARE,
    ENCAPSULATE,
    ENCAPSULATE_PREPARED,
    DECAPSULATE,
    DECAPSULATE_EXPANDED,
    DERIVE,
    DERIVE_EIGHT,
    SIGN,
];

const KEYGEN: &str = "keygen";
const PREPARE: &str = "prepare";
const ENCAPSULATE: &str = "encapsulate";
const ENCAPSULATE_PREPARED: &str = "encapsulate-prepared";
const DECAPSULATE: &str = "decapsulate";
const DECAPSULATE_EXPANDED: &str = "decapsulate-expanded";
const DERIVE: &str = "derive";
const DERIVE_EIGHT: &str = "derive-eight";
const SIGN: &str = "sign";

const RANDOM_R: &str = "fixed or random r";
const RANDOM_KEY: &str = "fixed or random secret key";
const ALTERED: &str = "accepted or altered ciphertext";
const ARBITRARY: &str = "accepted or arbitrary ciphertext";

/// Returns all experiments with the algorithm `name`, or `None` if it is unknown.
pub(crate) fn experiments(name: &str) -> Option<Vec<Experiment>> {
    match name {
        _ if name == Curve::X25519.name() => Some(curves::with_x25519()),
        _ if name == Curve::Ed25519.name() => Some(curves::with_ed25519()),
        _ => for_family(name, WithSet),
    }
}

struct WithSet;

impl ForFamily for WithSet {
    type Output = Vec<Experiment>;

    fn streamlined<P: sntrup::Operations>(self) -> Vec<Experiment> {
        streamlined::with_set::<P>()
    }

    fn ml_kem<P: mlkem::Operations>(self) -> Vec<Experiment> {
        ml_kem::with_set::<P>()
    }
}

fn experiment(
    operation: &'static str,
    classes: &'static str,
    run: fn(&mut Setting<'_>) -> Result<Times, Error>,
) -> Experiment {
    Experiment { operation, classes, run }
}

/// Makes pairs of a fixed and a random input.
fn fixed_or_random(mut make: impl FnMut() -> Result<Vec<u8>, Error>) -> Result<Vec<Pair>, Error> {
    let fixed = make()?;
    (0..INPUTS).map(|_| Ok([fixed.clone(), make()?])).collect()
}

/// Loads an input whose state is its bytes.
fn copy<B: AsMut<[u8]>>(to: &mut B, input: &[u8]) -> Result<(), Error> {
    to.as_mut().copy_from_slice(input);
    Ok(())
}
