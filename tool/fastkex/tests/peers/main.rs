//! Tests with other TLS stacks, as clients and as servers: both ends of a connection to stock
//! OpenSSL with the module report the group, and X25519 without the module.

#[path = "../common/counts.rs"]
mod counts;
mod ends;
#[path = "../common/words.rs"]
mod words;

use std::path::{Path, PathBuf};

use counts::{Purpose, taken};
use ends::{End, FALLBACK, Report, Scene, connect, found_groups};
use kex::{TLS_GROUPS, TlsGroup, group_named};
use words::{in_java_log, in_node_trace, in_python_messages};

/// Set by `make test-peers`, which has installed the peers. A missing peer is then a failure, and
/// the connections are listed.
const ALL: &str = "FASTKEX_TEST_PEERS";

/// The group of most peers.
const USUAL: &str = "X25519MLKEM768";

/// An implementation of TLS that is not ours.
struct Peer {
    end: End,
    /// The groups of ours that it has itself.
    groups: Vec<&'static TlsGroup>,
}

impl Peer {
    /// Connects it in both directions to OpenSSL with the module, by each of its groups.
    fn run(&self, scene: &Scene) {
        let Some(ours) = Ours::find(scene) else { return };
        let usual = group_named(USUAL).unwrap();
        let has_none = self.groups.is_empty();
        if has_none {
            let line = format!("{} has none of the groups: {FALLBACK} is tested", self.end.name);
            artifacts::say(&line);
        }
        let groups = if has_none { vec![usual] } else { self.groups.clone() };
        for group in groups {
            let found = found_groups(scene, &self.end, group);
            let expected = if has_none { FALLBACK } else { group.name };
            let has_it = found.iter().any(|name| name == expected);
            assert!(has_it, "fastkex check {}, {expected}: {found:?}", self.end.name);
            for with_module in [true, false] {
                // The groups without the module do not depend on the first choice.
                if !with_module && (has_none || group != usual) {
                    continue;
                }
                let expected = match with_module {
                    _ if has_none => FALLBACK,
                    true => group.name,
                    false => ours.without(group.name),
                };
                for server in &ours.servers {
                    let server = Side::new(scene, server, group, with_module);
                    check(scene, &server, &Side::peer(&self.end), group, expected);
                }
                for client in &ours.clients {
                    let client = Side::new(scene, client, group, with_module);
                    check(scene, &Side::peer(&self.end), &client, group, expected);
                }
            }
        }
    }
}

/// One end of a connection, and whether it has the module.
struct Side {
    end: End,
    has_module: bool,
    is_ours: bool,
}

impl Side {
    fn peer(end: &End) -> Side {
        Side { end: end.clone(), has_module: false, is_ours: false }
    }

    fn new(scene: &Scene, end: &End, group: &TlsGroup, has_module: bool) -> Side {
        let text = if has_module { scene.configuration(group) } else { String::new() };
        Side { end: end.configured(text), has_module, is_ours: true }
    }

    fn name(&self) -> String {
        let with = if self.has_module { " with the module" } else { "" };
        format!("{}{with}", self.end.name)
    }
}

/// Connects two ends and checks the group that each of them reports, and that the module took part
/// where it should have.
fn check(scene: &Scene, server: &Side, client: &Side, group: &TlsGroup, expected: &str) {
    let about = format!("{}: server {}, client {}", group.name, server.name(), client.name());
    let reports = connect(scene, &server.end, &client.end, group);
    for (report, side) in reports.iter().zip([server, client]) {
        let name = &side.end.name;
        assert_eq!(report.group.as_deref(), Some(expected), "{about}: {name}: {report:?}");
    }
    for (report, side, purpose) in
        [(&reports[0], server, Purpose::Encapsulations), (&reports[1], client, Purpose::KeyPairs)]
    {
        let Some(process) = report.process.filter(|_| side.is_ours) else { continue };
        // X25519 may be the module's, too.
        if !side.has_module || expected == group.name {
            let is_used = taken(process, expected, purpose) > 0;
            assert_eq!(is_used, side.has_module, "{about}: the module's counts: {report:?}");
        }
    }
    // The first key share was the right one.
    if expected == group.name {
        assert!(reports.iter().all(|report: &Report| report.client_hellos() <= 1), "{about}");
    }
    if std::env::var_os(ALL).is_some() {
        artifacts::say(&format!("negotiated {expected}; offered {about}"));
    }
}

/// Stock programs that can load the module: `openssl` in PATH, nginx and curl.
struct Ours {
    servers: Vec<End>,
    clients: Vec<End>,
    /// Whether this OpenSSL has ML-KEM itself.
    has_ml_kem: bool,
}

