//! stunnel as it is installed, in front of a server without TLS (OpenSSLNTRU, section 4.4).

use std::path::Path;
use std::process::Command;

use openssl_runtime::KeyType;

use output::Failure;

use crate::backend::Backend;
use crate::server::{self, Process};
use crate::set::certificate_names;
use crate::{Listening, Offer, Set, Started, version};

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
    set.certificate(kind)?;
    let backend = Backend::start(set)?;
    server::start(set, "stunnel", &version, offers, &[backend.program], |process| {
        let mut command = set.stock("stunnel");
        command.arg(configure(set, process, kind, backend.port)?);
        Ok(command)
    })
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
    set.certificate(kind)?;
    let backend = Backend::start(set)?;
    let process = Process::new(set, "stunnel", offers.iter())?;
    let mut command = command();
    command.arg(configure(set, &process, kind, backend.port)?);
    process.start(set, &mut command, &version, &[backend.program])
}

/// Writes the configuration of a process and returns the name of the file.
fn configure(
    set: &Set,
    process: &Process<'_>,
    kind: KeyType,
    backend: u16,
) -> Result<String, Failure> {
    let services = process.services(|offer, port| service(kind, offer, port, backend));
    process.write(set, &(GLOBAL.to_owned() + &services))
}

/// Global settings. The log level omits a line for each connection, which would cost time.
const GLOBAL: &str = "foreground = yes\nsyslog = no\npid =\ndebug = warning\n";

fn service(kind: KeyType, offer: &Offer, port: u16, backend: u16) -> String {
    let (certificate, key) = certificate_names(kind);
    // stunnel's own list of groups overrides OpenSSL's configuration, so it must be set.
    format!(
        "[port{port}]
accept = 127.0.0.1:{port}
connect = 127.0.0.1:{backend}
cert = {certificate}
key = {key}
sslVersion = TLSv1.3
sessionResume = no
curves = {}
",
        offer.groups
    )
}
