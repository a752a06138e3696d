//! Experiments with decapsulations of any KEM.

use fastkex::kem::Kem;
use sntrup::{Backend, Error, SharedSecret};

use super::{Setting, fixed_or_random};
use crate::leak::collect::{INPUTS, Pair, Times};

pub(super) fn key<K: Kem>(
    setting: &mut Setting<'_>,
) -> Result<(K::PublicKey, K::SecretKey), Error> {
    Ok(K::into_parts(K::generate(Backend::best(), setting.random)?))
}

fn ciphertext<K: Kem>(setting: &mut Setting<'_>, public: &K::PublicKey) -> Result<Vec<u8>, Error> {
    let (ciphertext, _) = K::encapsulate(public, Backend::best(), setting.random)?;
    Ok(K::ciphertext_bytes(&ciphertext).to_vec())
}

/// Concatenates the bytes of a key and a ciphertext.
pub(super) fn delivery(key: &[u8], ciphertext: &[u8]) -> Vec<u8> {
    [key, ciphertext].concat()
}

/// Makes pairs of an accepted ciphertext and another one.
fn accepted_or<K: Kem>(
    setting: &mut Setting<'_>,
    other: impl Fn(&mut Setting<'_>, &[u8]) -> Vec<u8>,
) -> Result<Vec<Pair>, Error> {
    let (public, secret) = key::<K>(setting)?;
    let secret = K::secret_key_bytes(&secret);
    (0..INPUTS)
        .map(|_| {
            let accepted = ciphertext::<K>(setting, &public)?;
            let other = other(setting, &accepted);
            Ok([delivery(secret, &accepted), delivery(secret, &other)])
        })
        .collect()
}

/// Makes pairs in which one bit of the second ciphertext is wrong, in the byte `from` or a later
/// one.
pub(super) fn altered_from<K: Kem>(
    setting: &mut Setting<'_>,
    from: usize,
) -> Result<Vec<Pair>, Error> {
    accepted_or::<K>(setting, |setting, accepted| {
        let mut bytes = accepted.to_vec();
        let (random, length) = (setting.bytes(3), bytes.len() - from);
        let place = usize::from(u16::from_le_bytes([random[0], random[1]])) % length;
        bytes[from + place] ^= 1 << (random[2] % 8);
        bytes
    })
}

/// Makes pairs in which the second ciphertext is random bytes.
pub(super) fn arbitrary<K: Kem>(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    accepted_or::<K>(setting, |setting, _| setting.bytes(K::CIPHERTEXT_BYTES))
}

/// Makes pairs of keys, each with a ciphertext that it accepts.
pub(super) fn fixed_or_random_keys<K: Kem>(setting: &mut Setting<'_>) -> Result<Vec<Pair>, Error> {
    fixed_or_random(|| {
        let (public, secret) = key::<K>(setting)?;
        let ciphertext = ciphertext::<K>(setting, &public)?;
        Ok(delivery(K::secret_key_bytes(&secret), &ciphertext))
    })
}

/// A key that decapsulates.
pub(super) trait Decapsulator<K: Kem>: Sized {
    fn new(key: K::SecretKey, backend: Backend) -> Self;
    fn decapsulate(&self, backend: Backend, ciphertext: &K::Ciphertext) -> SharedSecret;
}

/// A key as it was read.
pub(super) struct Plain<K: Kem>(K::SecretKey);

impl<K: Kem> Decapsulator<K> for Plain<K> {
    fn new(key: K::SecretKey, _: Backend) -> Self {
        Plain(key)
    }

    fn decapsulate(&self, backend: Backend, ciphertext: &K::Ciphertext) -> SharedSecret {
        K::decapsulate(&self.0, backend, ciphertext)
    }
}

/// A key that is prepared for many decapsulations.
pub(super) struct Expanded<K: Kem>(K::ExpandedKey);

impl<K: Kem> Decapsulator<K> for Expanded<K> {
    fn new(key: K::SecretKey, backend: Backend) -> Self {
        Expanded(K::expand(&key, backend))
    }

    fn decapsulate(&self, _: Backend, ciphertext: &K::Ciphertext) -> SharedSecret {
        K::decapsulate_expanded(&self.0, ciphertext)
    }
}

pub(super) fn decapsulate<K: Kem, D: Decapsulator<K>>(
    setting: &mut Setting<'_>,
    inputs: fn(&mut Setting<'_>) -> Result<Vec<Pair>, Error>,
) -> Result<Times, Error> {
    let (inputs, backend) = (inputs(setting)?, setting.backend);
    let load = |state: &mut Option<(D, K::Ciphertext)>, input: &[u8]| {
        // Frees the heap memory first, so that the next state is allocated at the same address.
        *state = None;
        let (key, ciphertext) = input.split_at(K::SECRET_KEY_BYTES);
        let key = D::new(K::read_secret_key(Backend::best(), key)?, backend);
        *state = Some((key, K::read_ciphertext(ciphertext)?));
        Ok(())
    };
    setting.collect(&inputs, None, load, |state| {
        state.as_ref().map(|(key, ciphertext)| key.decapsulate(backend, ciphertext))
    })
}
