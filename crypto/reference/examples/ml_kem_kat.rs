//! Makes the known answers of ML-KEM with the oracle: `cargo run --profile test --package reference
//! --example ml_kem_kat -- crypto/reference/kat/ml-kem` writes one file for each parameter set.
//!
//! All seeds come from SHAKE128 of a name, so that each run writes the same files.

use reference::ml_kem::kat::{Case, Count, Expected, KatFile, Record, Unlucky};
use reference::ml_kem::{self, N, Parameters, Q, SEED_BYTES, add, g, matrix_blocks, multiply_ntts};
use sha2::{Digest, Sha256};
use shake::digest::{ExtendableOutput, Update, XofReader};
use shake::{Shake128, Shake128Reader};
use std::path::PathBuf;

/// Key pairs with encapsulations, the first one with whole answers.
const COUNTS: usize = 100;

/// Seeds among which the most unlucky ones are looked for.
const SEEDS: usize = 1 << 20;

/// Records for the most unlucky seeds.
const MOST_UNLUCKY: usize = 4;

type Seed = [u8; SEED_BYTES];

/// A stream of seeds: SHAKE128 of a name.
struct Seeds(Shake128Reader);

impl Seeds {
    fn new(params: &Parameters, part: &str) -> Self {
        let name = format!("known answers of {}: {part}", params.name);
        Seeds(ml_kem::xof(name.as_bytes()))
    }

    fn draw(&mut self) -> Seed {
        let mut seed = [0; SEED_BYTES];
        self.0.read(&mut seed);
        seed
    }
}

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("a folder as argument"));
    for params in Parameters::ALL {
        let file = KatFile { params, records: records(&params) };
        std::fs::write(folder.join(format!("{}.kat", params.name)), file.to_string())?;
    }
    Ok(())
}

fn records(params: &Parameters) -> Vec<Record> {
    let mut cases = vec![];
    let mut seeds = Seeds::new(params, "count");
    for i in 0..COUNTS {
        let (d, z, m) = (seeds.draw(), seeds.draw(), seeds.draw());
        cases.push(Case::Count(count(params, i, i == 0, d, z, m)));
    }
    let mut seeds = Seeds::new(params, "unlucky z and m");
    for (i, d) in unlucky_seeds(params).into_iter().enumerate() {
        let blocks = blocks(params, &d);
        let count = count(params, i, false, d, seeds.draw(), seeds.draw());
        cases.push(Case::Unlucky(Unlucky { blocks, count }));
    }
    for rounds in [100, 10_000] {
        cases.push(Case::Accumulated { rounds, digest: accumulated(params, rounds) });
    }
    let mut seeds = Seeds::new(params, "changes");
    let (d, z, m) = (seeds.draw(), seeds.draw(), seeds.draw());
    cases.push(Case::Modulus { d, z });
    cases.push(Case::Hash { d, z });
    cases.push(Case::Lengths { d, z, m });
    cases.push(Case::Rejection { d, z, m, sss_sha256: rejected(params, &d, &z, &m) });
    cases.extend(extreme_keys(params, &mut seeds));

    let mut numbers = std::collections::BTreeMap::new();
    let number = |case: Case| {
        let next = numbers.entry(case.kind()).or_insert(0);
        let id = next.to_string();
        *next += 1;
        Record { id, case }
    };
    cases.into_iter().map(number).collect()
}

/// The case of three seeds. The byte to flip goes through the ciphertext as `i` grows.
fn count(params: &Parameters, i: usize, is_whole: bool, d: Seed, z: Seed, m: Seed) -> Count {
    let expected = |bytes: &[u8]| {
        if is_whole {
            Expected::Whole(bytes.to_vec())
        } else {
            Expected::Digest(Sha256::digest(bytes).into())
        }
    };
    let (ek, dk) = ml_kem::key_generation(params, &d, &z);
    let (c, ss) = ml_kem::encapsulate(params, &ek, &m).expect("a key of the oracle");
    // A step that is prime to the length: bytes of u and of v.
    let flip = 101 * i % c.len();
    let mut flipped = c.clone();
    flipped[flip] ^= 1;
    let ss_reject = ml_kem::decapsulate(params, &dk, &flipped).expect("a key of the oracle");
    let (ek, dk, c) = (expected(&ek), expected(&dk), expected(&c));
    Count { d, z, m, ek, dk, c, ss, flip, ss_reject }
}

fn blocks(params: &Parameters, d: &Seed) -> Vec<usize> {
    let (rho, _) = g(&[&d[..], &[params.k as u8]].concat());
    matrix_blocks(params, &rho)
}

