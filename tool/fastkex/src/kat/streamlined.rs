//! Known answers of Streamlined NTRU Prime.

use core::marker::PhantomData;

use reference::drbg::Drbg;
use reference::kat::{Implementation, KatFile, Record, replay};
use sntrup::{Backend, Error};

use super::{BATCHES, Replayed};
use crate::kem::Kem;

/// A parameter set on a backend. Sequences of keys are generated in batches of a fixed size.
struct OnBackend<K> {
    backend: Backend,
    batch: usize,
    kem: PhantomData<K>,
}

/// Returns the encodings of both halves of a key pair.
fn encoded<K: Kem>(pair: K::KeyPair) -> (Vec<u8>, Vec<u8>) {
    let (public, secret) = K::into_parts(pair);
    (K::public_key_bytes(&public).to_vec(), K::secret_key_bytes(&secret).to_vec())
}

impl<K: Kem> Implementation for OnBackend<K> {
    type Error = Error;

    fn key_generation(&mut self, random: &mut Drbg) -> Result<(Vec<u8>, Vec<u8>), Error> {
        Ok(encoded::<K>(K::generate(self.backend, random)?))
    }

    fn key_generation_batch(
        &mut self,
        count: usize,
        random: &mut Drbg,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, Error> {
        let mut keys = Vec::with_capacity(count);
        while keys.len() < count {
            let size = self.batch.min(count - keys.len());
            let batch = K::generate_batch(self.backend, size, random)?;
            keys.extend(batch.into_iter().map(encoded::<K>));
        }
        Ok(keys)
    }

    fn encapsulate(
        &mut self,
        public_key: &[u8],
        random: &mut Drbg,
    ) -> Result<(Vec<u8>, [u8; 32]), Error> {
        let key = K::read_public_key(self.backend, public_key)?;
        let (ciphertext, shared) = K::encapsulate(&key, self.backend, random)?;
        Ok((K::ciphertext_bytes(&ciphertext).to_vec(), *shared.as_bytes()))
    }

    fn decapsulate(&mut self, secret_key: &[u8], ciphertext: &[u8]) -> Result<[u8; 32], Error> {
        let key = K::read_secret_key(self.backend, secret_key)?;
        let ciphertext = K::read_ciphertext(ciphertext)?;
        Ok(*K::decapsulate(&key, self.backend, &ciphertext).as_bytes())
    }
}

/// Replays counts once, and sequences in batches of every size.
pub(super) fn replay_on<K: Kem>(
    name: &str,
    file: &KatFile,
    backend: Backend,
    results: &mut Vec<Replayed>,
) {
    let has_sequence = file.records.iter().any(|record| matches!(record, Record::Sequence(_)));
    let batches = if has_sequence { &BATCHES[..] } else { &BATCHES[..1] };
    for &batch in batches {
        let mut implementation = OnBackend::<K> { backend, batch, kem: PhantomData };
        let records = file
            .records
            .iter()
            .filter(|record| batch == 1 || matches!(record, Record::Sequence(_)))
            .map(|record| replay(record, &mut implementation));
        results.push(Replayed::of(records, name, K::NAME, backend, batch));
    }
}
