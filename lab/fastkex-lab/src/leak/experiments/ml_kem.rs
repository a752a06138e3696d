//! Experiments with ML-KEM.
//!
//! The matrix of a key is sampled from a seed, by rejection, so the time depends on that seed. The
//! seed is public: it is a part of the encapsulation key. It comes from the same random bytes as
//! the secrets of the key. So two keys with different secrets also have different matrices, and
//! different times. Key generation is therefore no experiment, and the experiments here have one
//! public key for both classes.

use fastkex::kem::{Kem, MlKem as Set};
use mlkem::{Error, Operations};

use super::decapsulation::{Expanded, Plain, altered_from, arbitrary, decapsulate, delivery, key};
use super::{
    ALTERED, ARBITRARY, DECAPSULATE, DECAPSULATE_EXPANDED, ENCAPSULATE, Experiment, Setting, copy,
    experiment, fixed_or_random,
};
use crate::leak::collect::{INPUTS, Pair, Times};

const RANDOM_M: &str = "fixed or random m";
const RANDOM_SECRETS: &str = "fixed or random s and z";

/// Bytes of m, and of z and the matrix's seed at the ends of keys.
const SEED_BYTES: usize = 32;

pub(super) fn with_set<P: Operations>() -> Vec<Experiment> {
    vec![
        experiment(ENCAPSULATE, RANDOM_M, encapsulate::<P>),
        experiment(DECAPSULATE, ALTERED, |s| decapsulate::<Set<P>, Plain<_>>(s, altered::<P>)),
        experiment(DECAPSULATE, ARBITRARY, |s| {
            decapsulate::<Set<P>, Plain<_>>(s, arbitrary::<Set<P>>)
        }),
        experiment(DECAPSULATE, RANDOM_SECRETS, |s| {
            decapsulate::<Set<P>, Plain<_>>(s, secrets::<P>)
        }),
        experiment(DECAPSULATE_EXPANDED, ALTERED, |s| {
            decapsulate::<Set<P>, Expanded<_>>(s, altered::<P>)
        }),
        experiment(DECAPSULATE_EXPANDED, ARBITRARY, |s| {
            decapsulate::<Set<P>, Expanded<_>>(s, arbitrary::<Set<P>>)
        }),
        experiment(DECAPSULATE_EXPANDED, RANDOM_SECRETS, |s| {
            decapsulate::<Set<P>, Expanded<_>>(s, secrets::<P>)
        }),
    ]
}

fn encapsulate<P: Operations>(setting: &mut Setting<'_>) -> Result<Times, Error> {
    let (public, _) = key::<Set<P>>(setting)?;
    let inputs = fixed_or_random(|| Ok(setting.bytes(SEED_BYTES)))?;
    let backend = setting.backend;
    setting.collect(&inputs, [0; SEED_BYTES], copy, |message| {
        public.encapsulate_derand(backend, message)
    })
}

/// Makes pairs in which one bit of the second ciphertext is wrong.
fn altered<P: Operations>(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    altered_from::<Set<P>>(setting, 0)
}

/// Makes pairs of secret keys with the same public key: the second one has s and z of another key.
/// Both reject the ciphertext, which is arbitrary.
fn secrets<P: Operations>(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    let (_, fixed) = key::<Set<P>>(setting)?;
    let ciphertext = setting.bytes(P::CIPHERTEXT_BYTES);
    let s = 0..Set::<P>::PUBLIC_KEY_BYTES - SEED_BYTES;
    let z = Set::<P>::SECRET_KEY_BYTES - SEED_BYTES..Set::<P>::SECRET_KEY_BYTES;
    (0..INPUTS)
        .map(|_| {
            let (_, other) = key::<Set<P>>(setting)?;
            let mut random = fixed.as_bytes().to_vec();
            for range in [s.clone(), z.clone()] {
                random[range.clone()].copy_from_slice(&other.as_bytes()[range]);
            }
            Ok([delivery(fixed.as_bytes(), &ciphertext), delivery(&random, &ciphertext)])
        })
        .collect()
}
