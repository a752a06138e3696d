//! stunnel as it is installed, in front of a server without TLS (OpenSSLNTRU, section 4.4).

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use openssl_runtime::KeyType;

use crate::free_port_list;
use output::Failure;

use crate::set::certificate_names;
use crate::version::{self, Version};
use crate::{Listening, Offer, Program, Set, Started, answers, minimal, nginx};

/// Starts stunnel with TLS 1.3 and full handshakes only. Behind it runs nginx without TLS, or the
/// minimal server if nginx is not installed. Offers with fastkex share one process and the others
/// share a second one, like for [`crate::nginx`].
///
/// # Errors
/// A group is unknown, or stunnel or the server behind it does not start.
pub fn start(set: &Set, kind: KeyType, offers: &[Offer]) -> Result<Started, Failure> {
    let version = match version::ask(set, "stunnel", "stunnel4", "-version", "stunnel ") {
        Ok(version) => version,
        Err(absent) => return Ok(absent),
    };
    let backend = Backend::start(set, kind)?;
    let mut listening = backend.listening(offers, &version)?;
    for uses_fastkex in [false, true] {
        let selected: Vec<&mut Listening> =
            listening.iter_mut().filter(|one| one.offer.uses_fastkex == uses_fastkex).collect();
        if selected.is_empty() {
            continue;
        }
        let name = set.name("stunnel");
        let selected_offers: Vec<&Offer> = selected.iter().map(|one| &one.offer).collect();
        let openssl = set.configure(&name, &selected_offers, false)?;
        let mut command = set.stock("stunnel");
        command.env("OPENSSL_CONF", openssl);
        backend.serve(set, &name, &mut command, selected)?;
    }
    Ok(Started::Listening(listening))
}

/// A stunnel that was built for an OpenSSL of its own, which may be 1.1.1. Its configuration is not
/// checked beforehand.
#[derive(Clone, Copy, Debug)]
pub struct OwnStunnel<'a> {
    /// The program.
    pub program: &'a Path,
    /// The folder of its OpenSSL's libraries.
    pub libraries: &'a Path,
    /// The configuration of its OpenSSL: ENGINEs, modules.
    pub configuration: &'a Path,
}

/// Starts such a stunnel like [`start`], with one process for all offers. [`Offer::uses_fastkex`]
/// has no effect.
///
/// # Errors
/// The program cannot be run, does not know a group, or does not start.
pub fn start_own(
    set: &Set,
    own: OwnStunnel<'_>,
    kind: KeyType,
    offers: &[Offer],
) -> Result<Vec<Listening>, Failure> {
    let command = || {
        let mut command = Command::new(own.program);
        set.stage.prepare(&mut command);
        command.env("LD_LIBRARY_PATH", own.libraries).env("OPENSSL_CONF", own.configuration);
        command
    };
    let version = version::read_version(command().arg("-version"), "stunnel", "stunnel ");
    let unusable = || Failure::new(format!("{}: cannot be run", own.program.display()));
    let version = version.ok_or_else(unusable)?;
    let backend = Backend::start(set, kind)?;
    let mut listening = backend.listening(offers, &version)?;
    let name = set.name("stunnel");
    backend.serve(set, &name, &mut command(), listening.iter_mut().collect())?;
    Ok(listening)
}

/// The server behind stunnel, and the kind of stunnel's certificate.
struct Backend {
    program: Program,
    port: u16,
    kind: KeyType,
}

impl Backend {
    fn start(set: &Set, kind: KeyType) -> Result<Self, Failure> {
        set.certificate(kind)?;
        let (program, port) = match nginx::plain(set)? {
            Some(nginx) => nginx,
            None => minimal::plain(set)?,
        };
        Ok(Self { program, port, kind })
    }

    /// Returns free ports for these offers, without a process.
    fn listening(&self, offers: &[Offer], version: &Version) -> Result<Vec<Listening>, Failure> {
        let ports = free_port_list(offers.len())?;
        let listening = offers.iter().zip(ports).map(|(offer, port)| Listening {
            offer: offer.clone(),
            port,
            tls: Program { name: version.name.clone(), processes: Vec::new() },
            openssl: version.openssl.clone(),
            others: vec![self.program.clone()],
        });
        Ok(listening.collect())
    }

    /// Starts one process for all these ports.
    fn serve(
        &self,
        set: &Set,
        name: &str,
        command: &mut Command,
        listening: Vec<&mut Listening>,
    ) -> Result<(), Failure> {
        let mut text = GLOBAL.to_owned();
        for one in &listening {
            text += &service(self.kind, one, self.port);
        }
        let file = format!("{name}.conf");
        set.stage.write(&file, &text)?;
        let ports: Vec<u16> = listening.iter().map(|one| one.port).collect();
        let ready = |_: &str| ports.iter().all(|&port| answers(port));
        let server = set.start(name, command.arg(&file), ready)?;
        for one in listening {
            one.tls.processes.push(server.id());
        }
        Ok(())
    }
}

/// Global settings. The log level omits a line for each connection, which would cost time.
const GLOBAL: &str = "foreground = yes\nsyslog = no\npid =\ndebug = warning\n";

fn service(kind: KeyType, one: &Listening, backend: u16) -> String {
    let (certificate, key) = certificate_names(kind);
    let mut text = String::new();
    // stunnel's own list of groups overrides OpenSSL's configuration, so it must be set.
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
