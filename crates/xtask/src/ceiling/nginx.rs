//! nginx as it is installed.

use std::fmt::Write;
use std::net::{Ipv4Addr, TcpStream};

use fastkex_insecure_null::VARIABLE;

use cli::Failure;
use stage::{Stage, children, free_ports, wait_for};

use super::plan::{Contestant, Listener, Plan};
use super::{Answering, CERTIFICATES, ServerKind};

/// Enough for every certificate with every group.
const PORTS: usize = 8 * CERTIFICATES.len();

/// Starts it with these groups, if it is installed.
pub(crate) fn start(
    stage: &Stage,
    plan: &Plan,
    groups: &[Contestant],
) -> Result<Option<Answering>, Failure> {
    const CONFIGURATION: &str = "nginx.conf";
    const OPENSSL_CONFIGURATION: &str = "openssl.cnf";
    let Ok(version) = stage.run(stage.stock("nginx").arg("-V")) else {
        eprintln!("ceiling: left out: nginx, which is not installed (apt-get install nginx)");
        return Ok(None);
    };
    let word_after = |mark: &str| {
        let (_, rest) = version.errors.split_once(mark)?;
        rest.split([' ', ')', '\n']).next().map(str::to_owned)
    };
    let nginx = word_after("nginx/").unwrap_or_default();
    // The second is there if the two differ.
    let openssl = word_after("running with OpenSSL ").or_else(|| word_after("built with OpenSSL "));
    let Some(openssl) = openssl else {
        return Err(Failure::new("nginx: 'nginx -V' tells of no OpenSSL"));
    };

    let ports: [u16; PORTS] = free_ports()?;
    let pairs =
        plan.certificates.iter().flat_map(|files| groups.iter().map(move |one| (files, one)));
    let mut listeners = Vec::new();
    let mut servers = String::new();
    for ((files, contestant), port) in pairs.zip(ports) {
        let (certificate, key) = (files.certificate.display(), files.key.display());
        let group = contestant.group.name;
        let _ = write!(
            servers,
            "    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {certificate};
        ssl_certificate_key {key};
        ssl_ecdh_curve {group};
    }}\n"
        );
        listeners.push(Listener {
            certificate: files.name.clone(),
            label: contestant.label.into(),
            port,
        });
    }
    stage.write(CONFIGURATION, &configuration(plan.core, &servers))?;
    stage.write(OPENSSL_CONFIGURATION, &openssl_configuration(plan)?)?;
    let mut command = stage.stock("nginx");
    command
        .env(VARIABLE, "1")
        .env("OPENSSL_CONF", stage.folder().join(OPENSSL_CONFIGURATION))
        .args(["-e", "stderr", "-p", ".", "-c", CONFIGURATION]);
    let accepts =
        |listener: &Listener| TcpStream::connect((Ipv4Addr::LOCALHOST, listener.port)).is_ok();
    let server = stage.start("nginx", &mut command, |_| listeners.iter().all(accepts))?;
    let worker = wait_for(|| children(server.id()).first().copied())
        .ok_or_else(|| Failure::new("nginx has no worker process"))?;
    Ok(Some(Answering {
        kind: ServerKind::Nginx,
        name: format!("nginx {nginx}"),
        openssl,
        process: worker,
        listeners,
    }))
}

/// One worker, on the processor that the client is on, too; no tickets, no sessions, nothing written.
fn configuration(core: Option<usize>, servers: &str) -> String {
    // A mask in binary digits.
    let affinity = core
        .map(|core| format!("worker_cpu_affinity 1{};\n", "0".repeat(core)))
        .unwrap_or_default();
    format!(
        "daemon off;
pid nginx.pid;
worker_processes 1;
{affinity}error_log stderr crit;
events {{}}
http {{
    access_log off;
    client_body_temp_path tmp;
    proxy_temp_path tmp;
    fastcgi_temp_path tmp;
    uwsgi_temp_path tmp;
    scgi_temp_path tmp;
    ssl_protocols TLSv1.3;
    ssl_session_cache off;
    ssl_session_tickets off;
    ssl_conf_command NumTickets 0;
{servers}}}
"
    )
}

/// The default provider and the modules.
fn openssl_configuration(plan: &Plan) -> Result<String, Failure> {
    let (mut list, mut sections) = (String::new(), String::new());
    for (index, module) in plan.providers.iter().enumerate() {
        let module = module.display();
        let _ = writeln!(list, "module{index} = module{index}_section");
        let _ = write!(sections, "[module{index}_section]\nmodule = {module}\nactivate = 1\n");
    }
    Ok(format!(
        "openssl_conf = start\n[start]\nproviders = list\n[list]\ndefault = default_section\n{list}\
         [default_section]\nactivate = 1\n{sections}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_ports_for_all() {
        assert!(super::super::plan::contestants().len() * CERTIFICATES.len() <= PORTS);
    }

    #[test]
    fn the_mask_names_one_processor() {
        assert!(configuration(Some(2), "").contains("worker_cpu_affinity 100;"));
        assert!(!configuration(None, "").contains("affinity"));
    }
}
