//! Tests of stock applications with the lines of `docs/applications.md`: both ends of a connection
//! report its group.

mod cases;
#[path = "../common/counts.rs"]
mod counts;
mod data;
mod document;
mod mail;
mod openvpn;
mod peer;
mod protocol;
mod services;
mod setup;
#[path = "../common/words.rs"]
mod words;

use std::collections::BTreeSet;

use cases::*;
use counts::{Purpose, taken};
use document::{block, replaced, without_groups};
use peer::{GROUP, Host, serve_plainly, visit};
use protocol::{Content, SERVED, ask_plainly};
use setup::{Setup, Way, is_listening};

/// An application in one of its roles.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) program: &'static str,
    pub(crate) package: &'static str,
    pub(crate) block: &'static str,
    /// Placeholders in the block for the reader's own names, and their values: `{port}` is the port
    /// of the application, `{peer}` the port of the other end, and `{plain}` the port of a page
    /// without TLS.
    pub(crate) places: &'static [(&'static str, &'static str)],
    /// The text around the block. Some lines are [only for root](testbed::for_this_user), because
    /// only root can change to another user.
    pub(crate) frame: &'static str,
    /// The command; `{file}` stands for the file with the whole text.
    pub(crate) command: &'static [&'static str],
    pub(crate) role: Role,
    pub(crate) content: Content,
    /// A text in the page that the application serves, or in the page that it receives and prints.
    pub(crate) served: &'static str,
    pub(crate) word: Option<(Source, Word)>,
    /// True if OpenSSL's configuration alone is enough.
    pub(crate) alone: bool,
    /// The way in which the block's line for groups has an effect, if the block has one.
    pub(crate) line: Option<Way>,
    /// True if `default_properties` selects the module's X25519.
    pub(crate) properties: bool,
    /// Makes what the application needs beside its configuration.
    pub(crate) prepare: fn(&Setup),
}

/// A function that reads the group in an application's output.
pub(crate) type Word = fn(&str) -> Option<String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Accepts connections.
    Server,
    /// Keeps running, and connects when it gets a request without TLS.
    Proxy,
    /// Connects, and ends.
    Client,
}

/// The place where an application reports the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Page,
    Log,
    File(&'static str),
}

impl Case {
    fn run(&self) {
        for way in [Way::Neither, Way::Configuration].into_iter().chain(self.line) {
            let is_ours = match way {
                Way::Neither => false,
                Way::Configuration => self.alone,
                Way::Line | Way::Both => true,
            };
            self.run_way(way, if is_ours { GROUP } else { "X25519" });
        }
    }

    /// Checks that both ends report this group.
    fn run_way(&self, way: Way, expected: &str) {
        let Some(setup) = Setup::new(self.program, self.package) else { return };
        let about = format!("{}, {way:?}", self.block);
        let stage = &setup.set.stage;
        let host = Host::start(&setup, self.content);
        let [port] = testbed::free_ports().unwrap();
        let file = format!("{}.txt", self.block);
        stage.write(&file, &self.text(&setup, way, [port, host.port])).unwrap();

        (self.prepare)(&setup);

        let (program, arguments) = self.command.split_first().unwrap();
        let mut command = setup.command(program);
        command
            .args(arguments.iter().map(|argument| {
                argument.replace("{file}", &file).replace("{folder}/", &setup.path(""))
            }))
            .env("OPENSSL_CONF", setup.configure(way));
        let word = |page: &str, log: &str| {
            let (source, word) = self.word.as_ref()?;
            match source {
                Source::Page => word(page),
                Source::Log => word(log),
                Source::File(name) => word(&stage.read(name).unwrap()),
            }
        };

        if self.role == Role::Client {
            let finished = stage.run(&mut command).unwrap();
            let log = format!("{}{}", finished.output, finished.errors);
            assert!(finished.status.success(), "{about}: {log}");
            assert!(finished.output.contains(self.served), "{about}: {log}");
            assert_eq!(host.groups(), [expected], "{about}: {log}");
            if self.word.is_some() {
                let said = word(&finished.output, &log);
                assert_eq!(said.as_deref(), Some(expected), "{about}: {log}");
            }
            return;
        }

        let server = stage.start(&file, &mut command, |_| is_listening(port)).unwrap();
        let (page, purpose, _visit) = if self.role == Role::Server {
            let (group, page, visit) = visit(&setup, port, self.content);
            assert_eq!(group, expected, "{about}: {}", server.log().unwrap());
            (page, Purpose::Encapsulations, Some(visit))
        } else {
            let page = ask_plainly(port, self.content);
            // Mail is delivered after it was accepted.
            let groups = testbed::wait_for(|| Some(host.groups()).filter(|all| !all.is_empty()));
            let groups = groups.unwrap_or_default();
            let log = server.log().unwrap();
            assert!(!groups.is_empty(), "{about}: {page}{log}");
            assert!(groups.iter().all(|group| group == expected), "{about}: {groups:?}");
            (page, Purpose::KeyPairs, None)
        };
        assert!(page.contains(self.served), "{about}: {page}");
        if self.word.is_some() {
            // A log may be late.
            let said = testbed::wait_for(|| word(&page, &server.log().unwrap()));
            assert_eq!(said.as_deref(), Some(expected), "{about}: {}", server.log().unwrap());
        }
        // A process that has ended shows no counts.
        assert!(stage.end_of(&server).unwrap().is_none(), "{about}: {}", server.log().unwrap());
        assert_eq!(taken(server.id(), GROUP, purpose) > 0, expected == GROUP, "{about}");
        let ours = taken(server.id(), "X25519", Purpose::KeyPairs) > 0;
        assert_eq!(ours, expected == "X25519" && self.properties, "{about}");
    }

