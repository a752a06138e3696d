//! The KEMs of the libraries, and their hybrids with X25519, through the trait.

use kex::{
    Backend, Ecdh, Error, ExchangeFirst, Hybrid, Kem, KeyExchange, KeyPair, MlKem, P256, P384,
    Sntrup, Storable, X25519,
};
use mlkem::{MlKem512, MlKem768, MlKem1024};
use reference::drbg::Drbg;
use reference::ml_kem::{self as oracle, Parameters};
use sntrup::Sntrup653;

fn drbg(seed: usize) -> Drbg {
    Drbg::new(&[seed as u8; 48])
}

fn public_bytes<K: Kem>(key: &K::PublicKey) -> Vec<u8> {
    let mut bytes = vec![0; K::PUBLIC_KEY_BYTES];
    K::write_public_key(key, &mut bytes);
    bytes
}

fn secret_bytes<K: Kem>(key: &K::SecretKey) -> Vec<u8> {
    let mut bytes = vec![0; K::SECRET_KEY_BYTES];
    K::write_secret_key(key, &mut bytes);
    bytes
}

fn stored<S: Storable>(value: &S) -> Vec<u8> {
    let mut bytes = vec![0; S::STORED_BYTES];
    value.store(&mut bytes);
    bytes
}

fn encapsulate<K: Kem>(
    key: &K::PublicKey,
    backend: Backend,
    random: &mut Drbg,
) -> (Vec<u8>, Vec<u8>) {
    let (mut ciphertext, mut secret) =
        (vec![0; K::CIPHERTEXT_BYTES], vec![0; K::SHARED_SECRET_BYTES]);
    K::encapsulate(key, backend, random, &mut ciphertext, &mut secret).unwrap();
    (ciphertext, secret)
}

fn decapsulate<K: Kem>(
    key: &K::SecretKey,
    backend: Backend,
    ciphertext: &[u8],
) -> Result<Vec<u8>, Error> {
    let mut secret = vec![0; K::SHARED_SECRET_BYTES];
    K::decapsulate(key, backend, ciphertext, &mut secret).map(|()| secret)
}

/// Runs a test for each KEM.
macro_rules! for_each_kem {
    ($($name:ident: $test:ident;)*) => {$(
        #[test]
        fn $name() {
            $test::<Sntrup<Sntrup653>>();
            $test::<Hybrid<Sntrup<Sntrup653>, X25519>>();
            $test::<MlKem<MlKem512>>();
            $test::<MlKem<MlKem768>>();
            $test::<MlKem<MlKem1024>>();
            $test::<Hybrid<MlKem<MlKem512>, X25519>>();
            $test::<Hybrid<MlKem<MlKem768>, X25519>>();
            $test::<Hybrid<MlKem<MlKem1024>, X25519>>();
            $test::<Hybrid<MlKem<MlKem768>, Ecdh<P256>, ExchangeFirst>>();
            $test::<Hybrid<MlKem<MlKem1024>, Ecdh<P384>, ExchangeFirst>>();
        }
    )*};
}

for_each_kem! {
    secrets_agree_on_every_backend: round_trip;
    stored_values_are_restored: store_and_restore;
    wrong_lengths_are_refused: wrong_lengths;
}

