//! Tests of `fastkex check`: real servers, and servers and paths that misbehave.

mod common;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::output::{assert_closed_output_is_told, assert_open_output_is_there};
use common::{Tool, assert_misused, assert_refused, stderr, stdout};
use nix::sys::socket::{setsockopt, sockopt::TcpMaxSeg};
use openssl_runtime::{KeyType, Libraries, wire};
use serde_json::Value;
use testbed::{Offer, Set, Started, free_ports};

/// Servers on loopback, and the command.
struct Scene {
    tool: Tool,
    set: Set,
}

impl Scene {
    fn new() -> Option<Self> {
        let tool = Tool::with_openssl()?;
        let program = Path::new(common::PROGRAM);
        let set = Set::new(&Libraries::system().unwrap(), tool.module(), program).unwrap();
        Some(Self { tool, set })
    }

    /// Starts `openssl s_server` of this OpenSSL, and returns its port.
    fn s_server(&self, openssl: &OpenSsl, host: &str, arguments: &[&str]) -> u16 {
        let [port] = free_ports().unwrap();
        let files = self.set.certificate(KeyType::EcP256).unwrap();
        let mut command = openssl.command(&self.set);
        command.args(["s_server", "-www", "-accept", &format!("{host}:{port}")]);
        command.arg("-cert").arg(files.certificate).arg("-key").arg(files.key).args(arguments);
        let name = format!("s_server-{port}");
        self.set.stage.start(&name, &mut command, |log| log.contains("ACCEPT")).unwrap();
        port
    }

    /// Starts OpenSSL's server with the module and these groups.
    fn with_module(&self, groups: &str) -> u16 {
        let openssl = OpenSsl { configuration: Some(self.configuration("")), ..OpenSsl::system() };
        self.s_server(&openssl, "127.0.0.1", &["-groups", groups])
    }

    /// Writes a configuration with the module, and returns its file.
    fn configuration(&self, tls: &str) -> PathBuf {
        let text = format!(
            "openssl_conf = init\n[init]\nproviders = list\nssl_conf = tls\n\
             [list]\ndefault = on\nfastkex = fastkex\n[on]\nactivate = 1\n\
             [fastkex]\nmodule = {}\nactivate = 1\ngroups = all\n\
             [tls]\nsystem_default = defaults\n[defaults]\n{tls}\n",
            self.tool.module().display()
        );
        self.tool.write("with-module.cnf", &text)
    }

    fn check(&self, server: &str, arguments: &[&str]) -> Output {
        self.tool.output(&[&["check", server], arguments].concat())
    }

    /// Returns the JSON report on a port of 127.0.0.1, and the exit status.
    fn report(&self, port: u16, arguments: &[&str]) -> (Value, i32) {
        let output = self.check(&format!("127.0.0.1:{port}"), &[arguments, &["--json"]].concat());
        let report = serde_json::from_slice(&output.stdout);
        let report: Value = report.unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
        assert_eq!(stderr(&output), "");
        let status = output.status.code().unwrap();
        assert_eq!(report["post_quantum"], status == 0, "{report}");
        (report, status)
    }

    /// Returns the report's lines, and the exit status.
    fn lines(&self, port: u16, arguments: &[&str]) -> (String, i32) {
        let output = self.check(&format!("127.0.0.1:{port}"), arguments);
        assert_eq!(stderr(&output), "");
        (stdout(&output), output.status.code().unwrap())
    }
}

/// An OpenSSL's program.
struct OpenSsl {
    program: PathBuf,
    libraries: Option<PathBuf>,
    configuration: Option<PathBuf>,
}

impl OpenSsl {
    fn system() -> Self {
        Self { program: "openssl".into(), libraries: None, configuration: None }
    }

    /// Returns the newer releases that are there: that of FASTKEX_TEST_OPENSSL, or those that
    /// `make test-matrix` has built.
    fn newer() -> Vec<Self> {
        let chosen = std::env::var_os("FASTKEX_TEST_OPENSSL").map(PathBuf::from);
        let folders = match chosen {
            Some(libraries) => vec![libraries.parent().unwrap().to_path_buf()],
            None => artifacts::openssl_releases(),
        };
        let of = |folder: PathBuf| Self {
            program: folder.join("bin/openssl"),
            libraries: Some(folder.join("lib")),
            configuration: None,
        };
        folders.into_iter().map(of).filter(|openssl| openssl.has("X25519MLKEM768")).collect()
    }

    fn has(&self, group: &str) -> bool {
        let mut command = Command::new(&self.program);
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        let output = command.args(["list", "-tls-groups"]).env_remove("OPENSSL_CONF").output();
        output.is_ok_and(|output| stdout(&output).contains(group))
    }