impl Ours {
    fn find(scene: &Scene) -> Option<Ours> {
        let Some(version) = scene.asked(&["openssl", "version"]) else {
            absent("no openssl program (apt-get install openssl)");
            return None;
        };
        let version = word(&version, 1);
        let openssl = End::openssl(format!("openssl {version}"), Path::new("openssl"));
        let has_ml_kem = is_from(&version, [3, 5]);
        let (mut servers, mut clients) = (vec![openssl.clone()], vec![openssl]);
        // The others are linked to the system's OpenSSL.
        if !has_ml_kem {
            match scene.asked(&["nginx", "-v"]) {
                Some(text) => {
                    servers.push(End::nginx(text.trim().replace("nginx version: nginx/", "nginx ")))
                }
                None => absent("no nginx program (apt-get install nginx)"),
            }
            match scene.asked(&["curl", "--version"]) {
                Some(text) => clients.push(End::curl(format!("curl {}", word(&text, 1)))),
                None => absent("no curl program (apt-get install curl)"),
            }
        }
        Some(Ours { servers, clients, has_ml_kem })
    }

    /// The group without the module, of a peer that prefers this one.
    fn without(&self, group: &'static str) -> &'static str {
        if self.has_ml_kem { group } else { FALLBACK }
    }
}

/// Programs with an OpenSSL of their own, or the system's: Python and Node. If that has ML-KEM, the
/// program is a peer, and otherwise it can load the module.
fn run_with_openssl(scene: &Scene, end: &End, with_module: &End, openssl: &str) {
    let usual = group_named(USUAL).unwrap();
    let has_it = is_from(openssl, [3, 5]);
    let groups = if has_it { vec![usual] } else { Vec::new() };
    Peer { end: end.clone(), groups }.run(scene);
    if has_it {
        return;
    }
    let Some(ours) = Ours::find(scene) else { return };
    let loaded = Side::new(scene, with_module, usual, true);
    let server = Side::new(scene, &ours.servers[0], usual, true);
    let client = Side::new(scene, &ours.clients[0], usual, true);
    check(scene, &server, &loaded, usual, USUAL);
    check(scene, &loaded, &client, usual, USUAL);
}

#[test]
fn go() {
    /// The minor releases of Go 1 that brought groups.
    const GROUPS: [(&str, u32); 3] =
        [(USUAL, 24), ("SecP256r1MLKEM768", 26), ("SecP384r1MLKEM1024", 26)];
    let Some(scene) = Scene::new() else { return };
    // `go version go1.26.8 linux/amd64`
    let Some(version) = scene.asked(&["go", "version"]) else {
        return absent("no go program (apt-get install golang-go)");
    };
    let version = word(&version, 2).trim_start_matches("go").to_owned();
    let minor = numbers(&version).get(1).copied().unwrap_or_default();
    if minor < GROUPS[0].1 {
        return artifacts::skipped(&format!("Go {version} has no {USUAL} (from 1.24 on)"));
    }
    let source = scene.program("peer.go", include_str!("programs/peer.go"));
    // Nothing is downloaded. Modules are on because Go is 1.20 without them, which has no group.
    let build = ["env", "GOTOOLCHAIN=local", "GOPROXY=off", "GOFLAGS=", "GO111MODULE=on", "go"];
    let built = scene.asked(&[&build[..], &["build", "-o", "go-peer", &source]].concat());
    assert!(built.is_some(), "{}", scene.stage().read("run.err").unwrap());
    let program = scene.stage().folder().join("go-peer").display().to_string();
    let groups = GROUPS.iter().filter(|(_, from)| minor >= *from);
    let groups = groups.filter_map(|(name, _)| group_named(name)).collect();
    Peer { end: End::other(format!("Go {version}"), vec![program]), groups }.run(&scene);
}

#[test]
fn rustls() {
    let Some(scene) = Scene::new() else { return };
    let Some(program) = artifacts::rustls_peer() else {
        return absent("rustls-peer is not built, or before a change (make test-peers builds it)");
    };
    let program = program.display().to_string();
    let text = scene.asked(&[&program, "version"]).unwrap();
    let points = word(&text, 1);
    let has = |group: &TlsGroup| {
        let point = format!("{:#06x}", group.code_point);
        points.split(',').any(|other| other == point)
    };
    let groups = TLS_GROUPS.iter().copied().filter(|group| has(group)).collect();
    let name = format!("rustls {}", word(&text, 0));
    Peer { end: End::other(name, vec![program]), groups }.run(&scene);
}

/// OpenSSL's own ML-KEM, without the module.
#[test]
fn newer_openssl() {
    let Some(scene) = Scene::new() else { return };
    for (version, program) in releases() {
        let path = program.display().to_string();
        let listed = scene.asked(&[&path, "list", "-tls-groups"]).unwrap();
        let has = |group: &TlsGroup| listed.trim().split(':').any(|name| name == group.name);
        let groups = TLS_GROUPS.iter().copied().filter(|group| has(group)).collect();
        Peer { end: End::openssl(format!("OpenSSL {version}"), &program), groups }.run(&scene);
    }
}

/// Returns the versions and programs of releases of OpenSSL that have groups with ML-KEM.
fn releases() -> Vec<(String, PathBuf)> {
    let found = artifacts::openssl_releases();
    if found.is_empty() {
        absent("no newer release of OpenSSL is built (make test-peers builds them)");
    }
    let name = |prefix: &Path| prefix.file_name().unwrap().display().to_string();
    let version = |prefix: &Path| name(prefix).trim_start_matches("openssl-").to_owned();
    let has_groups = |version: &str| {
        let numbers: Vec<u32> = version.split('.').flat_map(str::parse).collect();
        numbers.get(..2) >= Some(&[3, 5])
    };
    let found = found.iter().map(|prefix| (version(prefix), prefix.join("bin/openssl")));
    found.filter(|(version, _)| has_groups(version)).collect()
}

#[test]
fn python() {
    let Some(scene) = Scene::new() else { return };
    let source = scene.program("peer.py", include_str!("programs/peer.py"));
    let mut commands: Vec<Vec<String>> = vec![vec!["python3".into()]];
    // Debian's is linked to the libraries of OpenSSL that the loader finds.
    let debian = "/usr/bin/python3";
    for (version, program) in releases() {
        if version.starts_with("3.") {
            let libraries = program.ancestors().nth(2).unwrap().join("lib");
            let variable = format!("LD_LIBRARY_PATH={}", libraries.display());
            commands.push(vec!["env".into(), variable, debian.into()]);
        }
    }
    for mut command in commands {
        command.extend(["-I".into(), source.clone()]);
        let asked: Vec<&str> = command.iter().map(String::as_str).collect();
        let Some(text) = scene.asked(&[&asked[..], &["version"]].concat()) else {
            absent(&format!("no {} program (apt-get install python3)", command[0]));
            continue;
        };
        let [python, openssl] = [word(&text, 0), word(&text, 1)];
        let name = format!("Python {python} on OpenSSL {openssl}");
        let end = End::fixed(name, command, in_python_messages);
        run_with_openssl(&scene, &end, &end, &openssl);
    }
}

#[test]
fn node() {
    let Some(scene) = Scene::new() else { return };
    let source = scene.program("peer.js", include_str!("programs/peer.js"));
    let Some(text) = scene.asked(&["node", &source, "version"]) else {
        return absent("no node program (apt-get install nodejs)");
    };
    let [node, openssl] = [word(&text, 0), word(&text, 1)];
    let name = format!("Node {node} on OpenSSL {openssl}");
    let end = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        End::fixed(name.clone(), words, in_node_trace)
    };
    let shared = end(&["node", "--openssl-shared-config", &source]);
    run_with_openssl(&scene, &end(&["node", &source]), &shared, &openssl);
}

