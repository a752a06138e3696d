//! Keys, encapsulations and decapsulations of every backend agree with each other.

use mlkem::{
    Backend, Ciphertext, DecapsulationKey, EncapsulationKey, KeyPair, MlKem512, MlKem768,
    MlKem1024, Operations,
};
use reference::drbg::Drbg;

/// Decapsulations with every form of a key on every backend.
fn decapsulate<P: Operations>(key: &DecapsulationKey<P>, bytes: &[u8]) -> Vec<[u8; 32]> {
    let ciphertext = Ciphertext::from_bytes(bytes).unwrap();
    Backend::available()
        .flat_map(|backend| {
            [
                *key.decapsulate(backend, &ciphertext).as_bytes(),
                *key.expand(backend).decapsulate(&ciphertext).as_bytes(),
            ]
        })
        .collect()
}

fn check<P: Operations>() {
    for count in [1, 2, 3, 4, 5, 8, 9, 19] {
        let seed = [count as u8; 48];
        let mut all = Vec::new();
        for backend in Backend::available() {
            let (mut drbg, mut again) = (Drbg::new(&seed), Drbg::new(&seed));
            let batch = KeyPair::<P>::generate_batch(backend, count, &mut drbg).unwrap();
            let keys: Vec<_> = batch
                .into_iter()
                .map(|pair| {
                    let single = KeyPair::<P>::generate(backend, &mut again).unwrap();
                    let (public, secret) = single.into_parts();
                    let (batch_public, batch_secret) = pair.into_parts();
                    assert_eq!(public, batch_public);
                    assert_eq!(secret.as_bytes(), batch_secret.as_bytes());
                    assert_eq!(secret.encapsulation_key(), public);
                    let (mut seed, mut batch_seed) = ([0; 64], [1; 64]);
                    assert!(
                        secret.write_seed(&mut seed) && batch_secret.write_seed(&mut batch_seed)
                    );
                    assert_eq!(seed, batch_seed);
                    (public, secret)
                })
                .collect();
            all.push(keys);
        }
        for others in &all[1..] {
            for (a, b) in all[0].iter().zip(others) {
                assert_eq!((&a.0, a.1.as_bytes()), (&b.0, b.1.as_bytes()));
            }
        }
        for (public, secret) in &all[0] {
            let public = EncapsulationKey::<P>::from_bytes(public.as_bytes()).unwrap();
            let read = DecapsulationKey::<P>::from_bytes(secret.as_bytes()).unwrap();
            let message = [count as u8; 32];
            let made: Vec<_> = Backend::available()
                .map(|backend| {
                    let (ciphertext, shared) = public.encapsulate_derand(backend, &message);
                    (ciphertext.as_bytes().to_vec(), *shared.as_bytes())
                })
                .collect();
            let (mut ciphertext, shared) = made[0].clone();
            assert!(made.iter().all(|other| *other == made[0]));
            assert!(decapsulate(&read, &ciphertext).iter().all(|secret| *secret == shared));
            let place = ciphertext.len() - 1 - count;
            ciphertext[place] ^= 1 << (count % 8);
            let rejected = decapsulate(&read, &ciphertext);
            assert!(rejected.iter().all(|secret| *secret == rejected[0] && *secret != shared));
        }
    }
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
