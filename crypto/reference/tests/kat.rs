//! The known-answer format: what is read, what is refused and what a replay notices.

use reference::drbg::Drbg;
use reference::kat::{self, Count, Expected, Implementation, KatFile, Oracle, Record};
use reference::sntrup::{self, Encapsulation, KeyPair, Parameters};

/// A minimal file: one record of each kind, a blank line between.
fn sample() -> String {
    let (seed, word) = ("5e".repeat(48), "0d".repeat(32));
    format!(
        "count=7 seed={seed} pk=0102 sk_sha256={word} ct=AbcD ss={word} ss_reject={word}\n\n\
         sequence=2 seed={seed} pks_sha256={word} sks_sha256={word}\n"
    )
}

#[test]
fn every_field_is_read() {
    let file = kat::parse(&sample()).unwrap();
    let [Record::Count(count), Record::Sequence(sequence)] = &file.records[..] else {
        panic!("{file:?}");
    };
    let expected = Count {
        count: 7,
        seed: [0x5e; 48],
        pk: Expected::Whole(vec![1, 2]),
        sk: Expected::Digest([0x0d; 32]),
        ct: Expected::Whole(vec![0xab, 0xcd]),
        ss: [0x0d; 32],
        ss_reject: [0x0d; 32],
    };
    assert_eq!(*count, expected);
    assert_eq!((sequence.n, sequence.seed), (2, [0x5e; 48]));
    assert_eq!((sequence.pks_sha256, sequence.sks_sha256), ([0x0d; 32], [0x0d; 32]));
}

#[test]
fn errors_name_line_and_field() {
    let cases = [
        (
            "count=7 ",
            "tally=7 ",
            "line 1: field tally: no kind of record; \
            expected count= or sequence= at the start",
        ),
        (
            "count=7",
            "count=x7",
            "line 1: field count: 'x7' is none; \
            expected a decimal number of at least 0",
        ),
        (
            "sequence=2",
            "sequence=0",
            "line 3: field sequence: '0' is none; \
            expected a decimal number of at least 1",
        ),
        ("seed=5e", "seed=", "line 1: field seed: 47 bytes; expected 48 bytes"),
        (
            "ss=0d",
            "ss=0",
            "line 1: field ss: 63 hexadecimal digits; \
            expected an even number, two for a byte",
        ),
        (
            "pk=0102",
            "pk=01é2",
            "line 1: field pk: 'é' in it; \
            expected hexadecimal digits, two for a byte",
        ),
        ("pk=0102", "pk=", "line 1: field pk: empty; expected at least one byte"),
        ("pk=0102 ", "", "line 1: field pk: missing; expected pk or pk_sha256"),
        (
            "pk=0102",
            "pk=0102 pk_sha256=00",
            "line 1: field pk: there as well as pk_sha256; \
            expected one of the two",
        ),
        ("pk=0102", "pk=0102 pk=0102", "line 1: field pk: there twice; expected each field once"),
        (
            " ss=",
            " SS=",
            "line 1: field ss: missing; \
            expected seed, pk, sk, ct (or pk_sha256, sk_sha256, ct_sha256), ss, ss_reject",
        ),
        (
            " sks_sha256=",
            " extra=1 sks_sha256=",
            "line 3: field extra: unknown in this record; \
            expected seed, pks_sha256, sks_sha256",
        ),
        ("\n\n", "\n# a comment\n", "line 2: field #: no = in it; expected name=value"),
    ];
    for (from, to, message) in cases {
        let text = sample().replacen(from, to, 1);
        assert_ne!(text, sample(), "{from}");
        assert_eq!(kat::parse(&text).unwrap_err().to_string(), message);
    }
    let error = kat::parse("\n\n").unwrap_err();
    assert_eq!((error.line, &error.field[..]), (2, ""));
    let message = "line 1: the file ends without a record; \
        expected a line that starts with count= or sequence=";
    assert_eq!(kat::parse("").unwrap_err().to_string(), message);
    let error = kat::parse(&"z".repeat(5000)).unwrap_err();
    assert_eq!(error.field, format!("{}..", "z".repeat(30)));
}

#[test]
fn a_file_says_what_it_is_for() {
    for params in Parameters::ALL {
        let file = kat::parse(kat::embedded(params.name).unwrap()).unwrap();
        assert_eq!(file.parameters(), Ok(params));
    }
    assert_eq!(kat::embedded("sntrup654"), None);

    let known = "expected bytes: 994 (sntrup653), 1158 (sntrup761), 1322 (sntrup857), \
        1505 (sntrup953), 1623 (sntrup1013), 2067 (sntrup1277)";
    let file = kat::parse(&sample()).unwrap();
    assert_eq!(
        file.parameters().unwrap_err().to_string(),
        format!("field pk: 2 bytes are a public key of no set; {known}")
    );
    let file = KatFile { records: file.records[1..].to_vec() };
    assert_eq!(
        file.parameters().unwrap_err().to_string(),
        format!("no record has a whole public key (field pk); {known}")
    );
}

