//! Stock servers as proxies, which are clients of the servers behind them: no key share is offered
//! twice, by whichever of their processes, also when they are reloaded at work.
//!
//! `FASTKEX_TEST_CONNECTIONS` sets how many connections each proxy makes at least.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use common::load::Load;
use common::recorder::Recorder;
use common::scene::Scene;
use kex::{TLS_GROUPS, TlsGroup};
use testbed::{Server, Signal, children};

const CLIENTS: usize = 8;
const RELOADS: u64 = 2;
/// Time for a proxy to do the next thing.
const TIMEOUT: Duration = Duration::from_secs(30);

/// One proxy at a time: each has all processors busy.
static TURN: Mutex<()> = Mutex::new(());

/// A proxy, started.
struct Proxy<'a> {
    name: &'a str,
    scene: &'a Scene,
    server: Server,
    port: u16,
    /// Makes it replace its workers.
    reload: Signal,
    /// The groups that it offers, one for each path that is fetched.
    groups: &'a [&'static TlsGroup],
    /// The number of its workers that are at work at the same time, at least.
    workers: usize,
    /// Reads its log of requests, lines that begin with the worker's process.
    log: fn(&Scene, &Server) -> String,
    /// Whether the log has each request: HAProxy drops lines that it cannot write at once.
    logs_all: bool,
}

fn group(name: &str) -> &'static TlsGroup {
    TLS_GROUPS.iter().find(|group| group.name == name).unwrap()
}

fn connections(by_default: u64) -> u64 {
    match std::env::var("FASTKEX_TEST_CONNECTIONS") {
        Ok(text) => text.parse().unwrap_or_else(|_| {
            panic!("FASTKEX_TEST_CONNECTIONS={text}: expected a number of connections")
        }),
        Err(_) => by_default,
    }
}

