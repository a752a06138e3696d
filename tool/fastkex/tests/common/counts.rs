//! The module's counts in a process with `statistics = on`, as the command shows them.

use std::process::Command;

use serde_json::Value;
use testbed::children;

/// One side of the key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    KeyPairs,
    Encapsulations,
}

/// Returns the number of keys of a group that a process and its children have taken for one side.
pub(crate) fn taken(process: u32, group: &str, purpose: Purpose) -> u64 {
    family(process).into_iter().map(|process| taken_by(process, group, purpose)).sum()
}

fn family(process: u32) -> Vec<u32> {
    let below = children(process).into_iter().flat_map(family);
    [process].into_iter().chain(below).collect()
}

fn taken_by(process: u32, group: &str, purpose: Purpose) -> u64 {
    let purpose = match purpose {
        Purpose::KeyPairs => "key_pairs",
        Purpose::Encapsulations => "encapsulations",
    };
    let process = process.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fastkex"));
    let output = command.args(["stats", &process, "--json"]).output().unwrap();
    // The command fails for a process that has made no handshake with the module.
    let records: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let records = records.as_array().into_iter().flatten();
    let of_it = records.filter(|record| record["group"] == group && record["purpose"] == purpose);
    of_it
        .map(|record| record["inline"].as_u64().unwrap() + record["from_pool"].as_u64().unwrap())
        .sum()
}
