//! Compares this crate's reading of configurations with the reading of the installed OpenSSL.
//!
//! The tests compile `oracle.c` for it, with gcc and OpenSSL's headers. The variable `CONF_ORACLE`
//! names an oracle that was compiled elsewhere, for a comparison with another OpenSSL.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use artifacts::Numbers;
use common::{ENVIRONMENT, env, skipped, write};
use openssl_conf::{
    Addition, Base, Config, GroupSyntax, Interpretation, Release, compose, split_groups,
};

struct Oracle {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl Oracle {
    /// Compiles the oracle. Returns `None`, after a message with the reason, if this is impossible.
    fn new() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        if let Some(path) = std::env::var_os("CONF_ORACLE") {
            return Some(Self { path: path.into(), _directory: directory });
        }
        let path = directory.path().join("oracle");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle.c");
        let built = Command::new("gcc")
            .arg("-o")
            .arg(&path)
            .arg(source)
            .args(["-lssl", "-lcrypto"])
            .output()
            .is_ok_and(|output| output.status.success());
        if !built {
            skipped("oracle.c needs gcc and the headers of OpenSSL 3 (libssl-dev)");
            return None;
        }
        Some(Self { path, _directory: directory })
    }

    fn run(&self, config: &Path, arguments: &[&str]) -> Vec<String> {
        let output = Command::new(&self.path)
            .env_clear()
            .envs(ENVIRONMENT)
            .env("OPENSSL_CONF", config)
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    fn release(&self) -> Release {
        Release::parse(&self.run(Path::new("/dev/null"), &["version"])[0]).unwrap()
    }
}

type Sections = BTreeMap<String, Vec<(String, String)>>;

fn from_hex(text: &str) -> String {
    let bytes = text.as_bytes()[1..].chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    String::from_utf8_lossy(&bytes.map(byte).collect::<Vec<u8>>()).into_owned()
}

/// Returns the sections that OpenSSL reads from each of the files; `None` for a file that it
/// refuses.
fn theirs(oracle: &Oracle, files: &[PathBuf]) -> Vec<Option<Sections>> {
    let mut arguments = vec!["conf"];
    arguments.extend(files.iter().map(|file| file.to_str().unwrap()));
    let mut all: Vec<Option<Sections>> = Vec::new();
    let mut section = String::new();
    for line in oracle.run(Path::new("/dev/null"), &arguments) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["file"] => all.push(Some(Sections::new())),
            ["refused"] => *all.last_mut().unwrap() = None,
            ["section", name] => {
                section = from_hex(name);
                all.last_mut().unwrap().as_mut().unwrap().insert(section.clone(), Vec::new());
            }
            ["setting", key, value] => {
                let sections = all.last_mut().unwrap().as_mut().unwrap();
                sections.get_mut(&section).unwrap().push((from_hex(key), from_hex(value)));
            }
            _ => panic!("{line}"),
        }
    }
    assert_eq!(all.len(), files.len());
    all
}

fn ours(file: &Path) -> Result<Sections, String> {
    let config = Config::load(file, &env).map_err(|error| error.to_string())?;
    let settings = |section: &openssl_conf::Section| {
        let entries = section.entries();
        entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect()
    };
    Ok(config.sections().map(|section| (section.name().to_owned(), settings(section))).collect())
}

/// Compares our reading with OpenSSL's, and returns the number of files that OpenSSL accepts.
fn compare(oracle: &Oracle, files: &[PathBuf]) -> usize {
    let mut accepted = 0;
    for (file, theirs) in files.iter().zip(theirs(oracle, files)) {
        let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        match (ours(file), theirs) {
            (Ok(ours), Some(theirs)) => assert_eq!(ours, theirs, "{text:?}"),
            (Err(_), None) => continue,
            (Ok(ours), None) => panic!("OpenSSL refuses {text:?}, which we read as {ours:?}"),
            (Err(error), Some(theirs)) => panic!("{error}: OpenSSL reads {text:?} as {theirs:?}"),
        }
        accepted += 1;
    }
    accepted
}

/// Writes files that others include: `i.cnf`, a directory `d`, and `d2`, which includes `d`.
fn included(directory: &Path) {
    let at = directory.display();
    write(directory, "i.cnf", "a = from i\n[i]\nb = $a");
    write(directory, "d/1.cnf", format!("[one]\na = 1\n.include {at}/i.cnf\nb = 1\n"));
    write(directory, "d/2.conf", "a = 2\n[two]\nb = 2");
    write(directory, "d/3.CNF", format!("a = 3\n.include {at}/d2\nb = 3"));
    write(directory, "d/4.txt", "a = 4\nc = 4");
    write(directory, "d2/1.cnf", format!("[five]\na = 5\n.include {at}/d\n"));
}

