//! Tests that no input makes the crate panic or hang.

mod common;

use std::path::Path;

use artifacts::Numbers;
use common::{RELEASES, env};
use openssl_conf::{
    Addition, Base, Config, GroupSyntax, Interpretation, Release, compose, split_groups,
};

const SEEDS: [&str; 2] = [
    "openssl_conf = i\n[ i ]\nproviders = p\nssl_conf = s\nalg_section = a\n[p]\ndefault = d\nfastkex = f\n[d]\n\
     activate = 1\n[f]\nmodule = \"/x\"\nsub = s\n[s]\nsystem_default = t\n[t]\nGroups = ?*A:-B / DEFAULT\n[a]\n",
    ".pragma dollarid:on\na = 'b' # c\nb = ${a}$(a)$ENV::HOME\\\n c\ns::k = $default::a\r\n.include /nonexistent\n",
];
const PIECES: [&str; 24] = [
    "[",
    "]",
    "=",
    "::",
    "$",
    "${",
    "$(",
    "}",
    ")",
    "\\",
    "\n",
    "\r\n",
    "\"",
    "'",
    "`",
    "#",
    " ",
    "a",
    "\u{e9}",
    "\0",
    ".include ",
    ".pragma ",
    "i",
    "s",
];

#[test]
fn mutated_configurations() {
    let mut numbers = Numbers::new(1);
    let mut read = 0;
    for _ in 0..20_000 {
        let mut text: Vec<char> = numbers.pick(&SEEDS).chars().collect();
        for _ in 0..1 + numbers.below(6) {
            let start = numbers.below(text.len());
            let end = (start + numbers.below(20)).min(text.len());
            match numbers.below(4) {
                0 => drop(text.drain(start..end)),
                1 => text.splice(start..start, text[start..end].to_vec()).for_each(drop),
                _ => text.splice(start..start, numbers.pick(&PIECES).chars()).for_each(drop),
            }
        }
        let text: String = text.into_iter().collect();
        let Ok(config) = Config::parse(&text, Path::new("m"), &env) else { continue };
        read += 1;
        for release in RELEASES {
            let found = Interpretation::new(&config, release);
            let list = found.system_default().and_then(|profile| profile.groups());
            if let Some(list) = list {
                let _ = split_groups(&list.value, release.group_syntax());
            }
            let addition = Addition {
                release,
                provider: "fastkex",
                module: Some(Path::new("/m.so")),
                keys: &[],
                groups: Some("A"),
                properties: Some("?provider=ours"),
            };
            let base = Base { config: &config, path: Path::new("/nonexistent") };
            let _ = compose(Some(base), &addition);
        }
    }
    assert!(read > 2000, "only {read} could be read");
}

#[test]
fn mutated_group_lists() {
    let mut numbers = Numbers::new(2);
    let mut split = 0;
    for _ in 0..50_000 {
        let pieces = ["A", "B", "*", "?", "-", "/", ":", " ", "DEFAULT", "\u{e9}", "\t"];
        let list: String = (0..numbers.below(12)).map(|_| numbers.pick(&pieces)).collect();
        for syntax in [GroupSyntax::Names, GroupSyntax::Optional, GroupSyntax::Tuples] {
            match split_groups(&list, syntax) {
                Ok(groups) => {
                    split += 1;
                    assert!(groups.iter().all(|group| !group.name.is_empty()));
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
    assert!(split > 5000, "only {split} could be split");
    assert!(Release::parse("x.y .1. 3.").is_none());
}
