//! The oracle gives every known answer of every parameter set: keys, ciphertexts, session keys,
//! rejections and sequences.

use reference::kat::{self, Oracle, Record};

/// Replays the embedded file of a set; the test runner runs the sets on all its threads.
fn replays(name: &str) {
    let text = kat::embedded(name).expect("an embedded file");
    let file = kat::parse(text).expect("a readable file");
    let params = file.parameters().expect("a file that says what it is for");
    assert_eq!(params.name, name);

    let counts: Vec<usize> = file
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Count(count) => Some(count.count),
            Record::Sequence(_) => None,
        })
        .collect();
    assert_eq!(counts, (0..100).collect::<Vec<_>>());
    assert!(matches!(&file.records[100..], [Record::Sequence(sequence)] if sequence.n == 64));

    let mismatches = kat::replay_file(&file, &mut Oracle(params));
    let lines: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{name}:\n{}", lines.join("\n"));
}

#[test]
fn sntrup653() {
    replays("sntrup653");
}

#[test]
fn sntrup761() {
    replays("sntrup761");
}

#[test]
fn sntrup857() {
    replays("sntrup857");
}

#[test]
fn sntrup953() {
    replays("sntrup953");
}

#[test]
fn sntrup1013() {
    replays("sntrup1013");
}

#[test]
fn sntrup1277() {
    replays("sntrup1277");
}
