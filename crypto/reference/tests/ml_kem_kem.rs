//! ML-KEM's keys and ciphertexts: sizes, input checks and implicit rejection.

use reference::ml_kem::{
    self, Error, Parameters, Q, check_decapsulation_key, check_encapsulation_key, decapsulate,
    decapsulate_detailed, encapsulate, g, h, j, k_pke_decrypt, k_pke_encrypt, key_generation,
};

const D: [u8; 32] = [1; 32];
const Z: [u8; 32] = [2; 32];
const M: [u8; 32] = [3; 32];

#[test]
fn sizes_of_the_standard() {
    // Name, encapsulation key, decapsulation key, ciphertext: bytes (table 3).
    let expected = [
        ("mlkem512", 800, 1632, 768),
        ("mlkem768", 1184, 2400, 1088),
        ("mlkem1024", 1568, 3168, 1568),
    ];
    let actual = Parameters::ALL.map(|set| {
        let ek = set.encapsulation_key_bytes();
        assert_eq!(set.shared_secret_bytes(), 32);
        assert_eq!(Parameters::by_name(set.name), Some(set));
        assert_eq!(Parameters::by_encapsulation_key_bytes(ek), Some(set));
        (set.name, ek, set.decapsulation_key_bytes(), set.ciphertext_bytes())
    });
    assert_eq!(actual, expected);
    assert_eq!(Parameters::by_name("mlkem"), None);
    assert_eq!(Parameters::by_encapsulation_key_bytes(1185), None);
}

#[test]
fn round_trips_and_their_parts() {
    for params in Parameters::ALL {
        let (ek, dk) = key_generation(&params, &D, &Z);
        let (c, ss) = encapsulate(&params, &ek, &M).unwrap();
        let lengths = (ek.len(), dk.len(), c.len());
        let expected = (
            params.encapsulation_key_bytes(),
            params.decapsulation_key_bytes(),
            params.ciphertext_bytes(),
        );
        assert_eq!(lengths, expected);
        // dk = dk_pke, ek, H(ek), z.
        assert_eq!(dk[params.vector_bytes()..], [&ek[..], &h(&ek), &Z].concat());
        let (key, r) = g(&[M, h(&ek)].concat());
        assert_eq!(k_pke_encrypt(&params, &ek, &M, &r).as_ref(), Ok(&c));
        assert_eq!(k_pke_decrypt(&params, &dk[..params.vector_bytes()], &c), Ok(M));
        let detailed = decapsulate_detailed(&params, &dk, &c).unwrap();
        assert!(!detailed.rejected);
        assert_eq!((detailed.m, &detailed.c, detailed.shared_secret), (M, &c, ss));
        assert_eq!(key, ss);
    }
}

/// The parameter sets give unrelated keys for the same seeds: G hashes k, too.
#[test]
fn sets_are_separated() {
    let rho = Parameters::ALL.map(|params| {
        let (ek, _) = key_generation(&params, &D, &Z);
        ek[params.vector_bytes()..].to_vec()
    });
    assert!(rho[0] != rho[1] && rho[1] != rho[2] && rho[0] != rho[2]);
}

#[test]
fn implicit_rejection() {
    for params in Parameters::ALL {
        let (ek, dk) = key_generation(&params, &D, &Z);
        let (c, ss) = encapsulate(&params, &ek, &M).unwrap();
        for index in [0, params.c1_bytes() - 1, params.c1_bytes(), c.len() - 1] {
            let mut c = c.clone();
            c[index] ^= 1;
            let detailed = decapsulate_detailed(&params, &dk, &c).unwrap();
            assert!(detailed.rejected);
            assert_eq!(detailed.shared_secret, j(&[&Z[..], &c].concat()));
            assert_ne!(detailed.shared_secret, ss);
            // A small change is below the noise that decryption removes.
            assert_eq!(detailed.m, M);
        }
        for byte in [0, 0xff] {
            let c = vec![byte; c.len()];
            assert_eq!(decapsulate(&params, &dk, &c), Ok(j(&[&Z[..], &c].concat())));
        }
    }
}

