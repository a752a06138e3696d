//! Every operation on every backend against the transliteration of the standard.

use mlkem::{
    Backend, Ciphertext, DecapsulationKey, EncapsulationKey, KeyPair, MlKem512, MlKem768,
    MlKem1024, Operations,
};
use reference::drbg::Drbg;
use reference::ml_kem::{self as oracle, Parameters};

fn check<P: Operations>(count: usize) {
    let params = Parameters::by_name(P::NAME).unwrap();
    let mut drbg = Drbg::new(&[5; 48]);
    let (mut seeds, mut message) = (vec![[0; 64]; count], [0; 32]);
    seeds.iter_mut().for_each(|seed| drbg.fill(seed));
    for seed in &seeds {
        let (d, z) = (seed.first_chunk().unwrap(), seed.last_chunk().unwrap());
        let (ek, dk) = oracle::key_generation(&params, d, z);
        drbg.fill(&mut message);
        let (c, shared) = oracle::encapsulate(&params, &ek, &message).unwrap();
        let mut wrong = c.clone();
        wrong[usize::from(seed[0]) % c.len()] ^= 1 << (seed[1] % 8);
        let rejected = oracle::decapsulate(&params, &dk, &wrong).unwrap();
        for backend in Backend::available() {
            let (public, secret) = KeyPair::<P>::from_seed(backend, seed).into_parts();
            assert_eq!((public.as_bytes(), secret.as_bytes()), (&ek[..], &dk[..]));
            let public = EncapsulationKey::<P>::from_bytes_on(backend, &ek).unwrap();
            let (ciphertext, ours) = public.encapsulate_derand(backend, &message);
            assert_eq!((ciphertext.as_bytes(), ours.as_bytes()), (&c[..], &shared));
            let secret = DecapsulationKey::<P>::from_bytes_on(backend, &dk).unwrap();
            for (bytes, expected) in [(&c, shared), (&wrong, rejected)] {
                let ciphertext = Ciphertext::from_bytes(bytes).unwrap();
                assert_eq!(secret.decapsulate(backend, &ciphertext).as_bytes(), &expected);
                let expanded = secret.expand(backend);
                assert_eq!(expanded.decapsulate(&ciphertext).as_bytes(), &expected);
            }
        }
    }
}

#[test]
fn mlkem512() {
    check::<MlKem512>(60);
}

#[test]
fn mlkem768() {
    check::<MlKem768>(60);
}

#[test]
fn mlkem1024() {
    check::<MlKem1024>(60);
}