    fn command(&self, set: &Set) -> Command {
        let mut command = Command::new(&self.program);
        set.stage.prepare(&mut command);
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        if let Some(file) = &self.configuration {
            command.env("OPENSSL_CONF", file);
        }
        command
    }
}

fn names(report: &Value) -> Vec<&str> {
    let groups = report["groups"].as_array().unwrap();
    groups.iter().map(|group| group["name"].as_str().unwrap()).collect()
}

/// A short time limit, for servers that never answer.
const SHORT: [&str; 2] = ["--timeout", "1"];

#[test]
fn a_server_with_the_module_takes_the_group() {
    let Some(scene) = Scene::new() else { return };
    let port = scene.with_module("X25519MLKEM768:X25519:P-256");
    let (report, status) = scene.report(port, &[]);
    assert_eq!((status, report["verdict"].as_str()), (0, Some("taken")), "{report}");
    assert_eq!(names(&report), ["X25519MLKEM768", "X25519", "P-256"]);
    assert_eq!((&report["order"], &report["version"]), (&"server".into(), &"TLS 1.3".into()));
    assert_eq!((&report["all_groups_asked"], &report["cut_short"]), (&true.into(), &false.into()));
    let browser = &report["browser"];
    assert_eq!((&browser["group"], &browser["retry"]), (&"X25519MLKEM768".into(), &false.into()));
    let group = kex::group_named("X25519MLKEM768").unwrap();
    let bytes = |key: &str| usize::try_from(browser[key].as_u64().unwrap()).unwrap();
    let (sent, received) = (bytes("client_hello_bytes"), bytes("server_hello_bytes"));
    assert!(sent > group.public_key_bytes && sent > ETHERNET && sent < 2 * ETHERNET, "{sent}");
    assert!(received > group.ciphertext_bytes && received < group.ciphertext_bytes + 150);
    // On loopback segments are large, so pieces show what a smaller one would.
    assert!(report["segment_bytes"].as_u64().unwrap() > 1000);
    let hellos = report["client_hellos"].as_array().unwrap();
    assert_eq!(hellos.len(), 5);
    assert!(hellos.iter().all(|hello| hello["answered"] == true), "{report}");
    assert!(report["connections"].as_u64().unwrap() < 20);

    let (text, status) = scene.lines(port, &[]);
    let first = format!("127.0.0.1:{port} takes X25519MLKEM768, the group that browsers prefer\n");
    assert!(status == 0 && text.starts_with(&first), "{text}");
    let order = "groups, in the server's order: X25519MLKEM768, X25519, P-256\n";
    assert!(text.contains(order), "{text}");
    assert!(text.lines().all(|line| line.len() < 250) && text.lines().count() < 10, "{text}");
}

#[test]
fn a_server_without_it_is_told_what_to_do() {
    let Some(scene) = Scene::new() else { return };
    let port = scene.s_server(&OpenSsl::system(), "127.0.0.1", &["-groups", "P-256:X25519"]);
    let (report, status) = scene.report(port, &["--name", "localhost"]);
    assert_eq!((status, report["verdict"].as_str()), (1, Some("absent")), "{report}");
    assert_eq!(
        (names(&report), &report["server_name"]),
        (vec!["P-256", "X25519"], &"localhost".into())
    );
    assert_eq!(report["browser"]["group"], "X25519");
    let (text, status) = scene.lines(port, &[]);
    let first = format!("127.0.0.1:{port} does not take X25519MLKEM768, so browsers get X25519: ");
    assert!(status == 1 && text.starts_with(&first) && text.contains("fastkex enable"), "{text}");

    let port = scene.s_server(&OpenSsl::system(), "127.0.0.1", &["-tls1_2"]);
    let (report, status) = scene.report(port, &[]);
    assert_eq!((status, report["verdict"].as_str()), (1, Some("no_tls13")), "{report}");
    assert_eq!((&report["version"], names(&report).len()), (&"TLS 1.2".into(), 0));
    let (text, _) = scene.lines(port, &[]);
    assert!(text.contains("does not speak TLS 1.3, which X25519MLKEM768 needs"), "{text}");
    assert!(text.contains("version: TLS 1.2\n"), "{text}");
}

