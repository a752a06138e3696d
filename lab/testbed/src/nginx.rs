//! nginx as it is installed.

use std::collections::HashMap;
use std::fmt::Write;

use openssl_runtime::KeyType;

use crate::free_port_list;
use output::Failure;

use crate::set::{PAGES, certificate_names};
use crate::version::{self, Version};
use crate::{Listening, Offer, Program, Set, Started, answers};

/// Starts nginx with one worker, TLS 1.3, full handshakes only, and the set's pages. Offers with
/// fastkex share one process and the others share a second one, as the choice of the X25519
/// implementation holds for a whole process.
///
/// # Errors
/// A group is unknown, or nginx does not start.
pub fn start(set: &Set, kind: KeyType, offers: &[Offer]) -> Result<Started, Failure> {
    let version = match ask(set) {
        Ok(version) => version,
        Err(absent) => return Ok(absent),
    };
    set.certificate(kind)?;
    let ports = free_port_list(offers.len())?;
    let mut processes = HashMap::new();
    for uses_fastkex in [false, true] {
        let selected =
            || offers.iter().zip(&ports).filter(|(offer, _)| offer.uses_fastkex == uses_fastkex);
        let selected_offers: Vec<&Offer> = selected().map(|(offer, _)| offer).collect();
        if selected_offers.is_empty() {
            continue;
        }
        let name = set.name("nginx");
        let openssl = set.configure(&name, &selected_offers, false)?;
        let mut servers = String::new();
        for (offer, port) in selected() {
            servers += &tls_server(kind, offer, *port);
        }
        let file = format!("{name}.conf");
        set.stage.write(&file, &configuration(&name, &servers))?;
        let mut command = set.stock("nginx");
        command.env("OPENSSL_CONF", openssl).args(["-e", "stderr", "-p", ".", "-c", &file]);
        let ready = |_: &str| selected().all(|(_, port)| answers(*port));
        processes.insert(uses_fastkex, set.start(&name, &mut command, ready)?.id());
    }
    let listening = offers.iter().zip(ports).map(|(offer, port)| Listening {
        offer: offer.clone(),
        port,
        tls: Program {
            name: version.name.clone(),
            processes: processes.get(&offer.uses_fastkex).copied().into_iter().collect(),
        },
        openssl: version.openssl.clone(),
        others: Vec::new(),
    });
    Ok(Started::Listening(listening.collect()))
}

/// Starts nginx without TLS. Returns `None` if it is not installed.
pub(crate) fn plain(set: &Set) -> Result<Option<(Program, u16)>, Failure> {
    let Ok(version) = ask(set) else { return Ok(None) };
    let port = free_port_list(1)?[0];
    let name = set.name("nginx");
    let file = format!("{name}.conf");
    let server = format!("    server {{\n        listen 127.0.0.1:{port};\n    }}\n");
    set.stage.write(&file, &configuration(&name, &server))?;
    let mut command = set.stock("nginx");
    command.args(["-e", "stderr", "-p", ".", "-c", &file]);
    let server = set.start(&name, &mut command, |_| answers(port))?;
    Ok(Some((Program { name: version.name, processes: vec![server.id()] }, port)))
}

fn ask(set: &Set) -> Result<Version, Started> {
    version::ask(set, "nginx", "nginx", "-V", "nginx/")
}

fn tls_server(kind: KeyType, offer: &Offer, port: u16) -> String {
    let (certificate, key) = certificate_names(kind);
    let mut text = String::new();
    let _ = write!(
        text,
        "    server {{
        listen 127.0.0.1:{port} ssl backlog=4096;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        ssl_ecdh_curve \"{}\";
    }}\n",
        offer.groups
    );
    text
}

/// Returns the configuration: one worker, no session cache, no stateful tickets (OpenSSL's
/// configuration disables stateless ones), no access log, and in effect no limit on requests for
/// each connection. If this process runs as root, the worker does too, as other users cannot read
/// the folder. Otherwise nginx ignores `user`.
fn configuration(name: &str, servers: &str) -> String {
    format!(
        "daemon off;
pid {name}.pid;
user root;
worker_processes 1;
worker_rlimit_nofile 4096;
error_log stderr crit;
events {{
    worker_connections 2000;
}}
http {{
    access_log off;
    client_body_temp_path tmp;
    proxy_temp_path tmp;
    fastcgi_temp_path tmp;
    uwsgi_temp_path tmp;
    scgi_temp_path tmp;
    root {PAGES};
    keepalive_requests 1000000;
    keepalive_timeout 60s;
    ssl_protocols TLSv1.3;
    ssl_session_cache off;
    ssl_session_tickets off;
{servers}}}
"
    )
}