#[test]
fn tricky_files() {
    let Some(oracle) = Oracle::new() else { return };
    let directory = tempfile::tempdir().unwrap();
    included(directory.path());
    let at = directory.path().display().to_string();
    let long = |count: usize| "x".repeat(count);
    let mut texts: Vec<String> = [
        "",
        "\n\n",
        "\u{feff}a = 1",
        "\u{feff}",
        "a = 1\n\u{feff}b = 2",
        "a",
        "a b = c",
        "= 1",
        "a=",
        "::a = 1",
        "s:: = 1",
        "s::a::b = 1",
        "s ::a = 1",
        "s:: a = 1",
        "a:b = 1",
        "[",
        "[]",
        "[ ]",
        "[ a b\tc ]",
        "[a]]",
        "[a]x",
        "[a\\]b]\nc = 1",
        "[$a]",
        "[\"a\"]",
        "[a:b]",
        "[a\\$b]\nc = 1",
        "[\u{e9}]",
        "[\\\u{e9}]\na = 1",
        "[a\\ ]\nb = 1",
        "a\\=b = 1",
        "a\\ = 1",
        "a\\",
        "a = \\",
        "a = \\\\",
        "a = \\\\\\",
        "a = \\\\\nb = 1",
        "a = b\\\nc = 1",
        "a = b\\",
        "a = b\\\n",
        "a = b\\\r\nc\r\n",
        "# c\\\na = 1\nb = 2",
        "a = 'b # c",
        "a = it's\nb = `it's",
        "a = \"b\"\"c\"",
        "a = 'b\\'c'd\"e\\\"f\"",
        "a = \\r\\n\\b\\t\\x\\#",
        "a = \"\\n\"",
        "a = b # c",
        "a = b#c",
        "\t # x\n \ta\t=\tb\t\n",
        "a = 1\nb = $a$a",
        "a = 1\nb = ${a}x$(a)x",
        "a = 1\nb = $ax",
        "a = 1\nb = $a.x",
        "a = 1\nb = ${a",
        "a = 1\nb = ${a)",
        "a = 1\nb = ${ a }",
        "a = $",
        "a = $$",
        "a = ${}",
        " = 1\na = ${}$",
        "a = $ENV::HOME",
        "a = ${ENV::ODD}x",
        "a = $ENV::NOPE",
        "a = 1\n[ENV]\nb = $HOME$a",
        "[ENV]\nHOME = x\na = $HOME",
        "a = x$ENV::EMPTY",
        "a = $default::a",
        "a = 1\n[s]\na = 2\n[t]\nb = $s::a$t::a$a",
        "[s]\na = 1\n[t]\ns::b = $a",
        "[s]\na = 1\ndefault::b = $s::a",
        "a = 1\na = 2\nb = 3\na = 4",
        "[s]\na = 1\n[default]\nb = 2\n[s]\nb = 3\na = 4",
        "a = '$b'\nc = \\$b",
        ".pragma dollarid:on\na$b = 1\nc = $a$b${a$b}$(a$b)\n[x$y]\nz = $\n",
        ".pragma dollarid:on\na = 1\nb = $a::c",
        ".pragma=dollarid:true\na = $b",
        ".pragma = dollarid : off\na = $b",
        ".pragma dollarid:On\na = $b",
        ".pragma dollarid:1",
        ".pragma dollarid",
        ".pragma",
        ".pragma ",
        ".pragma :on",
        ".pragma a:",
        ".pragma a: ",
        ".pragma a:b:c",
        ".pragmax dollarid:on\na = $b",
        ".pragma\"dollarid:on",
        "s::.pragma dollarid:on\na = $b",
        ".include",
        ".include ",
        ".include =",
        ".include x y",
        ".includex = 1\na = 1",
        "x.include = 1",
        ".include/x\na = 1",
        ".include $a",
        ".pragma abspath:on\n.include x",
        ".pragma abspath:on\n.include /x",
        ".pragma abspath:off\n.include x",
        "a = 1;b\n;c = 2",
        "a = !%&*+,-./;?@^|~",
        "a = \u{e9}\u{fc}",
        "a = \u{1}\u{7f}",
        "a\u{b}= 1",
        "\u{c}a = 1",
        "a = 1\u{b}",
        "a = b\rc\nd = 1\r\r\n",
        "\r\na = 1",
        "a = 1\r",
        "[s]\r\na = 1",
    ]
    .map(str::to_owned)
    .into();
    for text in [
        "a = 0\n.include {}/i.cnf\nc = $b",
        ".include = \"{}/i.cnf\"\nc = 1",
        "f = {}/i.cnf\n.include $f\nc = 1",
        "[s]\nf = {}/i.cnf\n[t]\ns::.include $f\nc = 1",
        ".include {}/d\nc = $a",
        ".include {}/d2\nc = $a",
        "[s]\n.include {}/d\n.include {}/d\n.include {}/d2\nc = 1",
        ".pragma includedir:{}\n.include i.cnf\n.include d",
        ".pragma includedir:{}/\n.pragma abspath:on\n.include i.cnf",
        ".include {}/i.cnf # x\n.include {}/missing\nc = 1",
        ".pragma includedir:{}/d\n.include\t\nc = 1",
        ".pragma includedir:{}/d\n.include/x = 1\nc = 1",
    ] {
        texts.push(text.replace("{}", &at));
    }
    for count in 500..520 {
        texts.push(format!("a = {}\nb = 1", long(count)));
        texts.push(format!("a = {}\\\nb = 1", long(count)));
        texts.push(format!("a = {}\r\nb = 1", long(count)));
        texts.push(format!("a = {}\\\\\r\nb = 1", long(count)));
    }
    for count in [32_767, 32_768, 65_520, 65_530, 65_536, 65_540] {
        texts.push(format!("a = {}\nb = $a", long(count)));
        texts.push(format!("a = {}\nb = $a${{a}}y", long(count)));
    }
    let name = |number: usize| format!("t{number}");
    let files: Vec<PathBuf> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| write(directory.path(), &name(number), text))
        .collect();
    let accepted = compare(&oracle, &files);
    assert!(accepted > files.len() / 2, "{accepted} of {}", files.len());
}

