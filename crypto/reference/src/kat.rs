//! Known answers: the files in this crate's `kat` folder, whose README describes the format.
//!
//! [`parse()`] reads such a file, [`replay()`] runs an [`Implementation`] on a record and lists the
//! differences, and [`EMBEDDED`] holds the project's own six files.
//!
//! ```
//! use reference::{kat, sntrup::Parameters};
//!
//! let file = kat::parse(kat::embedded("sntrup653").unwrap())?;
//! let mut oracle = kat::Oracle(file.parameters()?);
//! assert_eq!(oracle.0, Parameters::by_name("sntrup653").unwrap());
//! assert_eq!(kat::replay(&file.records[0], &mut oracle), []);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod fields;
mod parse;
mod replay;

use crate::drbg::SEED_BYTES;
use crate::sntrup::{Parameters, SHARED_SECRET_BYTES};
use sha2::{Digest, Sha256};
use std::fmt;

pub use fields::ParseError;
pub use parse::parse;
pub(crate) use replay::Findings;
pub use replay::{Implementation, Mismatch, Oracle, replay, replay_file};

/// Bytes in a digest of a known answer (SHA-256).
pub const DIGEST_BYTES: usize = 32;

/// The known answers of the six parameter sets, by name, in the order of [`Parameters::ALL`].
pub const EMBEDDED: [(&str, &str); 6] = [
    ("sntrup653", include_str!("../kat/sntrup653.kat")),
    ("sntrup761", include_str!("../kat/sntrup761.kat")),
    ("sntrup857", include_str!("../kat/sntrup857.kat")),
    ("sntrup953", include_str!("../kat/sntrup953.kat")),
    ("sntrup1013", include_str!("../kat/sntrup1013.kat")),
    ("sntrup1277", include_str!("../kat/sntrup1277.kat")),
];

/// Returns the text of the known answers for a parameter set, such as "sntrup761".
pub fn embedded(name: &str) -> Option<&'static str> {
    EMBEDDED.into_iter().find(|(embedded, _)| *embedded == name).map(|(_, text)| text)
}

/// A file of known answers. It always has at least one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KatFile {
    /// The records, in the order of their lines.
    pub records: Vec<Record>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A `count=` line.
    Count(Count),
    /// A `sequence=` line.
    Sequence(Sequence),
}

/// A `count=` line: one key pair, one encapsulation, two decapsulations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The number of the line. It selects the byte to flip for [`Count::ss_reject`].
    pub count: usize,
    /// Seed of the DRBG.
    pub seed: [u8; SEED_BYTES],
    /// The public key.
    pub pk: Expected,
    /// The secret key.
    pub sk: Expected,
    /// The ciphertext.
    pub ct: Expected,
    /// The session key.
    pub ss: [u8; SHARED_SECRET_BYTES],
    /// The session key for the ciphertext with bit 0 of byte `count mod length` flipped.
    pub ss_reject: [u8; SHARED_SECRET_BYTES],
}

/// A `sequence=` line: n key pairs from one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The number of key pairs, at least 1.
    pub n: usize,
    /// Seed of the DRBG.
    pub seed: [u8; SEED_BYTES],
    /// The SHA-256 digest of the n public keys, concatenated.
    pub pks_sha256: [u8; DIGEST_BYTES],
    /// The SHA-256 digest of the n secret keys, concatenated.
    pub sks_sha256: [u8; DIGEST_BYTES],
}

/// The expected value of a byte string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Exactly these bytes.
    Whole(Vec<u8>),
    /// Any bytes with this SHA-256 digest.
    Digest([u8; DIGEST_BYTES]),
}

impl Expected {
    /// Compares actual bytes with the expectation.
    ///
    /// # Errors
    ///
    /// A one-line description of the difference.
    pub fn check(&self, actual: &[u8]) -> Result<(), String> {
        match self {
            Expected::Whole(expected) => check_whole(expected, actual),
            Expected::Digest(expected) => check_digest(expected, actual),
        }
    }

    /// Returns true if actual bytes are as expected.
    pub fn matches(&self, actual: &[u8]) -> bool {
        self.check(actual).is_ok()
    }
}

pub(crate) fn check_whole(expected: &[u8], actual: &[u8]) -> Result<(), String> {
    if expected.len() != actual.len() {
        return Err(format!("{} bytes, expected {}", actual.len(), expected.len()));
    }
    match actual.iter().zip(expected).position(|(a, e)| a != e) {
        Some(i) => Err(format!(
            "byte {i} of {} is {:02x}, expected {:02x}",
            actual.len(),
            actual[i],
            expected[i]
        )),
        None => Ok(()),
    }
}

pub(crate) fn check_digest(expected: &[u8; DIGEST_BYTES], actual: &[u8]) -> Result<(), String> {
    let digest = Sha256::digest(actual);
    if digest[..] == expected[..] {
        return Ok(());
    }
    let bytes = actual.len();
    Err(format!("{bytes} bytes with SHA-256 {}, expected {}", hex(&digest), hex(expected)))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl KatFile {
    /// Returns the parameter set of the file, by the length of the first whole public key.
    ///
    /// # Errors
    ///
    /// [`UnknownParameters`] if there is no whole public key, or if no set has public keys of this
    /// length.
    pub fn parameters(&self) -> Result<Parameters, UnknownParameters> {
        let whole = |record: &Record| match record {
            Record::Count(Count { pk: Expected::Whole(pk), .. }) => Some(pk.len()),
            _ => None,
        };
        let bytes = self.records.iter().find_map(whole);
        bytes
            .and_then(Parameters::by_public_key_bytes)
            .ok_or(UnknownParameters { public_key_bytes: bytes })
    }
}

/// The error for a file of known answers whose parameter set is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownParameters {
    /// The length in bytes of the first whole public key, or `None` if there is none.
    pub public_key_bytes: Option<usize>,
}

impl fmt::Display for UnknownParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.public_key_bytes {
            Some(bytes) => write!(f, "field pk: {bytes} bytes are a public key of no set")?,
            None => write!(f, "no record has a whole public key (field pk)")?,
        }
        let known = Parameters::ALL.map(|set| format!("{} ({})", set.public_key_bytes(), set.name));
        write!(f, "; expected bytes: {}", known.join(", "))
    }
}

impl std::error::Error for UnknownParameters {}
