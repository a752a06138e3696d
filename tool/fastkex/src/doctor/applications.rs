//! Checks of applications: the effect of their own configuration on the provider.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use openssl_runtime::Key;

use super::finding::Finding;
use super::shared_objects::{Needed, Root};
use super::system::Examined;
use crate::groups::names_ours;
use crate::regular::Held;
use crate::run::{changes_user, unknown_groups};

/// The maximum size of a file that is read, in bytes.
const MOST_BYTES: u64 = 1 << 28;
/// The maximum number of files that are read below a folder.
const MOST_FILES: usize = 1000;

/// An application that the doctor knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Application {
    Nginx,
    Apache2,
    Stunnel,
    Haproxy,
    Unbound,
    Curl,
}

/// The facts about an application on Debian. Paths are relative to the root.
struct Facts {
    name: &'static str,
    /// The program.
    program: &'static str,
    /// The object that uses libssl: the program or one of its modules.
    tls_object: &'static str,
    /// The process's name.
    process: &'static str,
    /// Files and folders of its configuration.
    files: &'static [&'static str],
    /// The files from which its service gets environment variables.
    service_files: &'static [&'static str],
    /// The lines that set a variable for its service; `{}` stands for the configuration's path.
    service_fix: &'static str,
    /// The line of its configuration that sets groups.
    line: &'static str,
    /// True if its own default overrides the system's configuration.
    overrides_by_default: bool,
    /// The property query with which some releases fetch algorithms from OpenSSL. If it names a
    /// provider, it overrides the provider in `default_properties`.
    own_query: Option<&'static str>,
}

const NGINX: Facts = Facts {
    name: "nginx",
    program: "usr/sbin/nginx",
    tls_object: "usr/sbin/nginx",
    process: "nginx",
    files: &["etc/nginx"],
    service_files: &["etc/systemd/system/nginx.service.d"],
    service_fix: "systemctl edit nginx\n[Service]\nEnvironment=OPENSSL_CONF={}",
    line: "ssl_ecdh_curve X25519MLKEM768:X25519:prime256v1;",
    overrides_by_default: false,
    own_query: None,
};

const APACHE2: Facts = Facts {
    name: "apache2",
    program: "usr/sbin/apache2",
    tls_object: "usr/lib/apache2/modules/mod_ssl.so",
    process: "apache2",
    files: &["etc/apache2"],
    service_files: &["etc/apache2/envvars", "etc/systemd/system/apache2.service.d"],
    service_fix: "/etc/apache2/envvars\nexport OPENSSL_CONF={}",
    line: "SSLOpenSSLConfCmd Groups X25519MLKEM768:X25519:P-256",
    overrides_by_default: false,
    own_query: None,
};

const STUNNEL: Facts = Facts {
    name: "stunnel",
    program: "usr/bin/stunnel4",
    tls_object: "usr/bin/stunnel4",
    process: "stunnel4",
    files: &["etc/stunnel"],
    service_files: &["etc/systemd/system/stunnel@.service.d", "etc/default/stunnel4"],
    service_fix: "systemctl edit stunnel@\n[Service]\nEnvironment=OPENSSL_CONF={}",
    line: "curves = X25519MLKEM768:X25519:P-256",
    overrides_by_default: true,
    own_query: Some("provider!=fips"),
};

const HAPROXY: Facts = Facts {
    name: "haproxy",
    program: "usr/sbin/haproxy",
    tls_object: "usr/sbin/haproxy",
    process: "haproxy",
    files: &["etc/haproxy"],
    service_files: &["etc/default/haproxy", "etc/systemd/system/haproxy.service.d"],
    service_fix: "/etc/default/haproxy\nOPENSSL_CONF={}",
    line: "ssl-default-bind-curves X25519MLKEM768:X25519:P-256",
    overrides_by_default: false,
    own_query: None,
};

const UNBOUND: Facts = Facts {
    name: "unbound",
    program: "usr/sbin/unbound",
    tls_object: "usr/sbin/unbound",
    process: "unbound",
    files: &[],
    service_files: &["etc/default/unbound", "etc/systemd/system/unbound.service.d"],
    service_fix: "/etc/default/unbound\nOPENSSL_CONF={}",
    line: "",
    overrides_by_default: false,
    own_query: None,
};

const CURL: Facts = Facts {
    name: "curl",
    program: "usr/bin/curl",
    tls_object: "usr/bin/curl",
    process: "curl",
    files: &["etc/curlrc", "root/.curlrc"],
    service_files: &[],
    service_fix: "",
    line: "curves = X25519MLKEM768:X25519:P-256",
    overrides_by_default: false,
    own_query: None,
};

