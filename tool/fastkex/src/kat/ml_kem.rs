//! Known answers of ML-KEM.

use core::marker::PhantomData;
use std::collections::HashMap;

use mlkem::{
    Backend, Ciphertext, DecapsulationKey, EncapsulationKey, Error, KeyPair, Operations, SEED_BYTES,
};
use random::Given;
use reference::ml_kem::kat::{Case, Implementation, KatFile, Record, replay};

use super::{BATCHES, Replayed};

/// The encodings of a key pair.
type Encoded = (Vec<u8>, Vec<u8>);

/// A parameter set on a backend.
struct OnBackend<P> {
    backend: Backend,
    /// Key pairs by their seed that were generated in batches.
    made: HashMap<[u8; SEED_BYTES], Encoded>,
    parameter_set: PhantomData<P>,
}

fn encoded<P: Operations>(pair: KeyPair<P>) -> Encoded {
    let (public, secret) = pair.into_parts();
    (public.as_bytes().to_vec(), secret.as_bytes().to_vec())
}

fn seed(d: &[u8; 32], z: &[u8; 32]) -> [u8; SEED_BYTES] {
    let mut seed = [0; SEED_BYTES];
    seed[..32].copy_from_slice(d);
    seed[32..].copy_from_slice(z);
    seed
}

impl<P: Operations> OnBackend<P> {
    fn new(backend: Backend) -> Self {
        OnBackend { backend, made: HashMap::new(), parameter_set: PhantomData }
    }

    /// Generates the key pairs of all seeds in batches.
    ///
    /// # Errors
    /// A key generation draws other bytes than its seed.
    fn generate(&mut self, seeds: &[[u8; SEED_BYTES]], batch: usize) -> Result<(), Error> {
        for seeds in seeds.chunks(batch) {
            let bytes = seeds.concat();
            let pairs =
                KeyPair::<P>::generate_batch(self.backend, seeds.len(), &mut Given(&bytes))?;
            self.made.extend(seeds.iter().copied().zip(pairs.into_iter().map(encoded)));
        }
        Ok(())
    }
}

impl<P: Operations> Implementation for OnBackend<P> {
    type Error = Error;

    fn key_generation(&mut self, d: &[u8; 32], z: &[u8; 32]) -> Result<Encoded, Error> {
        let seed = seed(d, z);
        let made = self.made.get(&seed).cloned();
        Ok(made.unwrap_or_else(|| encoded(KeyPair::<P>::from_seed(self.backend, &seed))))
    }

    fn check_encapsulation_key(&mut self, ek: &[u8]) -> Result<(), Error> {
        EncapsulationKey::<P>::from_bytes_on(self.backend, ek).map(drop)
    }

    fn encapsulate_derand(
        &mut self,
        ek: &[u8],
        m: &[u8; 32],
    ) -> Result<(Vec<u8>, [u8; 32]), Error> {
        let key = EncapsulationKey::<P>::from_bytes_on(self.backend, ek)?;
        let (ciphertext, shared) = key.encapsulate_derand(self.backend, m);
        Ok((ciphertext.as_bytes().to_vec(), *shared.as_bytes()))
    }

    fn check_decapsulation_key(&mut self, dk: &[u8]) -> Result<(), Error> {
        DecapsulationKey::<P>::from_bytes_on(self.backend, dk).map(drop)
    }

    fn decapsulate(&mut self, dk: &[u8], c: &[u8]) -> Result<[u8; 32], Error> {
        let key = DecapsulationKey::<P>::from_bytes_on(self.backend, dk)?;
        let ciphertext = Ciphertext::<P>::from_bytes(c)?;
        Ok(*key.decapsulate(self.backend, &ciphertext).as_bytes())
    }
}

/// Returns the seed of a record whose answers include a key pair.
fn key_seed(record: &Record) -> Option<[u8; SEED_BYTES]> {
    match &record.case {
        Case::Count(count) => Some(seed(&count.d, &count.z)),
        Case::Unlucky(unlucky) => Some(seed(&unlucky.count.d, &unlucky.count.z)),
        Case::Keys { d, z, .. } | Case::Seeded { d, z, .. } => Some(seed(d, z)),
        _ => None,
    }
}

/// Replays all records once, and those with a key pair again in batches of every size. A batch has
/// the keys of as many records.
///
/// # Errors
/// A key generation draws other bytes than its seed.
pub(super) fn replay_on<P: Operations>(
    name: &str,
    file: &KatFile,
    backend: Backend,
    results: &mut Vec<Replayed>,
) -> Result<(), Error> {
    let seeds: Vec<_> = file.records.iter().filter_map(key_seed).collect();
    let batches = if seeds.is_empty() { &BATCHES[..1] } else { &BATCHES[..] };
    for &batch in batches {
        let mut implementation = OnBackend::<P>::new(backend);
        if batch > 1 {
            implementation.generate(&seeds, batch)?;
        }
        let records = file
            .records
            .iter()
            .filter(|record| batch == 1 || key_seed(record).is_some())
            .map(|record| replay(&file.params, record, &mut implementation));
        results.push(Replayed::of(records, name, P::NAME, backend, batch));
    }
    Ok(())
}
