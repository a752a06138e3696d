//! The table of keys that the module's section of `openssl.cnf` may have: their names and meaning.
//!
//! The provider asks libcrypto for the values of these keys. libcrypto does not list the keys of a
//! section, so the provider cannot see others; `fastkex doctor` reads the file and reports them.

#![forbid(unsafe_code)]

use kex::{RECOMMENDED_GROUPS, TLS_GROUPS, TlsGroup, group_named};

/// A key of the module's section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The name, as written in the file.
    pub name: &'static str,
    /// The effect of its value, in a few words.
    pub meaning: &'static str,
}

/// Instruction set.
pub const BACKEND: Key =
    Key { name: "backend", meaning: "instruction set, instead of the best one" };
/// Pools of keys and encapsulations.
pub const POOL: Key =
    Key { name: "pool", meaning: "whether key shares and encapsulations are made ahead of time" };
/// Batch size of the pools.
pub const BATCH: Key = Key { name: "batch", meaning: "how many are made at once" };
/// Thread that refills the pools.
pub const REFILL: Key = Key { name: "refill", meaning: "which thread makes them" };
/// Maximum age of pool items.
pub const MAX_AGE: Key =
    Key { name: "max_age", meaning: "seconds after which unused ones are erased" };
/// Shared statistics.
pub const STATISTICS: Key = Key {
    name: "statistics",
    meaning: "whether handshakes are counted, and fastkex stats may read the process's counts",
};
/// Warm-up thread.
pub const WARM_UP: Key = Key {
    name: "warmup",
    meaning: "whether a thread keeps the vector units awake under medium load",
};
/// Load at which the warm-up thread runs.
pub const WARM_UP_LOAD: Key =
    Key { name: "warmup_load", meaning: "medium load, in handshakes a second of one process" };
/// X25519 as an algorithm of its own.
pub const X25519: Key = Key { name: "x25519", meaning: "whether the module offers X25519" };
/// TLS groups that the module offers.
pub const GROUPS: Key = Key { name: "groups", meaning: "TLS groups that the module offers" };
/// Key files.
pub const KEY_FILES: Key = Key {
    name: "key_files",
    meaning: "whether keys of the groups can be written and read as files",
};
/// Forms of ML-KEM's private keys in files, named as in OpenSSL's default provider.
pub const KEY_FORMS: Key = Key {
    name: "ml-kem.output_formats",
    meaning: "how private keys of ML-KEM are written: seed, expanded key or both",
};
/// Ed25519.
pub const ED25519: Key = Key { name: "ed25519", meaning: "whether the module offers Ed25519" };

/// The keys with a fixed name. There is one more for each group with a private code point:
/// [`code_point_key`].
pub const KEYS: [Key; 13] = [
    BACKEND,
    POOL,
    BATCH,
    REFILL,
    MAX_AGE,
    STATISTICS,
    WARM_UP,
    WARM_UP_LOAD,
    X25519,
    ED25519,
    GROUPS,
    KEY_FILES,
    KEY_FORMS,
];

/// The value of [`GROUPS`] for all groups of the module.
pub const ALL_GROUPS: &str = "all";

/// The groups that a value of [`GROUPS`] lists, in the order of [`TLS_GROUPS`]: [`ALL_GROUPS`], or
/// names separated by colons, in upper or lower case, as in libssl's `Groups`.
///
/// # Errors
/// The first name that is no group of the module.
pub fn groups(value: &str) -> Result<Vec<&'static TlsGroup>, &str> {
    if value == ALL_GROUPS {
        return Ok(TLS_GROUPS.to_vec());
    }
    let mut listed = Vec::new();
    for name in value.split(':') {
        listed.push(group_named(name).ok_or(name)?);
    }
    Ok(TLS_GROUPS.iter().copied().filter(|group| listed.contains(group)).collect())
}

/// The groups that the module offers unless told otherwise.
pub fn default_groups() -> Vec<&'static TlsGroup> {
    RECOMMENDED_GROUPS.iter().filter_map(|name| group_named(name)).collect()
}

/// The value of [`GROUPS`] for applications with this list of groups, in the syntax of any release
/// of libssl: the default groups and those in the list.
pub fn groups_for(list: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let named: Vec<_> = list.split(|c| !is_name(c)).filter_map(group_named).collect();
    let default = default_groups();
    let served = TLS_GROUPS.iter().filter(|group| default.contains(group) || named.contains(group));
    served.map(|group| group.name).collect::<Vec<_>>().join(":")
}

/// Prefix of the keys that set code points; the name of a TLS group follows.
pub const CODE_POINTS: &str = "code_points.";
/// The effect of such a key.
const CODE_POINT_MEANING: &str = "another code point for that TLS group";

/// The key that sets the code point of the group of that name.
pub fn code_point_key(group: &str) -> String {
    format!("{CODE_POINTS}{group}")
}

/// Whether the provider reads the key of that name. Names are case-sensitive, as in libcrypto.
pub fn is_known(name: &str) -> bool {
    all().any(|(known, _)| known == name)
}

/// Returns the name and meaning of every known key.
pub fn all() -> impl Iterator<Item = (String, &'static str)> {
    let fixed = KEYS.iter().map(|key| (key.name.to_owned(), key.meaning));
    let private = TLS_GROUPS.iter().filter(|group| group.is_private());
    let groups = private.map(|group| (code_point_key(group.name), CODE_POINT_MEANING));
    fixed.chain(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_their_whole_name() {
        assert!(is_known("backend") && is_known("code_points.sntrup761"));
        for key in [
            "backends",
            "Backend",
            "code_points",
            "code_points.",
            "code_points.x25519",
            "code_points.X25519MLKEM768",
            "",
        ] {
            assert!(!is_known(key), "{key}");
        }
    }

    #[test]
    fn groups_are_listed_as_for_libssl() {
        let names = |value| {
            groups(value).map(|groups| groups.iter().map(|group| group.name).collect::<Vec<_>>())
        };
        assert_eq!(names("all").unwrap().len(), TLS_GROUPS.len());
        assert_eq!(names("x25519sntrup761:sntrup653"), Ok(vec!["sntrup653", "X25519SNTRUP761"]));
        for (wrong, name) in
            [("", ""), ("sntrup761:", ""), ("sntrup761:X25519", "X25519"), ("All", "All")]
        {
            assert_eq!(names(wrong), Err(name), "{wrong}");
        }
        let default: Vec<_> = default_groups().iter().map(|group| group.name).collect();
        assert_eq!(default, RECOMMENDED_GROUPS);
    }

    #[test]
    fn the_groups_of_applications_are_offered() {
        for (list, value) in [
            ("", "X25519MLKEM768:sntrup761:X25519SNTRUP761"),
            ("X25519:P-256", "X25519MLKEM768:sntrup761:X25519SNTRUP761"),
            ("*SNTRUP857 / DEFAULT:-X25519", "X25519MLKEM768:sntrup761:sntrup857:X25519SNTRUP761"),
            (
                "?X25519SNTRUP1277:sntrup653",
                "X25519MLKEM768:sntrup653:sntrup761:X25519SNTRUP761:X25519SNTRUP1277",
            ),
        ] {
            assert_eq!(groups_for(list), value, "{list}");
            assert!(groups(&groups_for(list)).is_ok());
        }
    }
}