#[test]
fn expectations() {
    let whole = Expected::Whole(vec![1, 2, 3]);
    assert!(whole.matches(&[1, 2, 3]));
    assert_eq!(whole.check(&[1, 2]).unwrap_err(), "2 bytes, expected 3");
    assert_eq!(whole.check(&[1, 9, 9]).unwrap_err(), "byte 1 of 3 is 09, expected 02");
    // SHA-256 of "abc", the example of FIPS 180-2.
    let digest = [
        0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22,
        0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00,
        0x15, 0xad,
    ];
    assert!(Expected::Digest(digest).matches(b"abc"));
    assert!(
        Expected::Digest(digest).check(b"").unwrap_err().starts_with("0 bytes with SHA-256 e3b0")
    );
}

/// The oracle with one fault.
struct Faulty {
    oracle: Oracle,
    fault: Fault,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    PublicKey,
    Ciphertext,
    NoCiphertext,
    SessionKey,
    NeverRejects,
    ShortBatch,
}

impl Implementation for Faulty {
    type Error = sntrup::Error;

    fn key_generation(&mut self, random: &mut Drbg) -> Result<KeyPair, Self::Error> {
        let (mut pk, sk) = self.oracle.key_generation(random)?;
        if self.fault == Fault::PublicKey {
            pk.pop();
        }
        Ok((pk, sk))
    }

    fn key_generation_batch(
        &mut self,
        n: usize,
        random: &mut Drbg,
    ) -> Result<Vec<KeyPair>, Self::Error> {
        let n = if self.fault == Fault::ShortBatch { n - 1 } else { n };
        (0..n).map(|_| self.key_generation(random)).collect()
    }

    fn encapsulate(
        &mut self,
        public_key: &[u8],
        random: &mut Drbg,
    ) -> Result<Encapsulation, Self::Error> {
        let (mut ct, mut ss) = self.oracle.encapsulate(public_key, random)?;
        match self.fault {
            Fault::Ciphertext => ct[0] ^= 1,
            Fault::NoCiphertext => ct.clear(),
            Fault::SessionKey => ss[0] ^= 1,
            _ => {}
        }
        Ok((ct, ss))
    }

    fn decapsulate(&mut self, sk: &[u8], ct: &[u8]) -> Result<[u8; 32], Self::Error> {
        let params = self.oracle.0;
        let done = sntrup::decapsulate_detailed(&params, sk, ct)?;
        if self.fault == Fault::NeverRejects && done.rejected {
            let encoded_r = sntrup::small_encode(&params, &done.r);
            return Ok(sntrup::session_key(1, &encoded_r, ct));
        }
        Ok(done.session_key)
    }
}

#[test]
fn replay_notices() {
    let file = kat::parse(kat::embedded("sntrup653").unwrap()).unwrap();
    let oracle = Oracle(file.parameters().unwrap());
    let fields = |record: &Record, fault: Fault| {
        let mismatches = kat::replay(record, &mut Faulty { oracle, fault });
        mismatches.into_iter().map(|mismatch| mismatch.field).collect::<Vec<_>>()
    };
    let count = &file.records[1];
    // Encapsulation to a short public key fails, and nothing comes after it.
    assert_eq!(fields(count, Fault::PublicKey), ["pk", "ct"]);
    // Count 1 flips a bit of byte 1 for ss_reject; byte 0 is wrong before.
    assert_eq!(fields(count, Fault::Ciphertext), ["ct", "ss", "ss_reject"]);
    assert_eq!(fields(count, Fault::NoCiphertext), ["ct", "ss"]);
    assert_eq!(fields(count, Fault::SessionKey), ["ss"]);
    assert_eq!(fields(count, Fault::NeverRejects), ["ss_reject"]);
    assert_eq!(fields(&file.records[100], Fault::ShortBatch), ["pks_sha256"]);

    let mismatch = kat::replay(&file.records[0], &mut Faulty { oracle, fault: Fault::PublicKey });
    let lines: Vec<String> = mismatch.iter().map(|mismatch| mismatch.to_string()).collect();
    let expected = [
        "count=0: pk: key generation gave 993 bytes, expected 994",
        "count=0: ct: encapsulation failed: public key has 993 bytes, expected 994",
    ];
    assert_eq!(lines, expected);
}
