//! Known answers, replayed.

use super::{Count, KatFile, Record, Sequence, check_digest, check_whole};
use crate::drbg::Drbg;
use crate::sntrup::{self, Encapsulation, KeyPair, Parameters, SHARED_SECRET_BYTES};
use std::fmt;

/// An implementation of one parameter set, which [`replay()`] checks.
pub trait Implementation {
    /// Why an operation failed, for people.
    type Error: fmt::Display;

    /// Makes a public key and a secret key.
    ///
    /// # Errors
    ///
    /// The implementation's own.
    fn key_generation(&mut self, random: &mut Drbg) -> Result<KeyPair, Self::Error>;

    /// Makes n pairs of a public key and a secret key. An implementation that has batches overrides
    /// this: a batch draws the bytes that n single key generations draw.
    ///
    /// # Errors
    ///
    /// The implementation's own.
    fn key_generation_batch(
        &mut self,
        n: usize,
        random: &mut Drbg,
    ) -> Result<Vec<KeyPair>, Self::Error> {
        (0..n).map(|_| self.key_generation(random)).collect()
    }

    /// Makes a ciphertext and its session key.
    ///
    /// # Errors
    ///
    /// The implementation's own.
    fn encapsulate(
        &mut self,
        public_key: &[u8],
        random: &mut Drbg,
    ) -> Result<Encapsulation, Self::Error>;

    /// Recovers a session key.
    ///
    /// # Errors
    ///
    /// The implementation's own. A ciphertext of the right length is never an error.
    fn decapsulate(
        &mut self,
        secret_key: &[u8],
        ciphertext: &[u8],
    ) -> Result<[u8; SHARED_SECRET_BYTES], Self::Error>;
}

/// The oracle of this crate for a parameter set, as an [`Implementation`].
#[derive(Clone, Copy, Debug)]
pub struct Oracle(
    /// The parameter set.
    pub Parameters,
);

impl Implementation for Oracle {
    type Error = sntrup::Error;

    fn key_generation(&mut self, random: &mut Drbg) -> Result<KeyPair, sntrup::Error> {
        Ok(sntrup::key_generation(&self.0, &mut |bytes| random.fill(bytes)))
    }

    fn encapsulate(
        &mut self,
        public_key: &[u8],
        random: &mut Drbg,
    ) -> Result<Encapsulation, sntrup::Error> {
        sntrup::encapsulate(&self.0, public_key, &mut |bytes| random.fill(bytes))
    }

    fn decapsulate(
        &mut self,
        secret_key: &[u8],
        ciphertext: &[u8],
    ) -> Result<[u8; SHARED_SECRET_BYTES], sntrup::Error> {
        sntrup::decapsulate(&self.0, secret_key, ciphertext)
    }
}

/// A known answer that an implementation did not give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The record, as its line starts: "count=3".
    pub record: String,
    /// The field, as the file has it: "pk".
    pub field: &'static str,
    /// The result of the implementation, or the error with which it failed.
    pub problem: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.record, self.field, self.problem)
    }
}

/// Makes an implementation work through a record; returns what differs, nothing if all is well.
///
/// A step that gave a wrong answer does not stop the replay: the next one uses that answer. A step
/// that failed, or a batch of the wrong number of key pairs, is one mismatch and ends it.
pub fn replay<I: Implementation>(record: &Record, implementation: &mut I) -> Vec<Mismatch> {
    match record {
        Record::Count(count) => {
            let mut findings = Findings::new(format!("count={}", count.count));
            // A failed step has been noted; there is nothing to return but the findings.
            let _ = replay_count(count, implementation, &mut findings);
            findings.mismatches
        }
        Record::Sequence(sequence) => {
            let mut findings = Findings::new(format!("sequence={}", sequence.n));
            let _ = replay_sequence(sequence, implementation, &mut findings);
            findings.mismatches
        }
    }
}

/// [`replay()`] for every record of a file, in order.
pub fn replay_file<I: Implementation>(file: &KatFile, implementation: &mut I) -> Vec<Mismatch> {
    file.records.iter().flat_map(|record| replay(record, implementation)).collect()
}

fn replay_count<I: Implementation>(
    count: &Count,
    implementation: &mut I,
    findings: &mut Findings,
) -> Option<()> {
    let mut random = Drbg::new(&count.seed);
    let keys = implementation.key_generation(&mut random);
    let (pk, sk) = findings.result("pk", "key generation", keys)?;
    findings.note("pk", "key generation", count.pk.check(&pk));
    findings.note("sk", "key generation", count.sk.check(&sk));

    let encapsulated = implementation.encapsulate(&pk, &mut random);
    let (ct, ss) = findings.result("ct", "encapsulation", encapsulated)?;
    findings.note("ct", "encapsulation", count.ct.check(&ct));
    findings.note("ss", "encapsulation", check_whole(&count.ss, &ss));

    let decapsulated = implementation.decapsulate(&sk, &ct);
    let ss = findings.result("ss", "decapsulation", decapsulated)?;
    findings.note("ss", "decapsulation", check_whole(&count.ss, &ss));

    let mut flipped = ct;
    let index = count.count.checked_rem(flipped.len());
    let problem = || "an empty ciphertext, expected at least one byte".to_string();
    let index = findings.result("ct", "encapsulation", index.ok_or_else(problem))?;
    flipped[index] ^= 1;
    let decapsulated = implementation.decapsulate(&sk, &flipped);
    let ss = findings.result("ss_reject", "decapsulation", decapsulated)?;
    findings.note("ss_reject", "decapsulation", check_whole(&count.ss_reject, &ss));
    Some(())
}

fn replay_sequence<I: Implementation>(
    sequence: &Sequence,
    implementation: &mut I,
    findings: &mut Findings,
) -> Option<()> {
    const STEP: &str = "key generation";
    let mut random = Drbg::new(&sequence.seed);
    let keys = implementation.key_generation_batch(sequence.n, &mut random);
    let keys = findings.result("pks_sha256", STEP, keys)?;
    if keys.len() != sequence.n {
        let problem = format!("{} key pairs, expected {}", keys.len(), sequence.n);
        findings.note("pks_sha256", STEP, Err(problem));
        return None;
    }
    let (pks, sks): (Vec<_>, Vec<_>) = keys.into_iter().unzip();
    findings.note("pks_sha256", STEP, check_digest(&sequence.pks_sha256, &pks.concat()));
    findings.note("sks_sha256", STEP, check_digest(&sequence.sks_sha256, &sks.concat()));
    Some(())
}

/// The mismatches of a record so far.
pub(crate) struct Findings {
    record: String,
    pub(crate) mismatches: Vec<Mismatch>,
}

impl Findings {
    pub(crate) fn new(record: String) -> Self {
        Findings { record, mismatches: vec![] }
    }

    /// Notes an answer of `step` that was not the known one.
    pub(crate) fn note(&mut self, field: &'static str, step: &str, check: Result<(), String>) {
        if let Err(problem) = check {
            let problem = format!("{step} gave {problem}");
            self.mismatches.push(Mismatch { record: self.record.clone(), field, problem });
        }
    }

    /// The answer of `step`; a failure is noted.
    pub(crate) fn result<T, E: fmt::Display>(
        &mut self,
        field: &'static str,
        step: &str,
        result: Result<T, E>,
    ) -> Option<T> {
        let note = |error: E| {
            let problem = format!("{step} failed: {error}");
            self.mismatches.push(Mismatch { record: self.record.clone(), field, problem });
        };
        result.map_err(note).ok()
    }
}
