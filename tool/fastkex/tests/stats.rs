//! Tests of `fastkex stats`: the counts of stock programs, and their output.

mod common;

use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, fchown, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

use common::{NOBODY, Tool, assert_misused, assert_refused, is_root, stderr, stdout};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use serde_json::Value;
use testbed::{Server, Stage};

const GROUP: &str = "sntrup761";

/// A connected server and client of the distribution's `openssl`. Both let other users see their
/// counts.
struct Scene {
    tool: Tool,
    server: Server,
    client: Server,
    _stage: Stage,
}

impl Scene {
    fn new() -> Option<Scene> {
        let tool = Tool::with_openssl()?;
        let stage = Stage::new().unwrap();
        let configuration = format!(
            "openssl_conf = init\n[init]\nproviders = all\n[all]\ndefault = default_sect\nfastkex = ours\n\
             [default_sect]\nactivate = 1\n[ours]\nmodule = {}\nactivate = 1\nstatistics = on\n\
             [req]\ndistinguished_name = name\n[name]\n",
            tool.module().display()
        );
        stage.write("openssl.cnf", &configuration).unwrap();
        let openssl = |arguments: &str| {
            let mut command = stage.stock("openssl");
            command
                .args(arguments.split(' '))
                .env("OPENSSL_CONF", stage.folder().join("openssl.cnf"));
            command
        };
        let certificate =
            "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=localhost";
        stage.run(&mut openssl(certificate)).unwrap().output_of("openssl req").unwrap();
        let [port] = testbed::free_ports().unwrap();
        let arguments = format!(
            "s_server -accept 127.0.0.1:{port} -cert cert.pem -key key.pem -tls1_3 -www -groups {GROUP}"
        );
        let accepts = |log: &str| log.lines().any(|line| line == "ACCEPT");
        let server = stage.start("s_server", &mut openssl(&arguments), accepts).unwrap();
        let arguments =
            format!("s_client -connect 127.0.0.1:{port} -tls1_3 -groups {GROUP} -ign_eof");
        let connected = |log: &str| log.contains("SSL handshake has read");
        let client = stage.start("s_client", &mut openssl(&arguments), connected).unwrap();
        Some(Scene { tool, server, client, _stage: stage })
    }

    fn stats(&self, arguments: &[&str]) -> Output {
        self.tool.output(&[&["stats"], arguments].concat())
    }

