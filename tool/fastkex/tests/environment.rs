//! Tests that our environment variables for the command are documented.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::{Tool, assert_refused};

/// Collects the names of variables in the command's sources.
fn variables(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            variables(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("FASTKEX_") {
            let is_name = |c: &char| c.is_ascii_uppercase() || *c == '_';
            found.insert(text[at..].chars().take_while(is_name).collect());
        }
    }
}

#[test]
fn every_variable_is_documented() {
    let root = artifacts::root();
    let page = fs::read_to_string(root.join("docs/command.md")).unwrap();
    let mut found = BTreeSet::new();
    variables(&root.join("tool/fastkex/src"), &mut found);
    assert!(found.contains("FASTKEX_MODULE"), "{found:?}");
    for variable in found {
        let told = page.contains(&format!("`{variable}`"));
        assert!(told, "docs/command.md does not name {variable}");
    }
}

#[test]
fn a_module_that_is_not_there_is_named_with_its_origin() {
    let Some(tool) = Tool::with_openssl() else { return };
    let run = |arguments: &[&str], variable: &str| {
        tool.command(arguments).env("FASTKEX_MODULE", variable).output().unwrap()
    };
    let arguments = ["run", "--", "true"];
    assert_refused(&run(&arguments, "/no/such.so"), "FASTKEX_MODULE: /no/such.so: No such file");
    // The option overrides the variable.
    let arguments = ["run", "--module", "/no/other.so", "--", "true"];
    assert_refused(&run(&arguments, "/no/such.so"), "--module: /no/other.so: No such file");
}
