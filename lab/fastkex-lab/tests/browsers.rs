//! Stock browsers and stock servers with the module: the group as the browser tells it.

mod common;

use std::fs;
use std::path::PathBuf;

use openssl_runtime::{KeyType, Libraries};
use output::Failure;
use testbed::{Browser, BrowserKind, Listening, Offer, Purpose, Set, Started};

/// A way to start a server.
type Start = fn(&Set, KeyType, &[Offer]) -> Result<Started, Failure>;

const GROUP: &str = "X25519MLKEM768";
/// The page of the server behind the TLS servers, and of nginx.
const PAGE: &str = "A small static page\n";
const SERVERS: [Start; 4] = [testbed::nginx, testbed::apache, testbed::haproxy, testbed::stunnel];

/// Starts the servers that are installed. They prefer the module to OpenSSL where both have a
/// group.
fn start(set: &Set, groups: &str) -> Vec<Listening> {
    let mut listening = Vec::new();
    for start in SERVERS {
        match start(set, KeyType::EcP256, &[Offer::new(groups).with_fastkex()]).unwrap() {
            Started::Listening(one) => listening.extend(one),
            Started::Absent(why) => artifacts::absent(&why),
        }
    }
    listening
}

/// Loads the page of each server, with the module and without. The words are the browser's for
/// X25519MLKEM768 and for X25519.
fn check(kind: BrowserKind, [with_module, without]: [&str; 2]) {
    if !kind.is_installed() {
        return artifacts::absent(&format!("no {0} program (apt-get install {0})", kind.program()));
    }
    // It has the page of all servers.
    if !testbed::is_installed("nginx") {
        return artifacts::absent("no nginx program (apt-get install nginx)");
    }
    let libraries = Libraries::system().unwrap();
    let fastkex = artifacts::build("fastkex", "fastkex").unwrap();
    let set = || {
        let tool = env!("CARGO_BIN_EXE_fastkex-lab").as_ref();
        let module = artifacts::module().unwrap();
        Set::new(&libraries, &module, tool).unwrap().reporting()
    };
    let (ours, stock) = (set(), set().without_module());
    let mut browser = Browser::start(&ours.stage, kind).unwrap();
    for (set, groups, word, logged_group) in [
        (&ours, "X25519MLKEM768:X25519:P-256", with_module, "0x11ec"),
        (&stock, "X25519:P-256", without, "X25519"),
    ] {
        for server in start(set, groups) {
            let about = format!("{}, {}, {groups}", browser.name(), server.tls.name);
            let taken = || {
                let processes = server.tls.all_processes();
                testbed::keys_taken(&fastkex, &processes, GROUP, Purpose::Encapsulations)
            };
            assert_eq!(taken(), 0, "{about}");
            let loaded = browser.load(&format!("https://127.0.0.1:{}/", server.port));
            let loaded = loaded.unwrap_or_else(|failure| panic!("{about}: {failure}"));
            assert_eq!((loaded.page.as_str(), loaded.group.as_str()), (PAGE, word), "{about}");
            assert_eq!(taken() > 0, word == with_module, "{about}");
            if server.tls.name.starts_with("nginx ") {
                let logged = logged_groups(&server);
                assert!(logged.iter().all(|group| group == logged_group), "{about}: {logged:?}");
            }
        }
    }
    drop(browser);
    let folders: Vec<PathBuf> = [&ours, &stock].map(|set| set.stage.folder().into()).into();
    drop((ours, stock));
    for folder in folders {
        assert!(!folder.exists());
        assert_eq!(common::processes_with(folder.to_str().unwrap()), [""; 0]);
    }
}

/// Returns the groups in nginx's log: that of the page, and those of the browser's other requests.
fn logged_groups(nginx: &Listening) -> Vec<String> {
    // nginx may write the line after it has sent the page.
    let logged = testbed::wait_for(|| {
        let log = fs::read_to_string(&nginx.log).unwrap();
        let groups = log.lines().filter_map(|line| line.strip_prefix("group ")).map(str::to_owned);
        let groups: Vec<_> = groups.collect();
        (!groups.is_empty()).then_some(groups)
    });
    logged.unwrap_or_else(|| panic!("{}: no group", nginx.log.display()))
}

#[test]
fn chromium() {
    check(BrowserKind::Chromium, ["X25519MLKEM768", "X25519"]);
}

#[test]
fn firefox() {
    check(BrowserKind::Firefox, ["mlkem768x25519", "x25519"]);
}
