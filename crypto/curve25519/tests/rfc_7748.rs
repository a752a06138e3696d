//! The test vectors of RFC 7748.

mod common;

use common::hex;
use curve25519::Backend;
use curve25519::x25519::{PublicKey, SecretKey, public_key, shared_secret, shared_secrets};

fn x25519(backend: Backend, scalar: &[u8; 32], u: &[u8; 32]) -> [u8; 32] {
    let secret = SecretKey::from_bytes(scalar);
    *shared_secret(backend, &secret, &PublicKey(*u)).unwrap().as_bytes()
}

#[test]
fn section_5_2_single() {
    let vectors = [
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
    ];
    for backend in Backend::available() {
        for (scalar, u, expected) in vectors {
            assert_eq!(x25519(backend, &hex(scalar), &hex(u)), hex(expected));
        }
    }
}

/// Both inputs of a step come from the results before it.
fn iterate(backend: Backend, times: usize) -> [u8; 32] {
    let (mut k, mut u) = ([0; 32], [0; 32]);
    k[0] = 9;
    u[0] = 9;
    for _ in 0..times {
        let next = x25519(backend, &k, &u);
        u = k;
        k = next;
    }
    k
}

#[test]
fn section_5_2_iterated() {
    for backend in Backend::available() {
        let once = "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079";
        assert_eq!(iterate(backend, 1), hex(once));
        let thousand = "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51";
        assert_eq!(iterate(backend, 1000), hex(thousand));
    }
}

#[test]
#[ignore = "takes minutes"]
fn section_5_2_iterated_a_million_times() {
    for backend in Backend::available() {
        let million = "7c3911e0ab2586fd864497297e575e6f3bc601c0883c30df5f4dd2d24f665424";
        assert_eq!(iterate(backend, 1_000_000), hex(million));
    }
}

#[test]
fn section_6_1() {
    let alice: [u8; 32] = hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
    let bob: [u8; 32] = hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
    let alices = hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
    let bobs = hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    let shared = hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    let (alice, bob) = (SecretKey::from_bytes(&alice), SecretKey::from_bytes(&bob));
    for backend in Backend::available() {
        assert_eq!(public_key(backend, &alice).0, alices);
        assert_eq!(public_key(backend, &bob).0, bobs);
        let secrets = [alice.clone(), bob.clone()];
        let publics = [PublicKey(bobs), PublicKey(alices)];
        for secret in shared_secrets(backend, &secrets, &publics) {
            assert_eq!(*secret.unwrap().as_bytes(), shared);
        }
    }
}
