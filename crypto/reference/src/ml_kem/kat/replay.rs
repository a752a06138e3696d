//! Known answers, replayed.

use super::{Case, Count, Expected, KatFile, Mismatch, Record};
use crate::kat::{Findings, check_digest, check_whole, hex};
use crate::ml_kem::{
    self, Encapsulation, Error, KeyPair, N, Parameters, Q, SEED_BYTES, SHARED_SECRET_BYTES, xof,
};
use shake::Shake128;
use shake::digest::{ExtendableOutput, Update, XofReader};
use std::fmt;

/// An implementation of one parameter set, which [`replay()`] checks.
pub trait Implementation {
    /// Why an operation failed, for people.
    type Error: fmt::Display;

    /// Makes an encapsulation key and a decapsulation key from the seeds d and z.
    ///
    /// # Errors
    ///
    /// The implementation's own.
    fn key_generation(
        &mut self,
        d: &[u8; SEED_BYTES],
        z: &[u8; SEED_BYTES],
    ) -> Result<KeyPair, Self::Error>;

    /// Checks an encapsulation key as section 7.2 of FIPS 203 says.
    ///
    /// # Errors
    ///
    /// The implementation's own, for a key of the wrong length or that is not reduced.
    fn check_encapsulation_key(&mut self, ek: &[u8]) -> Result<(), Self::Error>;

    /// Makes a ciphertext and its shared secret key from the random bytes m.
    ///
    /// # Errors
    ///
    /// The implementation's own, for each key that the check refuses.
    fn encapsulate_derand(
        &mut self,
        ek: &[u8],
        m: &[u8; SEED_BYTES],
    ) -> Result<Encapsulation, Self::Error>;

    /// Checks a decapsulation key as section 7.3 of FIPS 203 says.
    ///
    /// # Errors
    ///
    /// The implementation's own, for a key of the wrong length or with a wrong hash.
    fn check_decapsulation_key(&mut self, dk: &[u8]) -> Result<(), Self::Error>;

    /// Recovers a shared secret key.
    ///
    /// # Errors
    ///
    /// The implementation's own, for each key that the check refuses and each ciphertext of the
    /// wrong length. A ciphertext of the right length is never an error.
    fn decapsulate(
        &mut self,
        dk: &[u8],
        c: &[u8],
    ) -> Result<[u8; SHARED_SECRET_BYTES], Self::Error>;
}

/// The oracle of this crate for a parameter set, as an [`Implementation`].
#[derive(Clone, Copy, Debug)]
pub struct Oracle(
    /// The parameter set.
    pub Parameters,
);

impl Implementation for Oracle {
    type Error = Error;

    fn key_generation(
        &mut self,
        d: &[u8; SEED_BYTES],
        z: &[u8; SEED_BYTES],
    ) -> Result<KeyPair, Error> {
        Ok(ml_kem::key_generation(&self.0, d, z))
    }

    fn check_encapsulation_key(&mut self, ek: &[u8]) -> Result<(), Error> {
        ml_kem::check_encapsulation_key(&self.0, ek)
    }

    fn encapsulate_derand(
        &mut self,
        ek: &[u8],
        m: &[u8; SEED_BYTES],
    ) -> Result<Encapsulation, Error> {
        ml_kem::encapsulate(&self.0, ek, m)
    }

    fn check_decapsulation_key(&mut self, dk: &[u8]) -> Result<(), Error> {
        ml_kem::check_decapsulation_key(&self.0, dk)
    }

    fn decapsulate(&mut self, dk: &[u8], c: &[u8]) -> Result<[u8; SHARED_SECRET_BYTES], Error> {
        ml_kem::decapsulate(&self.0, dk, c)
    }
}

/// Makes an implementation work through a record; returns what differs, nothing if all is well.
/// Each mismatch names the parameter set and the record.
///
/// A step that gave a wrong answer does not stop the replay: the next one uses that answer. A step
/// that failed is one mismatch and ends it.
pub fn replay<I: Implementation>(
    params: &Parameters,
    record: &Record,
    implementation: &mut I,
) -> Vec<Mismatch> {
    let name = format!("{} {}={}", params.name, record.case.kind(), record.id);
    let mut run = Run { params, implementation, findings: Findings::new(name) };
    // A failed step has been noted; there is nothing to return but the findings.
    let _ = run.case(&record.case);
    run.findings.mismatches
}

/// [`replay()`] for every record of a file, in order.
pub fn replay_file<I: Implementation>(file: &KatFile, implementation: &mut I) -> Vec<Mismatch> {
    file.records.iter().flat_map(|record| replay(&file.params, record, implementation)).collect()
}

