//! Holds the crate against the reference: the same keys, ciphertexts and secrets from the same
//! random stream.

use rand_core::Rng;
use reference::drbg::Drbg;
use reference::sntrup::{self as oracle, Parameters};
use sntrup::*;

/// The test for every parameter set, in a thread of its own.
macro_rules! for_each_set {
    ($($name:ident: $test:ident;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn sntrup653() { super::$test::<Sntrup653>(); }
            #[test]
            fn sntrup761() { super::$test::<Sntrup761>(); }
            #[test]
            fn sntrup857() { super::$test::<Sntrup857>(); }
            #[test]
            fn sntrup953() { super::$test::<Sntrup953>(); }
            #[test]
            fn sntrup1013() { super::$test::<Sntrup1013>(); }
            #[test]
            fn sntrup1277() { super::$test::<Sntrup1277>(); }
        }
    )*};
}

for_each_set! {
    batches_are_singles: check_batches;
    exchanges: check_exchanges;
    preparations: check_preparations;
    garbage: check_garbage;
    every_flipped_byte_is_rejected: check_flipped_bytes;
    bad_keys_are_refused: check_bad_keys;
}

fn parameters<P: Operations>() -> Parameters {
    Parameters::by_name(P::NAME).unwrap()
}

fn seed(tag: u8) -> [u8; 48] {
    core::array::from_fn(|i| tag.wrapping_mul(31).wrapping_add(i as u8))
}

fn check_batches<P: Operations>() {
    let parameters = parameters::<P>();
    let mut stream = Drbg::new(&seed(1));
    let expected: Vec<_> =
        (0..64).map(|_| oracle::key_generation(&parameters, &mut |b| stream.fill(b))).collect();
    for backend in Backend::available() {
        for n in [1, 2, 3, 31, 32, 33, 64] {
            let mut stream = Drbg::new(&seed(1));
            let keys = KeyPair::<P>::generate_batch(backend, n, &mut stream).unwrap();
            assert_eq!(keys.len(), n);
            for (key, (public, secret)) in keys.into_iter().zip(&expected) {
                let (ours, our_secret) = key.into_parts();
                assert_eq!(ours.as_bytes(), public, "{} of {n}", backend.name());
                assert_eq!(our_secret.as_bytes(), secret, "{} of {n}", backend.name());
            }
        }
        // More than share an inversion, and none.
        let mut stream = Drbg::new(&seed(1));
        let keys = KeyPair::<P>::generate_batch(backend, 70, &mut stream).unwrap();
        assert_eq!(keys[63].public_key().as_bytes(), expected[63].0);
        assert!(KeyPair::<P>::generate_batch(backend, 0, &mut stream).unwrap().is_empty());
    }
}

fn check_exchanges<P: Operations>() {
    let parameters = parameters::<P>();
    for backend in Backend::available() {
        let mut stream = Drbg::new(&seed(2));
        for key in KeyPair::<P>::generate_batch(backend, 8, &mut stream).unwrap() {
            let (public, secret) = key.into_parts();
            secret.check(backend).unwrap();
            let mut copy = Drbg::new(&seed(3));
            let (ciphertext, ours) = public.encapsulate(backend, &mut copy).unwrap();
            let mut copy = Drbg::new(&seed(3));
            let (their_ciphertext, theirs) =
                oracle::encapsulate(&parameters, public.as_bytes(), &mut |b| copy.fill(b)).unwrap();
            assert_eq!(ciphertext.as_bytes(), their_ciphertext);
            assert_eq!(ours.as_bytes(), &theirs);
            assert_eq!(secret.decapsulate(backend, &ciphertext).as_bytes(), &theirs);

            let mut random = P::SampleBytes::filled(0);
            Drbg::new(&seed(3)).fill(random.as_mut());
            assert_eq!(public.encapsulate_derand(backend, &random).0, ciphertext);
        }
    }
}

/// Prepared encapsulations, single and in batches, are those that are not prepared; any backend
/// decapsulates any other's.
fn check_preparations<P: Operations>() {
    let parameters = parameters::<P>();
    let mut stream = Drbg::new(&seed(7));
    let (public, secret) =
        KeyPair::<P>::generate(Backend::best(), &mut stream).unwrap().into_parts();
    let mut stream = Drbg::new(&seed(8));
    let expected: Vec<_> = (0..17)
        .map(|_| {
            oracle::encapsulate(&parameters, public.as_bytes(), &mut |b| stream.fill(b)).unwrap()
        })
        .collect();
    for backend in Backend::available() {
        for n in [0, 1, 2, 7, 8, 17] {
            let mut stream = Drbg::new(&seed(8));
            let prepared =
                PreparedEncapsulation::<P>::generate_batch(backend, n, &mut stream).unwrap();
            assert_eq!(prepared.len(), n);
            for (prepared, (bytes, theirs)) in prepared.into_iter().zip(&expected) {
                let (ciphertext, ours) = prepared.encapsulate(&public);
                assert_eq!(ciphertext.as_bytes(), bytes, "{} of {n}", backend.name());
                assert_eq!(ours.as_bytes(), theirs);
                for other in Backend::available() {
                    assert_eq!(secret.decapsulate(other, &ciphertext).as_bytes(), theirs);
                }
            }
        }
    }
}

