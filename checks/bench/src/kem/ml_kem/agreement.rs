//! Comparison of two implementations with random and with hostile inputs.

use super::MlKem;
use crate::kem::SharedSecret;

/// The modulus.
const Q: u16 = 3329;
/// The size of the seed at the end of a public key.
const SEED_BYTES: usize = 32;

/// Checks that two implementations give the same secrets, and refuse the same inputs, for random
/// keys and ciphertexts and for changed ones. The keys of each round are new ones of each of the
/// two, as far as both can read them.
///
/// # Panics
/// They differ.
pub fn assert_agreement<A: MlKem, B: MlKem>(one: &A, other: &B, rounds: usize) {
    assert_eq!(one.algorithm(), other.algorithm());
    for _ in 0..rounds {
        assert_agreement_on_keys(one, other);
        assert_agreement_on_keys(other, one);
    }
}

/// Checks one new key pair of the implementation `owner`.
fn assert_agreement_on_keys<A: MlKem, B: MlKem>(owner: &A, other: &B) {
    let case = format!("{}: keys of {}, and {}", owner.algorithm(), owner.name(), other.name());
    let (public, secret) = owner.key_pair();
    let (ciphertext, shared) = other.encapsulate(&public).expect(&case);
    assert_eq!(owner.decapsulate(&secret, &ciphertext), Some(shared), "{case}");

    for (change, public) in public_keys(&public) {
        let answers = [owner.encapsulate(&public), other.encapsulate(&public)];
        let [accepted, by_other] = answers.map(|answer| answer.is_some());
        assert_eq!(accepted, by_other, "{case}: public key {change}");
    }
    let secret_bytes = owner.secret_key_bytes(&secret);
    if B::READS_SECRET_KEYS {
        let carried = other.secret_key(&secret_bytes).expect(&case);
        assert_eq!(other.decapsulate(&carried, &ciphertext), Some(shared), "{case}");
        for (change, ciphertext) in ciphertexts(&ciphertext) {
            let secret = owner.decapsulate(&secret, &ciphertext);
            assert_ne!(secret, Some(shared), "{case}: ciphertext {change}");
            let by_other = other.decapsulate(&carried, &ciphertext);
            assert_eq!(secret, by_other, "{case}: ciphertext {change}");
        }
    } else {
        // Another implementation cannot say which secret is right.
        for (change, ciphertext) in ciphertexts(&ciphertext) {
            let secret = owner.decapsulate(&secret, &ciphertext);
            assert_ne!(secret, Some(shared), "{case}: ciphertext {change}");
        }
    }
    if A::READS_SECRET_KEYS && B::READS_SECRET_KEYS {
        let vector_bytes = public.len() - SEED_BYTES;
        for (change, secret) in secret_keys(&secret_bytes, vector_bytes) {
            let of_owner = read_and_decapsulate(owner, &secret, &ciphertext);
            let of_other = read_and_decapsulate(other, &secret, &ciphertext);
            let has_wrong_s = !secret.starts_with(&secret_bytes[..vector_bytes]);
            let refuses = |refuses: bool| has_wrong_s && refuses;
            match [A::REFUSES_WRONG_S, B::REFUSES_WRONG_S].map(refuses) {
                [true, false] => assert_eq!(of_owner, None, "{case}: secret key {change}"),
                [false, true] => assert_eq!(of_other, None, "{case}: secret key {change}"),
                _ => assert_eq!(of_owner, of_other, "{case}: secret key {change}"),
            }
        }
    }
}

/// Reads a secret key and decapsulates. `None` if either is refused.
fn read_and_decapsulate<K: MlKem>(
    kem: &K,
    secret: &[u8],
    ciphertext: &[u8],
) -> Option<SharedSecret> {
    kem.decapsulate(&kem.secret_key(secret)?, ciphertext)
}

fn random_below(bound: usize) -> usize {
    let mut bytes = [0; 8];
    generator::fill(&mut bytes).unwrap();
    (u64::from_le_bytes(bytes) % bound as u64) as usize
}

/// Returns `bytes` with one random bit of a range of bytes flipped.
fn flipped(bytes: &[u8], range: std::ops::Range<usize>) -> (String, Vec<u8>) {
    let mut flipped = bytes.to_vec();
    let (place, bit) = (range.start + random_below(range.len()), random_below(8));
    flipped[place] ^= 1 << bit;
    (format!("with bit {bit} of byte {place} flipped"), flipped)
}

/// Returns versions of `bytes` that have another length.
fn of_wrong_lengths(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let of_length = |length: usize| {
        let mut changed = bytes.to_vec();
        changed.resize(length, 0);
        (format!("of {length} bytes"), changed)
    };
    let right = bytes.len();
    let any = random_below(right);
    [0, 1, SEED_BYTES, any, right - 1, right + 1, 2 * right].map(of_length).into()
}

/// Writes a random one of the coefficients that begin a key.
fn with_coefficient(key: &[u8], vector_bytes: usize, value: u16) -> (String, Vec<u8>) {
    let mut key = key.to_vec();
    let index = random_below(vector_bytes / 3 * 2);
    let at = index / 2 * 3;
    let [low, high] = value.to_le_bytes();
    if index.is_multiple_of(2) {
        key[at] = low;
        key[at + 1] = (key[at + 1] & 0xf0) | high;
    } else {
        key[at + 1] = (key[at + 1] & 0x0f) | (low << 4);
        key[at + 2] = (low >> 4) | (high << 4);
    }
    (format!("with coefficient {index} set to {value}"), key)
}

/// Returns the values at and beyond the ends of a coefficient's range, and a random one that is too
/// large.
fn coefficients() -> [u16; 5] {
    [0, Q - 1, Q, Q + random_below(4096 - usize::from(Q)) as u16, 4095]
}

fn public_keys(right: &[u8]) -> Vec<(String, Vec<u8>)> {
    let vector_bytes = right.len() - SEED_BYTES;
    let mut changed = of_wrong_lengths(right);
    changed.push(flipped(right, 0..vector_bytes));
    changed.push(flipped(right, vector_bytes..right.len()));
    changed.extend(coefficients().map(|value| with_coefficient(right, vector_bytes, value)));
    changed.push(("of zeros".into(), vec![0; right.len()]));
    changed.push(("of ones".into(), vec![0xff; right.len()]));
    changed
}

fn ciphertexts(right: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut changed = of_wrong_lengths(right);
    // u and v.
    let middle = right.len() * 4 / 5;
    changed.push(flipped(right, 0..middle));
    changed.push(flipped(right, middle..right.len()));
    changed.push(("of zeros".into(), vec![0; right.len()]));
    changed.push(("of ones".into(), vec![0xff; right.len()]));
    let mut random = vec![0; right.len()];
    generator::fill(&mut random).unwrap();
    changed.push(("of random bytes".into(), random));
    changed
}

fn secret_keys(right: &[u8], vector_bytes: usize) -> Vec<(String, Vec<u8>)> {
    let mut changed = of_wrong_lengths(right);
    let public = vector_bytes..2 * vector_bytes + SEED_BYTES;
    let hash = public.end..public.end + SEED_BYTES;
    // s, the public key, its hash, z.
    for range in [0..vector_bytes, public, hash.clone(), hash.end..right.len()] {
        changed.push(flipped(right, range));
    }
    changed.extend(coefficients().map(|value| with_coefficient(right, vector_bytes, value)));
    changed
}