    /// Returns the block with its frame, for this machine.
    fn text(&self, setup: &Setup, way: Way, [port, peer]: [u16; 2]) -> String {
        let block = block(self.block);
        let block = match way {
            Way::Line | Way::Both => block,
            Way::Neither | Way::Configuration => without_groups(&block),
        };
        let places: Vec<_> =
            self.places.iter().map(|(from, to)| (*from, (*to).to_owned())).collect();
        let text = self.frame.replace("{block}", &replaced(&block, &places));
        let folder = setup.path("");
        let folder = folder.trim_end_matches('/');
        testbed::for_this_user(&text.replace("{apache}", testbed::APACHE))
            .replace("{folder}", folder)
            .replace("/etc/ssl/example", folder)
            .replace("/etc/ssl/certs/ca-certificates.crt", &setup.path("cert.pem"))
            .replace("/etc/ssl/fastkex.cnf", &setup.path("openssl.cnf"))
            .replace("/usr/local/lib/fastkex", &setup.module_folder())
            .replace("example.org", "localhost")
            .replace("{port}", &port.to_string())
            .replace("{peer}", &peer.to_string())
            .replace("{plain}", &serve_plainly(self.content).to_string())
    }
}

#[test]
fn nginx() {
    NGINX_SERVER.run();
    NGINX_CLIENT.run();
    NGINX_COMMAND.run_way(Way::Line, GROUP);
}

#[test]
fn apache() {
    APACHE_SERVER.run();
    APACHE_CLIENT.run();
}

#[test]
fn stunnel() {
    STUNNEL_SERVER.run();
    STUNNEL_CLIENT.run();
}

#[test]
fn haproxy() {
    HAPROXY_SERVER.run();
    HAPROXY_CLIENT.run();
}

/// HAProxy loads the module by itself: there are no counts, and no configuration of OpenSSL that
/// could activate the module.
#[test]
fn haproxy_by_itself() {
    let Some(setup) = Setup::new("haproxy", "haproxy") else { return };
    let [port] = testbed::free_ports().unwrap();
    let case =
        Case { block: "haproxy-provider", places: &[], frame: HAPROXY_BY_ITSELF, ..HAPROXY_SERVER };
    setup.set.stage.write("haproxy.cfg", &case.text(&setup, Way::Line, [port, 0])).unwrap();
    let mut command = setup.command("haproxy");
    command.args(["-W", "-f", "haproxy.cfg"]).env("OPENSSL_CONF", "/dev/null");
    let server = setup.set.stage.start("haproxy", &mut command, |_| is_listening(port)).unwrap();
    let (group, page, _) = visit(&setup, port, Content::Http);
    assert_eq!(group, GROUP, "{}", server.log().unwrap());
    assert!(page.contains(SERVED), "{page}");
}

#[test]
fn unbound() {
    UNBOUND_SERVER.run();
    UNBOUND_CLIENT.run();
}

#[test]
fn curl() {
    CURL.run();
    CURLRC.run_way(Way::Line, GROUP);
}

#[test]
fn python() {
    PYTHON_SERVER.run();
    PYTHON_CLIENT.run();
}

#[test]
fn openssl() {
    OPENSSL_SERVER.run();
    OPENSSL_CLIENT.run();
}

#[test]
fn lighttpd() {
    LIGHTTPD_SERVER.run();
}

#[test]
fn node() {
    NODE_SERVER.run();
    NODE_CLIENT.run();
}

/// Every named block of the document is tested.
#[test]
fn every_block_is_tried() {
    let all = [cases::ALL, mail::ALL, data::ALL].concat();
    let cases: BTreeSet<_> = all.iter().map(|case| case.block).collect();
    let others = ["openssl.cnf", "haproxy-provider"].into_iter();
    let others = others.chain(openvpn::BLOCKS).chain(services::BLOCKS);
    let tried: BTreeSet<_> = cases.into_iter().chain(others).collect();
    assert_eq!(document::names().into_iter().collect::<BTreeSet<_>>(), tried);
}

/// The document contains every line of the README's table.
#[test]
fn the_readme_says_no_other_lines() {
    let readme = std::fs::read_to_string(artifacts::root().join("README.md")).unwrap();
    let table = readme.split_once("| application | after `fastkex enable`").unwrap().1;
    let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), 11, "{rows:#?}");
    for row in rows {
        // Every second piece is the text between two backquotes.
        for line in row.split('`').skip(1).step_by(2) {
            assert!(document::TEXT.contains(line), "{line}");
        }
        let name = row.trim_start_matches("| ").split([' ', '\'']).next().unwrap();
        assert!(document::TEXT.contains(&format!("\n## {name}")), "{name}");
    }
}
