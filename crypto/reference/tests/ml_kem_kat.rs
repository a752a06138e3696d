//! The known-answer format of ML-KEM: what is read, what is refused and what a replay notices.

use reference::ml_kem::kat::{self, Case, Implementation, KatFile, Oracle, Record};
use reference::ml_kem::{self, Encapsulation, Error, KeyPair, Parameters, check_decapsulation_key};

/// A file with a record of each kind.
fn sample() -> String {
    let (word, bits) = ("0d".repeat(32), "5e".repeat(32));
    let seeds = format!("d={word} z={bits}");
    let count = format!(
        "{seeds} m={word} ek=0102 dk_sha256={word} c=AbcD ss={word} flip=3 ss_reject={bits}"
    );
    format!(
        "parameters=mlkem768\n\n\
         count=7 {count}\n\
         unlucky=0 blocks=334 {count}\n\
         keys=acvp-3 {seeds} ek=01 dk=02\n\
         seeded=1 {seeds} ek=01 c= ss=refused\n\
         seeded=2 {seeds} ek=01 c=02 ss={word}\n\
         encaps=1 ek= m={word} ss=refused\n\
         encaps=2 ek=01 m={word} c=02 ss={word}\n\
         decaps=1 dk=01 c= ss=refused\n\
         decaps=2 dk=01 c=02 ss={word}\n\
         ek_check=1 ek=01 valid=yes\n\
         dk_check=1 dk=01 valid=no\n\
         accumulated=1 rounds=2 digest={word}\n\
         modulus=1 {seeds}\n\
         hash=1 {seeds}\n\
         lengths=1 {seeds} m={word}\n\
         rejection=1 {seeds} m={word} sss_sha256={bits}\n"
    )
}

#[test]
fn every_record_is_read_and_written() {
    let file = kat::parse(&sample()).unwrap();
    assert_eq!(file.params, Parameters::by_name("mlkem768").unwrap());
    assert_eq!(file.to_string(), sample().replace("\n\n", "\n").replace("AbcD", "abcd"));
    assert_eq!(file.records[2].id, "acvp-3");
    let Case::Unlucky(unlucky) = &file.records[1].case else { panic!("{:?}", file.records[1]) };
    assert_eq!((&unlucky.blocks[..], unlucky.count.flip), (&[3, 3, 4][..], 3));
}

#[test]
fn errors_name_line_and_field() {
    let cases = [
        (
            "=mlkem768",
            "=mlkem640",
            "line 1: field parameters: no parameter set of ML-KEM; \
             expected parameters=mlkem512, mlkem768 or mlkem1024 in the first line",
        ),
        (
            "parameters=mlkem768\n",
            "",
            "line 2: field parameters: missing; \
             expected parameters=mlkem512, mlkem768 or mlkem1024 in the first line",
        ),
        ("count=7", "count=", "line 3: field count: empty; expected a number or a name"),
        (
            "flip=3",
            "flip=",
            "line 3: field flip: '' is none; expected a decimal number of at least 0",
        ),
        (
            " m=",
            " M=",
            "line 3: field m: missing; expected d, z, m, \
             ek, dk, c (or ek_sha256, dk_sha256, c_sha256), ss, flip, ss_reject",
        ),
        (
            "blocks=334",
            "blocks=33x",
            "line 4: field blocks: not digits alone; expected a digit for each entry of A",
        ),
        ("valid=yes", "valid=1", "line 12: field valid: neither yes nor no; expected yes or no"),
        (
            "encaps=1 ek=",
            "encaps=1 c=00 ek=",
            "line 8: field c: unknown in this record; \
             expected ek, m, c (or c_sha256), ss; or ek, m, ss=refused",
        ),
        (
            "keys=",
            "key=",
            "line 5: field key: no kind of record; expected count=, unlucky=, keys=, seeded=, \
             encaps=, decaps=, ek_check=, dk_check=, accumulated=, modulus=, hash=, lengths= or \
             rejection= at the start",
        ),
        (
            "rounds=2",
            "rounds=0",
            "line 14: field rounds: '0' is none; expected a decimal number of at least 1",
        ),
    ];
    for (from, to, message) in cases {
        let text = sample().replacen(from, to, 1);
        assert_ne!(text, sample(), "{from}");
        assert_eq!(kat::parse(&text).unwrap_err().to_string(), message);
    }
    for text in ["", "\n", "parameters=mlkem512\n"] {
        let error = kat::parse(text).unwrap_err();
        assert_eq!((error.line, &error.problem[..]), (1, "the file ends without a record"));
    }
    assert_eq!(kat::embedded("mlkem640"), None);
}

/// An oracle with a mistake.
struct Mistaken {
    params: Parameters,
    mistake: Mistake,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    WrongKey,
    NoModulusCheck,
    NoHashCheck,
    NoLengthCheck,
    ExplicitRejection,
    ComparesLikeStrcmp,
    IgnoresTheLastByte,
    FourthBlockMissing,
    Refuses,
}

impl Implementation for Mistaken {
    type Error = Error;

    fn key_generation(&mut self, d: &[u8; 32], z: &[u8; 32]) -> Result<KeyPair, Error> {
        let (mut ek, dk) = ml_kem::key_generation(&self.params, d, z);
        let (rho, _) = ml_kem::g(&[&d[..], &[self.params.k as u8]].concat());
        let is_unlucky = ml_kem::matrix_blocks(&self.params, &rho).contains(&4);
        if self.mistake == Mistake::WrongKey
            || self.mistake == Mistake::FourthBlockMissing && is_unlucky
        {
            ek[0] ^= 1;
        }
        Ok((ek, dk))
    }

