//! X25519 and Ed25519.

use curve25519::ed25519::{self, SigningKey};
use curve25519::{Error, x25519};
use measure::measure;
use sntrup::Backend;

use super::Measuring;
use crate::measuring::{measure_fallible, random};
use crate::sets::ALL;
use cli::Failure;

/// What is measured.
#[derive(Clone, Copy)]
pub(super) enum Curve {
    X25519,
    Ed25519,
}

/// Their names.
pub(super) const NAMES: [&str; 2] = [Curve::X25519.name(), Curve::Ed25519.name()];

/// Bytes of the message that is signed: what a server signs in TLS 1.3 (RFC 9846, section 4.5.2) with SHA-256.
const MESSAGE_BYTES: usize = 64 + 33 + 1 + 32;

/// Exchanges that are computed at once.
const EIGHT: usize = 8;

/// Those that a list of the command line stands for.
pub(super) fn selected(list: &[String]) -> Vec<Curve> {
    let wanted = |curve: &Curve| list.iter().any(|item| item == curve.name() || item == ALL);
    [Curve::X25519, Curve::Ed25519].into_iter().filter(wanted).collect()
}

impl Curve {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Curve::X25519 => "x25519",
            Curve::Ed25519 => "ed25519",
        }
    }

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
