//! Compares the folder layout with `docs/architecture.md`: the dependencies between crates, and the
//! crates with unsafe code.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The folders of the workspace, lowest first. A crate may use crates in its own folder and in
/// lower ones. `checks`, with tools that tests and demonstrations use, comes before `lab`, which
/// uses it.
const FOLDERS: [&str; 6] = ["base", "crypto", "module", "tool", "checks", "lab"];

/// Higher crates that tests in any folder may use: they load a module into stock libraries, and run
/// stock programs.
const HARNESSES: [&str; 2] = ["openssl-runtime", "testbed"];

/// Returns true for crates that may hold unsafe code: SIMD, memory that the kernel treats specially
/// or that processes share, and the boundary to C.
fn is_fenced(name: &str) -> bool {
    ["lanes", "fork", "keypool", "secret"].contains(&name)
        || name.ends_with("-capi")
        || name.starts_with("openssl-")
}

fn packages(manifest: &Path) -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn all_packages() -> Vec<Value> {
    let root = artifacts::root();
    [
        "Cargo.toml",
        "checks/bench/Cargo.toml",
        "checks/fuzz/Cargo.toml",
        "checks/matrix/Cargo.toml",
        "checks/peers/Cargo.toml",
    ]
    .into_iter()
    .map(|manifest| root.join(manifest))
    .filter(|manifest| manifest.exists())
    .flat_map(|manifest| packages(&manifest))
    .collect()
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns the index in [`FOLDERS`] of the folder that holds a crate.
fn level(crate_folder: &Path) -> usize {
    let folder = crate_folder.parent().and_then(Path::file_name).unwrap();
    FOLDERS
        .iter()
        .position(|other| folder == *other)
        .unwrap_or_else(|| panic!("{} is in no folder of the layout", crate_folder.display()))
}

/// Returns true if a crate of one level may use another crate.
fn is_allowed(own: usize, other: &str, theirs: usize, is_for_tests: bool) -> bool {
    let is_check = FOLDERS[theirs] == "checks";
    theirs <= own || is_for_tests && (is_check || HARNESSES.contains(&other))
}

#[test]
fn dependencies_point_downwards() {
    for package in packages(&artifacts::root().join("Cargo.toml")) {
        let name = name(&package);
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let own = level(manifest.parent().unwrap());
        for dependency in package["dependencies"].as_array().unwrap() {
            // Only crates of the workspace have a path.
            let Some(path) = dependency["path"].as_str() else { continue };
            let other = dependency["name"].as_str().unwrap();
            let theirs = level(Path::new(path));
            assert!(
                is_allowed(own, other, theirs, dependency["kind"] == "dev"),
                "{name} ({}) must not use {other} ({})",
                FOLDERS[own],
                FOLDERS[theirs]
            );
        }
    }
}

#[test]
fn levels_are_those_of_the_folders() {
    let at = |folder: &str| level(&Path::new("/root").join(folder).join("some-crate"));
    let (base, module, tool) = (at("base"), at("module"), at("tool"));
    let (checks, lab) = (at("checks"), at("lab"));
    assert!(is_allowed(module, "secret", base, false) && is_allowed(tool, "timer", tool, false));
    assert!(is_allowed(lab, "artifacts", checks, false));
    assert!(!is_allowed(base, "keypool", module, false));
    assert!(!is_allowed(tool, "figures", lab, false) && !is_allowed(tool, "figures", lab, true));
    // Tests may use `checks` and harnesses.
    assert!(!is_allowed(tool, "artifacts", checks, false));
    assert!(is_allowed(tool, "artifacts", checks, true));
    assert!(is_allowed(module, "openssl-runtime", tool, true));
    assert!(!is_allowed(module, "openssl-runtime", tool, false));
}

/// Returns the lines of code of a package, without comments, each with its place.
fn lines_of_code(package: &Value) -> Vec<(String, String)> {
    let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
    let mut files = Vec::new();
    sources(folder, &mut files);
    assert!(!files.is_empty());
    let mut lines = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default().to_owned();
            lines.push((format!("{}:{}", file.display(), number + 1), code));
        }
    }
    lines
}

#[test]
fn unsafe_code_stays_inside_its_fence() {
    for package in all_packages().iter().filter(|package| !is_fenced(name(package))) {
        for target in package["targets"].as_array().unwrap() {
            let kinds = target["kind"].as_array().unwrap();
            if kinds.iter().any(|kind| kind == "lib" || kind == "bin") {
                let root = target["src_path"].as_str().unwrap();
                let text = fs::read_to_string(root).unwrap();
                let forbids = text.contains("#![forbid(unsafe_code)]");
                assert!(forbids, "{root} does not forbid unsafe code");
            }
        }
        for (place, code) in lines_of_code(package) {
            let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
            let holds = words.any(|word| word == "unsafe") && !code.contains('"');
            assert!(!holds, "{place}: unsafe code outside of the fence: {code}");
        }
    }
}

/// Crates whose values are secret.
const WITH_SECRETS: [&str; 14] = [
    "curve25519",
    "fastkex-rustls",
    "kem-capi",
    "kem-common",
    "kex",
    "keypool",
    "mlkem",
    "mlkem-capi",
    "openssl-engine",
    "openssl-provider",
    "random",
    "secret",
    "sntrup",
    "sntrup-capi",
];