const KEY_GENERATION: &str = "key generation";
const ENCAPSULATION: &str = "encapsulation";
const DECAPSULATION: &str = "decapsulation";

/// A record being replayed. Its steps return `None` after a failure, which they have noted.
struct Run<'a, I> {
    params: &'a Parameters,
    implementation: &'a mut I,
    findings: Findings,
}

impl<I: Implementation> Run<'_, I> {
    fn case(&mut self, case: &Case) -> Option<()> {
        match case {
            Case::Count(count) => self.count(count),
            Case::Unlucky(unlucky) => self.count(&unlucky.count),
            Case::Keys { d, z, ek, dk } => {
                let keys = self.keys(d, z)?;
                self.findings.note("ek", KEY_GENERATION, ek.check(&keys.0));
                self.findings.note("dk", KEY_GENERATION, dk.check(&keys.1));
                Some(())
            }
            Case::Seeded { d, z, ek, c, ss } => {
                let keys = self.keys(d, z)?;
                self.findings.note("ek", KEY_GENERATION, ek.check(&keys.0));
                self.decapsulation(&keys.1, c, ss.as_ref())
            }
            Case::Encapsulation { ek, m, answer } => self.encapsulation(ek, m, answer.as_ref()),
            Case::Decapsulation { dk, c, ss } => self.decapsulation(dk, c, ss.as_ref()),
            Case::EncapsulationKey { ek, valid } => {
                self.encapsulation_key("valid", ek, *valid, "");
                Some(())
            }
            Case::DecapsulationKey { dk, valid } => {
                self.decapsulation_key("valid", dk, *valid, "");
                Some(())
            }
            Case::Accumulated { rounds, digest } => self.accumulated(*rounds, digest),
            Case::Modulus { d, z } => self.modulus(d, z),
            Case::Hash { d, z } => self.hash(d, z),
            Case::Lengths { d, z, m } => self.lengths(d, z, m),
            Case::Rejection { d, z, m, sss_sha256 } => self.rejection(d, z, m, sss_sha256),
        }
    }

    fn keys(&mut self, d: &[u8; SEED_BYTES], z: &[u8; SEED_BYTES]) -> Option<KeyPair> {
        let keys = self.implementation.key_generation(d, z);
        let keys = self.findings.result("ek", KEY_GENERATION, keys)?;
        let lengths = [
            ("ek", keys.0.len(), self.params.encapsulation_key_bytes()),
            ("dk", keys.1.len(), self.params.decapsulation_key_bytes()),
        ];
        self.right_lengths(KEY_GENERATION, &lengths)?;
        Some(keys)
    }

    fn encapsulate(&mut self, ek: &[u8], m: &[u8; SEED_BYTES]) -> Option<Encapsulation> {
        let encapsulated = self.implementation.encapsulate_derand(ek, m);
        let (c, ss) = self.findings.result("c", ENCAPSULATION, encapsulated)?;
        let lengths = [("c", c.len(), self.params.ciphertext_bytes())];
        self.right_lengths(ENCAPSULATION, &lengths)?;
        Some((c, ss))
    }

    /// Notes results of the wrong length, with which later steps could not work.
    fn right_lengths(
        &mut self,
        step: &str,
        lengths: &[(&'static str, usize, usize)],
    ) -> Option<()> {
        for &(field, actual, expected) in lengths {
            if actual != expected {
                self.findings.note(field, step, Err(format!("{actual} bytes, not {expected}")));
                return None;
            }
        }
        Some(())
    }

    fn decapsulate(
        &mut self,
        field: &'static str,
        dk: &[u8],
        c: &[u8],
    ) -> Option<[u8; SHARED_SECRET_BYTES]> {
        let decapsulated = self.implementation.decapsulate(dk, c);
        self.findings.result(field, DECAPSULATION, decapsulated)
    }

    fn count(&mut self, count: &Count) -> Option<()> {
        let (ek, dk) = self.keys(&count.d, &count.z)?;
        self.findings.note("ek", KEY_GENERATION, count.ek.check(&ek));
        self.findings.note("dk", KEY_GENERATION, count.dk.check(&dk));
        self.encapsulation_key("ek", &ek, true, "");
        self.decapsulation_key("dk", &dk, true, "");

        let (mut c, ss) = self.encapsulate(&ek, &count.m)?;
        self.findings.note("c", ENCAPSULATION, count.c.check(&c));
        self.findings.note("ss", ENCAPSULATION, check_whole(&count.ss, &ss));

        let ss = self.decapsulate("ss", &dk, &c)?;
        self.findings.note("ss", DECAPSULATION, check_whole(&count.ss, &ss));

        let bytes = c.len();
        let byte = c.get_mut(count.flip).ok_or_else(|| format!("no such byte of {bytes}"));
        *self.findings.result("flip", "flipping a bit", byte)? ^= 1;
        let ss = self.decapsulate("ss_reject", &dk, &c)?;
        self.findings.note("ss_reject", DECAPSULATION, check_whole(&count.ss_reject, &ss));
        Some(())
    }

    fn encapsulation(
        &mut self,
        ek: &[u8],
        m: &[u8; SEED_BYTES],
        answer: Option<&(Expected, [u8; SHARED_SECRET_BYTES])>,
    ) -> Option<()> {
        let Some((expected, ss)) = answer else {
            self.encapsulation_key("ss", ek, false, "");
            let refused = self.implementation.encapsulate_derand(ek, m).is_err();
            self.verdict("ss", ENCAPSULATION, !refused, false, "");
            return Some(());
        };
        self.encapsulation_key("ek", ek, true, "");
        let (c, key) = self.encapsulate(ek, m)?;
        self.findings.note("c", ENCAPSULATION, expected.check(&c));
        self.findings.note("ss", ENCAPSULATION, check_whole(ss, &key));
        Some(())
    }

    fn decapsulation(
        &mut self,
        dk: &[u8],
        c: &[u8],
        ss: Option<&[u8; SHARED_SECRET_BYTES]>,
    ) -> Option<()> {
        let Some(ss) = ss else {
            let refused = self.implementation.decapsulate(dk, c).is_err();
            self.verdict("ss", DECAPSULATION, !refused, false, "");
            return Some(());
        };
        self.decapsulation_key("dk", dk, true, "");
        let key = self.decapsulate("ss", dk, c)?;
        self.findings.note("ss", DECAPSULATION, check_whole(ss, &key));
        Some(())
    }

    /// Checks a key; `change` says how it was changed, if it was.
    fn encapsulation_key(&mut self, field: &'static str, ek: &[u8], valid: bool, change: &str) {
        let accepted = self.implementation.check_encapsulation_key(ek).is_ok();
        self.verdict(field, "check of the encapsulation key", accepted, valid, change);
    }

    /// Checks a key; `change` says how it was changed, if it was.
    fn decapsulation_key(&mut self, field: &'static str, dk: &[u8], valid: bool, change: &str) {
        let accepted = self.implementation.check_decapsulation_key(dk).is_ok();
        self.verdict(field, "check of the decapsulation key", accepted, valid, change);
    }

    fn verdict(
        &mut self,
        field: &'static str,
        step: &str,
        accepted: bool,
        expected: bool,
        change: &str,
    ) {
        let word = |accepted| if accepted { "success" } else { "an error" };
        if accepted != expected {
            let problem = format!("{}, expected {}{change}", word(accepted), word(expected));
            self.findings.note(field, step, Err(problem));
        }
    }

    fn accumulated(&mut self, rounds: usize, expected: &[u8; 32]) -> Option<()> {
        let mut random = xof(&[]);
        let mut answers = Shake128::default();
        for _ in 0..rounds {
            let [mut d, mut z, mut m] = [[0; SEED_BYTES]; 3];
            let mut random_c = vec![0; self.params.ciphertext_bytes()];
            for bytes in [&mut d[..], &mut z, &mut m, &mut random_c] {
                random.read(bytes);
            }
            let (ek, dk) = self.keys(&d, &z)?;
            let (c, ss) = self.encapsulate(&ek, &m)?;
            let again = self.decapsulate("digest", &dk, &c)?;
            self.findings.note("digest", DECAPSULATION, check_whole(&ss, &again));
            let random_ss = self.decapsulate("digest", &dk, &random_c)?;
            for bytes in [&ek[..], &dk, &c, &ss, &random_ss] {
                answers.update(bytes);
            }
        }
        let mut digest = [0; 32];
        answers.finalize_xof().read(&mut digest);
        if digest != *expected {
            let problem = format!("{}, expected {}", hex(&digest), hex(expected));
            self.findings.note("digest", "the digest of all answers", Err(problem));
        }
        Some(())
    }

    fn modulus(&mut self, d: &[u8; SEED_BYTES], z: &[u8; SEED_BYTES]) -> Option<()> {
        let invalid = 4096 - usize::from(Q);
        let (ek, _) = self.keys(d, z)?;
        for index in 0..N * self.params.k {
            // Two values that walk through all from q to 4095, and the extremes.
            let walk = |i: usize| Q + ((2 * index + i) % invalid) as u16;
            let cases =
                [(Q - 1, true), (Q, false), (walk(0), false), (walk(1), false), (4095, false)];
            for (value, valid) in cases {
                let mut ek = ek.clone();
                set_coefficient(&mut ek, index, value);
                let change = format!(" for coefficient {index} set to {value}");
                self.encapsulation_key("ek", &ek, valid, &change);
                let accepted = self.implementation.encapsulate_derand(&ek, &[0; 32]).is_ok();
                self.verdict("ek", ENCAPSULATION, accepted, valid, &change);
            }
        }
        Some(())
    }

    fn hash(&mut self, d: &[u8; SEED_BYTES], z: &[u8; SEED_BYTES]) -> Option<()> {
        let (_, dk) = self.keys(d, z)?;
        let c = vec![0; self.params.ciphertext_bytes()];
        let ek_and_hash = self.params.vector_bytes()..dk.len() - SEED_BYTES;
        for index in ek_and_hash.start - 1..dk.len() {
            let mut dk = dk.clone();
            dk[index] ^= 1 << (index % 8);
            let valid = !ek_and_hash.contains(&index);
            let change = format!(" for a changed bit in byte {index}");
            self.decapsulation_key("dk", &dk, valid, &change);
            let accepted = self.implementation.decapsulate(&dk, &c).is_ok();
            self.verdict("dk", DECAPSULATION, accepted, valid, &change);
        }
        Some(())
    }

    fn lengths(
        &mut self,
        d: &[u8; SEED_BYTES],
        z: &[u8; SEED_BYTES],
        m: &[u8; SEED_BYTES],
    ) -> Option<()> {
        let (ek, dk) = self.keys(d, z)?;
        let (c, _) = self.encapsulate(&ek, m)?;
        for ek in wrong_lengths(&ek) {
            let change = format!(" for {} bytes", ek.len());
            self.encapsulation_key("ek", &ek, false, &change);
            let accepted = self.implementation.encapsulate_derand(&ek, m).is_ok();
            self.verdict("ek", ENCAPSULATION, accepted, false, &change);
        }
        for dk in wrong_lengths(&dk) {
            let change = format!(" for a key of {} bytes", dk.len());
            self.decapsulation_key("dk", &dk, false, &change);
            let accepted = self.implementation.decapsulate(&dk, &c).is_ok();
            self.verdict("dk", DECAPSULATION, accepted, false, &change);
        }
        for c in wrong_lengths(&c) {
            let change = format!(" for a ciphertext of {} bytes", c.len());
            let accepted = self.implementation.decapsulate(&dk, &c).is_ok();
            self.verdict("c", DECAPSULATION, accepted, false, &change);
        }
        Some(())
    }

    fn rejection(
        &mut self,
        d: &[u8; SEED_BYTES],
        z: &[u8; SEED_BYTES],
        m: &[u8; SEED_BYTES],
        sss_sha256: &[u8; 32],
    ) -> Option<()> {
        let (ek, dk) = self.keys(d, z)?;
        let (c, ss) = self.encapsulate(&ek, m)?;
        let mut sss = vec![];
        for bit in 0..8 * c.len() {
            let mut c = c.clone();
            c[bit / 8] ^= 1 << (bit % 8);
            let key = self.decapsulate("sss_sha256", &dk, &c)?;
            if key == ss {
                let problem = format!("the key of the ciphertext before a change of bit {bit}");
                self.findings.note("sss_sha256", DECAPSULATION, Err(problem));
            }
            sss.extend(key);
        }
        self.findings.note("sss_sha256", DECAPSULATION, check_digest(sss_sha256, &sss));
        Some(())
    }
}

/// Writes the 12 bits of a coefficient of the vector that starts a key.
fn set_coefficient(key: &mut [u8], index: usize, value: u16) {
    let at = index / 2 * 3;
    let (low, high) = (value as u8, (value >> 8) as u8);
    if index.is_multiple_of(2) {
        key[at] = low;
        key[at + 1] = key[at + 1] & 0xf0 | high;
    } else {
        key[at + 1] = key[at + 1] & 0x0f | low << 4;
        key[at + 2] = (value >> 4) as u8;
    }
}

/// A byte string without its bytes, without its last one, and with one more.
fn wrong_lengths(bytes: &[u8]) -> [Vec<u8>; 3] {
    [vec![], bytes[..bytes.len() - 1].to_vec(), [bytes, &[0]].concat()]
}