#[test]
fn random_files() {
    let Some(oracle) = Oracle::new() else { return };
    let directory = tempfile::tempdir().unwrap();
    included(directory.path());
    let at = directory.path().display().to_string();
    let long = "x".repeat(250);
    let lines = [
        "[s]\n",
        "[ t ]\n",
        "[ENV]\n",
        "a = 1\n",
        "s::b = 2\n",
        "c = $a\n",
        "d = ${s::b}\n",
        "e = 'q' # c\n",
        ".pragma dollarid:on\n",
        ".pragma dollarid:off\n",
        "HOME = 1\n",
        "f = $ENV::HOME\n",
    ];
    let includes = [
        format!(".include {at}/i.cnf\n"),
        format!(".include {at}/d\n"),
        format!("g = {long}{long}\n"),
    ];
    let pieces = [
        "[",
        "]",
        "=",
        " = ",
        "::",
        "$",
        "${",
        "$(",
        "}",
        ")",
        "\\",
        "\\\n",
        "\n",
        "\r\n",
        "\r",
        "\"",
        "'",
        "`",
        "#",
        " ",
        "\t",
        "a",
        "b",
        "s",
        "t",
        "ENV",
        "HOME",
        "default",
        ":",
        ".",
        "n",
        "\u{e9}",
        ".include ",
        &long,
    ];
    let mut numbers = Numbers::new(3);
    let mut files = Vec::new();
    for number in 0..3000 {
        let mut text = String::from("a = 0\n");
        for _ in 0..1 + numbers.below(12) {
            match numbers.below(12) {
                0..6 => text += numbers.pick(&lines),
                6 => text += numbers.pick(&includes),
                kind => {
                    text += if kind < 11 { "k = " } else { "" };
                    for _ in 0..numbers.below(6) {
                        text += numbers.pick(&pieces);
                    }
                    text += numbers.pick(&["\n", "\n", "\n", "\\\n", "", "]\n"]);
                }
            }
        }
        files.push(write(directory.path(), &format!("r{number}"), text));
    }
    let accepted = compare(&oracle, &files);
    assert!(accepted > 500, "only {accepted} were accepted");
}

