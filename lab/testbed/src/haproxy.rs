//! HAProxy as a TCP load balancer, which forwards TLS without reading it.

use std::fmt::Write;

use crate::free_port_list;
use output::Failure;

use crate::{Listening, Program, Set, Started, answers, version};

/// Starts HAProxy with a port in front of each of these servers.
///
/// # Errors
/// HAProxy does not start.
pub fn before(set: &Set, servers: &[Listening]) -> Result<Started, Failure> {
    let version = match version::ask(set, "haproxy", "haproxy", "-vv", "HAProxy version ") {
        Ok(version) => version,
        Err(absent) => return Ok(absent),
    };
    let ports = free_port_list(servers.len())?;
    let mut text = GLOBAL.to_owned();
    for (server, port) in servers.iter().zip(&ports) {
        let _ = write!(
            text,
            "listen port{port}\n    bind 127.0.0.1:{port} backlog 4096\n    server one 127.0.0.1:{}\n",
            server.port
        );
    }
    let name = set.name("haproxy");
    let file = format!("{name}.cfg");
    set.stage.write(&file, &text)?;
    let mut command = set.stock("haproxy");
    command.args(["-db", "-f", &file]);
    let server = set.start(&name, &mut command, |_| ports.iter().all(|&port| answers(port)))?;
    let balancer = Program { name: version.name, processes: vec![server.id()] };
    let listening = servers.iter().zip(ports).map(|(server, port)| {
        let mut one = Listening { port, ..server.clone() };
        one.others.insert(0, balancer.clone());
        one
    });
    Ok(Started::Listening(listening.collect()))
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