fn round_trip<K: Kem>() {
    let mut seen = Vec::new();
    for backend in Backend::available() {
        let random = &mut drbg(1);
        let memory = &mut K::BatchMemory::default();
        let pairs = K::generate_batch(memory, backend, 5, random).unwrap();
        let mut prepared = K::prepare_batch(backend, 5, random).unwrap();
        for pair in pairs {
            K::check(&pair.secret, backend).unwrap();
            let public = public_bytes::<K>(&pair.public);
            let secret = secret_bytes::<K>(&pair.secret);
            let read = K::read_secret_key(backend, &secret).unwrap();
            assert_eq!(secret_bytes::<K>(&read), secret);
            for key in [&pair.secret, &read] {
                assert!(K::public_key(key) == pair.public);
            }
            let peer = K::read_public_key(backend, &public).unwrap();
            assert!(peer == pair.public);

            let (ciphertext, ours) = encapsulate::<K>(&peer, backend, random);
            for other in Backend::available() {
                assert_eq!(decapsulate::<K>(&pair.secret, other, &ciphertext), Ok(ours.clone()));
                assert_eq!(decapsulate::<K>(&read, other, &ciphertext), Ok(ours.clone()));
            }
            // The library's part comes first; it rejects implicitly.
            let mut changed = ciphertext.clone();
            changed[7] ^= 1;
            assert_ne!(decapsulate::<K>(&read, backend, &changed), Ok(ours.clone()));
            seen.push((public, ciphertext, ours));

            let (mut answer, mut ours) =
                (vec![0; K::CIPHERTEXT_BYTES], vec![0; K::SHARED_SECRET_BYTES]);
            let prepared = prepared.pop().unwrap();
            K::encapsulate_prepared(prepared, &peer, &mut answer, &mut ours).unwrap();
            let mut theirs = vec![0; K::SHARED_SECRET_BYTES];
            pair.decapsulate(backend, &answer, &mut theirs).unwrap();
            assert_eq!(ours, theirs);
        }
    }
    // All backends computed the same from the same random bytes.
    let (first, others) = seen.split_at(5);
    assert!(others.chunks(5).all(|other| other == first));
}

fn store_and_restore<K: Kem>() {
    let (backend, random) = (Backend::best(), &mut drbg(2));
    let pair = KeyPair::<K>::generate(backend, random).unwrap();
    let bytes = stored(&pair.secret);
    let restored = K::SecretKey::restore(backend, &bytes).unwrap();
    assert_eq!(stored(&restored), bytes);
    assert_eq!(stored(&restored.clone()), bytes);
    assert_eq!(restored.is_protected(), pair.secret.is_protected());
    assert!(K::public_key(&restored) == pair.public);
    K::check(&restored, backend).unwrap();
    assert!(K::SecretKey::restore(backend, &bytes[1..]).is_err());

    let prepared = K::prepare_batch(backend, 1, random).unwrap().pop().unwrap();
    let bytes = stored(&prepared);
    let again = K::PreparedEncapsulation::restore(backend, &bytes).unwrap();
    assert!(K::PreparedEncapsulation::restore(backend, &bytes[1..]).is_err());
    let made = [prepared, again].map(|prepared| {
        let (mut ciphertext, mut secret) =
            (vec![0; K::CIPHERTEXT_BYTES], vec![0; K::SHARED_SECRET_BYTES]);
        K::encapsulate_prepared(prepared, &pair.public, &mut ciphertext, &mut secret).unwrap();
        (ciphertext, secret)
    });
    assert_eq!(made[0], made[1]);
    assert_eq!(decapsulate::<K>(&restored, backend, &made[0].0), Ok(made[0].1.clone()));
}

fn wrong_lengths<K: Kem>() {
    let (backend, random) = (Backend::best(), &mut drbg(3));
    let pair = KeyPair::<K>::generate(backend, random).unwrap();
    let (ciphertext, _) = encapsulate::<K>(&pair.public, backend, random);
    let is_refused = |bytes: &[u8], read: &dyn Fn(&[u8]) -> Option<Error>| {
        let longer = [bytes, &[0]].concat();
        for wrong in [&[][..], &bytes[1..], &longer] {
            let error = read(wrong).expect("a wrong length").to_string();
            let (expected, actual) = (bytes.len(), wrong.len());
            let end = format!(" of {actual} bytes: expected {expected}");
            assert!(error.ends_with(&end), "{error}");
        }
        assert_eq!(read(bytes), None);
    };
    is_refused(&public_bytes::<K>(&pair.public), &|wrong| K::read_public_key(backend, wrong).err());
    is_refused(&secret_bytes::<K>(&pair.secret), &|wrong| K::read_secret_key(backend, wrong).err());
    is_refused(&ciphertext, &|wrong| decapsulate::<K>(&pair.secret, backend, wrong).err());
}

