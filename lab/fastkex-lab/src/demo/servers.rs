//! The servers of the demonstration.

use std::net::{Ipv4Addr, TcpStream};

use output::Failure;
use testbed::{Server, Stage};

use super::ports::Ports;
use crate::programs::Programs;

/// The page without TLS in `lab/demo/nginx.conf`.
pub(crate) const PAGE: &str = "A small static page";

/// Starts nginx with TLS, and with the page for stunnel.
pub(crate) fn start_nginx(
    stage: &Stage,
    programs: &Programs,
    ports: &Ports,
) -> Result<Server, Failure> {
    const CONFIGURATION: &str = "nginx.conf";
    let template = include_str!("../../../demo/nginx.conf");
    stage.write(CONFIGURATION, &ports.fill(template))?;
    let mut command = programs.run(stage, None, "nginx");
    command.args(["-e", "stderr", "-p", ".", "-c", CONFIGURATION]);
    let accepts = |port: u16| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
    stage.start("nginx", &mut command, |_| accepts(ports.page) && accepts(ports.nginx))
}

/// Starts stunnel in front of the page.
pub(crate) fn start_stunnel(
    stage: &Stage,
    programs: &Programs,
    ports: &Ports,
) -> Result<Server, Failure> {
    let template = include_str!("../../../demo/stunnel.conf");
    start_tunnel(stage, programs, "stunnel.conf", &ports.fill(template), ports.stunnel)
}

/// Starts stunnel as a client of the server on port `nginx` in `ports`.
pub(crate) fn start_stunnel_client(
    stage: &Stage,
    programs: &Programs,
    ports: &Ports,
) -> Result<Server, Failure> {
    let template = include_str!("../../../demo/stunnel-client.conf");
    start_tunnel(stage, programs, "stunnel-client.conf", &ports.fill(template), ports.tunnel)
}

fn start_tunnel(
    stage: &Stage,
    programs: &Programs,
    name: &str,
    configuration: &str,
    port: u16,
) -> Result<Server, Failure> {
    stage.write(name, configuration)?;
    let mut command = programs.run(stage, None, "stunnel");
    // Checked by the log: a connection to test the port would be one more for stunnel to serve.
    let bound = format!("bound to 127.0.0.1:{port}\n");
    stage.start(name, command.arg(name), |log| log.contains(&bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_in_the_configuration() {
        assert!(include_str!("../../../demo/nginx.conf").contains(PAGE));
    }
}