/// Seeds d whose matrix needs a fourth block of SHAKE128: for each entry the first seeds of a
/// stream in which it alone does, and then the seeds with the most such entries. (A fifth block is
/// out of reach: an entry needs one with a probability of 2^-105.)
fn unlucky_seeds(params: &Parameters) -> Vec<Seed> {
    let entries = params.k * params.k;
    let for_each = 8_usize.div_ceil(entries);
    let mut seeds = Seeds::new(params, "unlucky d");
    let mut alone = vec![vec![]; entries];
    let mut most = vec![];
    for _ in 0..SEEDS {
        let d = seeds.draw();
        let blocks = blocks(params, &d);
        let unlucky: Vec<_> = (0..entries).filter(|&entry| blocks[entry] > 3).collect();
        match unlucky[..] {
            [] => {}
            [entry] if alone[entry].len() < for_each => alone[entry].push(d),
            _ => most.push((unlucky.len(), d)),
        }
    }
    assert!(alone.iter().all(|seeds| seeds.len() == for_each), "enough seeds");
    // The sort is stable: the first of equal ones stays first.
    most.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    let most = most.into_iter().take(MOST_UNLUCKY).map(|(_, d)| d);
    alone.concat().into_iter().chain(most).collect()
}

fn accumulated(params: &Parameters, rounds: usize) -> [u8; 32] {
    let mut random = ml_kem::xof(&[]);
    let mut answers = Shake128::default();
    for _ in 0..rounds {
        let [mut d, mut z, mut m] = [[0; SEED_BYTES]; 3];
        let mut random_c = vec![0; params.ciphertext_bytes()];
        for bytes in [&mut d[..], &mut z, &mut m, &mut random_c] {
            random.read(bytes);
        }
        let (ek, dk) = ml_kem::key_generation(params, &d, &z);
        let (c, ss) = ml_kem::encapsulate(params, &ek, &m).expect("a key of the oracle");
        let random_ss = ml_kem::decapsulate(params, &dk, &random_c).expect("a key of the oracle");
        for bytes in [&ek[..], &dk, &c, &ss, &random_ss] {
            answers.update(bytes);
        }
    }
    let mut digest = [0; 32];
    answers.finalize_xof().read(&mut digest);
    digest
}

fn rejected(params: &Parameters, d: &Seed, z: &Seed, m: &Seed) -> [u8; 32] {
    let (ek, dk) = ml_kem::key_generation(params, d, z);
    let (c, _) = ml_kem::encapsulate(params, &ek, m).expect("a key of the oracle");
    let mut sss = Sha256::new();
    for bit in 0..8 * c.len() {
        let mut c = c.clone();
        c[bit / 8] ^= 1 << (bit % 8);
        let ss = ml_kem::decapsulate(params, &dk, &c).expect("a key of the oracle");
        Digest::update(&mut sss, ss);
    }
    sss.finalize().into()
}

/// Keys at the ends of the ranges, which no honest peer makes: encapsulations to keys whose t_hat
/// has all coefficients 0 or q - 1, and decapsulations that succeed with keys whose s_hat has all
/// coefficients 0, 1 or q - 1, reduced or not. (s is then 0, 1 + X or -1 - X, and e is 0. FIPS 203
/// reduces an s_hat without an error.)
fn extreme_keys(params: &Parameters, seeds: &mut Seeds) -> Vec<Case> {
    let (rho, z) = (seeds.draw(), seeds.draw());
    let mut cases = vec![];
    for value in [0, Q - 1] {
        let ek = [&repeated(params, value)[..], &rho].concat();
        let m = seeds.draw();
        let (c, ss) = ml_kem::encapsulate(params, &ek, &m).expect("a reduced key");
        let c = Expected::Digest(Sha256::digest(c).into());
        cases.push(Case::Encapsulation { ek, m, answer: Some((c, ss)) });
    }
    for value in [0, 1, Q - 1, Q, Q + 1] {
        let s_hat = [value % Q; N];
        let mut ek = vec![];
        for row in ml_kem::matrix(params, &rho) {
            let products = row.iter().map(|entry| multiply_ntts(entry, &s_hat));
            let t_hat = products.reduce(|a, b| add(&a, &b)).expect("k products");
            ek.extend(ml_kem::byte_encode(12, &t_hat));
        }
        ek.extend(rho);
        let dk = [&repeated(params, value)[..], &ek, &ml_kem::h(&ek), &z].concat();
        let m = seeds.draw();
        let (c, ss) = ml_kem::encapsulate(params, &ek, &m).expect("a reduced key");
        let decapsulated = ml_kem::decapsulate_detailed(params, &dk, &c).expect("a right hash");
        assert!(!decapsulated.rejected && decapsulated.shared_secret == ss);
        cases.push(Case::Decapsulation { dk, c, ss: Some(ss) });
    }
    cases
}

/// A vector with all coefficients of 12 bits the same, reduced or not.
fn repeated(params: &Parameters, value: u16) -> Vec<u8> {
    let pair = [value as u8, (value >> 8 | value << 4) as u8, (value >> 4) as u8];
    pair.repeat(N / 2 * params.k)
}
