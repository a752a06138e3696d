//! Connections of the demonstration, and their groups as both ends report them.

use std::fmt;
use std::fs::File;

use output::Failure;
use testbed::{Browser, BrowserKind, Server, Stage, wait_for};

use super::observed_group::{in_curl_trace, in_nginx_page, in_s_client_messages, in_stunnel_log};
use super::ports::Ports;
use super::relay::Relay;
use super::servers::{PAGE, start_stunnel_client};
use crate::certificates::AUTHORITY;
use crate::programs::Programs;

/// A connection and its result.
pub(crate) struct Connection {
    client: String,
    server: &'static str,
    /// The expected group.
    group: &'static str,
    /// The client's word for it.
    word: &'static str,
    /// True if the relay read the client's group.
    relayed: bool,
    ends: Result<Ends, Failure>,
}

/// The groups that the ends report, or `None` if an end reports none.
struct Ends {
    client: Option<String>,
    server: Option<String>,
}

/// Makes the connections and fetches pages.
pub(crate) struct Connector<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) programs: &'a Programs,
    pub(crate) ports: Ports,
}

/// A client that speaks TLS.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Client {
    Curl,
    SClient,
}

/// A page, and the group that the client reports.
struct Fetched {
    page: String,
    group: Option<String>,
}

/// Arguments that exclude the user's settings and proxies. curl prints the page or a line with an
/// error.
const CURL_ARGUMENTS: [&str; 9] = [
    "--disable",
    "--noproxy",
    "*",
    "--ipv4",
    "--silent",
    "--show-error",
    "--fail",
    "--max-time",
    "10",
];

impl Client {
    pub(crate) const ALL: [Self; 2] = [Self::Curl, Self::SClient];

    fn name(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::SClient => "openssl s_client",
        }
    }
}

impl Connector<'_> {
    /// Fetches nginx's page, which contains the group that nginx reports.
    pub(crate) fn to_nginx(&self, client: Client, group: &'static str) -> Connection {
        let fetched = self.fetch(client, group, self.ports.nginx);
        let ends = fetched
            .map(|fetched| Ends { client: fetched.group, server: in_nginx_page(&fetched.page) });
        Connection::new(client.name(), "nginx", group, ends)
    }

    /// Loads nginx's page in a browser, which offers groups of its own. `group` must be the one
    /// that it prefers.
    pub(crate) fn in_browser(&self, kind: BrowserKind, group: &'static str) -> Connection {
        let mut client = kind.name().to_owned();
        let mut load = || {
            let mut browser = Browser::start(self.stage, kind)?;
            client = browser.name();
            browser.load(&format!("https://127.0.0.1:{}/", self.ports.nginx))
        };
        let ends = load()
            .map(|loaded| Ends { client: Some(loaded.group), server: in_nginx_page(&loaded.page) });
        let word = kind.word_for(group).unwrap_or(group);
        Connection { word, ..Connection::new(&client, "nginx", group, ends) }
    }

    /// Fetches the page behind stunnel, which logs the key share.
    pub(crate) fn to_stunnel(
        &self,
        stunnel: &Server,
        client: Client,
        group: &'static str,
    ) -> Connection {
        let ends = stunnel.log().and_then(|before| {
            let fetched = self.fetch(client, group, self.ports.stunnel)?;
            if !fetched.page.contains(PAGE) {
                return Err(Failure::new("another page came"));
            }
            let log = || in_stunnel_log(stunnel.log().ok()?.get(before.len()..)?);
            Ok(Ends { client: fetched.group, server: wait_for(log) })
        });
        Connection::new(client.name(), "stunnel", group, ends)
    }

    /// Fetches nginx's page without TLS, through stunnel as a client and the relay.
    pub(crate) fn without_tls(&self, group: &'static str) -> Result<Connection, Failure> {
        let relay = Relay::start(self.ports.nginx)?;
        let ports = Ports { nginx: relay.port, ..self.ports };
        let stunnel = start_stunnel_client(self.stage, self.programs, &ports)?;
        let mut curl = self.programs.stock(self.stage, "curl");
        curl.args(CURL_ARGUMENTS).arg(format!("http://127.0.0.1:{}/", ports.tunnel));
        let page = self.stage.run(&mut curl).and_then(|finished| finished.output_of("curl"));
        let ends = match page {
            Ok(page) => Ok(Ends { client: relay.group(), server: in_nginx_page(&page) }),
            Err(failure) => Err(match self.stage.end_of(&stunnel)? {
                Some(status) => Failure::new(format!("{failure}; stunnel ended ({status})")),
                None => failure,
            }),
        };
        Ok(Connection { relayed: true, ..Connection::new("stunnel", "nginx", group, ends) })
    }

    /// Fetches a page from a port, offering one group.
    fn fetch(&self, client: Client, group: &str, port: u16) -> Result<Fetched, Failure> {
        match client {
            Client::Curl => self.curl(group, port),
            Client::SClient => self.s_client(group, port),
        }
    }

    fn curl(&self, group: &str, port: u16) -> Result<Fetched, Failure> {
        const TRACE: &str = "curl.trace";
        // Removes the trace of the previous connection.
        self.stage.write(TRACE, "")?;
        let mut command = self.programs.run(self.stage, Some(group), "curl");
        command
            .args(CURL_ARGUMENTS)
            .args(["--cacert", AUTHORITY, "--trace", TRACE])
            .arg(format!("https://localhost:{port}/"));
        let page = self.stage.run(&mut command)?.output_of(Client::Curl.name())?;
        Ok(Fetched { page, group: in_curl_trace(&self.stage.read(TRACE)?) })
    }

    fn s_client(&self, group: &str, port: u16) -> Result<Fetched, Failure> {
        const REQUEST: &str = "request";
        const MESSAGES: &str = "s_client.messages";
        self.stage.write(MESSAGES, "")?;
        self.stage.write(REQUEST, "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let request = File::open(self.stage.folder().join(REQUEST));
        let mut command = self.programs.run(self.stage, Some(group), "openssl");
        command
            .args(["s_client", "-4", "-quiet", "-connect", &format!("localhost:{port}")])
            .args(["-CAfile", AUTHORITY, "-verify_return_error", "-verify_hostname", "localhost"])
            .args(["-msg", "-msgfile", MESSAGES])
            .stdin(request.map_err(Failure::about(REQUEST))?);
        let page = self.stage.run(&mut command)?.output_of(Client::SClient.name())?;
        Ok(Fetched { page, group: in_s_client_messages(&self.stage.read(MESSAGES)?) })
    }
}

