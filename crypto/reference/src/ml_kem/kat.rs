//! Known answers of ML-KEM: the files in this crate's `kat/ml-kem` folder, whose README describes
//! the format.
//!
//! [`parse()`] reads such a file, and [`KatFile`]'s `Display` writes it. [`replay()`] runs an
//! [`Implementation`] on a record and lists the differences. [`EMBEDDED`] holds a file for each
//! parameter set. With the crate's feature `wycheproof`, `wycheproof::records` gives the cases of
//! Project Wycheproof as records of the same kind.
//!
//! ```
//! use reference::ml_kem::kat;
//!
//! let file = kat::parse(kat::embedded("mlkem768").unwrap())?;
//! let mut oracle = kat::Oracle(file.params);
//! assert_eq!(kat::replay(&file.params, &file.records[0], &mut oracle), []);
//! # Ok::<(), kat::ParseError>(())
//! ```

mod folder;
mod parse;
mod replay;
mod write;
#[cfg(feature = "wycheproof")]
pub mod wycheproof;

use super::{Parameters, SEED_BYTES, SHARED_SECRET_BYTES};

pub use crate::kat::{DIGEST_BYTES, Expected, Mismatch, ParseError};
pub use folder::{FOLDER, of_folder};
pub use parse::parse;
pub use replay::{Implementation, Oracle, replay, replay_file};

/// The known answers of the three parameter sets, by name, in the order of [`Parameters::ALL`].
pub const EMBEDDED: [(&str, &str); 3] = [
    ("mlkem512", include_str!("../../kat/ml-kem/mlkem512.kat")),
    ("mlkem768", include_str!("../../kat/ml-kem/mlkem768.kat")),
    ("mlkem1024", include_str!("../../kat/ml-kem/mlkem1024.kat")),
];

/// NIST's known answers (ACVP) of the three parameter sets, by name.
pub const ACVP: [(&str, &str); 3] = [
    ("mlkem512", include_str!("../../kat/ml-kem/acvp-mlkem512.kat")),
    ("mlkem768", include_str!("../../kat/ml-kem/acvp-mlkem768.kat")),
    ("mlkem1024", include_str!("../../kat/ml-kem/acvp-mlkem1024.kat")),
];

/// Returns the text of the known answers for a parameter set, such as "mlkem768".
pub fn embedded(name: &str) -> Option<&'static str> {
    EMBEDDED.into_iter().find(|(embedded, _)| *embedded == name).map(|(_, text)| text)
}

/// A file of known answers. It always has at least one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KatFile {
    /// The parameter set of all records.
    pub params: Parameters,
    /// The records, in the order of their lines.
    pub records: Vec<Record>,
}

/// A line of a file after the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The value of the line's first field: a number or a name, without white space.
    pub id: String,
    /// The contents.
    pub case: Case,
}

