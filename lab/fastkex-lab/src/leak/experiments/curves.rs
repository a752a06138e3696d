//! Experiments with X25519 and Ed25519.

use curve25519::{ed25519, x25519};
use fastkex::curves::{EIGHT, MESSAGE_BYTES};
use sntrup::{Backend, Error};

use super::{
    DERIVE, DERIVE_EIGHT, Experiment, KEYGEN, RANDOM_KEY, SIGN, Setting, copy, experiment,
    fixed_or_random,
};
use crate::leak::collect::{Pair, Times};

pub(super) fn with_x25519() -> Vec<Experiment> {
    const RANDOM_EIGHT: &str = "fixed or random batch of 8";
    vec![
        experiment(KEYGEN, RANDOM_KEY, |setting| {
            exchange::<1, _>(setting, |backend, [secret], _| x25519::public_key(backend, secret))
        }),
        experiment(KEYGEN, RANDOM_EIGHT, |setting| {
            exchange::<EIGHT, _>(setting, |backend, secrets, _| {
                x25519::public_keys(backend, secrets)
            })
        }),
        experiment(DERIVE, RANDOM_KEY, |setting| {
            exchange::<1, _>(setting, |backend, [secret], [peer]| {
                x25519::shared_secret(backend, secret, peer)
            })
        }),
        experiment(DERIVE_EIGHT, RANDOM_EIGHT, |setting| {
            exchange::<EIGHT, _>(setting, |backend, secrets, peers| {
                x25519::shared_secrets(backend, secrets, peers)
            })
        }),
    ]
}

pub(super) fn with_ed25519() -> Vec<Experiment> {
    vec![
        experiment(KEYGEN, RANDOM_KEY, |setting| {
            let (inputs, backend) = (seeds(setting)?, setting.backend);
            setting.collect(&inputs, [0; ed25519::SEED_BYTES], copy, |seed| {
                ed25519::SigningKey::from_seed(backend, seed)
            })
        }),
        experiment(SIGN, RANDOM_KEY, |setting| {
            let (inputs, backend) = (seeds(setting)?, setting.backend);
            let load = |key: &mut Option<ed25519::SigningKey>, input: &[u8]| {
                let mut seed = [0; ed25519::SEED_BYTES];
                copy(&mut seed, input)?;
                *key = Some(ed25519::SigningKey::from_seed(backend, &seed));
                Ok(())
            };
            setting.collect(&inputs, None, load, |key| {
                let sign = |key| ed25519::sign(backend, key, &[0x20; MESSAGE_BYTES]);
                key.as_ref().map(sign)
            })
        }),
    ]
}

fn seeds(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    fixed_or_random(|| Ok(setting.bytes(ed25519::SEED_BYTES)))
}

/// Times an operation with `COUNT` secret keys, fixed or random, and the same number of fixed
/// public keys.
fn exchange<const COUNT: usize, T>(
    setting: &mut Setting<'_>,
    operation: fn(Backend, &[x25519::SecretKey; COUNT], &[x25519::PublicKey; COUNT]) -> T,
) -> Result<Times, Error> {
    const BYTES: usize = x25519::SECRET_KEY_BYTES;
    let mut peer = [0; BYTES];
    setting.random.fill(&mut peer);
    let peers = [x25519::PublicKey(peer); COUNT];
    let inputs = fixed_or_random(|| Ok(setting.bytes(COUNT * BYTES)))?;
    let backend = setting.backend;
    let secret = || x25519::SecretKey::from_bytes(&[0; BYTES]);
    let secrets: [_; COUNT] = core::array::from_fn(|_| secret());
    let load = |secrets: &mut [x25519::SecretKey; COUNT], input: &[u8]| {
        for (secret, bytes) in secrets.iter_mut().zip(input.as_chunks().0) {
            *secret = x25519::SecretKey::from_bytes(bytes);
        }
        Ok(())
    };
    setting.collect(&inputs, secrets, load, |secrets| operation(backend, secrets, &peers))
}