#[test]
fn java() {
    /// The release that brought the group (JEP 527).
    const FROM: u32 = 27;
    let Some(scene) = Scene::new() else { return };
    let source = scene.program("Peer.java", include_str!("programs/Peer.java"));
    let Some(text) = scene.asked(&["java", "-version"]) else {
        return absent("no java program (apt-get install default-jdk-headless)");
    };
    // `openjdk version "17.0.15" 2025-04-15`
    let version = text.split('"').nth(1).unwrap_or_default().to_owned();
    if scene.asked(&["java", "-m", "jdk.compiler/com.sun.tools.javac.Main", &source]).is_none() {
        return absent("no compiler of Java (apt-get install default-jdk-headless)");
    }
    let major = numbers(&version).first().copied().unwrap_or_default();
    let groups = if major >= FROM { group_named(USUAL).into_iter().collect() } else { Vec::new() };
    let command =
        ["java", "-Djavax.net.debug=ssl:handshake", "-cp", ".", "Peer"].map(str::to_owned).into();
    let end = End::fixed(format!("Java {version}"), command, in_java_log);
    Peer { end, groups }.run(&scene);
}

/// Reports that something is missing. Fails if all peers must be there.
fn absent(what: &str) {
    assert!(std::env::var_os(ALL).is_none(), "{what}");
    artifacts::skipped(what);
}

/// Returns a word of a text.
fn word(text: &str, index: usize) -> String {
    text.split_whitespace().nth(index).unwrap_or_default().to_owned()
}

/// Returns the numbers of a version: `[1, 26, 8]`.
fn numbers(version: &str) -> Vec<u32> {
    let digits = |part: &str| part.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    version.split('.').map_while(digits).collect()
}

fn is_from(version: &str, first: [u32; 2]) -> bool {
    numbers(version).get(..2).is_some_and(|found| found >= &first[..])
}
