//! unbound as it is installed, for DNS over TLS (ENG25519, section 4.4).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use openssl_runtime::KeyType;

use crate::free_port_list;
use output::Failure;

use crate::set::certificate_names;
use crate::{
    DNS_ADDRESS, DNS_ADDRESS_6, DNS_NAME, Listening, Offer, Program, Set, Started, answers, version,
};

/// Starts unbound, which answers for [`DNS_NAME`] and queries no other server. It is one process
/// for each offer, as unbound takes groups from OpenSSL's configuration only.
///
/// # Errors
/// A group is unknown, or unbound does not start.
pub fn start(set: &Set, kind: KeyType, offers: &[Offer]) -> Result<Started, Failure> {
    let version = match version::ask(set, "unbound", "unbound", "-V", "Version ") {
        Ok(version) => version,
        Err(absent) => return Ok(absent),
    };
    set.certificate(kind)?;
    let mut listening = Vec::new();
    let program = program(set)?;
    for (offer, port) in offers.iter().zip(free_port_list(offers.len())?) {
        let name = set.name("unbound");
        let openssl = set.configure(&name, &[offer], true)?;
        let file = format!("{name}.conf");
        set.stage.write(&file, &configuration(&name, kind, port))?;
        let mut command = Command::new(&program);
        set.prepare(&mut command);
        command.env("OPENSSL_CONF", openssl).args(["-d", "-c", &file]);
        let server = set.start(&name, &mut command, |_| answers(port))?;
        listening.push(Listening {
            offer: offer.clone(),
            port,
            tls: Program { name: version.name.clone(), processes: vec![server.id()] },
            openssl: version.openssl.clone(),
            log: server.log_file().to_path_buf(),
            others: Vec::new(),
        });
    }
    Ok(Started::Listening(listening))
}

/// Returns the program to run. If AppArmor is enabled, Debian's profile denies `/usr/sbin/unbound`
/// access to the stage's folder. The profile holds for that path only, so a copy runs instead.
///
/// # Errors
/// The program cannot be copied.
pub fn program(set: &Set) -> Result<PathBuf, Failure> {
    const CONFINED: &str = "/usr/sbin/unbound";
    const ENABLED: &str = "/sys/module/apparmor/parameters/enabled";
    let is_enabled = fs::read_to_string(ENABLED).is_ok_and(|text| text.starts_with('Y'));
    if !is_enabled || !Path::new(CONFINED).exists() {
        return Ok("unbound".into());
    }
    let copy = set.stage.folder().join("unbound");
    if !copy.exists() {
        fs::copy(CONFINED, &copy).map_err(Failure::about(CONFINED))?;
    }
    Ok(copy)
}

/// Returns the configuration: the current user and folder, and room for many connections, each with
/// a buffer of 64 KiB. All names but one are refused, so unbound queries no other server.
fn configuration(name: &str, kind: KeyType, port: u16) -> String {
    let (certificate, key) = certificate_names(kind);
    format!(
        "server:
    interface: 127.0.0.1@{port}
    port: {port}
    tls-port: {port}
    tls-service-pem: \"{certificate}\"
    tls-service-key: \"{key}\"
    access-control: 127.0.0.0/8 allow
    do-ip6: no
    do-daemonize: no
    chroot: \"\"
    username: \"\"
    directory: \".\"
    pidfile: \"{name}.pid\"
    use-syslog: no
    logfile: \"\"
    verbosity: 0
    num-threads: 1
    incoming-num-tcp: 1000
    outgoing-num-tcp: 1
    module-config: \"iterator\"
    local-zone: \".\" refuse
    local-zone: \"{DNS_NAME}.\" static
    local-data: \"{DNS_NAME}. 3600 IN A {DNS_ADDRESS}\"
    local-data: \"{DNS_NAME}. 3600 IN AAAA {DNS_ADDRESS_6}\"
remote-control:
    control-enable: no
"
    )
}