fn accepts(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

impl Proxy<'_> {
    /// Has it make connections, with reloads on the way, and looks at all their key shares.
    fn check(&self, recorder: &Recorder, connections: u64) {
        let started = Instant::now();
        let paths: Vec<_> = self.groups.iter().map(|group| format!("/{}", group.name)).collect();
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let load = Load::start(self.port, &paths, CLIENTS);
        for reload in 1..=RELOADS {
            self.wait_for_answers(&load, reload * connections / (RELOADS + 1));
            let workers = || children(self.server.id());
            // They are started one after another, and the first may have done all so far.
            self.wait_while(&load, "all processes", || workers().len() < self.workers);
            let old = workers();
            self.scene.stage.signal(&self.server, self.reload).unwrap();
            let goes_on = || {
                let now = workers();
                now.is_empty() || now.iter().any(|worker| old.contains(worker))
            };
            self.wait_while(&load, "reloaded", goes_on);
            let answers = load.answers();
            self.wait_for_answers(&load, answers + connections / (RELOADS + 1));
        }
        self.wait_for_answers(&load, connections);
        let answers = load.end();
        let report = recorder.report();
        // The last lines are written after the answers that they tell of.
        let read = || (self.log)(self.scene, &self.server);
        let is_whole = |log: &String| !self.logs_all || log.lines().count() as u64 >= answers;
        let log = testbed::wait_for(|| Some(read()).filter(is_whole)).unwrap_or_else(read);
        let workers: BTreeSet<_> = log.lines().filter_map(|line| line.split(' ').next()).collect();
        artifacts::say(&format!(
            "{}: {answers} connections by {} workers, {RELOADS} reloads, {:.1} s",
            self.name,
            workers.len(),
            started.elapsed().as_secs_f64()
        ));

        assert_eq!(report.repeated, 0, "{}: key shares were offered twice: {report:?}", self.name);
        assert_eq!((report.hellos, report.others), (answers, 0), "{}", self.name);
        let offered: BTreeMap<_, _> = report.shares;
        let expected: Vec<_> =
            self.groups.iter().map(|group| (group.code_point, group.public_key_bytes)).collect();
        assert_eq!(offered.keys().copied().collect::<Vec<_>>(), expected, "{}", self.name);
        assert_eq!(offered.values().sum::<u64>(), answers, "{}", self.name);
        let logged = log.lines().count() as u64;
        assert!(logged == answers || !self.logs_all && logged < answers, "{}: {logged}", self.name);
        // Those of each generation; all but one may have been too slow.
        let least = RELOADS + 1 + u64::from(self.workers > 1);
        assert!(workers.len() as u64 >= least, "{}: {workers:?}", self.name);
    }

    fn wait_for_answers(&self, load: &Load, answers: u64) {
        let mut before = load.answers();
        while before < answers && !load.has_failed() {
            self.wait_while(load, "answering", || load.answers() == before);
            before = load.answers();
        }
    }

    fn wait_while(&self, load: &Load, what: &str, mut goes_on: impl FnMut() -> bool) {
        let started = Instant::now();
        while goes_on() && !load.has_failed() {
            let log = || self.server.log().unwrap();
            assert!(started.elapsed() < TIMEOUT, "{} is not {what}: {}", self.name, log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The provider's settings (the default ones, and a background thread), and the number of
/// connections that a proxy makes with each.
const CONNECTIONS: [(&str, u64); 2] = [("", 100_000), ("refill = background", 10_000)];

/// nginx, with settings of the provider.
fn nginx(settings: &str, connections: u64) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(scene) = Scene::new(&[("nginx", "nginx")]) else { return };
    let recorder = Recorder::start();
    let groups = [group("X25519MLKEM768"), group("sntrup761")];
    scene.configure_groups("X25519", settings);
    let [port] = testbed::free_ports().unwrap();
    let text = include_str!("proxies/nginx.conf")
        .replace("@recorder@", &recorder.port().to_string())
        .replace("@port@", &port.to_string())
        .replace("@first@", groups[0].name)
        .replace("@second@", groups[1].name);
    scene.stage.write("nginx.conf", &text).unwrap();
    let mut command = scene.program("nginx", &["-e", "stderr", "-p", ".", "-c", "nginx.conf"]);
    let server = scene.stage.start("nginx", &mut command, |_| accepts(port)).unwrap();
    let name = named("nginx", settings);
    let (scene, groups) = (&scene, &groups);
    let (workers, log, logs_all) = (2, access_log, true);
    Proxy { name: &name, scene, server, port, reload: Signal::HUP, groups, workers, log, logs_all }
        .check(&recorder, connections);
}

/// The log that nginx and Apache write.
fn access_log(scene: &Scene, _: &Server) -> String {
    scene.stage.read("access.log").unwrap()
}

fn named(program: &str, settings: &str) -> String {
    [program, settings].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

#[test]
fn nginx_offers_no_key_share_twice() {
    for (settings, by_default) in CONNECTIONS {
        nginx(settings, connections(by_default));
    }
}

/// Apache with a module for processes and settings of the provider; groups by OpenSSL's
/// configuration, as mod_ssl has no directive for proxies.
fn apache(mpm: &str, offered: &str, settings: &str, by_default: u64) {
    const MODULES: &str = "/usr/lib/apache2/modules";
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(scene) = Scene::new(&[("apache2", "apache2-bin")]) else { return };
    if !Path::new(MODULES).is_dir() {
        artifacts::skipped(&format!("Apache's modules are not in {MODULES}"));
        return;
    }
    scene.configure_groups(offered, settings);
    let recorder = Recorder::start();
    let [port] = testbed::free_ports().unwrap();
    let folder = scene.stage.folder().display().to_string();
    let text = include_str!("proxies/apache.conf")
        .replace("@recorder@", &recorder.port().to_string())
        .replace("@port@", &port.to_string())
        .replace("@modules@", MODULES)
        .replace("@mpm@", mpm)
        .replace("@folder@", &folder);
    scene.stage.write("apache.conf", &text).unwrap();
    let configuration = scene.path("apache.conf");
    let configuration = configuration.to_str().unwrap();
    let mut command =
        scene.program("apache2", &["-d", &folder, "-f", configuration, "-D", "FOREGROUND"]);
    let server = scene.stage.start("apache2", &mut command, |_| accepts(port)).unwrap();
    let (name, groups) = (named(&format!("Apache, {mpm}"), settings), [group(offered)]);
    let (scene, groups) = (&scene, &groups);
    let (workers, log, logs_all) = (2, access_log, true);
    Proxy {
        name: &name,
        scene,
        server,
        port,
        reload: Signal::USR1,
        groups,
        workers,
        log,
        logs_all,
    }
    .check(&recorder, connections(by_default));
}

#[test]
fn apache_prefork_offers_no_key_share_twice() {
    for (settings, by_default) in CONNECTIONS {
        apache("prefork", "X25519MLKEM768", settings, by_default);
    }
}

#[test]
fn apache_event_offers_no_key_share_twice() {
    for (settings, by_default) in CONNECTIONS {
        apache("event", "X25519SNTRUP761", settings, by_default);
    }
}

/// HAProxy with settings of the provider; groups by OpenSSL's configuration. Its one worker has
/// several threads.
fn haproxy(settings: &str, by_default: u64) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(scene) = Scene::new(&[("haproxy", "haproxy")]) else { return };
    let offered = "X25519MLKEM768";
    scene.configure_groups(offered, settings);
    let recorder = Recorder::start();
    let [port] = testbed::free_ports().unwrap();
    let text = include_str!("proxies/haproxy.cfg")
        .replace("@recorder@", &recorder.port().to_string())
        .replace("@port@", &port.to_string());
    scene.stage.write("haproxy.cfg", &text).unwrap();
    let mut command = scene.program("haproxy", &["-W", "-f", "haproxy.cfg"]);
    let server = scene.stage.start("haproxy", &mut command, |_| accepts(port)).unwrap();
    let (name, groups) = (named("HAProxy", settings), &[group(offered)]);
    let log = |_: &Scene, server: &Server| {
        let text = server.log().unwrap();
        text.lines()
            .filter_map(|line| line.strip_prefix("worker "))
            .map(|line| format!("{line}\n"))
            .collect()
    };
    let (scene, reload, workers, logs_all) = (&scene, Signal::USR2, 1, false);
    Proxy { name: &name, scene, server, port, reload, groups, workers, log, logs_all }
        .check(&recorder, connections(by_default));
}

#[test]
fn haproxy_offers_no_key_share_twice() {
    for (settings, by_default) in CONNECTIONS {
        haproxy(settings, by_default);
    }
}