fn batch_equals_singles<P: mlkem::Operations>() {
    for count in [0, 1, 2, 7, 8, 19] {
        for backend in Backend::available() {
            let (mut stream, mut again) = (drbg(count), drbg(count));
            let memory = &mut mlkem::BatchMemory::default();
            let batch = MlKem::<P>::generate_batch(memory, backend, count, &mut stream).unwrap();
            let prepared = MlKem::<P>::prepare_batch(backend, count, &mut stream).unwrap();
            assert_eq!((batch.len(), prepared.len()), (count, count));
            for pair in batch {
                let single = KeyPair::<MlKem<P>>::generate(backend, &mut again).unwrap();
                assert_eq!(stored(&pair.secret), stored(&single.secret));
                assert_eq!(pair.public, single.public);
            }
            for prepared in prepared {
                let single = MlKem::<P>::prepare_batch(backend, 1, &mut again).unwrap();
                assert_eq!(stored(&prepared), stored(&single[0]));
            }
        }
    }
}

#[test]
fn a_batch_of_ml_kem_has_the_keys_of_single_calls() {
    batch_equals_singles::<MlKem512>();
    batch_equals_singles::<MlKem768>();
    batch_equals_singles::<MlKem1024>();
}

/// A stored key has all that decapsulation needs and the seed, and nothing else.
fn stored_sizes<P: mlkem::Operations>() {
    type Key<P> = <MlKem<P> as Kem>::SecretKey;
    // s, the encapsulation key, its hash and z; d, and a byte that tells whether d is known.
    let expected = 384 * P::K + P::ENCAPSULATION_KEY_BYTES + 32 + 32 + 32 + 1;
    assert_eq!(<Key<P> as Storable>::STORED_BYTES, expected);
    assert_eq!(<MlKem<P> as Kem>::PreparedEncapsulation::STORED_BYTES, 32);
    type OfHybrid<P> = Hybrid<MlKem<P>, X25519>;
    assert_eq!(<OfHybrid<P> as Kem>::SecretKey::STORED_BYTES, expected + 64);
    assert_eq!(<OfHybrid<P> as Kem>::PreparedEncapsulation::STORED_BYTES, 32 + 64);
}

#[test]
fn stored_ml_kem_keys_are_small() {
    stored_sizes::<MlKem512>();
    stored_sizes::<MlKem768>();
    stored_sizes::<MlKem1024>();
    assert_eq!(<MlKem<MlKem768> as Kem>::SecretKey::STORED_BYTES, 2433);
}

#[test]
fn the_seed_is_stored_and_restored() {
    let backend = Backend::best();
    let pair = KeyPair::<MlKem<MlKem768>>::generate(backend, &mut drbg(4)).unwrap();
    let restored =
        mlkem::DecapsulationKey::<MlKem768>::restore(backend, &stored(&pair.secret)).unwrap();
    let (mut seed, mut again) = ([0; 64], [1; 64]);
    assert!(pair.secret.write_seed(&mut seed) && restored.write_seed(&mut again));
    assert_eq!(seed, again);
    // A key that was read from its encoding has none, neither before nor after.
    let bytes = secret_bytes::<MlKem<MlKem768>>(&pair.secret);
    let read = MlKem::<MlKem768>::read_secret_key(backend, &bytes).unwrap();
    let restored = mlkem::DecapsulationKey::<MlKem768>::restore(backend, &stored(&read)).unwrap();
    assert!(!read.write_seed(&mut seed) && !restored.write_seed(&mut seed));
}

