//! HAProxy as it is installed: in front of a server without TLS, and as a TCP load balancer, which
//! forwards TLS without reading it.

use std::fs;
use std::process::Command;

use openssl_runtime::KeyType;
use output::Failure;

use crate::backend::Backend;
use crate::server::{self, Process};
use crate::version::{self, Version};
use crate::{Listening, Offer, Set, Started};

/// Starts HAProxy with TLS 1.3 and full handshakes only, in front of a server without TLS. Offers
/// with fastkex share one process and the others share a second one, like for [`crate::nginx`].
///
/// # Errors
/// A group is unknown, or HAProxy or the server behind it does not start.
pub fn start(set: &Set, kind: KeyType, offers: &[Offer]) -> Result<Started, Failure> {
    let version = match ask(set) {
        Ok(version) => version,
        Err(absent) => return Ok(absent),
    };
    let both = both_in_one(set, kind)?;
    let backend = Backend::start(set)?;
    server::start(set, "haproxy", &version, offers, &[backend.program], |process| {
        let proxies = process.services(|Offer { groups, .. }, port| {
            let tls = format!(" ssl crt {both} curves {groups} ssl-min-ver TLSv1.3 no-tls-tickets");
            proxy(port, &tls, backend.port)
        });
        command(set, process, &proxies)
    })
}

/// Starts HAProxy with a port in front of each of these servers.
///
/// # Errors
/// HAProxy does not start.
pub fn before(set: &Set, servers: &[Listening]) -> Result<Started, Failure> {
    let version = match ask(set) {
        Ok(version) => version,
        Err(absent) => return Ok(absent),
    };
    let process = Process::new(set, "haproxy", servers.iter().map(|server| &server.offer))?;
    let mut behind = servers.iter();
    let proxies = process.services(|_, port| {
        behind.next().map_or_else(String::new, |server| proxy(port, "", server.port))
    });
    let started = process.start(set, &mut command(set, &process, &proxies)?, &version, &[])?;
    let listening = started.into_iter().zip(servers).map(|(balancer, server)| {
        let mut one = Listening { port: balancer.port, ..server.clone() };
        one.others.insert(0, balancer.tls);
        one
    });
    Ok(Started::Listening(listening.collect()))
}

fn ask(set: &Set) -> Result<Version, Started> {
    version::ask(set, "haproxy", "haproxy", "-vv", "HAProxy version ")
}

/// Writes the configuration of a process and returns its command.
fn command(set: &Set, process: &Process<'_>, proxies: &str) -> Result<Command, Failure> {
    let file = process.write(set, &(GLOBAL.to_owned() + proxies))?;
    let mut command = set.stock("haproxy");
    command.args(["-db", "-f", &file]);
    Ok(command)
}

/// Writes certificate and key to one file, as HAProxy needs them, and returns its name.
fn both_in_one(set: &Set, kind: KeyType) -> Result<String, Failure> {
    let files = set.certificate(kind)?;
    let read = |path| fs::read_to_string(path).map_err(Failure::about("certificate"));
    let name = format!("{}.pem", kind.name());
    set.stage.write(&name, &(read(&files.certificate)? + &read(&files.key)?))?;
    Ok(name)
}

/// Returns the lines of one port, with `words` at the end of its `bind` line.
fn proxy(port: u16, words: &str, to: u16) -> String {
    format!(
        "listen port{port}
    bind 127.0.0.1:{port} backlog 4096{words}
    server one 127.0.0.1:{to}
"
    )
}

/// Global settings and defaults. HAProxy has one thread, like the servers.
const GLOBAL: &str = "global
    nbthread 1
    maxconn 2000
defaults
    mode tcp
    balance roundrobin
    timeout connect 5s
    timeout client 60s
    timeout server 60s
";