impl Application {
    fn facts(self) -> &'static Facts {
        match self {
            Application::Nginx => &NGINX,
            Application::Apache2 => &APACHE2,
            Application::Stunnel => &STUNNEL,
            Application::Haproxy => &HAPROXY,
            Application::Unbound => &UNBOUND,
            Application::Curl => &CURL,
        }
    }

    /// Returns the list of groups that a line of its configuration sets; `None` for other lines.
    fn groups_in(self, line: &str) -> Option<String> {
        let words: Vec<_> = line.split_whitespace().collect();
        let clean = |word: &str| word.trim_matches(['"', '\'', ';']).to_owned();
        match (self, words.as_slice()) {
            (Application::Nginx, ["ssl_ecdh_curve", list, ..]) => Some(clean(list)),
            (
                Application::Nginx,
                ["ssl_conf_command" | "proxy_ssl_conf_command", command, list, ..],
            ) if is_groups_command(command) => Some(clean(list)),
            (Application::Apache2, [directive, command, list, ..])
                if directive.eq_ignore_ascii_case("SSLOpenSSLConfCmd")
                    && is_groups_command(command) =>
            {
                Some(clean(list))
            }
            (Application::Haproxy, [directive, list, ..])
                if directive.starts_with("ssl-default-") && directive.ends_with("-curves") =>
            {
                Some(clean(list))
            }
            (Application::Haproxy, ["bind" | "server" | "default-server", rest @ ..]) => {
                let at = rest.iter().position(|word| *word == "curves")?;
                rest.get(at + 1).map(|list| clean(list))
            }
            (Application::Stunnel | Application::Curl, _) => {
                let line = line.trim_start_matches('-');
                let (key, list) = line.split_once(['=', ' ', ':'])?;
                let key = key.trim();
                (key.eq_ignore_ascii_case("curves") || key.eq_ignore_ascii_case("curve"))
                    .then(|| clean(list.trim_start_matches(['=', ' ', ':']).trim()))
            }
            _ => None,
        }
    }
}

fn is_groups_command(command: &str) -> bool {
    command.eq_ignore_ascii_case("Groups") || command.eq_ignore_ascii_case("Curves")
}

/// Checks `application` below `root`.
pub(super) fn examine(
    application: Application,
    root: &Path,
    examined: Option<&Examined>,
    findings: &mut Vec<Finding>,
) {
    let facts = application.facts();
    let program = root.join(facts.program);
    if !program.exists() {
        findings.push(Finding::wrong(
            facts.name,
            format!("{} is not there", program.display()),
            format!("apt-get install {}", package(application)),
        ));
        return;
    }
    if changes_user(&program) {
        findings.push(Finding::wrong(
            facts.name,
            format!(
                "{} changes its user (setuid), so OpenSSL in it ignores OPENSSL_CONF",
                program.display()
            ),
            "put the provider into the system's own openssl.cnf",
        ));
    }
    if let Some(examined) = examined {
        examine_libssl(facts, root, examined, findings);
        examine_query(facts, &program, examined, findings);
        examine_service(facts, root, examined, findings);
    }
    examine_directives(application, facts, root, examined, findings);
    if root == Path::new("/") {
        examine_processes(facts, findings);
    }
}

fn package(application: Application) -> &'static str {
    match application {
        Application::Stunnel => "stunnel4",
        _ => application.facts().name,
    }
}

/// Checks that the application uses the libssl that was examined.
fn examine_libssl(facts: &Facts, root: &Path, examined: &Examined, findings: &mut Vec<Finding>) {
    let ours = examined.libraries.libssl_path();
    let libssl = Root::new(root)
        .map_err(|error| format!("{}: {error}", root.display()))
        .and_then(|root| root.needed(&Path::new("/").join(facts.tls_object), "libssl.so"));
    let same = |path: &Path| {
        let is_one_file = path.canonicalize().ok() == ours.canonicalize().ok();
        let contents = |path: &Path| Held::at(path)?.read(MOST_BYTES);
        is_one_file || matches!((contents(path), contents(ours)), (Ok(a), Ok(b)) if a == b)
    };
    findings.push(match libssl {
        Ok(Some(Needed::At(path))) if same(&path) => {
            Finding::ok(facts.name, format!("uses {}", path.display()))
        }
        Ok(Some(Needed::At(path))) => Finding::wrong(
            facts.name,
            format!(
                "uses {}, not {}: its configuration and version may differ",
                path.display(),
                ours.display()
            ),
            "install the distribution's own package of the application",
        ),
        Ok(Some(Needed::Missing(name))) => Finding::wrong(
            facts.name,
            format!("needs {name}, which is not there below {}", root.display()),
            "install OpenSSL's libraries beside the application",
        ),
        Ok(None) => Finding::wrong(
            facts.name,
            format!(
                "{} does not use OpenSSL's libssl as a shared library",
                root.join(facts.tls_object).display()
            ),
            "install a build of the application that does",
        ),
        Err(problem) => Finding::wrong(
            facts.name,
            problem,
            "install a build of the application that uses OpenSSL's libssl as a shared library",
        ),
    });
}

