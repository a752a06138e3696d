//! Sampling, hashes, wrong input and rejections of the key-encapsulation mechanism.

use reference::drbg::Drbg;
use reference::sntrup::{self, Error, Parameters};

const SNTRUP653: Parameters = Parameters::ALL[0];

#[test]
fn small_from_thirds() {
    let boundary = (1_u32 << 30).div_ceil(3);
    let expected = [
        (0, -1),
        (boundary - 1, -1),
        (boundary, 0),
        (2 * (1 << 30) / 3, 0),
        (2 * (1 << 30) / 3 + 1, 1),
        ((1 << 30) - 1, 1),
        (1 << 30, -1),
        (u32::MAX, 1),
    ];
    for (u, coefficient) in expected {
        assert_eq!(sntrup::small_from_u32(u), coefficient, "{u}");
    }
}

#[test]
fn short_is_sorted() {
    // w nonzero tags first: the sort is unsigned, the low bits break ties.
    let toy = Parameters { name: "toy", p: 5, q: 7, w: 2 };
    let cases: [([u32; 5], [i32; 5]); 4] = [
        ([0, 0, 0, 0, 0], [-1, -1, 0, 0, 0]),
        ([2, 2, 0, 0, 0], [0, 0, 0, 1, 1]),
        ([u32::MAX, 9, 0, 0x8000_0000, 4], [0, 0, -1, 0, 1]),
        ([3, 1, 7, 6, 5], [-1, 1, 0, 0, 0]),
    ];
    for (integers, expected) in cases {
        assert_eq!(sntrup::short_from_u32s(&toy, &integers), expected);
    }
    let mut drbg = Drbg::new(&[8; 48]);
    for params in Parameters::ALL {
        let r = sntrup::short_random(&params, &mut |bytes| drbg.fill(bytes));
        assert!(sntrup::is_short(&params, &r));
    }
}

#[test]
fn hash_is_half_of_sha512() {
    // SHA-512 of "abc", the example of FIPS 180-2: 'a' is the prefix.
    let expected = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a";
    let digits: String =
        sntrup::hash_b(b'a', b"bc").iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digits, expected);
}

#[test]
fn draws_are_as_documented() {
    for params in Parameters::ALL {
        let mut drbg = Drbg::new(&[9; 48]);
        let mut sizes = vec![];
        let mut random = |bytes: &mut [u8]| {
            sizes.push(bytes.len());
            drbg.fill(bytes);
        };
        let (pk, _) = sntrup::key_generation(&params, &mut random);
        sntrup::encapsulate(&params, &pk, &mut random).unwrap();
        let words = 4 * params.p;
        let (g, rest) = sizes.split_at(sizes.len() - 3);
        assert!(!g.is_empty() && g.iter().all(|size| *size == words), "{sizes:?}");
        assert_eq!(rest, [words, params.small_bytes(), words]);
    }
}

/// A key pair with its random choices, a Short r, and its ciphertext and session key.
struct Honest {
    g: Vec<i32>,
    f: Vec<i32>,
    rho: Vec<u8>,
    pk: Vec<u8>,
    sk: Vec<u8>,
    r: Vec<i32>,
    ct: Vec<u8>,
    ss: [u8; 32],
}

fn honest() -> Honest {
    let mut drbg = Drbg::new(&[10; 48]);
    let mut random = |bytes: &mut [u8]| drbg.fill(bytes);
    let f = sntrup::short_random(&SNTRUP653, &mut random);
    let r = sntrup::short_random(&SNTRUP653, &mut random);
    let mut rho = vec![0; SNTRUP653.small_bytes()];
    random(&mut rho);
    loop {
        let g = sntrup::small_random(&SNTRUP653, &mut random);
        match sntrup::key_generation_derand(&SNTRUP653, &g, &f, &rho) {
            Ok((pk, sk)) => {
                let (ct, ss) = sntrup::encapsulate_derand(&SNTRUP653, &pk, &r).unwrap();
                return Honest { g, f, rho, pk, sk, r, ct, ss };
            }
            Err(error) => assert_eq!(error, Error::NotInvertible),
        }
    }
}

#[test]
fn honest_ciphertexts_are_accepted() {
    let honest = honest();
    let done = sntrup::decapsulate_detailed(&SNTRUP653, &honest.sk, &honest.ct).unwrap();
    assert!(!done.rejected);
    assert_eq!(done.session_key, honest.ss);
    assert_eq!((done.r, done.recovered), (honest.r.clone(), honest.r));
    assert_eq!(done.weight, 288);

    let key = sntrup::split_secret_key(&SNTRUP653, &honest.sk).unwrap();
    assert_eq!((&key.f, &key.public_key, &key.rho), (&honest.f, &honest.pk, &honest.rho));
    assert_eq!(key.public_key_hash, sntrup::hash_b(4, &honest.pk));
    // h = g/(3f), so 3 f h = g.
    let f3: Vec<i32> = key.f.iter().map(|c| 3 * c).collect();
    let h = sntrup::rq_decode(&SNTRUP653, &honest.pk).unwrap();
    assert_eq!(sntrup::rq_product(&SNTRUP653, &f3, &h), honest.g);
    let one = sntrup::r3_product(&SNTRUP653, &key.v, &honest.g);
    assert!(one[0] == 1 && sntrup::weight(&one) == 1);
}