    fn check_encapsulation_key(&mut self, ek: &[u8]) -> Result<(), Error> {
        match ml_kem::check_encapsulation_key(&self.params, ek) {
            Err(Error::NotReduced { .. }) if self.mistake == Mistake::NoModulusCheck => Ok(()),
            Err(Error::WrongLength { .. }) if self.mistake == Mistake::NoLengthCheck => Ok(()),
            Ok(()) if self.mistake == Mistake::Refuses => Err(Error::WrongHash),
            result => result,
        }
    }

    fn encapsulate_derand(&mut self, ek: &[u8], m: &[u8; 32]) -> Result<Encapsulation, Error> {
        ml_kem::encapsulate(&self.params, ek, m)
    }

    fn check_decapsulation_key(&mut self, dk: &[u8]) -> Result<(), Error> {
        match check_decapsulation_key(&self.params, dk) {
            Err(Error::WrongHash) if self.mistake == Mistake::NoHashCheck => Ok(()),
            result => result,
        }
    }

    fn decapsulate(&mut self, dk: &[u8], c: &[u8]) -> Result<[u8; 32], Error> {
        let detailed = ml_kem::decapsulate_detailed(&self.params, dk, c)?;
        if !detailed.rejected {
            return Ok(detailed.shared_secret);
        }
        let (honest, _) =
            ml_kem::g(&[&detailed.m[..], &ml_kem::h(&dk_ek(&self.params, dk))].concat());
        let end = detailed.c.iter().position(|&byte| byte == 0).unwrap_or(c.len() - 1);
        let last = c.len() - 1;
        match self.mistake {
            Mistake::ExplicitRejection => Err(Error::WrongHash),
            Mistake::ComparesLikeStrcmp if c[..=end] == detailed.c[..=end] => Ok(honest),
            Mistake::IgnoresTheLastByte if c[..last] == detailed.c[..last] => Ok(honest),
            _ => Ok(detailed.shared_secret),
        }
    }
}

/// The encapsulation key in a decapsulation key.
fn dk_ek(params: &Parameters, dk: &[u8]) -> Vec<u8> {
    dk[params.vector_bytes()..][..params.encapsulation_key_bytes()].to_vec()
}

/// Replays the records of some kinds in an embedded file. Returns the kinds that notice a mistake.
fn noticed(mistake: Mistake, kinds: &[&'static str]) -> Vec<&'static str> {
    let mut noticed = vec![];
    let text = kat::embedded("mlkem512").unwrap();
    let KatFile { params, records } = kat::parse(text).unwrap();
    for record in records.iter().filter(|record| kinds.contains(&record.case.kind())) {
        // One long run is enough for each mistake.
        if matches!(record.case, Case::Accumulated { rounds, .. } if rounds > 100) {
            continue;
        }
        let mismatches = kat::replay(&params, record, &mut Mistaken { params, mistake });
        let name = format!("mlkem512 {}={}: ", record.case.kind(), record.id);
        assert!(mismatches.iter().all(|mismatch| mismatch.to_string().starts_with(&name)));
        if !mismatches.is_empty() && noticed.last() != Some(&record.case.kind()) {
            noticed.push(record.case.kind());
        }
    }
    noticed
}

#[test]
fn mistakes_are_noticed() {
    let cases: [(Mistake, &[&'static str]); 9] = [
        (Mistake::WrongKey, &["count", "unlucky", "accumulated"]),
        (Mistake::FourthBlockMissing, &["unlucky"]),
        (Mistake::NoModulusCheck, &["modulus"]),
        (Mistake::NoHashCheck, &["hash"]),
        (Mistake::NoLengthCheck, &["lengths"]),
        (Mistake::ExplicitRejection, &["count", "unlucky", "accumulated", "rejection"]),
        (Mistake::ComparesLikeStrcmp, &["rejection"]),
        (Mistake::IgnoresTheLastByte, &["rejection"]),
        (Mistake::Refuses, &["count", "unlucky", "modulus", "encaps"]),
    ];
    for (mistake, kinds) in cases {
        assert_eq!(noticed(mistake, kinds), kinds, "{mistake:?}");
    }
}

#[test]
fn a_mismatch_names_record_step_and_difference() {
    let params = Parameters::by_name("mlkem512").unwrap();
    let (ek, dk) = ml_kem::key_generation(&params, &[1; 32], &[2; 32]);
    let mut other = dk.clone();
    *other.last_mut().unwrap() ^= 1;
    let lines = |case: Case| -> Vec<String> {
        let record = Record { id: "x".into(), case };
        let mismatches = kat::replay(&params, &record, &mut Oracle(params));
        mismatches.iter().map(ToString::to_string).collect()
    };
    let keys = Case::Keys {
        d: [1; 32],
        z: [2; 32],
        ek: kat::Expected::Whole(ek.clone()),
        dk: kat::Expected::Whole(other),
    };
    assert_eq!(
        lines(keys),
        ["mlkem512 keys=x: dk: key generation gave byte 1631 of 1632 is 02, expected 03"]
    );
    assert_eq!(
        lines(Case::EncapsulationKey { ek, valid: false }),
        ["mlkem512 ek_check=x: valid: check of the encapsulation key gave success, \
          expected an error"]
    );
    let decaps = Case::Decapsulation { dk, c: vec![0; 3], ss: Some([0; 32]) };
    assert_eq!(
        lines(decaps),
        ["mlkem512 decaps=x: ss: decapsulation failed: ciphertext has 3 bytes, expected 768"]
    );
}
