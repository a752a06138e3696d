//! Experiments with Streamlined NTRU Prime.

use fastkex::kem::Streamlined as Set;
use random::Given;
use sntrup::{Array, Backend, Error, KeyPair, Operations, PreparedEncapsulation};

use super::decapsulation::{
    Expanded, Plain, altered_from, arbitrary, decapsulate, fixed_or_random_keys as keys, key,
};
use super::{
    ALTERED, ARBITRARY, DECAPSULATE, DECAPSULATE_EXPANDED, ENCAPSULATE, ENCAPSULATE_PREPARED,
    Experiment, KEYGEN, PREPARE, RANDOM_KEY, RANDOM_R, Setting, copy, experiment, fixed_or_random,
};
use crate::leak::collect::{Pair, Times};

/// Keys in a batch: the fewest with a first, a last and some between.
const BATCH: usize = 4;

pub(super) fn with_set<P: Operations>() -> Vec<Experiment> {
    vec![
        experiment(KEYGEN, "fixed or random g", |setting| keygen::<P>(setting, Part::G)),
        experiment(KEYGEN, "fixed or random f", |setting| keygen::<P>(setting, Part::F)),
        experiment(KEYGEN, "fixed or random rho", |setting| keygen::<P>(setting, Part::Rho)),
        experiment(KEYGEN, "fixed or random batch of 4", keygen_batch::<P>),
        experiment(PREPARE, RANDOM_R, prepare::<P>),
        experiment(ENCAPSULATE, RANDOM_R, encapsulate::<P>),
        experiment(ENCAPSULATE_PREPARED, RANDOM_R, encapsulate_prepared::<P>),
        experiment(DECAPSULATE, ALTERED, |s| decapsulate::<Set<P>, Plain<_>>(s, altered::<P>)),
        experiment(DECAPSULATE, ARBITRARY, |s| {
            decapsulate::<Set<P>, Plain<_>>(s, arbitrary::<Set<P>>)
        }),
        experiment(DECAPSULATE, RANDOM_KEY, |s| decapsulate::<Set<P>, Plain<_>>(s, keys::<Set<P>>)),
        experiment(DECAPSULATE_EXPANDED, ALTERED, |s| {
            decapsulate::<Set<P>, Expanded<_>>(s, altered::<P>)
        }),
        experiment(DECAPSULATE_EXPANDED, ARBITRARY, |s| {
            decapsulate::<Set<P>, Expanded<_>>(s, arbitrary::<Set<P>>)
        }),
        experiment(DECAPSULATE_EXPANDED, RANDOM_KEY, |s| {
            decapsulate::<Set<P>, Expanded<_>>(s, keys::<Set<P>>)
        }),
    ]
}

/// A part of a key's random input, in the order of drawing.
#[derive(Clone, Copy)]
enum Part {
    G,
    F,
    Rho,
}

impl Part {
    fn bytes<P: Operations>(self) -> core::ops::Range<usize> {
        let (sample, all) = (P::SAMPLE_BYTES, key_bytes::<P>());
        match self {
            Part::G => 0..sample,
            Part::F => sample..2 * sample,
            Part::Rho => 2 * sample..all,
        }
    }
}

/// Returns the number of random bytes for one key.
fn key_bytes<P: Operations>() -> usize {
    2 * P::SAMPLE_BYTES + P::SMALL_BYTES
}

/// Draws `part` of the bytes of keys until no g is rejected. The number of rejections is public,
/// and takes time.
fn draw_keys<P: Operations>(
    setting: &mut Setting<'_>,
    bytes: &mut [u8],
    part: core::ops::Range<usize>,
) -> Result<(), Error> {
    /// At most one g in 27 is rejected.
    const ATTEMPTS: usize = 100;
    let count = bytes.len() / key_bytes::<P>();
    for _ in 0..ATTEMPTS {
        setting.random.fill(&mut bytes[part.clone()]);
        let keys = KeyPair::<P>::generate_batch(Backend::best(), count, &mut Given(bytes));
        if keys.is_ok() {
            return Ok(());
        }
    }
    Err(Error::RandomSource)
}

fn keygen<P: Operations>(setting: &mut Setting<'_>, part: Part) -> Result<Times, Error> {
    let mut bytes = vec![0; key_bytes::<P>()];
    let all = 0..bytes.len();
    draw_keys::<P>(setting, &mut bytes, all)?;
    let inputs = fixed_or_random(|| {
        let mut bytes = bytes.clone();
        draw_keys::<P>(setting, &mut bytes, part.bytes::<P>())?;
        Ok(bytes)
    })?;
    let backend = setting.backend;
    setting
        .collect(&inputs, bytes, copy, |bytes| KeyPair::<P>::generate(backend, &mut Given(bytes)))
}

fn keygen_batch<P: Operations>(setting: &mut Setting<'_>) -> Result<Times, Error> {
    let length = BATCH * key_bytes::<P>();
    let inputs = fixed_or_random(|| {
        let mut bytes = vec![0; length];
        draw_keys::<P>(setting, &mut bytes, 0..length)?;
        Ok(bytes)
    })?;
    let backend = setting.backend;
    setting.collect(&inputs, vec![0; length], copy, |bytes| {
        KeyPair::<P>::generate_batch(backend, BATCH, &mut Given(bytes))
    })
}

/// Makes inputs for the random polynomial r.
fn samples<P: Operations>(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    fixed_or_random(|| Ok(setting.bytes(P::SAMPLE_BYTES)))
}

fn prepare<P: Operations>(setting: &mut Setting<'_>) -> Result<Times, Error> {
    let (inputs, backend) = (samples::<P>(setting)?, setting.backend);
    setting.collect(&inputs, P::SampleBytes::filled(0), copy, |bytes| {
        PreparedEncapsulation::<P>::generate_derand(backend, bytes)
    })
}

fn encapsulate<P: Operations>(setting: &mut Setting<'_>) -> Result<Times, Error> {
    let (public, _) = key::<Set<P>>(setting)?;
    let (inputs, backend) = (samples::<P>(setting)?, setting.backend);
    setting.collect(&inputs, P::SampleBytes::filled(0), copy, |bytes| {
        public.encapsulate_derand(backend, bytes)
    })
}

fn encapsulate_prepared<P: Operations>(setting: &mut Setting<'_>) -> Result<Times, Error> {
    let (public, _) = key::<Set<P>>(setting)?;
    let (inputs, backend) = (samples::<P>(setting)?, setting.backend);
    let load = |prepared: &mut Option<PreparedEncapsulation<P>>, input: &[u8]| {
        let mut bytes = P::SampleBytes::filled(0);
        copy(&mut bytes, input)?;
        *prepared = Some(PreparedEncapsulation::generate_derand(backend, &bytes));
        Ok(())
    };
    setting.collect(&inputs, None, load, |prepared| {
        prepared.take().map(|prepared| prepared.encapsulate(&public))
    })
}

/// Makes pairs in which one bit of the second ciphertext's confirmation is wrong.
fn altered<P: Operations>(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    altered_from::<Set<P>>(setting, P::ROUNDED_BYTES)
}