#[test]
fn other_ciphertexts_are_rejected() {
    let honest = honest();
    let rejected = |ct: &[u8]| {
        let done = sntrup::decapsulate_detailed(&SNTRUP653, &honest.sk, ct).unwrap();
        assert!(done.rejected);
        assert_eq!(done.session_key, sntrup::session_key(0, &honest.rho, ct));
        assert_eq!(sntrup::decapsulate(&SNTRUP653, &honest.sk, ct).as_ref(), Ok(&done.session_key));
        done
    };

    // A wrong confirmation: r is recovered and the ciphertext rejected all the same.
    let mut ct = honest.ct.clone();
    *ct.last_mut().unwrap() ^= 0x80;
    let done = rejected(&ct);
    assert_eq!(done.r, honest.r);

    // Garbage: the weight is wrong, so r is w ones and then zeros.
    for byte in [0, 0x55, 0xff] {
        let done = rejected(&vec![byte; SNTRUP653.ciphertext_bytes()]);
        assert_ne!(done.weight, 288);
        assert!(done.r[..288].iter().all(|c| *c == 1) && done.r[288..].iter().all(|c| *c == 0));
    }

    // The same Rounded polynomial in other bytes: the last two bytes hold an integer modulo the
    // size of the top set, so adding that size changes the bytes alone.
    let rounded = SNTRUP653.rounded_bytes();
    let c = sntrup::rounded_decode(&SNTRUP653, &honest.ct[..rounded]).unwrap();
    let mut ct = honest.ct.clone();
    let top = u16::from_le_bytes([ct[rounded - 2], ct[rounded - 1]]);
    let same = (top + 1..=u16::MAX)
        .find(|other| {
            ct[rounded - 2..rounded].copy_from_slice(&other.to_le_bytes());
            sntrup::rounded_decode(&SNTRUP653, &ct[..rounded]).unwrap() == c
        })
        .expect("a second encoding");
    assert_ne!(same, top);
    assert_eq!(rejected(&ct).r, honest.r);
}

#[test]
fn wrong_input_is_named() {
    let honest = honest();
    let bytes =
        |what, expected, actual| Error::WrongLength { what, unit: "bytes", expected, actual };
    let mut random = |_: &mut [u8]| panic!("no randomness is drawn for wrong input");

    let error = sntrup::encapsulate(&SNTRUP653, &honest.pk[1..], &mut random).unwrap_err();
    assert_eq!(error, bytes("public key", 994, 993));
    assert_eq!(error.to_string(), "public key has 993 bytes, expected 994");
    let decapsulate = |sk: &[u8], ct: &[u8]| sntrup::decapsulate(&SNTRUP653, sk, ct).unwrap_err();
    assert_eq!(decapsulate(&honest.sk, &honest.ct[..896]), bytes("ciphertext", 897, 896));
    assert_eq!(decapsulate(&honest.sk[1..], &honest.ct), bytes("secret key", 1518, 1517));
    for (offset, what) in [(3, "f in the secret key"), (164 + 3, "1/g in the secret key")] {
        let mut sk = honest.sk.clone();
        sk[offset] = 0xff;
        let error = Error::NotSmallEncoded { what, offset: 3 };
        assert_eq!(decapsulate(&sk, &honest.ct), error);
    }

    let encapsulate =
        |r: &[i32]| sntrup::encapsulate_derand(&SNTRUP653, &honest.pk, r).unwrap_err();
    let unit = "coefficients";
    assert_eq!(
        encapsulate(&honest.r[1..]),
        Error::WrongLength { what: "r", unit, expected: 653, actual: 652 }
    );
    let mut r = honest.r.clone();
    r[5] = 2;
    assert_eq!(encapsulate(&r), Error::NotSmall { what: "r", exponent: 5 });
    let error = Error::NotShort { what: "r", expected: 288, actual: 0 };
    assert_eq!(encapsulate(&[0; 653]), error);

    let zero = [0; 653];
    let generate = |g: &[i32], f: &[i32], rho: &[u8]| {
        sntrup::key_generation_derand(&SNTRUP653, g, f, rho).unwrap_err()
    };
    assert_eq!(generate(&zero, &honest.f, &honest.rho), Error::NotInvertible);
    assert_eq!(generate(&honest.g, &honest.f, &[]), bytes("rho", 164, 0));
    let error = Error::NotShort { what: "f", expected: 288, actual: 0 };
    assert_eq!(generate(&honest.g, &zero, &honest.rho), error);
}
