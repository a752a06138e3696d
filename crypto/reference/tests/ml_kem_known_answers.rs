//! The oracle of ML-KEM gives every known answer: of the embedded files, of NIST's ACVP files, of
//! Project Wycheproof, and of a folder outside of the repository, if there is one.

use reference::ml_kem::kat::{self, Case, KatFile, Oracle, Record};
use reference::ml_kem::{self, Parameters};
use std::collections::BTreeMap;

fn embedded(name: &str) -> KatFile {
    kat::parse(kat::embedded(name).expect("an embedded file")).expect("a readable file")
}

/// Replays records with the oracle.
fn check(file: &KatFile) {
    let mismatches = kat::replay_file(file, &mut Oracle(file.params));
    let lines: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

/// The number of records of each kind.
fn kinds(records: &[Record]) -> BTreeMap<&'static str, usize> {
    records.iter().fold(BTreeMap::new(), |mut kinds, record| {
        *kinds.entry(record.case.kind()).or_default() += 1;
        kinds
    })
}

fn embedded_replays(name: &str, unlucky: usize) {
    let file = embedded(name);
    assert_eq!(file.params.name, name);
    let expected = [
        ("count", 100),
        ("unlucky", unlucky),
        ("accumulated", 2),
        ("modulus", 1),
        ("hash", 1),
        ("lengths", 1),
        ("rejection", 1),
        ("encaps", 2),
        ("decaps", 5),
    ];
    assert_eq!(kinds(&file.records), BTreeMap::from(expected));
    check(&file);
}

#[test]
fn embedded_512() {
    embedded_replays("mlkem512", 12);
}

#[test]
fn embedded_768() {
    embedded_replays("mlkem768", 13);
}

#[test]
fn embedded_1024() {
    embedded_replays("mlkem1024", 20);
}

#[test]
fn files_are_as_they_are_written() {
    for (name, text) in kat::EMBEDDED {
        assert_eq!(embedded(name).to_string(), text, "{name}");
    }
}

#[test]
fn acvp_replays() {
    for (name, text) in kat::ACVP {
        let file = kat::parse(text).expect("a readable file");
        assert_eq!(file.params.name, name);
        let expected = [("keys", 25), ("encaps", 25), ("decaps", 10)];
        assert_eq!(kinds(&file.records), BTreeMap::from(expected));
        check(&file);
    }
}

/// Each entry of a matrix is in a record in which it alone needs a fourth block.
#[test]
fn unlucky_entries() {
    for params in Parameters::ALL {
        let entries = params.k * params.k;
        let mut alone = vec![0; entries];
        let mut several = 0;
        for record in &embedded(params.name).records {
            let Case::Unlucky(unlucky) = &record.case else { continue };
            let (rho, _) = ml_kem::g(&[&unlucky.count.d[..], &[params.k as u8]].concat());
            assert_eq!(ml_kem::matrix_blocks(&params, &rho), unlucky.blocks);
            let four: Vec<_> = (0..entries).filter(|&entry| unlucky.blocks[entry] == 4).collect();
            match four[..] {
                [] => panic!("{} unlucky={}: a lucky seed", params.name, record.id),
                [entry] => alone[entry] += 1,
                _ => several += 1,
            }
        }
        assert_eq!((alone, several), (vec![8_usize.div_ceil(entries); entries], 4));
    }
}

fn wycheproof_replays(name: &str, expected: [(&'static str, usize); 4]) {
    let params = Parameters::by_name(name).unwrap();
    let cases = kat::wycheproof::records(&params);
    assert_eq!(kinds(&cases.records), BTreeMap::from(expected));
    assert_eq!(cases.wrong_seeds.len(), 20, "cases without 64 bytes of seeds");
    let file = KatFile { params, records: cases.records };
    check(&file);
    assert_eq!(kat::parse(&file.to_string()), Ok(file), "written and read");
}

#[test]
fn wycheproof_512() {
    let expected = [("seeded", 180), ("encaps", 261), ("keys", 100), ("decaps", 9)];
    wycheproof_replays("mlkem512", expected);
}

#[test]
fn wycheproof_768() {
    let expected = [("seeded", 181), ("encaps", 265), ("keys", 100), ("decaps", 9)];
    wycheproof_replays("mlkem768", expected);
}

#[test]
fn wycheproof_1024() {
    let expected = [("seeded", 182), ("encaps", 269), ("keys", 100), ("decaps", 9)];
    wycheproof_replays("mlkem1024", expected);
}

#[test]
fn files_of_a_folder() {
    let Some(files) = kat::of_folder() else {
        println!("skipped: {} names no folder with further known answers", kat::FOLDER);
        return;
    };
    for (path, file) in files {
        println!("{}: {:?}", path.display(), kinds(&file.records));
        check(&file);
    }
}
