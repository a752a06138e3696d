//! stunnel as it is installed, in front of a server without TLS (OpenSSLNTRU, section 4.4).

use std::fmt::Write;

use openssl_runtime::KeyType;

use cli::Failure;
use stage::free_port_list;

use crate::set::certificate_names;
use crate::{Listening, Offer, Program, Set, Started, answers, minimal, nginx, version};

/// Starts stunnel with TLS 1.3 and full handshakes only, in front of nginx without TLS, or, where that is not installed, of the minimal
/// server. It is one process for offers that are faster, and one for the others, as for [`crate::nginx`].
///
/// # Errors
/// A group is unknown, or stunnel does not start, or what is behind it.
pub fn start(set: &Set, kind: KeyType, offers: &[Offer]) -> Result<Started, Failure> {
    let version = match version::ask(set, "stunnel", "stunnel4", "-version", "stunnel ") {
        Ok(version) => version,
        Err(absent) => return Ok(absent),
    };
    set.certificate(kind)?;
    let (behind, backend) = match nginx::plain(set)? {
        Some(nginx) => nginx,
        None => minimal::plain(set)?,
    };
    let ports = free_port_list(offers.len())?;
    let mut listening: Vec<Listening> = offers
        .iter()
        .zip(&ports)
        .map(|(offer, &port)| Listening {
            offer: offer.clone(),
            port,
            tls: Program { name: version.name.clone(), processes: Vec::new() },
            openssl: version.openssl.clone(),
            others: vec![behind.clone()],
        })
        .collect();
    for faster in [false, true] {
        let of_it = || listening.iter().filter(|one| one.offer.faster == faster);
        let asked: Vec<&Offer> = of_it().map(|one| &one.offer).collect();
        if asked.is_empty() {
            continue;
        }
        let name = set.name("stunnel");
        let openssl = set.configure(&name, &asked, false)?;
        let mut text = GLOBAL.to_owned();
        for one in of_it() {
            text += &service(kind, one, backend);
        }
        let file = format!("{name}.conf");
        set.stage.write(&file, &text)?;
        let mut command = set.stock("stunnel");
        command.env("OPENSSL_CONF", openssl).arg(&file);
        let of_it: Vec<u16> = of_it().map(|one| one.port).collect();
        let server = set.start(&name, &mut command, |_| of_it.iter().all(|&port| answers(port)))?;
        for one in listening.iter_mut().filter(|one| one.offer.faster == faster) {
            one.tls.processes.push(server.id());
        }
    }
    Ok(Started::Listening(listening))
}

/// Quiet: a line for each connection would be timed, too.
const GLOBAL: &str = "foreground = yes\nsyslog = no\npid =\ndebug = warning\n";

fn service(kind: KeyType, one: &Listening, backend: u16) -> String {
    let (certificate, key) = certificate_names(kind);
    let mut text = String::new();
    // Its own list of groups comes before OpenSSL's configuration, so it needs one.
    let _ = write!(
        text,
        "[port{port}]
accept = 127.0.0.1:{port}
connect = 127.0.0.1:{backend}
cert = {certificate}
key = {key}
sslVersion = TLSv1.3
sessionResume = no
curves = {groups}
",
        port = one.port,
        groups = one.offer.groups
    );
    text
}
