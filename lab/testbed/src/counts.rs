//! The module's counts in processes.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// One side of the key exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The client.
    KeyPairs,
    /// The server.
    Encapsulations,
}

impl Purpose {
    /// Returns its name in the output of `fastkex stats --json`.
    fn name(self) -> &'static str {
        match self {
            Self::KeyPairs => "key_pairs",
            Self::Encapsulations => "encapsulations",
        }
    }
}

/// Returns the number of keys of a group that processes have taken for one side, by the module's
/// counts. `fastkex` is the command. A process without counts has taken none: `fastkex stats` fails
/// for one that has made no handshake with the module.
pub fn keys_taken(fastkex: &Path, processes: &[u32], group: &str, purpose: Purpose) -> u64 {
    let of_process = |process: &u32| {
        let output =
            Command::new(fastkex).args(["stats", &process.to_string(), "--json"]).output().ok()?;
        taken_in(&serde_json::from_slice(&output.stdout).ok()?, group, purpose)
    };
    processes.iter().filter_map(of_process).sum()
}

fn taken_in(records: &Value, group: &str, purpose: Purpose) -> Option<u64> {
    let records = records.as_array()?.iter();
    let of_it =
        records.filter(|record| record["group"] == group && record["purpose"] == purpose.name());
    of_it.map(|record| Some(record["inline"].as_u64()? + record["from_pool"].as_u64()?)).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_of_one_group_and_side_count() {
        let record = |group: &str, purpose: &str, inline: u64| json!({"group": group, "purpose": purpose, "inline": inline, "from_pool": 2});
        let records = json!([
            record("sntrup761", "key_pairs", 1),
            record("sntrup761", "encapsulations", 10),
            record("sntrup761", "encapsulations", 20),
            record("X25519", "encapsulations", 100),
        ]);
        assert_eq!(taken_in(&records, "sntrup761", Purpose::KeyPairs), Some(3));
        assert_eq!(taken_in(&records, "sntrup761", Purpose::Encapsulations), Some(34));
        assert_eq!(taken_in(&records, "sntrup857", Purpose::KeyPairs), Some(0));
        assert_eq!(taken_in(&json!({}), "sntrup761", Purpose::KeyPairs), None);
    }
}
