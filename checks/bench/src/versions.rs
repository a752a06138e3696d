//! Versions of the measured implementations, from the lock file of the build.

/// The crates that are measured, or that contain a measured library.
const MEASURED: &[&str] = &[
    "aws-lc-rs",
    "aws-lc-sys",
    "ed25519-dalek",
    "graviola",
    "libcrux-ml-kem",
    "ml-kem",
    "oqs",
    "oqs-sys",
    "pqcrypto-ntruprime",
    "rustls",
    "sntrup",
    "sntrup761",
    "x25519-dalek",
];

/// Crates that are built only with a feature, and whether they were.
const OPTIONAL: &[(&str, bool)] = &[
    ("aws-lc-rs", cfg!(feature = "handshakes")),
    ("aws-lc-sys", cfg!(feature = "handshakes")),
    ("oqs", cfg!(feature = "peers")),
    ("oqs-sys", cfg!(feature = "peers")),
    ("rustls", cfg!(feature = "handshakes")),
];

/// Returns name and version of fastkex and of each crate that this program measures.
pub fn measured() -> Vec<(String, String)> {
    let packages = packages(include_str!("../Cargo.lock"));
    let ours = packages.iter().find(|package| !package.is_foreign && package.name == "sntrup");
    let ours = ours.map(|package| ("fastkex".into(), package.version.clone()));
    let peers = packages.iter().filter(|package| {
        let built = !OPTIONAL.contains(&(&*package.name, false));
        package.is_foreign && MEASURED.contains(&&*package.name) && built
    });
    ours.into_iter()
        .chain(peers.map(|package| (package.name.clone(), package.version.clone())))
        .collect()
}

struct Package {
    name: String,
    version: String,
    /// True for a crate from a registry.
    is_foreign: bool,
}

fn packages(lock: &str) -> Vec<Package> {
    let package = |text: &str| {
        Some(Package {
            name: value(text, "name")?,
            version: value(text, "version")?,
            is_foreign: value(text, "source").is_some(),
        })
    };
    lock.split("[[package]]").filter_map(package).collect()
}

fn value(package: &str, key: &str) -> Option<String> {
    let mut lines = package.lines().filter_map(|line| line.split_once(" = "));
    lines.find(|(name, _)| *name == key).map(|(_, value)| value.trim_matches('"').into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_has_one_version() {
        let all = packages(include_str!("../Cargo.lock"));
        for name in MEASURED {
            let found = all.iter().filter(|package| package.is_foreign && package.name == *name);
            let versions: Vec<_> = found.map(|package| &package.version).collect();
            assert_eq!(versions.len(), 1, "{name}: {versions:?}");
        }
        let expected = MEASURED.len() - OPTIONAL.iter().filter(|(_, built)| !built).count();
        assert_eq!(measured().len(), 1 + expected);
        assert_eq!(measured()[0].0, "fastkex");
    }
}