/// Checks if the application's own property query keeps it from using our X25519 and Ed25519.
fn examine_query(facts: &Facts, program: &Path, examined: &Examined, findings: &mut Vec<Finding>) {
    let (Some(query), Some(context)) = (facts.own_query, &examined.context) else { return };
    let has_it = Held::at(program)
        .and_then(|program| program.read(MOST_BYTES))
        .is_ok_and(|program| program.windows(query.len()).any(|bytes| bytes == query.as_bytes()));
    if !has_it {
        return;
    }
    let serves = |name: &str, query: Option<&str>| {
        Key::generate(context, name, query).ok()?.provider().filter(|name| !name.is_empty())
    };
    for name in ["X25519", "ED25519"] {
        let (usual, own) = (serves(name, None), serves(name, Some(query)));
        if let (Some(usual), Some(own)) = (usual, own)
            && usual != own
        {
            findings.push(Finding::note(
                facts.name,
                format!(
                    "asks for '{query}' in place of default_properties: {name} is served by {own}, not {usual}; \
                     the groups are ours all the same"
                ),
            ));
        }
    }
}

/// Checks that the service gets the configuration that was examined.
fn examine_service(facts: &Facts, root: &Path, examined: &Examined, findings: &mut Vec<Finding>) {
    if facts.service_files.is_empty() || !examined.active {
        return;
    }
    let path = examined.config_path.display().to_string();
    let set = facts.service_files.iter().flat_map(|file| lines_below(&root.join(file))).find_map(
        |(place, line)| {
            let (_, value) = line.split_once("OPENSSL_CONF=")?;
            Some((place, value.trim_matches(['"', '\'', ' ']).to_owned()))
        },
    );
    let fix = facts.service_fix.replace("{}", &path);
    match (set, examined.config_is_from_environment) {
        (Some((place, value)), _) if value == path => {
            findings.push(Finding::ok(facts.name, format!("{place}: the service reads {path}")));
        }
        (Some((place, value)), _) => findings.push(Finding::wrong(
            facts.name,
            format!("{place}: the service reads {value}, not {path}"),
            fix,
        )),
        (None, true) => findings.push(Finding::wrong(
            facts.name,
            format!("the service does not read {path}: OPENSSL_CONF is set here, but not for it"),
            fix,
        )),
        (None, false) => findings
            .push(Finding::ok(facts.name, "the service reads the system's own configuration")),
    }
    if facts.name == UNBOUND.name
        && fs::read_to_string("/sys/module/apparmor/parameters/enabled")
            .is_ok_and(|enabled| enabled.trim() == "Y")
        && root.join("etc/apparmor.d/usr.sbin.unbound").exists()
    {
        findings.push(Finding::note(
            facts.name,
            "its AppArmor profile must let it read the module and the configuration: \
             /etc/apparmor.d/local/usr.sbin.unbound",
        ));
    }
}

