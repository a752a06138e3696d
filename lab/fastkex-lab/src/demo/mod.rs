//! `fastkex-lab demo`: stock programs with the provider, and the groups that they report.

mod connections;
pub(crate) mod observed_group;
mod ports;
mod relay;
mod servers;
mod speed;

use std::thread;

use clap::Args;
use lanes::Backend;

use output::{Failure, Outcome};
use testbed::{BrowserKind, Stage};

use connections::{Client, Connection, Connector};
use ports::Ports;
use speed::{Measured, Rates};

use crate::certificates::{self, AUTHORITY};
use crate::programs::Programs;
use crate::{prerequisites, say};

/// The groups of the connections.
const SHOWN: [&str; 4] = ["X25519MLKEM768", "sntrup761", "X25519SNTRUP761", "sntrup857"];
/// The group that browsers prefer.
const BROWSERS: &str = "X25519MLKEM768";
/// The group in `lab/demo/stunnel-client.conf`.
const TUNNELLED: &str = "X25519SNTRUP761";
/// The groups that are timed.
const TIMED: [&str; 5] = ["X25519MLKEM768", "sntrup761", "X25519SNTRUP761", "X25519", "P-256"];

/// Show stock nginx, stunnel, browsers, curl and openssl with post-quantum key exchange
///
/// Starts servers on loopback, in a temporary folder, fetches pages from them, first in Chromium
/// and Firefox as far as they are installed, and prints for each connection the group that both
/// ends report. Then times handshakes. Takes about twenty seconds once everything is built. Exits
/// with 0 if all connections used the right group, with 1 if one did not, with 2 if the
/// demonstration could not run.
#[derive(Args, Debug)]
pub(crate) struct Demo {}

impl Demo {
    pub(crate) fn run(&self) -> Outcome {
        let browsers = installed_browsers()?;
        let programs = Programs::build()?;
        let stage = Stage::new()?;
        let versions = programs.versions(&stage)?;
        certificates::make(&stage, &programs)?;
        let ports = Ports::free()?;
        let nginx = servers::start_nginx(&stage, &programs, &ports)?;

        say(format_args!(
            "Post-quantum key exchange in programs that know nothing of it\n\n\
             nginx {}, stunnel {}, curl {}, openssl {} and browsers are as installed.\n\
             'fastkex run' starts all but the browsers, which have X25519MLKEM768 themselves.\n",
            versions.nginx, versions.stunnel, versions.curl, versions.openssl
        ))?;
        let connector = Connector { stage: &stage, programs: &programs, ports };
        let connections = show_connections(&connector, &browsers)?;

        let authority = stage.read(AUTHORITY)?;
        let measured = speed::measure(&TIMED, ports.nginx, &authority, &programs.module)?;
        if let Some(status) = stage.end_of(&nginx)? {
            return Err(Failure::new(format!("nginx ended ({status})")));
        }
        show_rates(&measured)?;
        conclude(&connections, &measured)
    }
}

/// Returns the browsers that are installed. Fails if there is none.
fn installed_browsers() -> Result<Vec<BrowserKind>, Failure> {
    let mut browsers = BrowserKind::ALL.to_vec();
    browsers.retain(|kind| kind.is_installed());
    if browsers.is_empty() {
        let chromium = BrowserKind::Chromium.program();
        prerequisites::check("demo", &[(chromium, chromium)], &[])?;
    }
    Ok(browsers)
}

/// Makes the connections and prints each.
fn show_connections(
    connector: &Connector,
    browsers: &[BrowserKind],
) -> Result<Vec<Connection>, Failure> {
    say(Connection::heading())?;
    let mut connections = Vec::new();
    let mut show = |connection: Connection| {
        say(&connection)?;
        connections.push(connection);
        Ok(())
    };
    for &kind in browsers {
        show(connector.in_browser(kind, BROWSERS))?;
    }
    let stunnel = servers::start_stunnel(connector.stage, connector.programs, &connector.ports)?;
    for group in SHOWN {
        for client in Client::ALL {
            show(connector.to_stunnel(&stunnel, client, group))?;
        }
    }
    for group in SHOWN {
        for client in Client::ALL {
            show(connector.to_nginx(client, group))?;
        }
    }
    show(connector.without_tls(TUNNELLED)?)?;
    say("\n\
         The browsers' automation tells the group of the page's connection; mlkem768x25519 is Firefox's\n\
         word for X25519MLKEM768. curl (--trace) and openssl (-msg) show the ServerHello they received;\n\
         nginx has the variable $ssl_curve; stunnel as a server logs the size of the client's key share,\n\
         which differs from group to group.\n\
         * A client without TLS: curl http://... through stunnel as a client, which does not tell the\n\
         group. A relay of ours between stunnel and nginx read it from the two hellos.\n")?;
    Ok(connections)
}

