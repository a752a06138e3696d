//! Every backend beside the others, and beside independent implementations.

mod common;

use common::{random, random_bytes};
use curve25519::{Backend, Error, ed25519, x25519};
use ed25519_dalek::Signer;
use sha2::{Digest, Sha256};
use x25519_dalek::StaticSecret;

/// All sizes of batches around the number of lanes.
const COUNTS: [usize; 12] = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 130];

#[test]
fn x25519_keys_are_those_of_another_implementation() {
    for backend in Backend::available() {
        let mut random = random();
        for count in COUNTS {
            let pairs = x25519::generate_batch(backend, &mut random, count).unwrap();
            assert_eq!(pairs.len(), count);
            for pair in pairs {
                let theirs = StaticSecret::from(*pair.secret.as_bytes());
                let expected = x25519_dalek::PublicKey::from(&theirs);
                assert_eq!(pair.public.0, *expected.as_bytes());
                assert_eq!(x25519::public_key(backend, &pair.secret), pair.public);
            }
        }
    }
}

/// Peers of all kinds: on the curve, on its twist, and with bits that are ignored.
#[test]
fn x25519_secrets_are_those_of_another_implementation() {
    for backend in Backend::available() {
        let mut random = random();
        for count in COUNTS {
            let mut secrets = Vec::new();
            let mut publics = Vec::new();
            for _ in 0..count {
                secrets.push(x25519::SecretKey::from_bytes(&random_bytes(&mut random)));
                publics.push(x25519::PublicKey(random_bytes(&mut random)));
            }
            let together = x25519::shared_secrets(backend, &secrets, &publics);
            assert_eq!(together.len(), count);
            for i in 0..count {
                let theirs = StaticSecret::from(*secrets[i].as_bytes());
                let expected = theirs.diffie_hellman(&x25519_dalek::PublicKey::from(publics[i].0));
                assert_eq!(together[i].as_ref().unwrap().as_bytes(), expected.as_bytes());
                let alone = x25519::shared_secret(backend, &secrets[i], &publics[i]).unwrap();
                assert_eq!(alone.as_bytes(), expected.as_bytes());
            }
        }
    }
}

/// The encodings of u = 0, 1, -1, those of order 8, and p and p + 1, each with either highest bit.
fn small_order() -> Vec<[u8; 32]> {
    let mut points = Vec::new();
    for u in [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ] {
        let mut u: [u8; 32] = common::hex(u);
        points.push(u);
        u[31] |= 0x80;
        points.push(u);
    }
    points
}

#[test]
fn small_order_is_refused_and_harms_no_neighbour() {
    for backend in Backend::available() {
        let mut random = random();
        let mut secrets = Vec::new();
        let mut publics = Vec::new();
        for point in small_order() {
            for public in [point, random_bytes(&mut random)] {
                secrets.push(x25519::SecretKey::from_bytes(&random_bytes(&mut random)));
                publics.push(x25519::PublicKey(public));
            }
        }
        let together = x25519::shared_secrets(backend, &secrets, &publics);
        for (i, result) in together.iter().enumerate() {
            let alone = x25519::shared_secret(backend, &secrets[i], &publics[i]);
            if i % 2 == 0 {
                assert_eq!(result.as_ref().err(), Some(&Error::SmallOrder));
                assert_eq!(alone.err(), Some(Error::SmallOrder));
            } else {
                assert_eq!(result.as_ref().unwrap().as_bytes(), alone.unwrap().as_bytes());
            }
        }
    }
}

/// Coordinates of which the limbs are as large and as small as they get, and numbers from p on.
#[test]
fn edges_of_limbs() {
    let mut edges = vec![[0xff; 32], [0; 32]];
    for bit in 0..256 {
        let mut power = [0; 32];
        power[bit / 8] = 1 << (bit % 8);
        edges.push(power);
        edges.push(power.map(|byte| !byte));
        // Ones up to the bit.
        let mut ones = [0; 32];
        for i in 0..=bit {
            ones[i / 8] |= 1 << (i % 8);
        }
        edges.push(ones);
    }
    for low in 0xe0..=0xff {
        let mut near_p = [0xff; 32];
        (near_p[0], near_p[31]) = (low, 0x7f);
        edges.push(near_p);
    }
    let secrets: Vec<_> = edges.iter().rev().map(x25519::SecretKey::from_bytes).collect();
    let publics: Vec<_> = edges.iter().map(|&edge| x25519::PublicKey(edge)).collect();
    for backend in Backend::available() {
        let together = x25519::shared_secrets(backend, &secrets, &publics);
        let keys = x25519::public_keys(backend, &secrets);
        for i in 0..edges.len() {
            let theirs = StaticSecret::from(*secrets[i].as_bytes());
            assert_eq!(keys[i].0, *x25519_dalek::PublicKey::from(&theirs).as_bytes());
            let expected = theirs.diffie_hellman(&x25519_dalek::PublicKey::from(publics[i].0));
            let alone = x25519::shared_secret(backend, &secrets[i], &publics[i]);
            for result in [&alone, &together[i]] {
                match result {
                    Ok(shared) => assert_eq!(shared.as_bytes(), expected.as_bytes()),
                    Err(error) => {
                        assert_eq!(*error, Error::SmallOrder);
                        assert!(!expected.was_contributory());
                    }
                }
            }
        }
    }
}

