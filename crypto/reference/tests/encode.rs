//! Encodings, canonical and not, and the sizes that follow from them.

use reference::drbg::Drbg;
use reference::sntrup::{
    self, Error, Parameters, decode, encode, rounded_decode, rounded_encode, rq_decode, rq_encode,
    small_decode, small_encode,
};

fn bytes(count: usize, drbg: &mut Drbg) -> Vec<u8> {
    let mut bytes = vec![0; count];
    drbg.fill(&mut bytes);
    bytes
}

#[test]
fn sizes_of_the_specification() {
    // Name, public key, secret key, ciphertext, Small, Rounded: bytes.
    let expected = [
        ("sntrup653", 994, 1518, 897, 164, 865),
        ("sntrup761", 1158, 1763, 1039, 191, 1007),
        ("sntrup857", 1322, 1999, 1184, 215, 1152),
        ("sntrup953", 1505, 2254, 1349, 239, 1317),
        ("sntrup1013", 1623, 2417, 1455, 254, 1423),
        ("sntrup1277", 2067, 3059, 1847, 320, 1815),
    ];
    let actual = Parameters::ALL.map(|set| {
        let (pk, sk, ct) = (set.public_key_bytes(), set.secret_key_bytes(), set.ciphertext_bytes());
        assert_eq!(set.shared_secret_bytes(), 32);
        assert_eq!(Parameters::by_name(set.name), Some(set));
        assert_eq!(Parameters::by_public_key_bytes(pk), Some(set));
        (set.name, pk, sk, ct, set.small_bytes(), set.rounded_bytes())
    });
    assert_eq!(actual, expected);
    assert_eq!(Parameters::by_name("sntrup4591761"), None);
    assert_eq!(Parameters::by_public_key_bytes(1157), None);
}

#[test]
fn generic_by_hand() {
    assert_eq!(encode(&[], &[]), [0_u8; 0]);
    assert_eq!(encode(&[0], &[1]), [0_u8; 0]);
    assert_eq!(encode(&[200], &[256]), [200]);
    assert_eq!(encode(&[256], &[257]), [0, 1]);
    // 3 + 10 * 7 stays below 2^14 and goes out alone, as an element of a set of 200.
    assert_eq!(encode(&[3, 7], &[10, 20]), [73]);
    // 4000 + 4591 * 3000 = 0xd23868, of 4591^2 elements: 2 bytes leave a set of 322: 2 more.
    assert_eq!(encode(&[4000, 3000], &[4591, 4591]), [0x68, 0x38, 0xd2, 0x00]);
    // The odd one goes on to the next level: 73 + 200 * 5, of 200 * 6 elements.
    assert_eq!(encode(&[3, 7, 5], &[10, 20, 6]), 1073_u16.to_le_bytes());
}

#[test]
fn generic_round_trips() {
    let mut drbg = Drbg::new(&[4; 48]);
    for length in 0..40 {
        let random = sntrup::u32s_random(2 * length, &mut |bytes| drbg.fill(bytes));
        // Sizes of every magnitude, 1 and 2^14 - 1 included.
        let m: Vec<u32> =
            random[..length].iter().map(|u| 1 + (u >> 8) % ((1 << (u % 14 + 1)) - 1)).collect();
        let r: Vec<u32> = random[length..].iter().zip(&m).map(|(u, m)| u % m).collect();
        assert_eq!(decode(&encode(&r, &m), &m), Ok(r));
        let greatest: Vec<u32> = m.iter().map(|m| m - 1).collect();
        assert_eq!(decode(&encode(&greatest, &m), &m), Ok(greatest));
        let total = encode(&vec![0; length], &m).len();
        let expected = total + 1;
        assert_eq!(
            decode(&vec![0; expected], &m),
            Err(Error::WrongLength {
                what: "encoded list",
                unit: "bytes",
                expected: total,
                actual: expected
            })
        );
    }
}

#[test]
fn polynomials_round_trip() {
    let mut drbg = Drbg::new(&[5; 48]);
    for params in Parameters::ALL {
        let random = sntrup::u32s_random(params.p, &mut |bytes| drbg.fill(bytes));
        let a: Vec<i32> = random.iter().map(|u| *u as i32).collect();
        let half = (params.q - 1) / 2;

        for a in [sntrup::rq_reduce(&params, &a), vec![half; params.p], vec![-half; params.p]] {
            let encoded = rq_encode(&params, &a);
            assert_eq!(encoded.len(), params.public_key_bytes());
            assert_eq!(rq_decode(&params, &encoded), Ok(a.clone()));

            let rounded = sntrup::round(&params, &a);
            let encoded = rounded_encode(&params, &rounded);
            assert_eq!(encoded.len(), params.rounded_bytes());
            assert_eq!(rounded_decode(&params, &encoded), Ok(rounded));
        }
        let small = sntrup::r3_reduce(&params, &a);
        let encoded = small_encode(&params, &small);
        assert_eq!(encoded.len(), params.small_bytes());
        assert_eq!(small_decode(&params, &encoded), Ok(small));
    }
}

/// Any string of the right length decodes into range, and what it decodes to is canonical from then
/// on. Random strings are hardly ever canonical; 00 .. 00 is, and ff .. ff is not.
#[test]
fn strings_that_are_not_canonical() {
    let mut drbg = Drbg::new(&[6; 48]);
    for params in Parameters::ALL {
        let half = (params.q - 1) / 2;
        let check = |string: &[u8], rounded: bool| {
            let (decoded, encoded) = if rounded {
                let decoded = rounded_decode(&params, string).unwrap();
                assert!(decoded.iter().all(|c| c % 3 == 0));
                (decoded.clone(), rounded_encode(&params, &decoded))
            } else {
                let decoded = rq_decode(&params, string).unwrap();
                (decoded.clone(), rq_encode(&params, &decoded))
            };
            assert!(decoded.iter().all(|c| c.abs() <= half));
            encoded == string
        };
        for (length, rounded) in
            [(params.public_key_bytes(), false), (params.rounded_bytes(), true)]
        {
            assert!(check(&vec![0; length], rounded));
            assert!(!check(&vec![0xff; length], rounded));
            for _ in 0..20 {
                check(&bytes(length, &mut drbg), rounded);
            }
        }
    }
}

#[test]
fn decode_reduces_as_the_specification_does() {
    // One integer: the whole string modulo its size. Two: the joined value splits, and each part is
    // reduced on its own.
    assert_eq!(decode(&[255], &[200]), Ok(vec![55]));
    assert_eq!(decode(&[255], &[10, 20]), Ok(vec![5, 5]));
    let value = 0xffff + (1 << 16) * (0xffff % 322);
    let expected = vec![value % 4591, value / 4591 % 4591];
    assert_eq!(decode(&[0xff; 4], &[4591, 4591]), Ok(expected));
}

#[test]
fn small_strings_that_encode_nothing() {
    let params = Parameters::by_name("sntrup653").unwrap();
    let what = "encoded Small polynomial";
    let good = small_encode(&params, &vec![0; 653]);
    assert_eq!((good[0], good[163]), (0b01010101, 0b01));
    for (offset, value) in [(0, 0b11), (17, 0b11_00_00_00), (163, 0b11), (163, 0b01_01)] {
        let mut bad = good.clone();
        bad[offset] = value;
        assert_eq!(small_decode(&params, &bad), Err(Error::NotSmallEncoded { what, offset }));
    }
    assert_eq!(
        small_decode(&params, &good[1..]),
        Err(Error::WrongLength { what, unit: "bytes", expected: 164, actual: 163 })
    );
}
