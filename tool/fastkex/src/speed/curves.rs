//! Measures X25519 and Ed25519.

use curve25519::ed25519::{self, SigningKey};
use curve25519::{Error, x25519};
use measure::measure;
use sntrup::Backend;

use super::Measuring;
use crate::curves::{Curve, EIGHT, MESSAGE_BYTES};
use crate::measuring::{measure_fallible, random};
use output::Failure;

impl Curve {
    pub(super) fn measure(
        self,
        measuring: Measuring<'_>,
        batches: &[usize],
    ) -> Result<(), Failure> {
        match self {
            Curve::X25519 => x25519(measuring, batches),
            Curve::Ed25519 => ed25519(measuring, batches),
        }
    }
}

fn x25519(mut measuring: Measuring<'_>, batches: &[usize]) -> Result<(), Failure> {
    for &batch in batches {
        measuring.add("keygen", batch, |options, backend| {
            measure_fallible(options, batch, || {
                x25519::generate_batch(backend, &mut random(), batch)
            })
        })?;
    }
    let pairs = x25519::generate_batch(Backend::best(), &mut random(), EIGHT);
    let pairs = pairs.map_err(Failure::new)?;
    let secrets: Vec<_> = pairs.iter().map(|pair| pair.secret.clone()).collect();
    let publics: Vec<_> = pairs.iter().rev().map(|pair| pair.public).collect();
    measuring.add("derive", 1, |options, backend| {
        measure_fallible(options, 1, || x25519::shared_secret(backend, &secrets[0], &publics[0]))
    })?;
    measuring.add("derive-eight", EIGHT, |options, backend| {
        measure_fallible(options, EIGHT, || {
            let shared = x25519::shared_secrets(backend, &secrets, &publics);
            shared.into_iter().collect::<Result<Vec<_>, Error>>()
        })
    })
}

fn ed25519(mut measuring: Measuring<'_>, batches: &[usize]) -> Result<(), Failure> {
    for &batch in batches {
        measuring.add("keygen", batch, |options, backend| {
            measure_fallible(options, batch, || {
                ed25519::generate_batch(backend, &mut random(), batch)
            })
        })?;
    }
    let key = SigningKey::from_seed(Backend::best(), &[1; ed25519::SEED_BYTES]);
    let message = [0x20; MESSAGE_BYTES];
    measuring.add("sign", 1, |options, backend| {
        Ok::<_, Error>(measure(options, 1, || ed25519::sign(backend, &key, &message)))
    })?;
    let signature = ed25519::sign(Backend::best(), &key, &message);
    measuring.add("verify", 1, |options, backend| {
        measure_fallible(options, 1, || {
            ed25519::verify(backend, key.verifying_key(), &signature, &message)
        })
    })
}
