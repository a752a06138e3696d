//! The share of post-quantum connections as an administrator sees it: stock nginx with the module,
//! `fastkex stats`, the node exporter's textfile collector, and a real Prometheus.

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;

use common::Tool;
use openssl_runtime::{KeyType, Libraries, LibraryContext, SslContext, TlsStream};
use serde_json::Value;
use testbed::{Listening, Offer, Set, Stage, Started, free_ports, wait_for};

const PROGRAMS: [(&str, &str); 3] = [
    ("nginx", "nginx"),
    ("prometheus", "prometheus"),
    ("prometheus-node-exporter", "prometheus-node-exporter"),
];

/// The handshakes of each round: six of ten are post-quantum.
const ROUND: [(&str, usize); 3] = [("X25519MLKEM768", 6), ("X25519", 3), ("P-256", 1)];

/// Asks a server on loopback for a page and returns its body.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some(body.to_owned())
}

/// Percent-encodes all but letters and digits.
fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// A running Prometheus that scrapes a running node exporter.
struct Monitoring {
    prometheus: u16,
    exporter: u16,
}

impl Monitoring {
    fn start(stage: &Stage) -> Self {
        let [prometheus, exporter] = free_ports().unwrap();
        fs::create_dir(stage.folder().join("textfiles")).unwrap();
        let mut command = stage.stock("prometheus-node-exporter");
        command.args(["--collector.disable-defaults", "--collector.textfile"]);
        command.arg("--collector.textfile.directory=textfiles");
        command.arg(format!("--web.listen-address=127.0.0.1:{exporter}"));
        stage.start("exporter", &mut command, |_| get(exporter, "/metrics").is_some()).unwrap();

        let settings = format!(
            "global:\n  scrape_interval: 250ms\n  scrape_timeout: 250ms\nscrape_configs:\n\
             - job_name: node\n  static_configs:\n  - targets: ['127.0.0.1:{exporter}']\n"
        );
        stage.write("prometheus.yml", &settings).unwrap();
        let mut command = stage.stock("prometheus");
        command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data"]);
        command.arg(format!("--web.listen-address=127.0.0.1:{prometheus}"));
        let is_ready =
            |_: &str| get(prometheus, "/-/ready").is_some_and(|page| page.contains("Ready"));
        stage.start("prometheus", &mut command, is_ready).unwrap();
        Monitoring { prometheus, exporter }
    }

    /// The result of a query: one value for each series.
    fn query(&self, query: &str) -> Vec<f64> {
        let path = format!("/api/v1/query?query={}", encoded(query));
        let answer: Value = serde_json::from_str(&get(self.prometheus, &path).unwrap()).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let series = answer["data"]["result"].as_array().unwrap().iter();
        series.map(|one| one["value"][1].as_str().unwrap().parse().unwrap()).collect()
    }

    /// Waits until a query has this one value.
    fn expect(&self, query: &str, value: f64) {
        let is_there = || (self.query(query) == [value]).then_some(());
        assert!(wait_for(is_there).is_some(), "{query}: {:?}, not {value}", self.query(query));
    }
}

/// Makes the handshakes of a round.
fn connect(context: &LibraryContext, server: &Listening) {
    for (group, count) in ROUND {
        let client = SslContext::client(context).unwrap().groups(group).unwrap();
        let client = client.without_verification().build();
        for _ in 0..count {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).unwrap();
            let mut stream = TlsStream::new(&client, stream, None).unwrap();
            // The answer shows that the server's handshake is done.
            write!(stream, "GET / HTTP/1.0\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.contains("A small static page"), "{answer}");
        }
    }
}

/// The words of the example unit's command, with the stage's folders.
fn example(stage: &Stage) -> Vec<String> {
    let path = artifacts::root().join("packaging/monitoring/fastkex-stats.service");
    let unit = fs::read_to_string(path).unwrap();
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let folder = stage.folder().display().to_string();
    let line = line
        .replace("/var/lib/fastkex-stats", &folder)
        .replace("/var/lib/prometheus/node-exporter", &format!("{folder}/textfiles"));
    let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
    assert_eq!(words[0], "fastkex");
    words[1..].to_vec()
}

