//! nginx as it is installed.

use std::process::Command;

use openssl_runtime::KeyType;

use crate::free_port_list;
use output::Failure;

use crate::set::{PAGES, certificate_names};
use crate::version::{self, Version};
use crate::{Offer, Program, Set, Started, answers, server};

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
    server::start(set, "nginx", &version, offers, &[], |process| {
        let servers = process.services(|offer, port| tls_server(kind, offer, port));
        let text = configuration(&process.name, set.reports, &servers);
        Ok(command(set, &process.write(set, &text)?))
    })
}

/// Starts nginx without TLS. Returns `None` if it is not installed.
pub(crate) fn plain(set: &Set) -> Result<Option<(Program, u16)>, Failure> {
    let Ok(version) = ask(set) else { return Ok(None) };
    let port = free_port_list(1)?[0];
    let name = set.name("nginx");
    let file = format!("{name}.conf");
    let server = format!("    server {{\n        listen 127.0.0.1:{port};\n    }}\n");
    set.stage.write(&file, &configuration(&name, false, &server))?;
    let server = set.start(&name, &mut command(set, &file), |_| answers(port))?;
    Ok(Some((Program { name: version.name, processes: vec![server.id()] }, port)))
}

fn ask(set: &Set) -> Result<Version, Started> {
    version::ask(set, "nginx", "nginx", "-V", "nginx/")
}

fn command(set: &Set, file: &str) -> Command {
    let mut command = set.stock("nginx");
    command.args(["-e", "stderr", "-p", ".", "-c", file]);
    command
}

fn tls_server(kind: KeyType, offer: &Offer, port: u16) -> String {
    let (certificate, key) = certificate_names(kind);
    format!(
        "    server {{
        listen 127.0.0.1:{port} ssl backlog=4096;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        ssl_ecdh_curve \"{}\";
    }}\n",
        offer.groups
    )
}

/// Returns the configuration: one worker, no session cache, no stateful tickets (OpenSSL's
/// configuration disables stateless ones), and in effect no limit on requests for each connection.
/// There is an access log only if nginx reports the groups: `group` and the group of each request,
/// by name or by code point. If this process runs as root, the worker does too, as other users
/// cannot read the folder. Otherwise nginx ignores `user`.
fn configuration(name: &str, reports: bool, servers: &str) -> String {
    let access_log = if reports {
        "log_format group 'group $ssl_curve';\n    access_log /dev/stderr group;"
    } else {
        "access_log off;"
    };
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
    {access_log}
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