fn non_canonical_keys<P: mlkem::Operations>() {
    let random = &mut drbg(5);
    for backend in Backend::available() {
        let pair = KeyPair::<MlKem<P>>::generate(backend, random).unwrap();
        let public = public_bytes::<MlKem<P>>(&pair.public);
        let secret = secret_bytes::<MlKem<P>>(&pair.secret);
        let coefficients = 384 * P::K;
        let kind = |error: Option<Error>| match error {
            Some(Error::Kem(error)) => error.to_string(),
            other => panic!("{other:?}"),
        };
        // The smallest value that is not below q, in the first and the last coefficient.
        for (at, mask, bits) in [(0, 0xf000, 3329), (coefficients - 2, 0x000f, 3329 << 4)] {
            let mut changed = public.clone();
            let both: &mut [u8; 2] = (&mut changed[at..at + 2]).try_into().unwrap();
            *both = (u16::from_le_bytes(*both) & mask | bits).to_le_bytes();
            let read = MlKem::<P>::read_public_key(backend, &changed);
            let name = P::NAME;
            let expected = format!("{name} encapsulation key is not canonically encoded");
            assert_eq!(kind(read.err()), expected);
            let hybrid = [&changed[..], &[9; 32]].concat();
            let read = Hybrid::<MlKem<P>, X25519>::read_public_key(backend, &hybrid);
            assert_eq!(kind(read.err()), expected);

            let mut key = secret.clone();
            key[coefficients..][..changed.len()].copy_from_slice(&changed);
            let read = MlKem::<P>::read_secret_key(backend, &key);
            let expected = format!("{name} decapsulation key is not canonically encoded");
            assert_eq!(kind(read.err()), expected);
            // `check` refuses it as well.
            let trusted = [&key[..], &[0; 33]].concat();
            let trusted = mlkem::DecapsulationKey::<P>::restore(backend, &trusted).unwrap();
            assert_eq!(kind(MlKem::check(&trusted, backend).err()), expected);
        }
        // The largest value below q is taken.
        let mut changed = public.clone();
        (changed[0], changed[1]) = (0x00, changed[1] & 0xf0 | 0x0d);
        assert!(MlKem::<P>::read_public_key(backend, &changed).is_ok());
        // A wrong hash.
        let mut key = secret.clone();
        key[coefficients + public.len()] ^= 1;
        let read = MlKem::<P>::read_secret_key(backend, &key);
        assert!(kind(read.err()).starts_with(&format!("{} decapsulation key is incons", P::NAME)));
        let trusted = [&key[..], &[0; 33]].concat();
        let trusted = mlkem::DecapsulationKey::<P>::restore(backend, &trusted).unwrap();
        assert!(MlKem::check(&trusted, backend).is_err());
    }
}

#[test]
fn non_canonical_ml_kem_keys_are_refused() {
    non_canonical_keys::<MlKem512>();
    non_canonical_keys::<MlKem768>();
    non_canonical_keys::<MlKem1024>();
}

/// ML-KEM's part comes first in the keys, in both key shares and in the shared secret.
fn order_of_hybrid<P: mlkem::Operations>() {
    type K<P> = Hybrid<MlKem<P>, X25519>;
    let backend = Backend::best();
    let params = Parameters::by_name(P::NAME).unwrap();
    let mut random = drbg(6);
    let pair = KeyPair::<K<P>>::generate(backend, &mut random).unwrap();
    let public = public_bytes::<K<P>>(&pair.public);
    let secret = secret_bytes::<K<P>>(&pair.secret);
    let (ciphertext, shared) = encapsulate::<K<P>>(&pair.public, backend, &mut random);

    // The same from the same random bytes, by the oracle and by X25519 alone.
    let mut stream = drbg(6);
    let (mut seed, mut message) = ([0; 64], [0; 32]);
    stream.fill(&mut seed);
    let ours = X25519::start(backend, &mut stream).unwrap();
    stream.fill(&mut message);
    let theirs = X25519::start(backend, &mut stream).unwrap();
    let (d, z) = (seed.first_chunk().unwrap(), seed.last_chunk().unwrap());
    let (ek, dk) = oracle::key_generation(&params, d, z);
    let (c, first) = oracle::encapsulate(&params, &ek, &message).unwrap();
    let mut second = [0; 32];
    X25519::complete(&theirs, backend, ours.public(), &mut second).unwrap();
    let mut scalar = [0; 32];
    X25519::write_secret(&ours, &mut scalar);
    assert_eq!(public, [&ek[..], &ours.public().0].concat());
    assert_eq!(secret, [&dk[..], &scalar].concat());
    assert_eq!(ciphertext, [&c[..], &theirs.public().0].concat());
    assert_eq!(shared, [first, second].concat());
}

#[test]
fn ml_kem_comes_before_x25519() {
    order_of_hybrid::<MlKem512>();
    order_of_hybrid::<MlKem768>();
    order_of_hybrid::<MlKem1024>();
}