/// Prints the table of handshakes per second with an explanation.
fn show_rates(measured: &Measured) -> Result<(), Failure> {
    say(format_args!(
        "{:18}{:>14}{:>9}{:>9}   bytes of key shares, client + server",
        "group", "handshakes/s", "lowest", "highest"
    ))?;
    say("-".repeat(89))?;
    for rates in &measured.rates {
        say(format_args!(
            "{:18}{:14.0}{:9.0}{:9.0}   {:5} + {:4}",
            rates.group.name,
            rates.median(),
            rates.lowest(),
            rates.highest(),
            rates.group.client_bytes,
            rates.group.server_bytes,
        ))?;
    }
    let cores = thread::available_parallelism().map_or_else(|_| "?".into(), |n| n.to_string());
    say(format_args!(
        "\n\
         Full TLS 1.3 handshakes with the nginx above and an ECDSA P-256 certificate: no resumption, one\n\
         connection at a time, from connect to close. Median, lowest and highest of {} rounds in which\n\
         the groups took turns. Client and server share this machine's {cores} processors. The client is this\n\
         program with the system's libssl ({}), whose own code does X25519\n\
         and P-256.",
        speed::ROUNDS,
        measured.libssl,
    ))?;
    explain(&measured.rates).map_or(Ok(()), say)
}

/// Explains the difference between sntrup761 and X25519.
fn explain(rates: &[Rates]) -> Option<String> {
    let of = |name: &str| rates.iter().find(|rates| rates.group.name == name);
    let (ours, theirs) = (of("sntrup761")?, of("X25519")?);
    if ours.median() >= theirs.median() {
        return Some("sntrup761 is not slower than X25519 here.".into());
    }
    let code = match Backend::best() {
        Backend::Portable(_) => "portable code that is not written for vector instructions",
        other => other.name(),
    };
    Some(format!(
        "sntrup761 is slower than X25519 here. The client needs a new key pair for every handshake; the module\n\
         makes them in batches, in {code}: timed alone,\n\
         a key pair takes {:.3} ms on average; a whole handshake takes {:.2} ms.",
        1e3 * ours.key_pair()?,
        1e3 / ours.median(),
    ))
}

/// Prints the conclusion and returns true if there was no error.
fn conclude(connections: &[Connection], measured: &Measured) -> Outcome {
    let mut wrong: Vec<_> = connections.iter().filter_map(Connection::wrong).collect();
    wrong.extend(measured.rates.iter().filter_map(Rates::wrong));
    if wrong.is_empty() {
        let handshakes: usize = measured.rates.iter().map(|rates| rates.handshakes).sum();
        say(format_args!(
            "\nAll {} connections and all {handshakes} timed handshakes used the group they should.",
            connections.len()
        ))?;
        return Ok(true);
    }
    say("")?;
    for line in &wrong {
        say(format_args!("WRONG: {line}"))?;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_installs_the_browsers() {
        let [chromium, firefox] = BrowserKind::ALL.map(|kind| (kind.program(), kind.program()));
        prerequisites::assert_installed_by_script("demo", [chromium].iter());
        for target in ["test", "applications"] {
            prerequisites::assert_installed_by_script(target, [chromium, firefox].iter());
        }
    }

    #[test]
    fn browsers_have_a_word_for_their_group() {
        assert!(BrowserKind::ALL.iter().all(|kind| kind.word_for(BROWSERS).is_some()));
    }
}