#[test]
fn active_providers() {
    let Some(oracle) = Oracle::new() else { return };
    let release = oracle.release();
    let directory = tempfile::tempdir().unwrap();
    let list = |text: &str| format!("openssl_conf = i\n[i]\nproviders = p\n[p]\n{text}");
    let mut texts = vec![
        String::new(),
        "[i]\nproviders = p".to_owned(),
        "openssl_conf = i".to_owned(),
        "openssl_conf = i\n[i]\nproviders = p".to_owned(),
        list(""),
        list("default = d"),
        list("default = d\n[d]"),
        list("default = d\n[d]\nactivate = 1"),
        list("null = n\ndefault = d\nbase = b\n[n]\nactivate = 1\n[b]\nactivate = 1"),
        list("1.base = b\n[b]\nx.activate = 1"),
        list("other = b\n[b]\nidentity = base\nactivate = yes"),
        list("base = b\nnull = b\n[b]\nactivate = 1"),
        list("base = b\n1.base = c\nnull = c\n[b]\n[c]\nactivate = on"),
        list("base = b\n[b]\nactivate = 1\nx = c\n[c]\ny = z\n"),
        list("base = b\n[b]\nactivate = 1\nsoft_load = maybe"),
        list("base = b\n[b]\n1.activate = 1\n2.activate = 0"),
        list("base = b\nnull = n\n[b]\nidentity = base\n[n]\nactivate = 1"),
    ];
    for value in ["0", "1", "no", "YES", "Yes", "true", "FALSE", "on", "off", "2", "", "enabled"] {
        texts.push(list(&format!(
            "null = n\nbase = b\n[b]\nactivate = {value}\n[n]\nactivate = {value}"
        )));
    }
    for module in [
        "oid_section = x",
        "oid_section = b",
        "stbl_section = x",
        "engines = b",
        "engines = x",
        "alg_section = x",
        "alg_section = a",
        "alg_section = f",
        "alg_section = g",
        "ssl_conf = x",
        "ssl_conf = b",
        "ssl_conf = s",
        "ssl_conf = t",
        "random = x",
        "random = b",
        "unknown = b",
        "o = b",
        "provid = p",
        "providers.2 = q",
        "r.x = b",
        "oid_section.1.2 = b",
        "providersx = q",
    ] {
        texts.push(format!(
            "openssl_conf = i\n[i]\n{module}\nproviders = p\n[p]\nbase = c\n[q]\nnull = c\n[c]\nactivate = 1\n[b]\n[a]\n\
             default_properties = ?x=y\n[f]\nfips_mode = no\n[g]\nfips_mode = off\n[s]\nserver = b\n[t]\nserver = c\n"
        ));
    }
    for (number, text) in texts.iter().enumerate() {
        let path = write(directory.path(), &format!("{number}.cnf"), text);
        let config = Config::load(&path, &env).unwrap();
        let found = Interpretation::new(&config, release);
        let mut ours = found.active_providers();
        let mut theirs = oracle.run(&path, &["active"]);
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs, "{text}\n{:?}", found.problems);
    }
}

#[test]
fn composed_configurations() {
    let Some(oracle) = Oracle::new() else { return };
    let release = oracle.release();
    let directory = tempfile::tempdir().unwrap();
    let bases = [
        "openssl_conf = openssl_init\n[openssl_init]\n# providers = provider_sect\n",
        "",
        "openssl_conf = i\n[i]\nproviders = p\nssl_conf = s\n[p]\ndefault = d\n[d]\nactivate = 1\n[s]\n\
         system_default = t\nother = t\n[t]\nMinProtocol = TLSv1.3\nCurves = P-384\n",
        "openssl_conf = i\n[i]\nssl_conf = s\n[s]\nsystem_default = t\n[t]\nMinProtocol = TLSv1.3\nGroups = P-384",
        "openssl_conf = i\n[i]\nproviders = p\n[p]\ndefault = d\n1.base = b\n[b]\nmodule = old.so\n",
        ".pragma dollarid:on\nopenssl_conf = 'a b$c'\n[a b$c]\nssl_conf = \"\"\n[]\nsystem_default = t]\n[t\\]]\n\
         MinProtocol = TLSv1.3\n",
    ];
    for (number, text) in bases.iter().enumerate() {
        // `base` takes the place of our provider: it is built in, so that the path of its module
        // has no effect.
        let addition = Addition {
            release,
            provider: "base",
            module: Some(Path::new("/a $module \"of\" #ours\\")),
            keys: &[],
            groups: Some("P-521:X25519"),
            properties: Some("?provider=ours"),
        };
        let path = write(directory.path(), &format!("base $x #{number}'\"\\.cnf"), text);
        let base = Config::load(&path, &env).unwrap();
        let composed = compose(Some(Base { config: &base, path: &path }), &addition).unwrap();
        let path = write(directory.path(), &format!("composed{number}.cnf"), &composed);
        compare(&oracle, std::slice::from_ref(&path));
        let mut active = oracle.run(&path, &["active"]);
        active.sort_unstable();
        assert_eq!(active, ["base", "default"], "{composed}");
        let tls = oracle.run(&path, &["tls"]);
        assert_eq!(tls[1..], ["group 0019", "group 001d"], "{composed}");
        let lowest = if text.contains("TLSv1.3") { "lowest 772" } else { "lowest " };
        assert!(tls[0].starts_with(lowest), "{tls:?}\n{composed}");
    }
}