/// Checks the groups in the application's own configuration: if it sets any, ours must be among
/// them.
fn examine_directives(
    application: Application,
    facts: &Facts,
    root: &Path,
    examined: Option<&Examined>,
    findings: &mut Vec<Finding>,
) {
    let mut any = false;
    for (place, line) in facts.files.iter().flat_map(|file| lines_below(&root.join(file))) {
        let Some(list) = application.groups_in(&line) else { continue };
        any = true;
        if list == "auto" {
            findings.push(Finding::ok(
                facts.name,
                format!("{place}: '{line}' leaves the groups to the configuration"),
            ));
            continue;
        }
        let fix = format!("{place}\n{}", facts.line);
        let unknown = examined.and_then(|examined| {
            unknown_groups(examined.context.as_ref()?, &list, examined.release).ok()
        });
        let ours = examined.is_some_and(|examined| names_ours(&list, examined.release));
        findings.push(match unknown {
            Some(unknown) if !unknown.is_empty() => Finding::wrong(
                facts.name,
                format!(
                    "{place}: '{line}' names what OpenSSL does not know: {}",
                    unknown.join(", ")
                ),
                fix,
            ),
            _ if ours => Finding::ok(facts.name, format!("{place}: '{line}'")),
            _ => Finding::wrong(
                facts.name,
                format!("{place}: '{line}' overrides the configuration, without our groups"),
                fix,
            ),
        });
    }
    if any || facts.line.is_empty() {
        return;
    }
    findings.push(if facts.overrides_by_default {
        Finding::wrong(
            facts.name,
            "sets its own default groups over the configuration's unless told otherwise",
            format!("in each service of {}\n{}", root.join(facts.files[0]).display(), facts.line),
        )
    } else {
        Finding::ok(facts.name, "sets no groups of its own: the configuration's count")
    });
}

/// Checks that running processes have loaded the module.
fn examine_processes(facts: &Facts, findings: &mut Vec<Finding>) {
    let Ok(processes) = fs::read_dir("/proc") else { return };
    let (mut with, mut without, mut unknown) = (0, 0, 0);
    for process in processes.flatten() {
        let path = process.path();
        let is_it =
            fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == facts.process);
        if !is_it {
            continue;
        }
        match fs::read_to_string(path.join("maps")) {
            Ok(maps) if maps.contains("fastkex") => with += 1,
            Ok(_) => without += 1,
            Err(_) => unknown += 1,
        }
    }
    if without > 0 {
        findings.push(Finding::wrong(
            facts.name,
            format!("{without} running processes have not loaded the module, {with} have"),
            format!("restart {}", facts.name),
        ));
    } else if with > 0 {
        findings.push(Finding::ok(
            facts.name,
            format!("{with} running processes, all with the module"),
        ));
    }
    if unknown > 0 {
        findings.push(Finding::note(
            facts.name,
            format!("{unknown} running processes of other users: run as root to look at them"),
        ));
    }
}

/// Returns the lines of a file, or of all files below a folder, each with its place. Leaves out
/// comments and blank lines.
fn lines_below(path: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![path.to_path_buf()];
    while let Some(path) = folders.pop() {
        if files.len() >= MOST_FILES {
            break;
        }
        match fs::read_dir(&path) {
            Ok(entries) => {
                let mut entries: Vec<PathBuf> =
                    entries.flatten().map(|entry| entry.path()).collect();
                entries.sort();
                folders.extend(entries.into_iter().rev());
            }
            Err(_) => files.push(path),
        }
    }
    let mut lines = Vec::new();
    for file in files {
        let Ok(text) = Held::at(&file).and_then(|file| file.read(MOST_BYTES)) else { continue };
        let Ok(text) = String::from_utf8(text) else { continue };
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if !line.is_empty() && !line.starts_with(['#', ';']) {
                lines.push((format!("{}:{}", file.display(), number + 1), line.to_owned()));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_set_groups_are_recognised() {
        for (application, line, expected) in [
            (Application::Nginx, "ssl_ecdh_curve X25519:P-256;", Some("X25519:P-256")),
            (Application::Nginx, "ssl_conf_command Groups \"a:b\";", Some("a:b")),
            (Application::Nginx, "ssl_conf_command Ciphersuites a;", None),
            (Application::Nginx, "ssl_certificate x;", None),
            (Application::Apache2, "SSLOpenSSLConfCmd groups a:b", Some("a:b")),
            (Application::Apache2, "SSLEngine on", None),
            (Application::Stunnel, "curves = a:b", Some("a:b")),
            (Application::Stunnel, "cert = a", None),
            (Application::Haproxy, "ssl-default-bind-curves a:b", Some("a:b")),
            (Application::Haproxy, "bind :443 ssl crt x curves a:b alpn h2", Some("a:b")),
            (Application::Haproxy, "bind :443 ssl crt x", None),
            (Application::Curl, "curves = a:b", Some("a:b")),
            (Application::Curl, "--curves a:b", Some("a:b")),
            (Application::Curl, "--silent", None),
            (Application::Unbound, "tls-port: 853", None),
        ] {
            assert_eq!(application.groups_in(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn at_most_a_thousand_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MOST_FILES {
            fs::write(folder.path().join(number.to_string()), "line\n").unwrap();
        }
        assert_eq!(lines_below(folder.path()).len(), MOST_FILES);
    }
}