/// Random bytes as ciphertexts, most of them not canonical, are rejected as the specification says;
/// so are ciphertexts of polynomials whose recovered r has the wrong weight.
fn check_garbage<P: Operations>() {
    let parameters = parameters::<P>();
    let mut stream = Drbg::new(&seed(4));
    let (_, secret_bytes) = oracle::key_generation(&parameters, &mut |b| stream.fill(b));
    let secret = SecretKey::<P>::from_bytes(&secret_bytes).unwrap();
    let mut bytes = vec![0; P::CIPHERTEXT_BYTES];
    for round in 0..60 {
        match round {
            0 => bytes.fill(0),
            1 => bytes.fill(0xff),
            _ => stream.fill_bytes(&mut bytes),
        }
        let expected = oracle::decapsulate_detailed(&parameters, &secret_bytes, &bytes).unwrap();
        assert!(expected.rejected);
        let ciphertext = Ciphertext::<P>::from_bytes(&bytes).unwrap();
        for backend in Backend::available() {
            let shared = secret.decapsulate(backend, &ciphertext);
            assert_eq!(shared.as_bytes(), &expected.session_key, "round {round}");
            let shared = secret.expand(backend).decapsulate(&ciphertext);
            assert_eq!(shared.as_bytes(), &expected.session_key, "round {round}, expanded");
        }
    }
}

fn check_flipped_bytes<P: Operations>() {
    let parameters = parameters::<P>();
    let mut stream = Drbg::new(&seed(5));
    let (public, secret_bytes) = oracle::key_generation(&parameters, &mut |b| stream.fill(b));
    let (good, shared) =
        oracle::encapsulate(&parameters, &public, &mut |b| stream.fill(b)).unwrap();
    let secret = SecretKey::<P>::from_bytes(&secret_bytes).unwrap();
    let expanded: Vec<_> = Backend::available().map(|backend| secret.expand(backend)).collect();
    let honest = Ciphertext::<P>::from_bytes(&good).unwrap();
    for key in &expanded {
        assert_eq!(key.decapsulate(&honest).as_bytes(), &shared);
    }
    for i in 0..good.len() {
        let mut bad = good.clone();
        bad[i] ^= 1 << (i % 8);
        let expected = oracle::decapsulate(&parameters, &secret_bytes, &bad).unwrap();
        assert_ne!(expected, shared, "byte {i}");
        let bad = Ciphertext::<P>::from_bytes(&bad).unwrap();
        for backend in Backend::available() {
            let ours = secret.decapsulate(backend, &bad);
            assert_eq!(ours.as_bytes(), &expected, "byte {i} on {}", backend.name());
        }
        for key in &expanded {
            assert_eq!(key.decapsulate(&bad).as_bytes(), &expected, "byte {i}, expanded");
        }
    }
}

fn check_bad_keys<P: Operations>() {
    let parameters = parameters::<P>();
    let backend = Backend::best();
    let mut stream = Drbg::new(&seed(6));
    let (public, secret) = KeyPair::<P>::generate(backend, &mut stream).unwrap().into_parts();

    // Lengths are named.
    for n in [0, 1, P::PUBLIC_KEY_BYTES - 1, P::PUBLIC_KEY_BYTES + 1] {
        let error = PublicKey::<P>::from_bytes(&vec![0; n]).unwrap_err();
        assert!(matches!(error, Error::Length { expected, actual, .. }
            if expected == P::PUBLIC_KEY_BYTES && actual == n));
        let text = error.to_string();
        assert!(text.starts_with(&format!("{} public key of {n} bytes", P::NAME)), "{text}");
    }
    assert!(Ciphertext::<P>::from_bytes(&[]).is_err());
    assert!(SecretKey::<P>::from_bytes(&secret.as_bytes()[1..]).is_err());

    // A public key is taken if and only if it is what its polynomial encodes to.
    let mut taken = 0;
    for round in 0..400 {
        let mut bytes = public.as_bytes().to_vec();
        match round {
            0 => bytes.fill(0xff),
            1..100 => stream.fill_bytes(&mut bytes),
            _ => {
                let i = bytes.len() - 1 - (round - 100) / 8 % 40;
                bytes[i] ^= 1 << (round % 8);
            }
        }
        let element = oracle::rq_decode(&parameters, &bytes).unwrap();
        let canonical = oracle::rq_encode(&parameters, &element) == bytes;
        assert_eq!(PublicKey::<P>::from_bytes(&bytes).is_ok(), canonical, "round {round}");
        taken += usize::from(canonical);
    }
    assert!((1..400).contains(&taken), "{taken} of 400 taken");

    // Secret keys: each part is looked at.
    let good = secret.as_bytes();
    assert!(SecretKey::<P>::from_bytes(good).is_ok());
    let small = P::SMALL_BYTES;
    let refused = |change: &dyn Fn(&mut [u8])| {
        let mut bytes = good.to_vec();
        change(&mut bytes);
        SecretKey::<P>::from_bytes(&bytes).err()
    };
    let not_canonical = |error| matches!(error, Some(Error::NotCanonical { .. }));
    let inconsistent = |error| matches!(error, Some(Error::Inconsistent { .. }));
    assert!(not_canonical(refused(&|b| b[0] = 0xff)), "f with a coefficient 2");
    assert!(not_canonical(refused(&|b| b[small - 1] |= 0x10)), "f with too many coefficients");
    assert!(not_canonical(refused(&|b| b[2 * small - 1] |= 0x40)), "1/g likewise");
    assert!(inconsistent(refused(&|b| b[..small - 1].fill(0x55))), "f of weight zero");
    assert!(inconsistent(refused(&|b| *b.last_mut().unwrap() ^= 1)), "another hash");

    // Parts that each look right, but belong to different keys.
    let other = KeyPair::<P>::generate(backend, &mut stream).unwrap().into_parts().1;
    for part in [0..small, small..2 * small] {
        let mut bytes = good.to_vec();
        bytes[part.clone()].copy_from_slice(&other.as_bytes()[part]);
        let mixed = SecretKey::<P>::from_bytes(&bytes).unwrap();
        assert!(matches!(mixed.check(backend), Err(Error::Inconsistent { .. })));
    }
}
