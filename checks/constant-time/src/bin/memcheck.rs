//! Runs every operation of every parameter set and of the curves with its secrets marked undefined.
//! Under valgrind's memcheck each branch and each address that depends on a secret is an error.
//! Usage: `valgrind memcheck BACKEND`, or `valgrind memcheck leak branch|index`.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::process::ExitCode;

use curve25519::{Error, ed25519, x25519};
use lanes::memcheck::{define, is_running, undefine, undefined_bits};
use mlkem::{DecapsulationKey, EncapsulationKey, MlKem512, MlKem768, MlKem1024};
use rand_core::utils::next_word_via_fill;
use rand_core::{Infallible, TryCryptoRng, TryRng};
use reference::drbg::Drbg;
use sntrup::{
    Backend, Ciphertext, ExpandedKey, KeyPair, Operations, PreparedEncapsulation, PublicKey,
    SecretKey, SharedSecret, Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013, Sntrup1277,
};

/// Keys in a batch: a first, a last, and one between.
const BATCH: usize = 3;

/// A random source whose bytes are marked secret as soon as they are drawn.
struct Secret(Drbg);

impl TryRng for Secret {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill(bytes);
        undefine(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Secret {}

/// Checks that bytes are marked secret. If they were not, the whole check would be void.
fn assert_secret(what: &str, bytes: &[u8]) {
    let undefined = undefined_bits(bytes).unwrap_or_default();
    assert!(undefined >= 6 * bytes.len() as u64, "{what}: {undefined} bits undefined");
}

/// Checks that the library declared bytes public.
fn assert_public(what: &str, bytes: &[u8]) {
    assert_eq!(undefined_bits(bytes), Some(0), "{what}: undefined bits");
}

/// Marks bytes that are sent as public.
fn sent<P: Operations>(
    (ciphertext, secret): (Ciphertext<P>, SharedSecret),
) -> (Ciphertext<P>, SharedSecret) {
    assert_secret("the ciphertext's secret", secret.as_bytes());
    define(ciphertext.as_bytes());
    (ciphertext, secret)
}

fn equal(a: &SharedSecret, b: &SharedSecret) -> bool {
    let (a, b) = (*a.as_bytes(), *b.as_bytes());
    define(&a);
    define(&b);
    a == b
}

/// Decapsulates with both forms of the key, and compares the results.
fn decapsulate<P: Operations>(
    backend: Backend,
    key: &SecretKey<P>,
    expanded: &ExpandedKey<P>,
    ciphertext: &Ciphertext<P>,
) -> SharedSecret {
    let secret = key.decapsulate(backend, ciphertext);
    assert_secret("a decapsulated secret", secret.as_bytes());
    assert!(equal(&secret, &expanded.decapsulate(ciphertext)));
    secret
}

fn check<P: Operations>(backend: Backend) {
    let random = &mut Secret(Drbg::new(&[7; 48]));
    let mut pairs = KeyPair::<P>::generate_batch(backend, BATCH, random).unwrap();
    pairs.push(KeyPair::generate(backend, random).unwrap());
    // The operations depend on the parameter set and the batch only: the first and the last key
    // stand for the others.
    for pair in [pairs.remove(0), pairs.remove(BATCH - 1)] {
        let public = pair.public_key();
        define(public.as_bytes());
        let public = PublicKey::<P>::from_bytes(public.as_bytes()).unwrap();
        let (ciphertext, secret) = sent(public.encapsulate(backend, random).unwrap());

        let (_, key) = pair.into_parts();
        assert_secret("f and 1/g", &key.as_bytes()[..2 * P::SMALL_BYTES - 1]);
        let expanded = key.expand(backend);
        assert!(equal(&secret, &decapsulate(backend, &key, &expanded, &ciphertext)));

        // Errors in Rounded, in the confirmation, and everywhere.
        for (position, byte) in [(0, 1), (P::ROUNDED_BYTES, 1), (0, 0xff)] {
            let mut bytes = ciphertext.as_bytes().to_vec();
            bytes[position] ^= byte;
            if byte == 0xff {
                bytes.fill(byte);
            }
            let wrong = Ciphertext::from_bytes(&bytes).unwrap();
            assert!(!equal(&secret, &decapsulate(backend, &key, &expanded, &wrong)));
        }

        // A key from a file: the format defines its public parts.
        let mut bytes = key.as_bytes().to_vec();
        let (small, public) = (P::SMALL_BYTES, P::PUBLIC_KEY_BYTES);
        define(&bytes[2 * small..2 * small + public]);
        define(&bytes[3 * small + public..]);
        undefine(&mut bytes[..2 * small]);
        let read = SecretKey::<P>::from_bytes(&bytes).unwrap();
        read.check(backend).unwrap();
    }

    // Encapsulations prepared before the key is known.
    let pair = pairs.remove(0);
    define(pair.public_key().as_bytes());
    let public = pair.public_key().clone();
    let mut prepared = PreparedEncapsulation::<P>::generate_batch(backend, 2, random).unwrap();
    prepared.push(PreparedEncapsulation::generate(backend, random).unwrap());
    let mut made: Vec<_> = prepared.into_iter().map(|one| sent(one.encapsulate(&public))).collect();
    let (ciphertext, secret) = made.remove(0);
    assert!(equal(&secret, &pair.decapsulate(backend, &ciphertext)));
}

/// Decapsulates as [`decapsulate`] does.
fn decapsulate_ml_kem<P: mlkem::Operations>(
    backend: Backend,
    key: &DecapsulationKey<P>,
    expanded: &mlkem::ExpandedKey<P>,
    ciphertext: &mlkem::Ciphertext<P>,
) -> SharedSecret {
    let secret = key.decapsulate(backend, ciphertext);
    assert_secret("a decapsulated secret", secret.as_bytes());
    let same = expanded.decapsulate(ciphertext);
    assert_secret("a secret that an expanded key decapsulated", same.as_bytes());
    assert!(equal(&secret, &same));
    secret
}

/// Checks keys from batches and single ones, and all operations with each. The matrix's seed and
/// the encapsulation key are declared public by the library.
fn check_ml_kem<P: mlkem::Operations>(backend: Backend) {
    let random = &mut Secret(Drbg::new(&[7; 48]));
    let mut pairs = Vec::new();
    // No group, a group with lanes left, and whole groups of four and eight with keys left.
    for count in [1, 3, 5, 9] {
        pairs.extend(mlkem::KeyPair::<P>::generate_batch(backend, count, random).unwrap());
    }
    pairs.push(mlkem::KeyPair::generate(backend, random).unwrap());
    let mut prepared =
        mlkem::PreparedEncapsulation::<P>::generate_batch(backend, pairs.len(), random).unwrap();
    for pair in pairs {
        let (public, key) = pair.into_parts();
        let parts = |bytes: &mut [u8], of_secret: fn(&mut [u8]), of_public: fn(&mut [u8])| {
            let z = bytes.len() - mlkem::SHARED_SECRET_BYTES;
            let hash = z - mlkem::SHARED_SECRET_BYTES;
            let encapsulation_key = hash - P::ENCAPSULATION_KEY_BYTES;
            of_secret(&mut bytes[..encapsulation_key]);
            of_public(&mut bytes[encapsulation_key..z]);
            of_secret(&mut bytes[z..]);
        };
        let mut bytes = key.as_bytes().to_vec();
        parts(
            &mut bytes,
            |secret| assert_secret("s and z", secret),
            |public| assert_public("the encapsulation key and its hash", public),
        );
        assert_public("the encapsulation key", public.as_bytes());

        let public = EncapsulationKey::<P>::from_bytes_on(backend, public.as_bytes()).unwrap();
        let (ciphertext, secret) = public.encapsulate(backend, random).unwrap();
        assert_secret("a ciphertext", ciphertext.as_bytes());
        assert_secret("the ciphertext's secret", secret.as_bytes());
        define(ciphertext.as_bytes());
        let expanded = key.expand(backend);
        assert!(equal(&secret, &decapsulate_ml_kem(backend, &key, &expanded, &ciphertext)));

        // Errors in u, in v, and everywhere.
        for (position, byte) in [(0, 1), (P::CIPHERTEXT_BYTES - 1, 1), (0, 0xff)] {
            let mut bytes = ciphertext.as_bytes().to_vec();
            bytes[position] ^= byte;
            if byte == 0xff {
                bytes.fill(byte);
            }
            let wrong = mlkem::Ciphertext::from_bytes(&bytes).unwrap();
            assert!(!equal(&secret, &decapsulate_ml_kem(backend, &key, &expanded, &wrong)));
        }

        // A key from a file: the format defines its public parts.
        parts(&mut bytes, undefine, |public| define(public));
        let read = DecapsulationKey::<P>::from_bytes_on(backend, &bytes).unwrap();
        read.check(backend).unwrap();
        assert!(equal(&secret, &read.decapsulate(backend, &ciphertext)));

        // A key from its seed, and one from the memory of the library's caller.
        let mut seed = [0; mlkem::SEED_BYTES];
        assert!(key.write_seed(&mut seed));
        assert_secret("a seed", &seed);
        let again = mlkem::KeyPair::<P>::from_seed(backend, &seed);
        assert_eq!(again.encapsulation_key().as_bytes(), public.as_bytes());
        assert!(equal(&secret, &again.decapsulate(backend, &ciphertext)));
        let mut stored = vec![0; DecapsulationKey::<P>::STORED_BYTES];
        key.write(&mut stored);
        let trusted = DecapsulationKey::<P>::from_trusted_bytes(&stored).unwrap();
        assert!(equal(&secret, &trusted.decapsulate(backend, &ciphertext)));

        // Encapsulations prepared before the key is known.
        let (ciphertext, secret) = prepared.remove(0).encapsulate(&public);
        assert_secret("a prepared encapsulation's secret", secret.as_bytes());
        define(ciphertext.as_bytes());
        assert!(equal(&secret, &key.decapsulate(backend, &ciphertext)));
    }
}

/// Checks single exchanges, a few and many at once, a point of small order, and signatures.
fn check_curves(backend: Backend) {
    let random = &mut Secret(Drbg::new(&[7; 48]));
    for count in [1, BATCH, 9] {
        let ours = x25519::generate_batch(backend, random, count).unwrap();
        let theirs = x25519::generate_batch(backend, random, count).unwrap();
        for pair in ours.iter().chain(&theirs) {
            define(&pair.public.0);
            assert_secret("a scalar", pair.secret.as_bytes());
        }
        let halves = |pairs: &[x25519::KeyPair]| -> (Vec<_>, Vec<_>) {
            pairs.iter().map(|pair| (pair.secret.clone(), pair.public)).unzip()
        };
        let ((our_secrets, our_publics), (secrets, publics)) = (halves(&ours), halves(&theirs));
        let one = x25519::shared_secrets(backend, &our_secrets, &publics);
        let other = x25519::shared_secrets(backend, &secrets, &our_publics);
        for (one, other) in one.into_iter().zip(other) {
            let (one, other) = (one.unwrap(), other.unwrap());
            assert_secret("a shared secret", one.as_bytes());
            define(one.as_bytes());
            define(other.as_bytes());
            assert_eq!(one.as_bytes(), other.as_bytes());
        }
        let zero = x25519::PublicKey([0; x25519::PUBLIC_KEY_BYTES]);
        let refused = x25519::shared_secret(backend, &secrets[0], &zero);
        assert!(matches!(refused, Err(Error::SmallOrder)));
    }
    for count in [1, BATCH, 9] {
        let keys = ed25519::generate_batch(backend, random, count).unwrap();
        let key = &keys[count / 2];
        assert_secret("a seed", key.seed());
        let public = *key.verifying_key();
        define(&public.0);
        for message in [&b""[..], &[7; 300]] {
            let signature = ed25519::sign(backend, key, message);
            define(&signature);
            ed25519::verify(backend, &public, &signature, message).unwrap();
        }
    }
}

/// Leaks on purpose, for the check to find: a branch on a secret, or a table lookup by it.
fn leak(how: &str) -> Result<(), String> {
    let mut secret = [0; 1];
    let Ok(()) = Secret(Drbg::new(&[7; 48])).try_fill_bytes(&mut secret);
    let secret = black_box(secret[0]);
    match how {
        "branch" if secret > 100 => println!("above"),
        "branch" => println!("below"),
        "index" => {
            black_box(black_box(&[0u8; 256])[usize::from(secret)]);
        }
        _ => return Err(format!("unknown leak '{how}': expected branch or index")),
    }
    Ok(())
}

fn run(arguments: &[String]) -> Result<(), String> {
    if !is_running() {
        return Err("valgrind does not run this program, so nothing would be checked".into());
    }
    match arguments {
        [name, how] if name == "leak" => leak(how),
        [name] => {
            let backend = Backend::named(name).map_err(|error| error.to_string())?;
            check::<Sntrup653>(backend);
            check::<Sntrup761>(backend);
            check::<Sntrup857>(backend);
            check::<Sntrup953>(backend);
            check::<Sntrup1013>(backend);
            check::<Sntrup1277>(backend);
            check_ml_kem::<MlKem512>(backend);
            check_ml_kem::<MlKem768>(backend);
            check_ml_kem::<MlKem1024>(backend);
            check_curves(backend);
            println!("{name}: all operations of nine parameter sets and the curves");
            Ok(())
        }
        _ => Err("usage: memcheck BACKEND | leak branch|index".into()),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("memcheck: {message}");
            ExitCode::from(2)
        }
    }
}