impl Connection {
    /// Makes a connection of a client that uses our names of groups.
    fn new(
        client: &str,
        server: &'static str,
        group: &'static str,
        ends: Result<Ends, Failure>,
    ) -> Self {
        Self { client: client.into(), server, group, word: group, relayed: false, ends }
    }

    /// Returns the heading of the table.
    pub(crate) fn heading() -> String {
        let line = row("client", "server", "expected", "client reports", "server reports");
        format!("{line}\n{}", "-".repeat(line.len()))
    }

    /// Describes the error, if there is one.
    pub(crate) fn wrong(&self) -> Option<String> {
        let Self { client, server, group, word, .. } = self;
        let what = match &self.ends {
            Err(failure) => failure.to_string(),
            Ok(ends) => {
                if ends.client.as_deref() == Some(word) && ends.server.as_deref() == Some(group) {
                    return None;
                }
                let (client, server) = (said(&ends.client), said(&ends.server));
                format!("the client reports {client}, the server {server}")
            }
        };
        Some(format!("{client} to {server} with {group}: {what}"))
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (client, server) = match &self.ends {
            Ok(ends) => (said(&ends.client), said(&ends.server)),
            Err(_) => ("failed", "failed"),
        };
        let mark = if self.relayed && self.ends.is_ok() { " *" } else { "" };
        let line = row(&self.client, self.server, self.group, &format!("{client}{mark}"), server);
        f.write_str(&line)?;
        if self.wrong().is_some() {
            f.write_str("  WRONG")?;
        }
        Ok(())
    }
}

fn said(end: &Option<String>) -> &str {
    end.as_deref().unwrap_or("nothing")
}

fn row(client: &str, server: &str, group: &str, by_client: &str, by_server: &str) -> String {
    let row = format!("{client:24}{server:10}{group:18}{by_client:20}{by_server}");
    row.trim_end().into()
}