#[test]
fn lists_of_groups() {
    let Some(oracle) = Oracle::new() else { return };
    let syntax = oracle.release().group_syntax();
    let mut lists: Vec<String> = [
        "",
        " ",
        "X25519",
        " X25519 : P-256\t",
        ":X25519",
        "X25519:",
        "X25519::P-256",
        "X25519:P-256:X25519",
        "?X25519",
        "??X25519:P-256",
        "?nope:X25519",
        "nope",
        "*X25519",
        "*X25519:P-256",
        "X25519/P-256",
        "X25519 / P-256",
        "X25519//P-256",
        "/X25519",
        "X25519/",
        "?*X25519",
        "*?X25519",
        "**X25519",
        "X25519:-X25519",
        "--X25519:P-256",
        "DEFAULT",
        "default",
        "*DEFAULT",
        "?DEFAULT",
        "-DEFAULT",
        "X25519:DEFAULT_SUITE_B",
        "*",
        "?",
        "-",
        "X25519:*",
        "*X25519:*P-256:*P-384:*P-521",
        "*X25519:*P-256:*P-384:*P-521:*X448",
        "*X25519:*P-256:*P-384:*P-521:*X448:-X25519",
        "*X25519:*P-256:*P-384:*P-521:*X25519",
    ]
    .map(str::to_owned)
    .into();
    lists.push("A".repeat(63));
    lists.push(format!("?{}:X25519", "A".repeat(64)));
    let mut arguments = vec!["groups"];
    arguments.extend(lists.iter().map(String::as_str));
    let theirs = oracle.run(Path::new("/dev/null"), &arguments);
    assert_eq!(theirs.len(), lists.len());
    for (list, theirs) in lists.iter().zip(theirs) {
        if syntax == GroupSyntax::Optional && (list == "?" || list.starts_with("??")) {
            continue; // OpenSSL ignores these; we refuse them
        }
        let ours = split_groups(list, syntax);
        // Our code does not know whether a group exists, nor whether any group of the list does.
        let exists = |name: &str| !["nope", "DEFAULT"].contains(&name) && !name.starts_with('A');
        let tuples = syntax == GroupSyntax::Tuples;
        let accepted = ours.as_ref().is_ok_and(|groups| {
            groups.iter().all(|g| g.optional || g.built_in_list || exists(&g.name))
                && (tuples || groups.iter().any(|g| exists(&g.name)))
        });
        assert_eq!(accepted, theirs == "accepted", "{list:?} {ours:?}");
    }
}

/// Tests the program `openssl` with a composed configuration; `legacy` takes the place of our
/// provider.
#[test]
fn the_program_openssl() {
    let openssl = |config: &Path, arguments: &[&str]| {
        let output = Command::new("openssl").env("OPENSSL_CONF", config).args(arguments).output();
        output.ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let null = Path::new("/dev/null");
    let Some(version) = openssl(null, &["version", "-v", "-m", "-d"]) else {
        skipped("no program openssl is installed");
        return;
    };
    let field = |name: &str| {
        let line = version.lines().find(|line| line.starts_with(name))?;
        Some(PathBuf::from(line.split('"').nth(1)?))
    };
    let module = field("MODULESDIR").map(|directory| directory.join("legacy.so"));
    let Some(module) = module.filter(|module| module.exists()) else {
        skipped("the module legacy.so of OpenSSL is not installed");
        return;
    };
    let release = Release::parse(&version).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut bases = vec![write(directory.path(), "empty.cnf", "")];
    bases.extend(field("OPENSSLDIR").map(|home| home.join("openssl.cnf")).filter(|p| p.exists()));
    for path in bases {
        let env = |name: &str| std::env::var(name).ok();
        let base = Config::load(&path, &env).unwrap();
        let addition = Addition {
            release,
            provider: "legacy",
            module: Some(&module),
            keys: &[],
            groups: Some("X25519"),
            properties: Some("?provider=ours"),
        };
        let composed = compose(Some(Base { config: &base, path: &path }), &addition).unwrap();
        let path = write(directory.path(), "composed.cnf", &composed);
        let providers = openssl(&path, &["list", "-providers"]).unwrap();
        let listed = |name: &str| providers.lines().any(|line| line.trim() == name);
        assert!(listed("default") && listed("legacy"), "{providers}\n{composed}");
    }
}
