//! Every backend gives the known answers: the project's own, NIST's and Project Wycheproof's.

use mlkem::{
    Backend, Ciphertext, DecapsulationKey, EncapsulationKey, Error, KeyPair, MlKem512, MlKem768,
    MlKem1024, Operations,
};
use random::Given;
use reference::ml_kem::Parameters;
use reference::ml_kem::kat::{self, Case, Implementation, KatFile};
use std::marker::PhantomData;

/// The operations of a backend, with the key's encoding or with an expanded key.
struct Ours<P> {
    backend: Backend,
    expanded: bool,
    parameter_set: PhantomData<P>,
}

impl<P: Operations> Implementation for Ours<P> {
    type Error = Error;

    fn key_generation(&mut self, d: &[u8; 32], z: &[u8; 32]) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let seed = [*d, *z].concat();
        let pair = KeyPair::<P>::from_seed(self.backend, seed[..].try_into().unwrap());
        let (public, secret) = pair.into_parts();
        Ok((public.as_bytes().to_vec(), secret.as_bytes().to_vec()))
    }

    fn check_encapsulation_key(&mut self, ek: &[u8]) -> Result<(), Error> {
        EncapsulationKey::<P>::from_bytes_on(self.backend, ek).map(|_| ())
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
        DecapsulationKey::<P>::from_bytes_on(self.backend, dk).map(|_| ())
    }

    fn decapsulate(&mut self, dk: &[u8], c: &[u8]) -> Result<[u8; 32], Error> {
        let key = DecapsulationKey::<P>::from_bytes_on(self.backend, dk)?;
        let ciphertext = Ciphertext::from_bytes(c)?;
        Ok(if self.expanded {
            *key.expand(self.backend).decapsulate(&ciphertext).as_bytes()
        } else {
            *key.decapsulate(self.backend, &ciphertext).as_bytes()
        })
    }
}

fn check<P: Operations>() {
    let read = |files: &[(&str, &str)]| {
        let (_, text) = files.iter().find(|(name, _)| *name == P::NAME).unwrap();
        kat::parse(text).unwrap()
    };
    let params = Parameters::by_name(P::NAME).unwrap();
    let records = kat::wycheproof::records(&params).records;
    let wycheproof = KatFile { params, records };
    let folder = kat::of_folder().unwrap_or_else(|| {
        println!("skipped: {} names no folder with further known answers", kat::FOLDER);
        Vec::new()
    });
    let further = folder.into_iter().map(|(_, file)| file).filter(|file| file.params == params);
    let files = [read(&kat::EMBEDDED), read(&kat::ACVP), wycheproof];
    for mut file in files.into_iter().chain(further) {
        for expanded in [false, true] {
            // The long streams once: they take most of the time.
            if expanded {
                file.records.retain(|record| !matches!(record.case, Case::Accumulated { .. }));
            }
            for backend in Backend::available() {
                let mut ours = Ours::<P> { backend, expanded, parameter_set: PhantomData };
                let mismatches = kat::replay_file(&file, &mut ours);
                assert!(mismatches.is_empty(), "{}: {}", backend.name(), mismatches[0]);
            }
        }
    }
}

/// Batches of the keys whose matrices need more bytes than most.
fn check_unlucky_batches<P: Operations>() {
    let file = kat::parse(kat::embedded(P::NAME).unwrap()).unwrap();
    let counts: Vec<_> = file
        .records
        .iter()
        .filter_map(|record| match &record.case {
            Case::Unlucky(unlucky) => Some(&unlucky.count),
            _ => None,
        })
        .collect();
    let seeds: Vec<u8> = counts.iter().flat_map(|count| [count.d, count.z].concat()).collect();
    for backend in Backend::available() {
        let keys = KeyPair::<P>::generate_batch(backend, counts.len(), &mut Given(&seeds));
        for (pair, count) in keys.unwrap().into_iter().zip(&counts) {
            let (public, secret) = pair.into_parts();
            assert_eq!(count.ek.check(public.as_bytes()), Ok(()), "{}", backend.name());
            assert_eq!(count.dk.check(secret.as_bytes()), Ok(()), "{}", backend.name());
        }
    }
}

#[test]
fn batches_with_a_fourth_block() {
    check_unlucky_batches::<MlKem512>();
    check_unlucky_batches::<MlKem768>();
    check_unlucky_batches::<MlKem1024>();
}

#[test]
fn mlkem512() {
    check::<MlKem512>();
}

#[test]
fn mlkem768() {
    check::<MlKem768>();
}

#[test]
fn mlkem1024() {
    check::<MlKem1024>();
}