#[test]
fn prometheus_shows_the_share_of_post_quantum_connections() {
    for (program, package) in PROGRAMS {
        if !testbed::is_installed(program) {
            return artifacts::absent(&format!("no {program} (apt-get install {package})"));
        }
    }
    let tool = Tool::new();
    let libraries = Libraries::system().unwrap();
    let fastkex = env!("CARGO_BIN_EXE_fastkex").as_ref();
    let set = Set::new(&libraries, tool.module(), fastkex).unwrap().reporting();
    let offer = Offer::new("X25519MLKEM768:X25519:P-256");
    let started = testbed::nginx(&set, KeyType::EcP256, &[offer]).unwrap();
    let Started::Listening(servers) = started else { panic!("nginx is installed") };
    let server = &servers[0];
    let context = LibraryContext::new(&libraries).unwrap();
    context.load_provider("default").unwrap().keep();
    context.load_provider_with(tool.module(), &[]).unwrap().keep();

    let monitoring = Monitoring::start(&set.stage);
    let words = example(&set.stage);
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let collect = || {
        let output = tool.output(&words);
        assert!(output.status.success(), "{}", common::stderr(&output));
    };
    let of_nginx = "fastkex_handshakes_total{program=\"nginx\",role=\"server\"}";
    let total = format!("sum({of_nginx})");
    let share = format!(
        "sum(fastkex_handshakes_total{{program=\"nginx\",role=\"server\",post_quantum=\"yes\"}}) / {total}"
    );

    connect(&context, server);
    collect();
    monitoring.expect(&total, 10.0);
    monitoring.expect(&share, 0.6);
    for (group, count) in [("X25519MLKEM768", 6.0), ("X25519", 3.0), ("P-256", 1.0)] {
        let query = format!(
            "fastkex_handshakes_total{{program=\"nginx\",role=\"server\",group=\"{group}\"}}"
        );
        monitoring.expect(&query, count);
    }

    // New settings: nginx replaces its worker, and nothing is lost.
    let master = server.tls.processes[0];
    let workers = testbed::children(master);
    let hup = Command::new("kill").args(["-HUP", &master.to_string()]).status().unwrap();
    assert!(hup.success());
    let is_replaced = || {
        let now = testbed::children(master);
        (!now.is_empty() && !now.iter().any(|worker| workers.contains(worker))).then_some(())
    };
    assert!(wait_for(is_replaced).is_some());
    connect(&context, server);
    collect();
    monitoring.expect(&total, 20.0);
    let resets = format!("sum(resets({of_nginx}[5m]))");
    monitoring.expect(&resets, 0.0);
    // Extrapolation changes both parts alike.
    let over_time = share.replace("\"}", "\"}[1m]").replace("sum(fastkex", "sum(increase(fastkex");
    let over_time = over_time.replace("[1m])", "[1m]))");
    let found = monitoring.query(&over_time);
    assert!((found[0] - 0.6).abs() < 1e-9, "{over_time}: {found:?}");

    let path = artifacts::root().join("packaging/monitoring/fastkex-dashboard.json");
    let dashboard: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut queries = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            // Grafana fills in its variables.
            let query = target["expr"].as_str().unwrap();
            let query = query.replace("$__rate_interval", "1m").replace("$program", ".*");
            let query = query.replace("$role", "server");
            assert!(!query.contains('$'), "{query}");
            let found = monitoring.query(&query);
            assert!(!found.is_empty(), "{}: {query}", panel["title"]);
            queries += 1;
        }
    }
    assert!(queries >= 6);
    let first = dashboard["panels"][0]["targets"][0]["expr"].as_str().unwrap();
    let first = first.replace("$__rate_interval", "1m").replace("$program", "nginx");
    let shown = monitoring.query(&first.replace("$role", "server"));
    assert!((shown[0] - 0.6).abs() < 1e-9, "{shown:?}");

    // The collector found nothing wrong with the file.
    let page = get(monitoring.exporter, "/metrics").unwrap();
    assert!(page.lines().any(|line| line == "node_textfile_scrape_error 0"), "{page}");
}