#[test]
fn private_groups_are_found_on_request() {
    let Some(scene) = Scene::new() else { return };
    let port = scene.with_module("sntrup761:X25519SNTRUP761:X448:ffdhe2048");
    let (report, status) = scene.report(port, &[]);
    assert_eq!((status, names(&report)), (1, vec!["X448", "ffdhe2048"]));
    let (report, status) = scene.report(port, &["--all"]);
    let found = ["sntrup761", "X25519SNTRUP761", "X448", "ffdhe2048"];
    assert_eq!((status, names(&report)), (1, found.to_vec()));
    let is_post_quantum = |name: &str| {
        let groups = report["groups"].as_array().unwrap();
        groups.iter().find(|group| group["name"] == name).unwrap()["post_quantum"] == true
    };
    assert!(is_post_quantum("sntrup761") && !is_post_quantum("X448"));
}

#[test]
fn this_machine_is_asked_with_its_configuration() {
    let Some(scene) = Scene::new() else { return };
    let port = scene.with_module("X25519MLKEM768:X25519:P-256");
    for (groups, share, retry) in [
        ("X25519MLKEM768:X25519", "X25519MLKEM768", false),
        ("X25519:P-256", "X25519", false),
        ("X448:P-256", "X448", true),
    ] {
        let file = scene.configuration(&format!("Groups = {groups}"));
        let mut command = scene.tool.command(&["check", &format!("127.0.0.1:{port}"), "--json"]);
        let output = command.env("OPENSSL_CONF", &file).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let machine = &report["this_machine"];
        assert_eq!(machine["configuration"], file.display().to_string(), "{machine}");
        let list: Vec<_> = groups.split(':').collect();
        assert_eq!(machine["groups"], serde_json::json!(list));
        // From 3.5 on, a client may send more than one share.
        assert_eq!(machine["key_shares"][0], share);
        let chosen = if retry { "P-256" } else { share };
        assert_eq!((&machine["group"], &machine["retry"]), (&chosen.into(), &retry.into()));
    }
    let wrong = scene.tool.write("wrong.cnf", "openssl_conf = nowhere\n");
    let mut command = scene.tool.command(&["check", &format!("127.0.0.1:{port}")]);
    let output = command.env("OPENSSL_CONF", wrong).output().unwrap();
    let text = stdout(&output);
    assert!(output.status.success() && text.contains("\nthis machine: not asked: "), "{text}");
}

#[test]
fn newer_releases_are_checked_and_check() {
    let Some(scene) = Scene::new() else { return };
    let releases = OpenSsl::newer();
    if releases.is_empty() {
        artifacts::skipped("no OpenSSL from 3.5 on (make test-matrix, or FASTKEX_TEST_OPENSSL)");
    }
    for openssl in releases {
        let port = scene.s_server(&openssl, "127.0.0.1", &[]);
        let folder = openssl.libraries.as_ref().unwrap().display().to_string();
        let (report, status) = scene.report(port, &["--libssl", &folder]);
        assert_eq!((status, names(&report)[0]), (0, "X25519MLKEM768"), "{report}");
        assert_eq!(report["key_shares"]["asks_again"], true, "{report}");
        let machine = &report["this_machine"];
        assert_eq!(
            (&machine["group"], &machine["retry"]),
            (&"X25519MLKEM768".into(), &false.into())
        );
        assert_eq!(machine["key_shares"], serde_json::json!(["X25519MLKEM768", "X25519"]));
    }
}

#[test]
fn nginx_is_checked() {
    let Some(scene) = Scene::new() else { return };
    let offers = [Offer::new("X25519MLKEM768:X25519"), Offer::new("P-256")];
    let servers = match testbed::nginx(&scene.set, KeyType::Rsa2048, &offers).unwrap() {
        Started::Listening(servers) => servers,
        Started::Absent(why) => return artifacts::skipped(&why),
    };
    let (report, status) = scene.report(servers[0].port, &[]);
    assert_eq!((status, names(&report)), (0, vec!["X25519MLKEM768", "X25519"]), "{report}");
    let (report, status) = scene.report(servers[1].port, &[]);
    assert_eq!((status, names(&report), &report["order"]), (1, vec!["P-256"], &"single".into()));
    // The browsers' shares are of other groups.
    assert_eq!(report["browser"]["retry"], true, "{report}");
}

#[test]
fn ipv6_addresses_are_servers() {
    let Some(scene) = Scene::new() else { return };
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        return artifacts::skipped("no IPv6 on loopback");
    }
    let port = scene.s_server(&OpenSsl::system(), "[::1]", &["-groups", "X25519"]);
    let output = scene.check(&format!("[::1]:{port}"), &[]);
    let text = stdout(&output);
    assert!(text.starts_with(&format!("[::1]:{port} does not take X25519MLKEM768")), "{text}");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""));
}

/// A server of this test: a function that gets each connection, and its number.
fn serve(manners: impl Fn(TcpStream, usize) + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (port, serve_on(listener, manners))
}