/// Types that a `Vec` may hold in these crates: public values, and owners of secrets, which hold
/// only a pointer to them.
const IN_VECTORS: [&str; 32] = [
    "&'static TlsGroup",
    "&'static str",
    "&str",
    "&[u8]",
    "Algorithm",
    "Arc<dyn AnyPool>",
    "Box<dyn PooledGroup>",
    "CString",
    "Dispatch",
    "ErrorString",
    "KeyPair",
    "KeyPair<K>",
    "KeyPair<P>",
    "KeyPair<Self>",
    "OfGroup",
    "PreparedEncapsulation<P>",
    "PreparedEncapsulation<Self>",
    "PublicKey",
    "Record",
    "Result<SharedSecret, Error>",
    "Secret",
    "SecretKey",
    "Self",
    "Self::Item",
    "Self::PreparedEncapsulation",
    "Self::Secret",
    "SharedSecret",
    "SigningKey",
    "VerifyingKey",
    "Weak<dyn AnyPool>",
    "X::Secret",
    "u16",
];

/// Returns a file's text without its tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

/// Checks that no `Vec` holds secrets inline. It would copy them when it grows and when it is taken
/// apart, and its freed memory would keep them.
#[test]
fn no_vector_holds_inline_secrets() {
    let mut wrong = Vec::new();
    for package in all_packages().iter().filter(|package| WITH_SECRETS.contains(&name(package))) {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        for file in files {
            let place = file.display().to_string();
            if ["/proof/", "tests.rs", "/every_set.rs"].iter().any(|part| place.contains(part)) {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            let lines: Vec<_> = without_tests(&text).lines().collect();
            for (number, line) in lines.iter().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                let holds = vectors(code).into_iter().find(|held| !IN_VECTORS.contains(&&held[..]));
                // A comment on this line or the next may declare bytes public, with the reason.
                let next = lines.get(number + 1).copied().unwrap_or_default();
                let is_public = [line, next].iter().any(|line| line.contains("// Public:"));
                if let Some(held) = holds
                    && !is_public
                {
                    wrong.push(format!("{place}:{}: {held}: {}", number + 1, code.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "vectors that may hold inline secrets:\n{}", wrong.join("\n"));
}

/// Returns the types that a line's vectors hold, or a description if the line does not name the
/// type.
fn vectors(code: &str) -> Vec<String> {
    let mut held = Vec::new();
    for (at, _) in code.match_indices("Vec") {
        let of_a_word = |c: char| c.is_alphanumeric() || c == '_';
        let rest = &code[at + "Vec".len()..];
        if code[..at].ends_with(of_a_word) || rest.starts_with(of_a_word) {
            continue;
        }
        let rest = rest.strip_prefix("::").unwrap_or(rest);
        let Some(inside) = rest.strip_prefix('<') else {
            held.push("a vector of an unnamed type".to_owned());
            continue;
        };
        let mut depth = 1;
        let end = inside.char_indices().find(|&(_, c)| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0
        });
        held.push(inside[..end.map_or(inside.len(), |(at, _)| at)].to_owned());
    }
    for call in ["vec![", ".to_vec()", ".concat()", "Zeroizing<Box<["] {
        if code.contains(call) {
            held.push(format!("`{call}`"));
        }
    }
    held
}

#[test]
fn vectors_are_found() {
    assert_eq!(vectors("let a: Vec<Fe> = b.collect();"), ["Fe"]);
    assert_eq!(vectors("-> Result<Vec<KeyPair<P>>, Error> {"), ["KeyPair<P>"]);
    assert_eq!(vectors("Vec::<Point>::with_capacity(2)"), ["Point"]);
    assert_eq!(vectors("let mut a = Vec::with_capacity(2);"), ["a vector of an unnamed type"]);
    assert_eq!(vectors("Zeroizing::new(vec![0; 32])"), ["`vec![`"]);
    assert_eq!(vectors("a.to_vec()"), ["`.to_vec()`"]);
    assert!(vectors("let a = MyVec::new(b, Vector::new());").is_empty());
}

/// A configured backend governs every operation: crates between the configuration and the kernels
/// do not choose a backend.
#[test]
fn backends_are_passed_on() {
    let chosen = [
        "Backend::best()",
        "PublicKey::from_bytes(",
        "SecretKey::from_bytes(bytes)?",
        "EncapsulationKey::from_bytes(",
        "DecapsulationKey::from_bytes(",
    ];
    let places = ["kex", "keypool", "openssl-provider"];
    for package in all_packages().iter().filter(|package| places.contains(&name(package))) {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        // This file holds the default.
        files.retain(|file| !file.ends_with("config.rs"));
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let lines = without_tests(&text).lines();
            let code: String = lines.filter_map(|line| line.split("//").next()).collect();
            let found = chosen.iter().find(|call| code.contains(**call));
            assert!(found.is_none(), "{}: {found:?} chooses a backend", file.display());
        }
    }
}

#[test]
fn intrinsics_stay_in_lanes() {
    let intrinsics = ["core::arch", "std::arch"];
    for package in all_packages().iter().filter(|package| name(package) != "lanes") {
        for (place, code) in lines_of_code(package) {
            let holds = intrinsics.iter().any(|path| code.contains(path)) && !code.contains('"');
            assert!(!holds, "{place}: intrinsics outside of lanes: {code}");
        }
    }
}

#[test]
fn every_dependency_is_explained() {
    let text = fs::read_to_string(artifacts::root().join("docs/dependencies.md")).unwrap();
    for package in all_packages() {
        for dependency in package["dependencies"].as_array().unwrap() {
            if !dependency["path"].is_null() {
                continue;
            }
            let other = dependency["name"].as_str().unwrap();
            assert!(
                text.contains(&format!("| {other} |")),
                "docs/dependencies.md has no line for {other}, which {} uses",
                name(&package)
            );
        }
    }
}
