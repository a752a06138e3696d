//! `fastkex stats`: what stock programs count, and how it is told.

mod common;

use std::process::Output;

use common::{Tool, assert_refused, stderr, stdout};
use serde_json::Value;
use stage::{Server, Stage};

const GROUP: &str = "sntrup761";

/// A server and a client of the distribution's `openssl`, connected, that let others see their counts.
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
        let [port] = stage::free_ports().unwrap();
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

    fn records(&self, process: &Server) -> Vec<Value> {
        let output = self.stats(&[&process.id().to_string(), "--json"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let records: Value = serde_json::from_slice(&output.stdout).unwrap();
        records.as_array().unwrap().clone()
    }
}

#[test]
fn a_client_that_connects_once_pays_for_one_key() {
    let Some(scene) = Scene::new() else { return };
    for (process, purpose) in [(&scene.client, "key_pairs"), (&scene.server, "encapsulations")] {
        let records = scene.records(process);
        assert_eq!(records.len(), 1, "{records:?}");
        let record = &records[0];
        assert_eq!(record["pid"], process.id());
        assert_eq!((&record["program"], &record["group"]), (&"openssl".into(), &GROUP.into()));
        assert_eq!(record["purpose"], purpose);
        for (name, count) in [("generated", 1), ("inline", 1), ("from_pool", 0), ("stock", 0)] {
            assert_eq!(record[name], count, "{name}: {record}");
        }
    }

    let output = scene.stats(&["--prometheus"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let line = format!(
        "fastkex_generated_total{{pid=\"{}\",program=\"openssl\",group=\"{GROUP}\",purpose=\"key_pairs\"}} 1",
        scene.client.id()
    );
    let text = stdout(&output);
    assert!(text.lines().any(|other| other == line), "{text}");
    // Each metric is introduced once, and every line belongs to one.
    for (name, kind) in [("fastkex_stock", "gauge"), ("fastkex_generated_total", "counter")] {
        assert_eq!(text.matches(&format!("# TYPE {name} {kind}\n")).count(), 1, "{text}");
    }
    assert!(text.lines().all(|line| line.starts_with("# ") || line.starts_with("fastkex_")));

    let output = scene.stats(&[]);
    let text = stdout(&output);
    let ids = [scene.client.id(), scene.server.id()].map(|id| id.to_string());
    let shown = |id: &String| text.lines().any(|line| line.split_whitespace().nth(1) == Some(id));
    assert!(ids.iter().all(shown), "{text}");
}

#[test]
fn processes_without_counts_are_named() {
    let tool = Tool::new();
    let own = std::process::id().to_string();
    assert_refused(&tool.output(&["stats", &own]), "statistics = on");
    assert_refused(&tool.output(&["stats", "4194305"]), "no process 4194305");
    assert_refused(&tool.output(&["stats", "x"]), "invalid value 'x'");
    assert_refused(&tool.output(&["stats", "--json", "--watch"]), "cannot be used with");
}
