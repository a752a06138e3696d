//! `fastkex check`: what a TLS server on the network takes.

mod client;
mod report;
mod words;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use timer::Endpoint;
use tls_probe::{StartTls, Survey, Target};

use crate::json;
use client::OwnClient;
use output::{Failure, Outcome};
use report::Report;

/// Report what a TLS server takes: groups, order, retries, and whether large ClientHellos arrive
///
/// It begins handshakes and finishes none, about thirty in turn. Certificates do not matter: a
/// server names the group in plain text. The exit status is 0 if clients that offer X25519MLKEM768
/// as browsers do get it, 1 if they do not, and 2, with one line, if that could not be found out.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The server
    #[arg(value_name = "HOST:PORT")]
    server: String,
    /// The name to ask the server for (SNI) [default: HOST, unless it is an address]
    #[arg(long, value_name = "NAME", value_parser = server_name)]
    name: Option<String>,
    /// Start TLS in this protocol
    #[arg(long, value_name = "PROTOCOL")]
    starttls: Option<Protocol>,
    /// Ask for fastkex's groups with private code points, too
    #[arg(long)]
    all: bool,
    /// Time limit for each connection, in seconds; all together may take twenty times as long
    #[arg(long, value_name = "SECONDS", value_parser = crate::measuring::seconds, default_value = "3")]
    timeout: Duration,
    /// The OpenSSL of this machine: the folder of its libraries, or its libssl [default: the
    /// system's]
    #[arg(long, value_name = "PATH")]
    libssl: Option<PathBuf>,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// A protocol that begins without TLS.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Protocol {
    Smtp,
    Imap,
    Pop3,
    Postgres,
}

impl From<Protocol> for StartTls {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Smtp => StartTls::Smtp,
            Protocol::Imap => StartTls::Imap,
            Protocol::Pop3 => StartTls::Pop3,
            Protocol::Postgres => StartTls::Postgres,
        }
    }
}

/// The time limit of all connections, as a multiple of that of one.
const TOTAL: u32 = 20;

impl Check {
    pub(crate) fn run(&self) -> Outcome {
        let libraries = match timer::libraries(self.libssl.as_deref()) {
            Err(failure) if self.libssl.is_some() => return Err(failure),
            // Problems of this machine's OpenSSL do not concern the server.
            libraries => libraries,
        };
        let endpoint = Endpoint::find(&self.server, self.timeout)?;
        let name = match &self.name {
            Some(name) => Some(name.clone()),
            None => name_of_host(endpoint.host())?,
        };
        let client = libraries.and_then(|libraries| OwnClient::new(&libraries, name.as_deref()));
        let target = Target {
            address: endpoint.address(),
            name,
            start_tls: self.starttls.map(StartTls::from),
            timeout: self.timeout,
        };
        let given = client.as_ref().ok().map(|client| client.flight.as_slice());
        let survey = Survey {
            target: &target,
            with_private_groups: self.all,
            given,
            total: TOTAL * self.timeout,
        };
        let surveyed = survey.run().map_err(Failure::about(&endpoint))?;
        let report = Report::new(&endpoint, &target, &surveyed, &client);
        if self.json {
            output::line(json::text(&report)?)?;
        } else {
            for line in words::lines(&report) {
                output::line(line)?;
            }
        }
        Ok(report.post_quantum)
    }
}

/// Returns the name to ask for: servers have no names that are addresses (RFC 6066, section 3).
fn name_of_host(host: &str) -> Result<Option<String>, Failure> {
    if host.parse::<IpAddr>().is_ok() {
        return Ok(None);
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    server_name(name).map(Some).map_err(Failure::about(format_args!("'{host}'")))
}

/// Parses the name of a server.
fn server_name(text: &str) -> Result<String, String> {
    const MOST: usize = 253;
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if text.is_empty() || text.len() > MOST || !text.chars().all(is_part) {
        return Err(format!(
            "expected a host name of at most {MOST} letters, digits, dots and hyphens, such as \
             example.org or xn--bcher-kva.example"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_no_names() {
        assert_eq!(name_of_host("192.0.2.1").unwrap(), None);
        assert_eq!(name_of_host("::1").unwrap(), None);
        assert_eq!(name_of_host("example.org.").unwrap().as_deref(), Some("example.org"));
        let failure = name_of_host("bücher.example").unwrap_err().to_string();
        assert!(failure.starts_with("'bücher.example': expected a host name"), "{failure}");
    }

    #[test]
    fn names_are_letters_digits_dots_and_hyphens() {
        assert_eq!(server_name("a-1.example_x.org").as_deref(), Ok("a-1.example_x.org"));
        for wrong in ["", "a b", "a\n", "é", &"a".repeat(254)] {
            assert!(server_name(wrong).unwrap_err().starts_with("expected a host name"));
        }
    }
}
