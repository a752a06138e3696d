//! The generator against NIST's known seeds, and its rules for calls.

use rand_core::CryptoRng;
use reference::drbg::{Drbg, SEED_BYTES};
use reference::kat::{self, Record};
use reference::sntrup::Parameters;

/// The seed of every `PQCgenKAT` run: 00 01 .. 2f.
fn nist() -> Drbg {
    Drbg::new(&std::array::from_fn(|i| i as u8))
}

#[test]
fn first_seed_of_pqcgenkat() {
    let mut seed = [0; SEED_BYTES];
    nist().fill(&mut seed);
    let digits: String = seed.iter().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(
        digits,
        "061550234D158C5EC95595FE04EF7A25767F2E24CC2BC479D09D86DC9ABCFDE7\
         056A8C266F9EF97ED08541DBD2E1FFA1"
    );
}

#[test]
fn all_seeds_of_every_file() {
    for params in Parameters::ALL {
        let file = kat::parse(kat::embedded(params.name).unwrap()).unwrap();
        let mut drbg = nist();
        let mut first = None;
        for record in &file.records {
            match record {
                Record::Count(count) => {
                    let mut seed = [0; SEED_BYTES];
                    drbg.fill(&mut seed);
                    assert_eq!(count.seed, seed, "{} count={}", params.name, count.count);
                    first.get_or_insert(seed);
                }
                Record::Sequence(sequence) => assert_eq!(Some(sequence.seed), first),
            }
        }
    }
}

#[test]
fn calls_matter() {
    let mut whole = [0; 8];
    nist().fill(&mut whole);

    let mut halves = [0; 8];
    let mut drbg = nist();
    drbg.fill(&mut halves[..4]);
    drbg.fill(&mut halves[4..]);
    assert_eq!(whole[..4], halves[..4]);
    assert_ne!(whole[4..], halves[4..]);

    let mut after_nothing = [0; 8];
    let mut drbg = nist();
    drbg.fill(&mut []);
    drbg.fill(&mut after_nothing);
    assert_ne!(whole, after_nothing);
}

#[test]
fn rand_core_methods_are_one_call_each() {
    fn draw(random: &mut impl CryptoRng) -> (Vec<u8>, u32, u64) {
        let mut bytes = vec![0; 37];
        random.fill_bytes(&mut bytes);
        (bytes, random.next_u32(), random.next_u64())
    }
    let mut drbg = nist();
    let (mut bytes, mut four, mut eight) = ([0; 37], [0; 4], [0; 8]);
    drbg.fill(&mut bytes);
    drbg.fill(&mut four);
    drbg.fill(&mut eight);
    let expected = (bytes.to_vec(), u32::from_le_bytes(four), u64::from_le_bytes(eight));
    assert_eq!(draw(&mut nist()), expected);
}