fn serve_on(
    listener: TcpListener,
    manners: impl Fn(TcpStream, usize) + Send + Sync + 'static,
) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let (manners, served) = (Arc::new(manners), Arc::clone(&count));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let number = served.fetch_add(1, Ordering::Relaxed);
            let manners = Arc::clone(&manners);
            thread::spawn(move || manners(stream.unwrap(), number));
        }
    });
    count
}

/// Reads a record; `None` if the connection ends before.
fn read_record(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut record = vec![0; 5];
    stream.read_exact(&mut record).ok()?;
    let length = u16::from_be_bytes([record[3], record[4]]);
    record.resize(5 + usize::from(length), 0);
    stream.read_exact(&mut record[5..]).ok()?;
    Some(record)
}

/// The answer of a server that is made up.
enum Says {
    Hello(u16),
    Retry(u16),
    Refuse,
}

/// Returns the flight of an answer.
fn flight(says: &Says) -> Vec<u8> {
    let (random, key_share) = match says {
        Says::Refuse => return vec![21, 3, 3, 0, 2, 2, 40],
        Says::Retry(group) => (wire::HELLO_RETRY_RANDOM, group.to_be_bytes().to_vec()),
        Says::Hello(group) => ([5; 32], [&group.to_be_bytes()[..], &[0, 4, 1, 2, 3, 4]].concat()),
    };
    let version = [0, 43, 0, 2, 3, 4, 0, 51, 0, key_share.len() as u8];
    let extensions = [&version[..], &key_share].concat();
    let start = [&[3, 3][..], &random, &[0, 0x13, 1, 0, 0, extensions.len() as u8]].concat();
    let body = [start, extensions].concat();
    let message = [&[2, 0, 0, body.len() as u8][..], &body].concat();
    [&[22, 3, 3, 0, message.len() as u8][..], &message].concat()
}

/// A server that chooses by a function of the groups and of the groups with key shares.
fn chooser(choose: impl Fn(&[u16], &[u16]) -> Says + Send + Sync + 'static) -> u16 {
    serve(move |stream, _| answer(stream, &choose)).0
}

/// Answers a ClientHello by a function of its groups and of those with key shares.
fn answer(mut stream: TcpStream, choose: &impl Fn(&[u16], &[u16]) -> Says) {
    // The first connection of a check only finds out whether there is a server.
    let Some(record) = read_record(&mut stream) else { return };
    let groups = wire::find_supported_groups(&record).unwrap();
    let shares = wire::find_client_key_shares(&record).unwrap();
    let shares: Vec<_> = shares.into_iter().map(|share| share.group).collect();
    stream.write_all(&flight(&choose(&groups, &shares))).unwrap();
}

const HYBRID: u16 = 0x11EC;
const X25519: u16 = 0x1D;
const P256: u16 = 0x17;
const P384: u16 = 0x18;

/// Answers with the first of the client's groups that is in a list.
fn clients_first(own: &[u16], groups: &[u16], shares: &[u16]) -> Says {
    match groups.iter().find(|group| own.contains(group)) {
        Some(group) if shares.contains(group) => Says::Hello(*group),
        Some(group) => Says::Retry(*group),
        None => Says::Refuse,
    }
}

#[test]
fn the_order_is_the_servers_or_the_clients() {
    let Some(scene) = Scene::new() else { return };
    let own = [HYBRID, X25519, P256];
    let (report, status) =
        scene.report(chooser(move |groups, shares| clients_first(&own, groups, shares)), &[]);
    assert_eq!((status, &report["order"]), (0, &"client".into()), "{report}");
    assert!(report["groups"].as_array().unwrap().iter().all(|group| group["rank"] == 1));

    // Two tiers: the client's order inside of each.
    let tiers = |groups: &[u16], shares: &[u16]| {
        let in_tier = |tier: &[u16]| clients_first(tier, groups, shares);
        match in_tier(&[HYBRID]) {
            Says::Refuse => in_tier(&[X25519, P256, P384]),
            says => says,
        }
    };
    let port = chooser(tiers);
    let (report, _) = scene.report(port, &[]);
    assert_eq!(report["order"], "server_then_client");
    let ranks: Vec<_> = report["groups"].as_array().unwrap().iter().map(|g| &g["rank"]).collect();
    assert_eq!(ranks, [1, 2, 2, 2]);
    let (text, _) = scene.lines(port, &[]);
    assert!(text.contains("'or': X25519MLKEM768, X25519 or P-256 or P-384\n"), "{text}");
    assert!(
        text.contains("is asked for one of X25519MLKEM768, which takes a round trip"),
        "{text}"
    );

    // A share counts more than the order.
    let keeps = |groups: &[u16], shares: &[u16]| {
        let own = [P256, X25519, HYBRID];
        match own.iter().find(|group| shares.contains(group)) {
            Some(group) => Says::Hello(*group),
            None => {
                own.iter().find(|g| groups.contains(g)).map_or(Says::Refuse, |g| Says::Retry(*g))
            }
        }
    };
    let port = chooser(keeps);
    let (report, status) = scene.report(port, &[]);
    assert_eq!((status, &report["verdict"]), (1, &"not_preferred".into()));
    assert_eq!(names(&report), ["P-256", "X25519", "X25519MLKEM768"]);
    assert_eq!(report["key_shares"]["asks_again"], false);
    let (text, _) = scene.lines(port, &[]);
    assert!(
        text.contains("has X25519MLKEM768, but gives browsers X25519: put X25519MLKEM768 first")
    );
}