#[test]
fn wrong_lengths() {
    for params in Parameters::ALL {
        let (ek, dk) = key_generation(&params, &D, &Z);
        let (c, _) = encapsulate(&params, &ek, &M).unwrap();
        let error = |what, expected, actual| Err(Error::WrongLength { what, expected, actual });
        for change in [-1, 1] {
            let resized = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                bytes.resize(bytes.len().strict_add_signed(change), 0);
                bytes
            };
            let wrong = error("encapsulation key", ek.len(), resized(&ek).len());
            assert_eq!(check_encapsulation_key(&params, &resized(&ek)), wrong);
            assert_eq!(encapsulate(&params, &resized(&ek), &M).map(|_| ()), wrong);
            let wrong = error("decapsulation key", dk.len(), resized(&dk).len());
            assert_eq!(check_decapsulation_key(&params, &resized(&dk)), wrong);
            assert_eq!(decapsulate(&params, &resized(&dk), &c).map(|_| ()), wrong);
            let wrong = error("ciphertext", c.len(), resized(&c).len());
            assert_eq!(decapsulate(&params, &dk, &resized(&c)).map(|_| ()), wrong);
            assert!(k_pke_encrypt(&params, &resized(&ek), &M, &M).is_err());
            let dk_pke = &dk[..params.vector_bytes()];
            assert!(k_pke_decrypt(&params, &resized(dk_pke), &c).is_err());
            assert!(k_pke_decrypt(&params, dk_pke, &resized(&c)).is_err());
        }
    }
    let error = Error::WrongLength { what: "ciphertext", expected: 1088, actual: 1 };
    assert_eq!(error.to_string(), "ciphertext has 1 bytes, expected 1088");
}

#[test]
fn keys_that_are_not_reduced() {
    for params in Parameters::ALL {
        let (ek, _) = key_generation(&params, &D, &Z);
        let last = 256 * params.k - 1;
        // The first coefficient is in the low bits of the first bytes, the last one in the high
        // bits of the last ones.
        for value in Q..4096 {
            let mut first = ek.clone();
            (first[0], first[1]) = (value as u8, first[1] & 0xf0 | (value >> 8) as u8);
            let wrong = Error::NotReduced { index: 0, value };
            assert_eq!(check_encapsulation_key(&params, &first), Err(wrong));
            assert_eq!(encapsulate(&params, &first, &M), Err(wrong));

            let mut end = ek.clone();
            let at = params.vector_bytes() - 2;
            (end[at], end[at + 1]) = (end[at] & 0x0f | (value << 4) as u8, (value >> 4) as u8);
            let wrong = Error::NotReduced { index: last, value };
            assert_eq!(check_encapsulation_key(&params, &end), Err(wrong));
        }
        let mut greatest = ek.clone();
        greatest[..params.vector_bytes()]
            .copy_from_slice(&ml_kem::byte_encode(12, &[Q - 1; 256]).repeat(params.k));
        assert_eq!(check_encapsulation_key(&params, &greatest), Ok(()));
        // rho may be any bytes.
        greatest[params.vector_bytes()..].fill(0xff);
        assert_eq!(check_encapsulation_key(&params, &greatest), Ok(()));
    }
    assert_eq!(
        Error::NotReduced { index: 3, value: 4095 }.to_string(),
        "coefficient 3 of the encapsulation key is 4095, expected less than 3329"
    );
}

#[test]
fn keys_with_a_wrong_hash() {
    for params in Parameters::ALL {
        let (ek, dk) = key_generation(&params, &D, &Z);
        let (c, ss) = encapsulate(&params, &ek, &M).unwrap();
        let (start, end) = (params.vector_bytes(), dk.len() - 32);
        for index in [start, start + ek.len() - 1, start + ek.len(), end - 1] {
            let mut dk = dk.clone();
            dk[index] ^= 1;
            assert_eq!(check_decapsulation_key(&params, &dk), Err(Error::WrongHash));
            assert_eq!(decapsulate(&params, &dk, &c), Err(Error::WrongHash));
        }
        // Nothing checks z, which honest ciphertexts do not need.
        let mut dk = dk.clone();
        dk[end] ^= 1;
        assert_eq!(decapsulate(&params, &dk, &c), Ok(ss));
    }
}

/// A secret vector that is not reduced is used modulo q, as ByteDecode_12 has it.
#[test]
fn secret_vectors_are_reduced() {
    for params in Parameters::ALL {
        let (ek, dk) = key_generation(&params, &D, &Z);
        let (c, ss) = encapsulate(&params, &ek, &M).unwrap();
        let mut other = dk.clone();
        let mut changed = 0;
        for pair in other[..params.vector_bytes()].chunks_mut(3) {
            let value = u16::from(pair[0]) | u16::from(pair[1] & 0x0f) << 8;
            if value + Q < 4096 {
                pair[0] = (value + Q) as u8;
                pair[1] = pair[1] & 0xf0 | ((value + Q) >> 8) as u8;
                changed += 1;
            }
        }
        assert!(changed > 0);
        assert_eq!(decapsulate(&params, &other, &c), Ok(ss));
    }
}