/// A hash of `count` exchanges, of which each takes its secret from the results before it.
fn accumulated(backend: Backend, count: usize) -> String {
    let mut hash = Sha256::new();
    let mut random = random();
    let mut pending = (Vec::new(), Vec::new());
    for i in 0..count {
        pending.0.push(x25519::SecretKey::from_bytes(&random_bytes(&mut random)));
        pending.1.push(x25519::PublicKey(random_bytes(&mut random)));
        if pending.0.len() < 8 && i + 1 < count {
            continue;
        }
        // One of eight alone, the others together.
        let alone = x25519::shared_secret(backend, &pending.0[0], &pending.1[0]).unwrap();
        hash.update(alone.as_bytes());
        for shared in x25519::shared_secrets(backend, &pending.0, &pending.1) {
            hash.update(shared.unwrap().as_bytes());
        }
        for public in x25519::public_keys(backend, &pending.0) {
            hash.update(public.0);
        }
        pending.0.clear();
        pending.1.clear();
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn ten_thousand_exchanges() {
    for backend in Backend::available() {
        assert_eq!(accumulated(backend, 10_000), TEN_THOUSAND, "{}", backend.name());
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_million_exchanges() {
    for backend in Backend::available() {
        assert_eq!(accumulated(backend, 1_000_000), MILLION, "{}", backend.name());
    }
}

/// By x25519-dalek, as are the million's.
const TEN_THOUSAND: &str = "64236b39299e9becafd6d200e2e867819a505a3ea367ff117a03e12378c8ecc8";
const MILLION: &str = "d97f4c740d909c5238f5c7784316f1d52baf0e79852809bd35b2801473bdf2b8";

#[test]
fn signatures_are_those_of_another_implementation() {
    for backend in Backend::available() {
        let mut random = random();
        for count in COUNTS {
            for (i, key) in
                ed25519::generate_batch(backend, &mut random, count).unwrap().iter().enumerate()
            {
                let theirs = ed25519_dalek::SigningKey::from_bytes(key.seed());
                assert_eq!(key.verifying_key().0, theirs.verifying_key().to_bytes());
                let again = ed25519::SigningKey::from_seed(backend, key.seed());
                assert_eq!(again.verifying_key(), key.verifying_key());
                let message: Vec<u8> = (0..3 * i).map(|j| (i * j) as u8).collect();
                let mut signature = ed25519::sign(backend, key, &message);
                assert_eq!(signature, theirs.sign(&message).to_bytes());
                let verify = |signature: &[u8; 64], message: &[u8]| {
                    ed25519::verify(backend, key.verifying_key(), signature, message)
                };
                assert_eq!(verify(&signature, &message), Ok(()));
                assert_eq!(verify(&signature, b"another"), Err(Error::Signature));
                signature[i % 64] ^= 1 << (i % 8);
                assert_eq!(verify(&signature, &message), Err(Error::Signature));
            }
        }
    }
}

/// Adds the order of the base point to S.
fn malleated(signature: &[u8; 64]) -> [u8; 64] {
    let order: [u8; 32] =
        common::hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    let mut signature = *signature;
    let mut carry = 0;
    for i in 0..32 {
        let sum = u16::from(signature[32 + i]) + u16::from(order[i]) + carry;
        signature[32 + i] = sum as u8;
        carry = sum >> 8;
    }
    signature
}

#[test]
fn s_must_be_reduced() {
    for backend in Backend::available() {
        let key = ed25519::SigningKey::from_seed(backend, &[3; 32]);
        let signature = ed25519::sign(backend, &key, b"message");
        let other = malleated(&signature);
        let verdict = ed25519::verify(backend, key.verifying_key(), &other, b"message");
        assert_eq!(verdict, Err(Error::Signature));
    }
}

/// Encodings of points of order 1, 2, 4 and 8, canonical or not, and a sign of x = 0.
fn small_order_points() -> Vec<[u8; 32]> {
    [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    ]
    .map(common::hex)
    .to_vec()
}

/// With A of small order and S = 0, R = -kA is valid for some messages: without the cofactor, and
/// as bytes. The strict rule takes none of them.
#[test]
fn points_of_small_order() {
    for backend in Backend::available() {
        let mut valid = 0;
        for a in small_order_points() {
            for r in small_order_points() {
                let mut signature = [0; 64];
                signature[..32].copy_from_slice(&r);
                for message in 0..16u8 {
                    let key = ed25519::VerifyingKey(a);
                    let verdict = ed25519::verify(backend, &key, &signature, &[message]);
                    let strict = ed25519::verify_strict(backend, &key, &signature, &[message]);
                    assert_eq!(strict, Err(Error::PublicKey));
                    // dalek's rule is the same.
                    let theirs = ed25519_dalek::VerifyingKey::from_bytes(&a).unwrap();
                    let signature = ed25519_dalek::Signature::from_bytes(&signature);
                    let expected = ed25519_dalek::Verifier::verify(&theirs, &[message], &signature);
                    assert_eq!(verdict.is_ok(), expected.is_ok(), "{a:02x?} {r:02x?}");
                    valid += usize::from(verdict.is_ok());
                }
            }
        }
        assert!(valid > 0);
    }
}

#[test]
fn what_is_no_point_verifies_nothing() {
    for backend in Backend::available() {
        // y = 2: x^2 is no square.
        let mut bytes = [0; 32];
        bytes[0] = 2;
        assert!(ed25519_dalek::VerifyingKey::from_bytes(&bytes).is_err());
        let key = ed25519::VerifyingKey(bytes);
        assert_eq!(ed25519::verify(backend, &key, &[0; 64], b""), Err(Error::PublicKey));
    }
}