/// The contents of a record. The names of the variants' lines are in [`Case::kind`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Case {
    /// A key pair, an encapsulation, and a decapsulation of that ciphertext and of a changed one.
    Count(Count),
    /// A [`Case::Count`] whose matrix needs more SHAKE128 blocks than usual.
    Unlucky(Unlucky),
    /// A key pair.
    Keys {
        /// The seed d.
        d: [u8; SEED_BYTES],
        /// The seed z.
        z: [u8; SEED_BYTES],
        /// The encapsulation key.
        ek: Expected,
        /// The decapsulation key.
        dk: Expected,
    },
    /// A ciphertext decapsulated with the key pair of two seeds.
    Seeded {
        /// The seed d.
        d: [u8; SEED_BYTES],
        /// The seed z.
        z: [u8; SEED_BYTES],
        /// The encapsulation key.
        ek: Expected,
        /// The ciphertext, which may have the wrong length.
        c: Vec<u8>,
        /// The shared secret key; `None` if the ciphertext must be refused.
        ss: Option<[u8; SHARED_SECRET_BYTES]>,
    },
    /// An encapsulation.
    Encapsulation {
        /// The encapsulation key, which may be invalid.
        ek: Vec<u8>,
        /// The random bytes m.
        m: [u8; SEED_BYTES],
        /// The ciphertext and the shared secret key; `None` if the key must be refused.
        answer: Option<(Expected, [u8; SHARED_SECRET_BYTES])>,
    },
    /// A decapsulation.
    Decapsulation {
        /// The decapsulation key, which may be invalid.
        dk: Vec<u8>,
        /// The ciphertext, which may have the wrong length.
        c: Vec<u8>,
        /// The shared secret key; `None` if one of the inputs must be refused.
        ss: Option<[u8; SHARED_SECRET_BYTES]>,
    },
    /// The check of an encapsulation key (section 7.2).
    EncapsulationKey {
        /// The key.
        ek: Vec<u8>,
        /// True if it must be accepted.
        valid: bool,
    },
    /// The check of a decapsulation key (section 7.3).
    DecapsulationKey {
        /// The key.
        dk: Vec<u8>,
        /// True if it must be accepted.
        valid: bool,
    },
    /// Many key pairs, encapsulations and decapsulations from one stream, and one digest of all
    /// answers, as in C2SP's accumulated vectors: SHAKE128 of nothing gives d, z, m and a random
    /// ciphertext for each round. SHAKE128 takes ek, dk, c, the shared secret key of c and the
    /// shared secret key of the random ciphertext.
    Accumulated {
        /// The number of rounds, at least 1.
        rounds: usize,
        /// The first 32 bytes of the digest.
        digest: [u8; DIGEST_BYTES],
    },
    /// Changed encapsulation keys of two seeds: each coefficient in turn is set to values from q to
    /// 4095, which must be refused, and to q - 1, which must be accepted. Each of the 767 values
    /// occurs.
    Modulus {
        /// The seed d.
        d: [u8; SEED_BYTES],
        /// The seed z.
        z: [u8; SEED_BYTES],
    },
    /// Changed decapsulation keys of two seeds: a changed bit in each byte of the encapsulation key
    /// or its hash must be refused, and in z or at the end of s_hat accepted.
    Hash {
        /// The seed d.
        d: [u8; SEED_BYTES],
        /// The seed z.
        z: [u8; SEED_BYTES],
    },
    /// Keys and a ciphertext of two seeds and m, of no bytes, one byte less and one byte more, all
    /// of which must be refused.
    Lengths {
        /// The seed d.
        d: [u8; SEED_BYTES],
        /// The seed z.
        z: [u8; SEED_BYTES],
        /// The random bytes m.
        m: [u8; SEED_BYTES],
    },
    /// Changed ciphertexts of two seeds and m: each bit flipped, one at a time, the lowest bit of a
    /// byte first. None may give the shared secret key of the ciphertext.
    Rejection {
        /// The seed d.
        d: [u8; SEED_BYTES],
        /// The seed z.
        z: [u8; SEED_BYTES],
        /// The random bytes m.
        m: [u8; SEED_BYTES],
        /// The SHA-256 digest of the shared secret keys, concatenated.
        sss_sha256: [u8; DIGEST_BYTES],
    },
}

impl Case {
    /// The name of the first field of such a line.
    pub fn kind(&self) -> &'static str {
        match self {
            Case::Count(_) => "count",
            Case::Unlucky(_) => "unlucky",
            Case::Keys { .. } => "keys",
            Case::Seeded { .. } => "seeded",
            Case::Encapsulation { .. } => "encaps",
            Case::Decapsulation { .. } => "decaps",
            Case::EncapsulationKey { .. } => "ek_check",
            Case::DecapsulationKey { .. } => "dk_check",
            Case::Accumulated { .. } => "accumulated",
            Case::Modulus { .. } => "modulus",
            Case::Hash { .. } => "hash",
            Case::Lengths { .. } => "lengths",
            Case::Rejection { .. } => "rejection",
        }
    }
}

/// One key pair, one encapsulation, two decapsulations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// The seed d.
    pub d: [u8; SEED_BYTES],
    /// The seed z.
    pub z: [u8; SEED_BYTES],
    /// The random bytes m.
    pub m: [u8; SEED_BYTES],
    /// The encapsulation key.
    pub ek: Expected,
    /// The decapsulation key.
    pub dk: Expected,
    /// The ciphertext.
    pub c: Expected,
    /// The shared secret key.
    pub ss: [u8; SHARED_SECRET_BYTES],
    /// The byte of the ciphertext whose bit 0 is flipped for [`Count::ss_reject`].
    pub flip: usize,
    /// The shared secret key for the changed ciphertext.
    pub ss_reject: [u8; SHARED_SECRET_BYTES],
}

/// A [`Count`] with an unusual matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlucky {
    /// The number of SHAKE128 blocks that [`sample_ntt`](super::sample_ntt) reads for each entry of
    /// the matrix, row after row: k^2 numbers.
    pub blocks: Vec<usize>,
    /// The rest of the record.
    pub count: Count,
}