#[test]
fn a_server_that_needs_a_share_is_asked_for_each_group() {
    let Some(scene) = Scene::new() else { return };
    let needs = |_: &[u16], shares: &[u16]| {
        let own = [HYBRID, X25519, P256];
        own.iter().find(|group| shares.contains(group)).map_or(Says::Refuse, |g| Says::Hello(*g))
    };
    let (report, status) = scene.report(chooser(needs), &[]);
    assert_eq!((status, &report["order"]), (0, &"unknown".into()), "{report}");
    assert_eq!(names(&report), ["X25519MLKEM768", "X25519", "P-256"]);
    assert_eq!(report["all_groups_asked"], false);
}

#[test]
fn a_choice_that_was_not_offered_is_no_answer() {
    let Some(scene) = Scene::new() else { return };
    type Choice = fn(&[u16], &[u16]) -> Says;
    let choices: [Choice; 3] = [
        |_, _| Says::Retry(0x0A0A),
        |_, shares| Says::Retry(shares.first().copied().unwrap_or_default()),
        |_, _| Says::Hello(P384),
    ];
    for choose in choices {
        let output = scene.check(&format!("127.0.0.1:{}", chooser(choose)), &[]);
        assert_refused(&output, "malformed TLS: it ");
    }
}

/// Sends what arrives on one stream to the other, until the end.
fn pump(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// A path to a server, on which a function sees the first bytes that arrive at once, may wait for
/// more, and returns whether the connection goes on.
fn path_to(
    server: u16,
    goes_on: impl Fn(&mut TcpStream, &mut Vec<u8>) -> bool + Send + Sync + 'static,
) -> u16 {
    let (port, _) = serve(move |mut client, _| {
        let mut first = vec![0; 1 << 14];
        let Ok(bytes @ 1..) = client.read(&mut first) else { return };
        first.truncate(bytes);
        if !goes_on(&mut client, &mut first) {
            return;
        }
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap();
        server.write_all(&first).unwrap();
        let (back, forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || pump(forth, server));
        pump(back, client);
    });
    port
}

fn is_whole(first: &[u8]) -> bool {
    first.len() > 5 && first.len() == 5 + usize::from(u16::from_be_bytes([first[3], first[4]]))
}

/// Holds a connection open, and says nothing.
fn swallow(client: &mut TcpStream) -> bool {
    let _ = std::io::copy(client, &mut std::io::sink());
    false
}

/// The most bytes of a segment on Ethernet.
const ETHERNET: usize = 1460;

#[test]
fn a_path_that_loses_large_hellos_is_found() {
    let Some(scene) = Scene::new() else { return };
    let server = scene.with_module("X25519MLKEM768:X25519");
    // One that drops, and one that closes.
    let is_small = |client: &mut TcpStream, first: &mut Vec<u8>| {
        let length = 5 + usize::from(u16::from_be_bytes([first[3], first[4]]));
        let mut rest = vec![0; length.saturating_sub(first.len())];
        client.read_exact(&mut rest).unwrap();
        first.extend(rest);
        length <= ETHERNET
    };
    let drops = path_to(server, move |client, first| is_small(client, first) || swallow(client));
    let resets = path_to(server, is_small);
    for (port, outcome) in [(drops, "no answer"), (resets, "closed without an answer")] {
        let (report, status) = scene.report(port, &SHORT);
        assert_eq!((status, &report["verdict"]), (1, &"not_reached".into()), "{report}");
        assert_eq!(report["browser"]["outcome"], outcome);
        assert_eq!(names(&report), ["X25519MLKEM768", "X25519"]);
        let kinds: Vec<_> = report["client_hellos"].as_array().unwrap().iter().collect();
        let answered = |kind: &str| {
            let of_kind = kinds.iter().filter(|hello| hello["kind"] == kind);
            of_kind.map(|hello| hello["answered"].as_bool().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(
            (answered("small"), answered("browser")),
            (vec![true, true], vec![false, false])
        );
        assert_eq!((answered("padded"), answered("again")), (vec![false], vec![true]));
        let (text, _) = scene.lines(port, &SHORT);
        assert!(
            text.lines().next().unwrap().ends_with("has X25519MLKEM768, but does not answer a ClientHello with a key share of X25519MLKEM768"),
            "{text}"
        );
        assert!(
            text.contains(
                " is not: something between here and there, or the server, drops large ones"
            ),
            "{text}"
        );
    }
}

#[test]
fn a_path_that_loses_large_packets_is_found() {
    let Some(scene) = Scene::new() else { return };
    let server = scene.with_module("X25519MLKEM768:X25519");
    let port = path_to(server, |client, first| first.len() <= ETHERNET || swallow(client));
    let (text, status) = scene.lines(port, &SHORT);
    assert!(
        status == 1 && text.contains("large packets are lost between here and there"),
        "{text}"
    );
}

#[test]
fn a_server_that_answers_no_more_is_not_taken_for_a_bad_path() {
    let Some(scene) = Scene::new() else { return };
    // It answers one ClientHello.
    let (port, _) = serve(|mut stream, number| {
        if number > 1 {
            swallow(&mut stream);
        } else if read_record(&mut stream).is_some() {
            let _ = stream.write_all(&flight(&Says::Hello(X25519)));
        }
    });
    let (text, status) = scene.lines(port, &["--timeout", "1"]);
    assert_eq!(status, 1, "{text}");
    let told = "In the end a ClientHello was not answered that was answered at first: ";
    assert!(text.contains(told) && !text.contains("drops large ones"), "{text}");
}

#[test]
fn segments_are_those_of_the_connection() {
    let Some(scene) = Scene::new() else { return };
    let own = [HYBRID, X25519];
    let choose = move |groups: &[u16], shares: &[u16]| clients_first(&own, groups, shares);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    // The server's end tells the client's how large its segments may be.
    setsockopt(&listener, TcpMaxSeg, &(ETHERNET as u32)).unwrap();
    let port = listener.local_addr().unwrap().port();
    serve_on(listener, move |stream, _| answer(stream, &choose));
    let (report, status) = scene.report(port, &[]);
    let segment = usize::try_from(report["segment_bytes"].as_u64().unwrap()).unwrap();
    // TCP's options take up to 40 bytes.
    assert!((ETHERNET - 40..=ETHERNET).contains(&segment), "{segment}");
    assert_eq!((status, &report["browser"]["segments"]), (0, &2.into()));
    let (text, _) = scene.lines(port, &[]);
    assert!(text.contains(" bytes in 2 TCP segments, ServerHello "), "{text}");
    assert!(text.contains("\nTCP segments: up to 1,4"), "{text}");
    assert_eq!(report["this_machine"]["segments"], 1, "{report}");
}

#[test]
fn a_path_that_refuses_the_group_is_found() {
    let Some(scene) = Scene::new() else { return };
    let server = scene.with_module("X25519MLKEM768:X25519");
    let port = path_to(server, |_, first| {
        let shares = wire::find_client_key_shares(first).unwrap_or_default();
        shares.iter().all(|share| share.group != HYBRID)
    });
    let (text, status) = scene.lines(port, &SHORT);
    assert_eq!(status, 1);
    assert!(text.contains("refuses the group instead of ignoring it"), "{text}");
}

#[test]
fn a_path_that_loses_split_hellos_is_found() {
    let Some(scene) = Scene::new() else { return };
    let server = scene.with_module("X25519MLKEM768:X25519");
    let drops = path_to(server, |client, first| is_whole(first) || swallow(client));
    let closes = path_to(server, |_, first| is_whole(first));
    for (port, outcome) in [(drops, "no answer"), (closes, "closed without an answer")] {
        let (report, status) = scene.report(port, &SHORT);
        let verdict = &report["verdict"];
        assert_eq!((status, verdict), (1, &"taken_in_one_piece".into()), "{report}");
        for hello in report["client_hellos"].as_array().unwrap() {
            let is_whole = hello["first_piece_bytes"].is_null();
            assert_eq!(hello["answered"], is_whole, "{hello}");
            // The second piece may meet a closed port.
            let is_told = hello["outcome"] == outcome || hello["outcome"] == "reset";
            assert!(is_whole || is_told, "{hello}");
        }
        let (text, _) = scene.lines(port, &SHORT);
        assert!(text.contains("not from every client: a ClientHello must arrive in one piece\n"));
        assert!(text.contains("No ClientHello is answered that arrives in two pieces: "), "{text}");
    }
    // One that reads twice, and no more than a segment at a time, loses none that has two pieces.
    let large_only = path_to(server, |client, first| {
        is_whole(first) || first.len() < 5 || first[3] < 2 || swallow(client)
    });
    let (text, status) = scene.lines(large_only, &SHORT);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains(" bytes is answered in one piece, and not in two: "), "{text}");
}

#[test]
fn what_is_no_tls_server_is_told_in_a_line() {
    let Some(scene) = Scene::new() else { return };
    let says = |text: &'static [u8]| {
        let (port, _) = serve(move |mut stream, _| {
            let _ = stream.write_all(text);
            swallow(&mut stream);
        });
        port
    };
    let refused = |port: u16, expected: &str| {
        let begun = Instant::now();
        let server = format!("127.0.0.1:{port}");
        assert_refused(&scene.check(&server, &SHORT), &format!("{server}: {expected}"));
        assert_refused(&scene.check(&server, &["--json", "--timeout", "1"]), expected);
        assert!(begun.elapsed() < Duration::from_secs(20));
    };
    let (http, _) = serve(|mut stream, _| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    refused(
        http,
        "not TLS: the answer begins with \"HTTP/1.1 400 Bad Request\": expected a TLS server",
    );
    refused(
        says(b"220 mail ESMTP\r\n"),
        "not TLS: the answer begins with \"220 mail ESMTP\": expected --starttls smtp",
    );
    refused(
        says(b"* OK IMAP\r\n"),
        "not TLS: the answer begins with \"* OK IMAP\": expected --starttls imap",
    );
    refused(
        says(b"+OK POP\r\n"),
        "not TLS: the answer begins with \"+OK POP\": expected --starttls pop3",
    );
    refused(says(b"\x1b[2J"), "not TLS: the answer begins with \"\\x1b[2J\"");
    refused(says(&[0; 5]), "not TLS");
    refused(
        says(&[22, 3, 3, 0, 4, 11, 0, 0, 0]),
        "malformed TLS: the first message is no ServerHello",
    );
    refused(says(&[22, 3, 3, 0, 4, 2, 0, 0, 0]), "malformed TLS: a ServerHello with wrong lengths");
    refused(
        says(&[21, 3, 3, 0, 2, 2, 40]),
        "the server refuses TLS with fatal alert 40 handshake_failure",
    );
    // Truncated answers, and none.
    refused(says(&[22, 3, 3]), "no answer to a ClientHello within 1 s");
    refused(says(&[22, 3, 3, 0, 80, 2, 0, 0, 76, 3, 3]), "no answer to a ClientHello within 1 s");
    refused(says(b""), "no answer to a ClientHello within 1 s");
    let (closes, _) = serve(|mut stream, _| drop(stream.read(&mut [0; 4096])));
    refused(
        closes,
        "the server closed the connection without an answer: expected a TLS server, or --starttls",
    );
    let (resets, _) = serve(|mut stream, _| drop(stream.read(&mut [0])));
    refused(resets, "the server reset the connection: expected a TLS server, or --starttls");
    let [closed] = free_ports().unwrap();
    refused(closed, "Connection refused");
    // Endless answers, fast and slow.
    let (endless, _) =
        serve(|mut stream, _| while stream.write_all(&[20, 3, 3, 0, 1, 1]).is_ok() {});
    refused(endless, "malformed TLS: no hello in 64 KB of records");
    let (slow, _) = serve(|mut stream, _| {
        while stream.write_all(&[20, 3, 3, 0, 1, 1]).is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    refused(slow, "no answer to a ClientHello within 1 s");
}

#[test]
fn a_server_that_falls_silent_does_not_hang_the_check() {
    let Some(scene) = Scene::new() else { return };
    let (port, count) = serve(|mut stream, number| {
        // The connection that looks for a server, and the first two with a ClientHello.
        if number > 2 {
            swallow(&mut stream);
        } else if read_record(&mut stream).is_some() {
            let _ = stream.write_all(&flight(&Says::Hello(X25519)));
        }
    });
    let begun = Instant::now();
    let (report, status) = scene.report(port, &["--timeout", "1"]);
    assert!(begun.elapsed() < Duration::from_secs(20 + 4));
    assert_eq!((status, &report["verdict"]), (1, &"not_chosen".into()));
    assert_eq!(report["all_groups_asked"], false);
    let made = u64::try_from(count.load(Ordering::Relaxed)).unwrap();
    assert_eq!(report["connections"].as_u64().unwrap() + 1, made);
}

/// Passes connections on to a TLS server after a dialogue in lines.
fn after_dialogue(
    server: u16,
    greeting: &'static str,
    answers: &'static [(&'static str, &'static str)],
) -> u16 {
    let (port, _) = serve(move |mut client, _| {
        let _ = client.write_all(greeting.as_bytes());
        for (expected, answer) in answers {
            // Without a buffer, so that nothing of TLS is read.
            let mut line = Vec::new();
            let mut byte = [0];
            while !line.ends_with(b"\n") {
                match client.read(&mut byte) {
                    Ok(1..) => line.push(byte[0]),
                    _ => return,
                }
            }
            assert!(line.starts_with(expected.as_bytes()), "{line:?}");
            client.write_all(answer.as_bytes()).unwrap();
        }
        let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap();
        let (back, forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || pump(forth, server));
        pump(back, client);
    });
    port
}

#[test]
fn tls_is_started_in_other_protocols() {
    let Some(scene) = Scene::new() else { return };
    let server = scene.with_module("X25519MLKEM768:X25519");
    let smtp = after_dialogue(
        server,
        "220 mail\r\n",
        &[("EHLO ", "250-mail\r\n250 STARTTLS\r\n"), ("STARTTLS", "220 go\r\n")],
    );
    let imap = after_dialogue(server, "* OK hi\r\n", &[("a STARTTLS", "a OK go\r\n")]);
    let pop3 = after_dialogue(server, "+OK hi\r\n", &[("STLS", "+OK go\r\n")]);
    let (postgres, _) = serve(move |mut client, _| {
        let mut request = [0; 8];
        if client.read_exact(&mut request).is_err() {
            return;
        }
        assert_eq!(request, [0, 0, 0, 8, 4, 210, 22, 47]);
        client.write_all(b"S").unwrap();
        let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap();
        let (back, forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || pump(forth, server));
        pump(back, client);
    });
    for (port, protocol) in [(smtp, "smtp"), (imap, "imap"), (pop3, "pop3"), (postgres, "postgres")]
    {
        let (report, status) = scene.report(port, &["--starttls", protocol]);
        assert_eq!((status, names(&report).len()), (0, 2), "{protocol}: {report}");
    }
    let place = |port| format!("127.0.0.1:{port}");
    let refused = scene.check(&place(imap), &["--starttls", "smtp"]);
    assert_refused(&refused, "the server does not start TLS: it answered \"* OK hi\"");
    let silent = scene.check(&place(server), &["--starttls", "smtp", "--timeout", "1"]);
    assert_refused(&silent, "no answer");
    let (closes, _) = serve(|_, _| {});
    let closed = scene.check(&place(closes), &["--starttls", "pop3"]);
    assert_refused(&closed, "the server ended the connection before TLS");
}

#[test]
fn bad_arguments_are_refused() {
    let Some(scene) = Scene::new() else { return };
    for wrong in
        ["example.org", ":443", "localhost:0", "localhost:https", "::1:443", "[::1:443", ""]
    {
        assert_refused(&scene.check(wrong, &[]), "expected HOST:PORT");
    }
    let unknown = scene.check("no-such-host.invalid:443", &["--timeout", "10"]);
    assert_refused(&unknown, "no-such-host.invalid:443: ");
    let check = |arguments: &[&str]| scene.check("127.0.0.1:9", arguments);
    assert_refused(&check(&["--libssl", "/no/such"]), "/no/such: expected a file called libssl");
    assert_misused(&check(&["--name", "a b"]), "expected a host name");
    assert_misused(&check(&["--name", ""]), "expected a host name");
    assert_misused(&check(&["--timeout", "0"]), "expected a number from 0.001 to 3600");
    assert_misused(&check(&["--timeout", "soon"]), "expected a number");
    assert_misused(&check(&["--starttls", "ftp"]), "invalid value 'ftp'");
    assert_misused(&check(&["more"]), "unexpected argument 'more'");
    assert_misused(&scene.tool.output(&["check"]), "required arguments");
}

#[test]
fn output_that_cannot_be_written_is_told_in_a_line() {
    let Some(scene) = Scene::new() else { return };
    let own = [HYBRID, X25519];
    let port = chooser(move |groups, shares| clients_first(&own, groups, shares));
    let server = format!("127.0.0.1:{port}");
    let commands = [vec!["check", &server], vec!["check", &server, "--json"]];
    let commands = commands.map(|words| words.into_iter().map(str::to_owned).collect());
    assert_closed_output_is_told(&scene.tool, &commands);
    assert_open_output_is_there(&scene.tool, &commands);
}