    /// Returns what `--json` prints about the pools of a process, and about its handshakes.
    fn records(&self, process: &Server) -> (Vec<Value>, Vec<Value>) {
        let output = self.stats(&[&process.id().to_string(), "--json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let records: Value = serde_json::from_slice(&output.stdout).unwrap();
        let records = records.as_array().unwrap().clone();
        records.into_iter().partition(|record| record.get("purpose").is_some())
    }
}

#[test]
fn a_client_that_connects_once_pays_for_one_key() {
    let Some(scene) = Scene::new() else { return };
    for (process, purpose) in [(&scene.client, "key_pairs"), (&scene.server, "encapsulations")] {
        let (records, handshakes) = scene.records(process);
        assert_eq!(records.len(), 1, "{records:?}");
        let record = &records[0];
        assert_eq!(record["pid"], process.id());
        assert_eq!((&record["program"], &record["group"]), (&"openssl".into(), &GROUP.into()));
        assert_eq!(record["purpose"], purpose);
        for (name, count) in [("generated", 1), ("inline", 1), ("from_pool", 0), ("stock", 0)] {
            assert_eq!(record[name], count, "{name}: {record}");
        }
        let role = if purpose == "key_pairs" { "client" } else { "server" };
        let expected = [
            serde_json::json!({
                "pid": process.id(), "program": "openssl", "group": GROUP, "role": role,
                "post_quantum": true, "handshakes": 1,
            }),
            serde_json::json!({ "pid": process.id(), "program": "openssl", "connections": 1 }),
        ];
        assert_eq!(handshakes, expected);
        let text = stdout(&scene.stats(&[&process.id().to_string()]));
        let share = format!("post-quantum as {role}: 100.0 % (1 of 1 handshakes)");
        assert_eq!(text.lines().next(), Some(share.as_str()), "{text}");
    }

    let output = scene.stats(&["--prometheus"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for line in [
        "fastkex_up 1".to_owned(),
        "fastkex_connections_total{program=\"openssl\"} 2".to_owned(),
        format!("fastkex_key_pairs_generated_total{{program=\"openssl\",group=\"{GROUP}\"}} 1"),
        format!(
            "fastkex_handshakes_total{{program=\"openssl\",group=\"{GROUP}\",role=\"server\",post_quantum=\"yes\"}} 1"
        ),
    ] {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
    assert!(!text.contains("pid="), "{text}");
    // Each metric is introduced once, and every line belongs to one.
    for (name, kind) in [
        ("fastkex_key_pairs_in_stock", "gauge"),
        ("fastkex_handshakes_total", "counter"),
        ("fastkex_encapsulations_refill_seconds_total", "counter"),
    ] {
        assert_eq!(text.matches(&format!("# TYPE {name} {kind}\n")).count(), 1, "{text}");
    }
    assert!(text.lines().all(|line| line.starts_with("# ") || line.starts_with("fastkex_")));
    follows_the_conventions(&text);

    let output = scene.stats(&[]);
    let text = stdout(&output);
    let ids = [scene.client.id(), scene.server.id()].map(|id| id.to_string());
    let shown = |id: &String| text.lines().any(|line| line.split_whitespace().nth(1) == Some(id));
    assert!(ids.iter().all(shown), "{text}");
}

/// Has Prometheus's own tool read the text and judge the names and units.
fn follows_the_conventions(text: &str) {
    let mut command = Command::new("promtool");
    let command = command.args(["check", "metrics"]).stdin(Stdio::piped());
    let Ok(mut promtool) = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
        artifacts::skipped("no promtool (apt-get install prometheus)");
        return;
    };
    promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = promtool.wait_with_output().unwrap();
    let said = stdout(&output) + &stderr(&output);
    assert!(output.status.success() && said.is_empty(), "{said}: {text}");
}

#[test]
fn watching_an_idle_machine_succeeds() {
    let tool = Tool::new();
    let output = tool.output(&["stats", "--prometheus"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("# TYPE fastkex_handshakes_total counter\n"), "{text}");
    follows_the_conventions(&text);
}

#[test]
fn processes_that_have_ended_are_remembered() {
    let tool = Tool::new();
    let (state, written) = (tool.path("state.json"), tool.path("fastkex.prom"));
    let (state, written) = (state.to_str().unwrap(), written.to_str().unwrap());
    let sum = || {
        let options = ["stats", "--prometheus", "--state", state, "--output", written];
        let output = tool.output(&options);
        assert!(output.status.success() && output.stdout.is_empty(), "{}", stderr(&output));
        let text = std::fs::read_to_string(written).unwrap();
        let start =
            "fastkex_key_pairs_generated_total{program=\"remembered\",group=\"sntrup761\"} ";
        let value = text.lines().find_map(|line| line.strip_prefix(start));
        value.map(|value| value.parse::<u64>().unwrap())
    };
    let worker = |count| Forgery { program: b"remembered", count, ..Forgery::default() };
    assert_eq!(sum(), None);
    let first = worker(5).start(&tool);
    assert_eq!((sum(), sum()), (Some(5), Some(5)));
    let second = worker(7).start(&tool);
    assert_eq!(sum(), Some(12));
    drop(first);
    assert_eq!((sum(), sum()), (Some(12), Some(12)));
    drop(second);
    let _third = worker(1).start(&tool);
    assert_eq!((sum(), sum()), (Some(13), Some(13)));
    // Without the file the sums are those of the processes that run.
    let text = stdout(&tool.output(&["stats", "--prometheus"]));
    let now = "fastkex_key_pairs_generated_total{program=\"remembered\",group=\"sntrup761\"} 1";
    assert!(text.lines().any(|line| line == now), "{text}");

    std::fs::write(state, "nonsense").unwrap();
    let refused = tool.output(&["stats", "--prometheus", "--state", state]);
    assert_refused(&refused, "no state of fastkex stats");
    assert_misused(&tool.output(&["stats", "--state", state]), "--prometheus");
}

#[test]
fn processes_without_counts_are_named() {
    let tool = Tool::new();
    let mut other = Command::new("sleep").arg("60").spawn().unwrap();
    assert_refused(&tool.output(&["stats", &other.id().to_string()]), "statistics = on");
    other.kill().unwrap();
    other.wait().unwrap();
    assert_refused(&tool.output(&["stats", "4194305"]), "no process 4194305");
    assert_misused(&tool.output(&["stats", "x"]), "invalid value 'x'");
    assert_misused(&tool.output(&["stats", "--json", "--watch"]), "cannot be used with");
}

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Bytes of the counts of handshakes, which come before the records of pools.
const HANDSHAKES: u64 = 640;

/// A process that shows a forged page. The default values form a page as the module makes it.
struct Forgery<'a> {
    /// The process's name.
    program: &'a [u8],
    /// The process's user and the page's owner, if not this user.
    user: Option<u32>,
    owner: Option<u32>,
    group: &'a [u8],
    count: u64,
    /// Each byte of the counts of handshakes.
    handshakes: u8,
    /// Connections of a process that counts handshakes.
    connections: Option<u64>,
    seals: SealFlags,
    length: u64,
}

/// A process that ends when this value is dropped.
struct Forged(Child, String);

impl Default for Forgery<'_> {
    fn default() -> Self {
        Forgery {
            program: b"honest",
            user: None,
            owner: None,
            group: GROUP.as_bytes(),
            count: 5,
            handshakes: 0,
            connections: None,
            seals: SEALS,
            length: 64 + HANDSHAKES + 64 * 192,
        }
    }
}

impl Forgery<'_> {
    fn start(&self, tool: &Tool) -> Forged {
        let program = tool.home.path().join(std::ffi::OsStr::from_bytes(self.program));
        let _ = std::fs::remove_file(&program);
        symlink("/bin/sleep", &program).unwrap();
        let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
        let page = File::from(memfd_create("fastkex-statistics", flags).unwrap());
        fchown(&page, self.owner, None).unwrap();
        let mut command = Command::new(&program);
        command.arg("60").stdin(Stdio::from(page.try_clone().unwrap()));
        if let Some(user) = self.user {
            common::make_folder(tool.home.path(), 0o755, None);
            command.uid(user).gid(user);
        }
        let name = String::from_utf8_lossy(self.program).into_owned();
        let process = Forged(command.spawn().unwrap(), name);

        let mut bytes = b"fastkex counts 2".to_vec();
        bytes.extend(process.0.id().to_ne_bytes());
        bytes.resize(64, 0);
        if let Some(connections) = self.connections {
            bytes.extend(1u64.to_ne_bytes());
            bytes.extend(connections.to_ne_bytes());
        }
        bytes.resize(64 + HANDSHAKES as usize, self.handshakes);
        bytes.extend(1u32.to_ne_bytes());
        bytes.extend(self.group);
        bytes.resize(128 + HANDSHAKES as usize, 0);
        (0..14).for_each(|_| bytes.extend(self.count.to_ne_bytes()));
        page.write_all_at(&bytes, 0).unwrap();
        page.set_len(self.length).unwrap();
        fcntl_add_seals(&page, self.seals).unwrap();
        process
    }
}

impl Drop for Forged {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Returns the counts of a process as a table and for programs. Checks each line of the output for
/// Prometheus.
fn printed(tool: &Tool, process: &Forged) -> (Output, String, Vec<String>, Value) {
    let id = process.0.id().to_string();
    let table = tool.output(&["stats", &id]);
    let all = stdout(&tool.output(&["stats", "--prometheus"]));
    for line in all.lines() {
        let well_formed = || {
            let (name, rest) = line.strip_prefix("fastkex_")?.split_once('{')?;
            let (labels, value) = rest.rsplit_once("} ")?;
            value.parse::<f64>().ok()?;
            let plain = |text: &str| text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_'));
            (plain(name) && labels.starts_with("program=\"") && labels.ends_with('"')).then_some(())
        };
        let is_plain = line.starts_with("# ") || line == "fastkex_up 1";
        assert!(is_plain || well_formed().is_some(), "{line:?}");
        assert!(line.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{line:?}");
    }
    let json = tool.output(&["stats", &id, "--json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap_or_default();
    let own = json[0]["program"].as_str().unwrap_or(&process.1);
    let own = format!("{{program=\"{}\",", own.replace('\\', r"\\").replace('"', r#"\""#));
    let lines = all.lines().filter(|line| line.contains(&own)).map(str::to_owned).collect();
    (table, id, lines, json)
}

#[test]
fn pages_that_the_module_did_not_make_are_refused() {
    let tool = Tool::new();
    let shown = |forgery: Forgery| {
        let process = forgery.start(&tool);
        let (table, id, lines, json) = printed(&tool, &process);
        let record = json.get(0).unwrap_or_else(|| panic!("{}", stderr(&table))).clone();
        assert_eq!(record["generated"], forgery.count);
        // Processes that count and that do not, thirteen counters, two gauges.
        assert_eq!(lines.len(), 17, "{lines:?}");
        let text = stdout(&table);
        assert!(text.contains(&id) && text.contains("sntrup761"), "{text}");
        (text, record, lines)
    };
    let refused = |what: &str, forgery: Forgery, expected: &str| {
        let process = forgery.start(&tool);
        let (table, _, lines, json) = printed(&tool, &process);
        assert_refused(&table, expected);
        assert!(lines.is_empty() && json.is_null(), "{what}: {lines:?} {json:?}");
    };

    // A page as the module makes it.
    shown(Forgery::default());
    let x25519 = Forgery { program: b"curve", group: b"X25519", ..Forgery::default() }.start(&tool);
    assert_eq!(printed(&tool, &x25519).3[0]["group"], "X25519");

    let unknown = "page of counts with an unknown group";
    for group in
        [&b"x\"} 1\nfake_metric 1\n#"[..], b"\x1b[2Jsntrup761", b"sntrup761\xff", b"sntrup762", b""]
    {
        let forgery = Forgery { group, ..Forgery::default() };
        refused(&String::from_utf8_lossy(group), forgery, unknown);
    }
    let huge = Forgery { length: 600 << 20, ..Forgery::default() };
    refused("huge", huge, "page of counts of 629145600 bytes: expected 12992");
    let short = Forgery { length: 100, ..Forgery::default() };
    refused("short", short, "page of counts of 100 bytes");
    for seals in [SealFlags::empty(), SealFlags::SHRINK | SealFlags::GROW] {
        let forgery = Forgery { seals, ..Forgery::default() };
        refused("unsealed", forgery, "no sealed memory file");
    }

    // Numbers that no pool reaches.
    let (text, record, lines) = shown(Forgery { count: u64::MAX, ..Forgery::default() });
    assert_eq!(record["stock"], 0);
    assert!(lines.iter().any(|line| line.ends_with(&format!(" {}", u64::MAX))), "{lines:?}");
    assert!(text.lines().count() < 6, "{text}");
    let handshakes = Forgery { handshakes: 0xff, ..Forgery::default() }.start(&tool);
    let (table, _, lines, json) = printed(&tool, &handshakes);
    let text = stdout(&table);
    assert!(text.starts_with("post-quantum as client: 100.0 % ("), "{text}");
    assert!(text.contains("are not counted: nothing counts them"), "{text}");
    let most = format!("group=\"none\",role=\"server\",post_quantum=\"no\"}} {}", u64::MAX);
    assert!(lines.iter().any(|line| line.ends_with(&most)), "{lines:?}");
    assert_eq!(json.as_array().unwrap().last().unwrap()["not_counted"], "nothing counts them");
    drop(handshakes);

    // A program with a callback of its own, and one whose first handshake is under way.
    for (connections, expected) in [
        (1, "No handshakes have been counted."),
        (
            1234,
            "were not seen in 1,234 connections: they fail, or the program sets an info callback",
        ),
    ] {
        let connections = Some(connections);
        let (text, _, _) = shown(Forgery { connections, ..Forgery::default() });
        assert!(text.lines().next().unwrap().ends_with(expected), "{text}");
    }

    // A process chooses its own name.
    let program = b"a\"b\\c\n\x1b[2J\xc2\x9b";
    let (text, record, lines) = shown(Forgery { program, ..Forgery::default() });
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    assert_eq!(record["program"], r#"a\"b\\c\n\x1b[2J\xc2\x9b"#);
    assert!(lines[0].contains(r#"program="a\\\"b\\\\c\\n\\x1b[2J\\xc2\\x9b","#), "{}", lines[0]);
}

#[test]
fn pages_of_other_users_must_be_their_processes_own() {
    let tool = Tool::new();
    if !is_root() {
        return;
    }
    let of = |user, owner| {
        Forgery { program: b"anyone", user, owner, ..Forgery::default() }.start(&tool)
    };
    let honest = of(Some(NOBODY), Some(NOBODY));
    assert_eq!(printed(&tool, &honest).2.len(), 17);
    drop(honest);
    for (user, owner) in [(Some(NOBODY), None), (None, Some(NOBODY)), (Some(NOBODY), Some(1))] {
        let process = of(user, owner);
        let (table, _, lines, _) = printed(&tool, &process);
        assert_refused(&table, &format!("page of counts of user {}", owner.unwrap_or(0)));
        assert!(lines.is_empty(), "{lines:?}");
    }
}
