//! Checks of applications: the effect of their own configuration on the provider.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use kex::group_named;
use openssl_runtime::Key;
use output::Failure;

use super::effective::{Effective, Endpoint, Otherwise};
use super::files::Files;
use super::finding::Finding;
use super::libraries::{self, Library, of_another_library};
use super::process;
use super::shared_objects::{Needed, Root};
use super::system::{Examined, serves_browsers};
use super::{apache, haproxy, keyed, nginx};
use crate::groups::{
    CLIENT_COST, Role, begins_with_preferred, mended, names_ours, names_preferred,
    openssl_has_ml_kem,
};
use crate::regular::Held;
use crate::run::{changes_user, unknown_groups};

/// The maximum size of a file that is read, in bytes.
const MOST_BYTES: u64 = 1 << 28;
/// The folders in which programs are searched, below the root.
const PROGRAM_FOLDERS: [&str; 6] =
    ["usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"];

/// The format of an application's configuration.
#[derive(Clone, Copy)]
enum Format {
    /// It has no setting for groups.
    None,
    Nginx,
    Apache,
    Haproxy,
    Stunnel,
    Curl,
    Lighttpd,
    Postfix,
    /// Lines of a key and a value.
    Keys(keyed::Keys),
}

/// The facts about an application on Debian. Paths are relative to the root.
struct Facts {
    /// The names by which it is asked for, its own first.
    names: &'static [&'static str],
    /// Debian's package.
    package: &'static str,
    /// The program; the first that is there counts. Paths may have wildcards.
    programs: &'static [&'static str],
    /// The objects that use libssl, if it is not the program but one of its modules. May have
    /// wildcards; the first that is there counts.
    tls_objects: &'static [&'static str],
    /// The names of its processes.
    processes: &'static [&'static str],
    /// Its configuration, with wildcards. The first file that is there is the main one.
    files: &'static [&'static str],
    format: Format,
    /// The unit of its service, if `fastkex enable --service` can give the variable to it.
    unit: Option<&'static str>,
    /// The setting that names OpenSSL's configuration for its service.
    variable: &'static str,
    /// The files from which its service gets environment variables. A later one comes before the
    /// earlier ones: systemd lets an `EnvironmentFile` replace what drop-ins set.
    service_files: &'static [&'static str],
    /// The lines that set a variable for its service; `{}` stands for the configuration's path.
    service_fix: &'static str,
    /// Its usual side of connections.
    role: Role,
    /// The property query with which some releases fetch algorithms from OpenSSL. If it names a
    /// provider, it overrides the provider in `default_properties`.
    own_query: Option<&'static str>,
    /// The user as whom its service starts, if that is not root: OpenSSL then reads its files as
    /// this user.
    user: Option<&'static str>,
    /// Further notes for an administrator.
    notes: &'static [&'static str],
}

/// The facts that most applications share.
const USUAL: Facts = Facts {
    names: &[],
    package: "",
    programs: &[],
    tls_objects: &[],
    processes: &[],
    files: &[],
    format: Format::None,
    unit: None,
    variable: "OPENSSL_CONF",
    service_files: &[],
    service_fix: "",
    role: Role::Server,
    own_query: None,
    user: None,
    notes: &[],
};

const KNOWN: &[Facts] = &[
    Facts {
        names: &["nginx"],
        package: "nginx",
        programs: &["usr/sbin/nginx", "usr/local/sbin/nginx"],
        processes: &["nginx"],
        files: &["etc/nginx/nginx.conf", "usr/local/nginx/conf/nginx.conf"],
        format: Format::Nginx,
        unit: Some("nginx"),
        service_files: &["etc/systemd/system/nginx.service.d", "etc/systemd/system/nginx.service"],
        service_fix: "systemctl edit nginx\n[Service]\nEnvironment=OPENSSL_CONF={}",
        ..USUAL
    },
    Facts {
        names: &["apache2", "apache", "httpd"],
        package: "apache2",
        programs: &["usr/sbin/apache2", "usr/local/apache2/bin/httpd", "usr/sbin/httpd"],
        tls_objects: &[
            "usr/lib/apache2/modules/mod_ssl.so",
            "usr/local/apache2/modules/mod_ssl.so",
            "usr/lib64/httpd/modules/mod_ssl.so",
        ],
        processes: &["apache2", "httpd"],
        files: &[
            "etc/apache2/apache2.conf",
            "usr/local/apache2/conf/httpd.conf",
            "etc/httpd/conf/httpd.conf",
        ],
        format: Format::Apache,
        unit: Some("apache2"),
        service_files: &["etc/systemd/system/apache2.service.d", "etc/apache2/envvars"],
        service_fix: "/etc/apache2/envvars\nexport OPENSSL_CONF={}",
        ..USUAL
    },
    Facts {
        names: &["stunnel", "stunnel4"],
        package: "stunnel4",
        programs: &["usr/bin/stunnel4", "usr/bin/stunnel"],
        processes: &["stunnel4", "stunnel"],
        files: &["etc/stunnel/*.conf"],
        format: Format::Stunnel,
        unit: Some("stunnel@"),
        service_files: &["etc/default/stunnel4", "etc/systemd/system/stunnel@.service.d"],
        service_fix: "systemctl edit stunnel@\n[Service]\nEnvironment=OPENSSL_CONF={}",
        own_query: Some("provider!=fips"),
        ..USUAL
    },
    Facts {
        names: &["haproxy"],
        package: "haproxy",
        programs: &["usr/sbin/haproxy", "usr/local/sbin/haproxy"],
        processes: &["haproxy"],
        files: &["etc/haproxy/haproxy.cfg", "usr/local/etc/haproxy/haproxy.cfg"],
        format: Format::Haproxy,
        unit: Some("haproxy"),
        service_files: &["etc/systemd/system/haproxy.service.d", "etc/default/haproxy"],
        service_fix: "/etc/default/haproxy\nOPENSSL_CONF={}",
        ..USUAL
    },
    Facts {
        names: &["unbound"],
        package: "unbound",
        programs: &["usr/sbin/unbound"],
        processes: &["unbound"],
        unit: Some("unbound"),
        service_files: &["etc/systemd/system/unbound.service.d", "etc/default/unbound"],
        service_fix: "/etc/default/unbound\nOPENSSL_CONF={}",
        ..USUAL
    },
    Facts {
        names: &["curl"],
        package: "curl",
        programs: &["usr/bin/curl"],
        processes: &["curl"],
        files: &["root/.curlrc"],
        format: Format::Curl,
        role: Role::Client,
        ..USUAL
    },
    Facts {
        names: &["python3", "python"],
        package: "python3",
        programs: &["usr/bin/python3", "usr/local/bin/python3"],
        tls_objects: &[
            "usr/lib/python3*/lib-dynload/_ssl.*.so",
            "usr/local/lib/python3*/lib-dynload/_ssl.*.so",
        ],
        role: Role::Client,
        notes: &[
            "SSLContext.set_ecdh_curve cannot name our groups, and replaces the configuration's list",
        ],
        ..USUAL
    },
    Facts {
        names: &["git"],
        package: "git",
        programs: &["usr/bin/git"],
        tls_objects: &["usr/lib/git-core/git-remote-https"],
        role: Role::Client,
        ..USUAL
    },
    Facts {
        names: &["lighttpd"],
        package: "lighttpd-mod-openssl",
        programs: &["usr/sbin/lighttpd"],
        tls_objects: &["usr/lib/lighttpd/mod_openssl.so"],
        processes: &["lighttpd"],
        files: &["etc/lighttpd/lighttpd.conf", "etc/lighttpd/conf-enabled/*.conf"],
        format: Format::Lighttpd,
        ..USUAL
    },
    Facts {
        names: &["redis-server", "redis"],
        package: "redis-server",
        programs: &["usr/bin/redis-server"],
        processes: &["redis-server"],
        user: Some("redis"),
        ..USUAL
    },
    Facts {
        names: &["memcached"],
        package: "memcached",
        programs: &["usr/bin/memcached"],
        processes: &["memcached"],
        ..USUAL
    },
    Facts {
        names: &["mosquitto"],
        package: "mosquitto",
        programs: &["usr/sbin/mosquitto"],
        processes: &["mosquitto"],
        ..USUAL
    },
    Facts {
        names: &["mariadb", "mariadbd", "mysqld"],
        package: "mariadb-server",
        programs: &["usr/sbin/mariadbd"],
        processes: &["mariadbd"],
        user: Some("mysql"),
        ..USUAL
    },
    Facts {
        names: &["postgresql", "postgres"],
        package: "postgresql",
        programs: &["usr/lib/postgresql/*/bin/postgres"],
        processes: &["postgres"],
        files: &["etc/postgresql/*/main/postgresql.conf", "etc/postgresql/*/main/conf.d/*.conf"],
        format: Format::Keys(keyed::Keys {
            names: &["ssl_groups", "ssl_ecdh_curve"],
            line: "ssl_groups = '{}'     # PostgreSQL 18 and later; before, it has one elliptic curve only",
            or_blank: true,
            separators: &[':'],
            role: Role::Server,
            otherwise: Otherwise::OfApplication,
        }),
        service_files: &["etc/postgresql/*/main/environment"],
        service_fix: "/etc/postgresql/VERSION/main/environment\nOPENSSL_CONF = '{}'",
        user: Some("postgres"),
        notes: &[
            "before release 18 it can have X25519MLKEM768 only by TLS in front of it, such as stunnel's 'protocol = pgsql'",
        ],
        ..USUAL
    },
    Facts {
        names: &["dovecot"],
        package: "dovecot-core",
        programs: &["usr/sbin/dovecot"],
        tls_objects: &["usr/lib/dovecot/modules/libssl_iostream_openssl.so"],
        processes: &["imap-login", "pop3-login", "managesieve-login", "submission-login"],
        files: &["etc/dovecot/dovecot.conf", "etc/dovecot/conf.d/*.conf", "etc/dovecot/local.conf"],
        format: Format::Keys(keyed::Keys {
            names: &["ssl_curve_list"],
            line: "ssl_curve_list = {}",
            or_blank: false,
            separators: &[':'],
            role: Role::Server,
            otherwise: Otherwise::OfOpenSsl,
        }),
        // Its master process hands only the variables of this setting to the others.
        service_files: &[
            "etc/dovecot/dovecot.conf",
            "etc/dovecot/conf.d",
            "etc/dovecot/local.conf",
        ],
        service_fix: "/etc/dovecot/local.conf\nimport_environment = $import_environment OPENSSL_CONF={}",
        ..USUAL
    },
    Facts {
        names: &["proftpd"],
        package: "proftpd-mod-crypto",
        programs: &["usr/sbin/proftpd"],
        tls_objects: &["usr/lib/proftpd/mod_tls.so"],
        processes: &["proftpd"],
        files: &["etc/proftpd/proftpd.conf", "etc/proftpd/tls.conf", "etc/proftpd/conf.d/*.conf"],
        format: Format::Keys(keyed::Keys {
            names: &["TLSECDHCurve"],
            line: "TLSECDHCurve {}",
            or_blank: true,
            separators: &[':'],
            role: Role::Server,
            otherwise: Otherwise::OfOpenSsl,
        }),
        unit: Some("proftpd"),
        service_files: &["etc/systemd/system/proftpd.service.d", "etc/default/proftpd"],
        service_fix: "/etc/default/proftpd\nOPENSSL_CONF={}",
        ..USUAL
    },
    Facts {
        names: &["postfix"],
        package: "postfix",
        programs: &["usr/sbin/postfix"],
        tls_objects: &["usr/lib/postfix/libpostfix-tls.so"],
        processes: &["smtpd", "smtp", "tlsproxy", "lmtp"],
        files: &["etc/postfix/main.cf"],
        format: Format::Postfix,
        // The environment does not reach its processes.
        variable: "tls_config_file",
        service_files: &["etc/postfix/main.cf"],
        service_fix: "/etc/postfix/main.cf\ntls_config_file = {}     # Postfix 3.7.6 and later",
        ..USUAL
    },
    Facts {
        names: &["node", "nodejs"],
        package: "nodejs",
        programs: &["usr/bin/node"],
        processes: &["node"],
        role: Role::Client,
        notes: &[
            "reads OpenSSL's configuration only with --openssl-shared-config, which NODE_OPTIONS can have",
        ],
        ..USUAL
    },
    Facts {
        names: &["openvpn"],
        package: "openvpn",
        programs: &["usr/sbin/openvpn"],
        processes: &["openvpn"],
        files: &["etc/openvpn/*.conf", "etc/openvpn/server/*.conf", "etc/openvpn/client/*.conf"],
        format: Format::Keys(keyed::Keys {
            names: &["tls-groups"],
            line: "tls-groups {}",
            or_blank: true,
            separators: &[':'],
            role: Role::Server,
            otherwise: Otherwise::OfOpenSsl,
        }),
        unit: Some("openvpn-server@"),
        service_files: &["etc/systemd/system/openvpn-server@.service.d"],
        service_fix: "systemctl edit openvpn-server@\n[Service]\nEnvironment=OPENSSL_CONF={}",
        ..USUAL
    },
];

/// A program that is examined.
struct Application<'a> {
    name: String,
    facts: &'static Facts,
    /// The program and the object of it that uses TLS, inside of the root.
    program: PathBuf,
    object: PathBuf,
    root: &'a Path,
    files: &'a Files,
}

/// Checks the application `name`, which may be the path of a program, below `root`.
///
/// # Errors
/// There is no such folder or program.
pub(super) fn examine(
    name: &str,
    root: &Path,
    examined: Option<&Examined>,
    findings: &mut Vec<Finding>,
) -> Result<(), Failure> {
    let folder = Root::new(root).map_err(Failure::about(root.display()))?;
    let files = Files::below(folder);
    let Some(application) = find(name, root, &files, findings)? else { return Ok(()) };
    let program = files.root().shown(&application.program);
    if changes_user(&program) {
        findings.push(Finding::wrong(
            &application.name,
            format!(
                "{} changes its user (setuid), so OpenSSL in it ignores OPENSSL_CONF",
                program.display()
            ),
            "put the provider into the system's own openssl.cnf",
        ));
    }
    let (is_openssl, finding) = application.libssl(examined);
    findings.push(finding);
    if is_openssl {
        if let Some(examined) = examined {
            application.examine_query(examined, findings);
            application.examine_service(examined, findings);
        }
        application.examine_groups(examined, findings);
    }
    if root == Path::new("/") {
        application.examine_processes(findings);
    }
    Ok(())
}

/// Returns the configuration that the service of an application is told to read, if it is told to.
pub(super) fn configuration_of(name: &str, root: &Path) -> Option<PathBuf> {
    let files = Files::below(Root::new(root).ok()?);
    let application = find(name, root, &files, &mut Vec::new()).ok()??;
    let (service_files, _) = application.service();
    let (_, value) = application.named(&service_files)?;
    Some(PathBuf::from(value)).filter(|path| path.is_absolute())
}

/// Returns the names of the applications with facts of their own.
/// Whether the processes of a service get the environment of its unit. Applications that are not
/// known do.
pub(crate) fn gets_environment(service: &str) -> bool {
    let name = service.split('@').next().unwrap_or(service);
    let known = KNOWN.iter().find(|facts| facts.names.contains(&name));
    known.is_none_or(|facts| facts.unit.is_some() || facts.service_fix.is_empty())
}

fn known_names() -> String {
    KNOWN.iter().map(|facts| facts.names[0]).collect::<Vec<_>>().join(", ")
}

/// Finds the program that is asked for. Returns `None`, after a finding, if a known application is
/// not installed.
fn find<'a>(
    name: &str,
    root: &'a Path,
    files: &'a Files,
    findings: &mut Vec<Finding>,
) -> Result<Option<Application<'a>>, Failure> {
    let is_path = name.contains('/');
    let path = match root == Path::new("/") && is_path {
        true => std::path::absolute(name).map_err(Failure::about(name))?,
        false => PathBuf::from(name),
    };
    let own_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let known = KNOWN.iter().find(|facts| facts.names.contains(&own_name.as_str()));
    let program = if is_path {
        Some(path.clone()).filter(|path| files.is_there(path))
    } else {
        let own = known.into_iter().flat_map(|facts| facts.programs);
        let own = own.flat_map(|pattern| files.matching(Path::new("/"), pattern));
        let folders = PROGRAM_FOLDERS.iter().map(|folder| Path::new("/").join(folder).join(name));
        own.chain(folders).find(|path| files.is_there(path))
    };
    let Some(program) = program else {
        let (Some(facts), false) = (known, is_path) else {
            return Err(Failure::new(format!(
                "--app {name}: no such program below {}; expected the name or path of a program, or one of {}",
                root.display(),
                known_names()
            )));
        };
        findings.push(Finding::wrong(
            facts.names[0],
            format!("{} is not there", root.join(facts.programs[0]).display()),
            format!("apt-get install {}", facts.package),
        ));
        return Ok(None);
    };
    let is_usual = known.is_none_or(|facts| {
        let mut usual = facts.programs.iter();
        usual.any(|pattern| files.matching(Path::new("/"), pattern).contains(&program))
    });
    if let (Some(facts), false) = (known, is_usual) {
        findings.push(Finding::note(
            facts.names[0],
            format!(
                "{} is not where it usually is; its configuration is read at the usual places",
                program.display()
            ),
        ));
    }
    let shown = known.map_or(own_name, |facts| facts.names[0].to_owned());
    let (mut facts, mut object) = (known.unwrap_or(&USUAL), program.clone());
    if known.is_none()
        && let Some(interpreter) = interpreter(files, &program)
    {
        findings.push(Finding::note(
            &shown,
            format!("{} is a script for {}", program.display(), interpreter.display()),
        ));
        let name = interpreter.file_name().unwrap_or_default().to_string_lossy().into_owned();
        facts = KNOWN.iter().find(|facts| facts.names.contains(&name.as_str())).unwrap_or(facts);
        object = interpreter;
    }
    const SHELLS: [&str; 3] = ["sh", "bash", "dash"];
    if SHELLS.iter().any(|shell| object.ends_with(shell)) && object != program {
        findings.push(Finding::wrong(
            &shown,
            format!("{} is a script, which starts other programs", program.display()),
            "name the program that it starts, or a running process with --pid",
        ));
        return Ok(None);
    }
    let modules = facts.tls_objects.iter();
    let modules = modules.flat_map(|pattern| files.matching(Path::new("/"), pattern));
    if let Some(module) = modules.into_iter().find(|path| files.is_file(path)) {
        object = module;
    } else if let (Some(pattern), true) =
        (facts.tls_objects.first(), facts.names != ["python3", "python"])
    {
        object = Path::new("/").join(pattern);
    }
    Ok(Some(Application { name: shown, facts, program, object, root, files }))
}

/// Returns the program that runs a script, inside of the root; `None` for other files.
fn interpreter(files: &Files, program: &Path) -> Option<PathBuf> {
    let bytes = files.root().hold(program).and_then(|file| file.read(MOST_BYTES)).ok()?;
    let line = bytes.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace().filter(|word| *word != "-S");
    let path = PathBuf::from(words.next()?);
    if !path.ends_with("env") {
        return Some(path);
    }
    let name = words.next()?;
    let folders = PROGRAM_FOLDERS.iter().map(|folder| Path::new("/").join(folder).join(name));
    folders.into_iter().find(|path| files.is_file(path))
}

impl Application<'_> {
    /// Checks that the application uses the libssl that was examined. Returns true if it uses
    /// OpenSSL's libssl, as far as that is known.
    fn libssl(&self, examined: Option<&Examined>) -> (bool, Finding) {
        let ours = examined.map(|examined| examined.libraries.libssl_path());
        let same = |path: &Path, ours: &Path| {
            let is_one_file = path.canonicalize().ok() == ours.canonicalize().ok();
            let contents = |path: &Path| Held::at(path)?.read(MOST_BYTES);
            is_one_file || matches!((contents(path), contents(ours)), (Ok(a), Ok(b)) if a == b)
        };
        let object = self.files.root().shown(&self.object);
        match libraries::of_object(self.files.root(), &self.object) {
            Ok(Library::OpenSsl(Needed::At(path))) => match ours {
                Some(ours) if !same(&path, ours) => {
                    let message = format!(
                        "uses {}, not {}: its configuration and version may differ",
                        path.display(),
                        ours.display()
                    );
                    let fix = "install the distribution's own package of the application";
                    (true, Finding::wrong(&self.name, message, fix))
                }
                _ => (true, Finding::ok(&self.name, format!("uses {}", path.display()))),
            },
            Ok(Library::OpenSsl(Needed::Missing(name))) => {
                let message =
                    format!("needs {name}, which is not there below {}", self.root.display());
                let fix = "install OpenSSL's libraries beside the application";
                (true, Finding::wrong(&self.name, message, fix))
            }
            Ok(Library::Other(other)) => (false, of_another_library(&self.name, &other)),
            Ok(Library::None) => {
                let message = format!("{} shows no sign of a TLS library", object.display());
                let fix =
                    "name the program that makes the connections, or a running process with --pid";
                (false, Finding::wrong(&self.name, message, fix))
            }
            Err(problem) => {
                let fix = "install a build of the application that uses OpenSSL's libssl as a shared library";
                (true, Finding::wrong(&self.name, problem, fix))
            }
        }
    }

    /// Checks if the application's own property query keeps it from using our X25519 and Ed25519.
    fn examine_query(&self, examined: &Examined, findings: &mut Vec<Finding>) {
        let (Some(query), Some(context)) = (self.facts.own_query, &examined.context) else {
            return;
        };
        let program = self.files.root().hold(&self.program).and_then(|file| file.read(MOST_BYTES));
        let has_it =
            program.is_ok_and(|program| memchr::memmem::find(&program, query.as_bytes()).is_some());
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
                    &self.name,
                    format!(
                        "asks for '{query}' in place of default_properties: {name} is served by {own}, not {usual}; \
                         the groups are ours all the same"
                    ),
                ));
            }
        }
    }

    /// Returns the files from which the service gets its environment, and the lines that set a
    /// variable there.
    fn service(&self) -> (Vec<PathBuf>, String) {
        let absolute = |path: &str| Path::new("/").join(path);
        if !self.facts.service_files.is_empty() {
            let files = self.facts.service_files.iter();
            let files = files.flat_map(|pattern| self.files.matching(Path::new("/"), pattern));
            return (files.collect(), self.facts.service_fix.to_owned());
        }
        let unit = format!("{}.service", self.name);
        let folders = ["etc/systemd/system", "lib/systemd/system", "usr/lib/systemd/system"];
        let mut units = folders.iter().map(|folder| absolute(folder).join(&unit));
        let Some(text) = units.find_map(|path| self.files.text(&path).ok()) else {
            return (Vec::new(), String::new());
        };
        let own = absolute(folders[0]);
        let mut files = vec![own.join(&unit), own.join(format!("{unit}.d"))];
        let defaults = absolute("etc/default").join(&self.name);
        let names_it = |line: &str| {
            line.starts_with("EnvironmentFile") && line.ends_with(&*defaults.to_string_lossy())
        };
        if text.lines().any(names_it) {
            files.push(defaults);
        }
        (files, format!("systemctl edit {}\n[Service]\nEnvironment=OPENSSL_CONF={{}}", self.name))
    }

    /// Returns the configuration that the service's files name, and the place where they do.
    fn named(&self, service_files: &[PathBuf]) -> Option<(String, String)> {
        let paths = service_files.iter().flat_map(|file| {
            // systemd reads files with this ending only.
            let is_folder = file.extension().is_some_and(|end| end == "d");
            let all = self.files.all_below(file).into_iter();
            all.filter(move |path| !is_folder || path.extension().is_some_and(|end| end == "conf"))
        });
        paths.filter_map(|path| self.variable(&path)).last()
    }

    /// Checks that the service gets the configuration that was examined.
    fn examine_service(&self, examined: &Examined, findings: &mut Vec<Finding>) {
        let (service_files, fix) = self.service();
        if fix.is_empty() || !examined.active {
            return;
        }
        let path = examined.config_path.display().to_string();
        let set = self.named(&service_files);
        let by_hand = fix.replace("{}", &path);
        let is_edited = fix.starts_with("systemctl edit");
        let unit = self.facts.unit.or(is_edited.then_some(self.name.as_str()));
        let fix = match unit {
            Some(unit) => format!("fastkex enable --service {unit}; or by hand:\n{by_hand}"),
            None => by_hand,
        };
        findings.push(match (set, examined.config_is_from_environment) {
            (Some((place, value)), _) if value == path => {
                Finding::ok(&self.name, format!("{place}: the service reads {path}"))
            }
            (Some((place, value)), _) => Finding::wrong(
                &self.name,
                format!("{place}: the service reads {value}, not {path}"),
                fix,
            ),
            (None, true) => Finding::wrong(
                &self.name,
                format!(
                    "the service does not read {path}: OPENSSL_CONF is set here, but not for it"
                ),
                fix,
            ),
            (None, false) => {
                Finding::ok(&self.name, "the service reads the system's own configuration")
            }
        });
        let read = [Some(&examined.config_path), examined.configured.as_ref()];
        for (user, path) in
            read.into_iter().flatten().filter_map(|path| Some((self.facts.user?, path)))
        {
            if is_roots_alone(path) {
                findings.push(Finding::wrong(
                    &self.name,
                    format!(
                        "its service starts as user {user}, who may not read {}",
                        path.display()
                    ),
                    format!("chmod o+r {}", path.display()),
                ));
            }
        }
        if self.name == "unbound"
            && fs::read_to_string("/sys/module/apparmor/parameters/enabled")
                .is_ok_and(|enabled| enabled.trim() == "Y")
            && self.files.is_file(Path::new("/etc/apparmor.d/usr.sbin.unbound"))
        {
            findings.push(Finding::note(
                &self.name,
                "its AppArmor profile must let it read the module and the configuration: \
                 /etc/apparmor.d/local/usr.sbin.unbound",
            ));
        }
    }

    /// Returns the last value of the variable in a file of an environment, and its place.
    fn variable(&self, path: &Path) -> Option<(String, String)> {
        let text = self.files.text(path).ok()?;
        let is_script = path.ends_with("envvars");
        let set = text.lines().enumerate().filter_map(|(number, line)| {
            let line = line.trim();
            if line.starts_with(['#', ';']) || is_script && !line.starts_with("export ") {
                return None;
            }
            let (before, value) = line.split_once(self.facts.variable)?;
            let value = value.trim_start().strip_prefix('=')?.trim_start();
            // The name of another variable may end like this.
            if before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
                return None;
            }
            let ends = |c: char| matches!(c, '"' | '\'') || c.is_whitespace();
            let value = value.trim_start_matches(['"', '\'']).split(ends).next()?;
            Some((format!("{}:{}", self.files.name(path), number + 1), value.to_owned()))
        });
        set.last()
    }

    /// Reads the application's own configuration.
    fn effective(&self) -> Option<Effective> {
        let patterns = self.facts.files.iter();
        let paths = patterns.flat_map(|pattern| self.files.matching(Path::new("/"), pattern));
        let paths: Vec<_> = paths.filter(|path| self.files.is_file(path)).collect();
        if let Format::Curl = self.facts.format {
            return Some(keyed::curl(self.files, &self.curl_files()));
        }
        let main = paths.first()?;
        Some(match self.facts.format {
            Format::None | Format::Curl => return None,
            Format::Nginx => nginx::read(self.files, main, self.nginx_version()),
            Format::Apache => {
                let variables = main.with_file_name("envvars");
                apache::read(self.files, main, Some(&variables))
            }
            Format::Haproxy => haproxy::read(self.files, main),
            Format::Stunnel => keyed::stunnel(self.files, &paths),
            Format::Postfix => keyed::postfix(self.files, main),
            Format::Lighttpd => keyed::lighttpd(self.files, &paths),
            Format::Keys(keys) => keyed::keys(self.files, &paths, &keys),
        })
    }

    /// Returns the files of which curl reads the first that is there.
    fn curl_files(&self) -> Vec<PathBuf> {
        let homes = ["CURL_HOME", "XDG_CONFIG_HOME", "HOME"].into_iter();
        // Below another root the user of this process is nobody.
        let homes = homes.filter_map(std::env::var_os).map(PathBuf::from);
        let own = homes.filter(|home| self.root == Path::new("/") && home.is_absolute());
        let own: Vec<_> = own.map(|home| home.join(".curlrc")).collect();
        if own.is_empty() { vec![Path::new("/root").join(".curlrc")] } else { own }
    }

    /// Returns nginx's version, which its program contains.
    fn nginx_version(&self) -> Option<(u32, u32, u32)> {
        self.version_in(&self.program, b"nginx/")
    }

    /// Returns the first version of three numbers after this text in a file.
    fn version_in(&self, path: &Path, before: &[u8]) -> Option<(u32, u32, u32)> {
        let bytes = self.files.root().hold(path).and_then(|file| file.read(MOST_BYTES));
        let bytes = bytes.ok()?;
        memchr::memmem::find_iter(&bytes, before).find_map(|at| {
            let text = bytes.get(at + before.len()..)?;
            let text = &text[..text.len().min(20)];
            let is_part = |byte: &&u8| byte.is_ascii_digit() || **byte == b'.';
            let text: Vec<u8> = text.iter().take_while(is_part).copied().collect();
            let text = String::from_utf8(text).ok()?;
            let mut numbers = text.split('.').map(str::parse);
            let mut next = || numbers.next()?.ok();
            let version = (next()?, next()?, next()?);
            numbers.next().is_none().then_some(version)
        })
    }

    /// Checks the groups of all connections that the application's own configuration describes.
    fn examine_groups(&self, examined: Option<&Examined>, findings: &mut Vec<Finding>) {
        for note in self.facts.notes {
            findings.push(Finding::note(&self.name, *note));
        }
        let effective = self.effective();
        let effective = match (effective, self.facts.format) {
            (Some(effective), _) => effective,
            (None, Format::None) => Effective::default(),
            (None, _) => {
                let shown: Vec<_> =
                    self.facts.files.iter().map(|file| self.root.join(file)).collect();
                let first = shown.first().map(|path| path.display().to_string());
                findings.push(Finding::note(
                    &self.name,
                    format!("no configuration at {}", first.unwrap_or_default()),
                ));
                return;
            }
        };
        for problem in &effective.problems {
            findings.push(Finding::wrong(
                &self.name,
                format!("cannot read all of its configuration: {problem}"),
                "mend this file, or run doctor as a user who may read it",
            ));
        }
        for note in &effective.notes {
            findings.push(Finding::note(&self.name, note));
        }
        let mut is_costly = false;
        for alike in groups_of(&effective.endpoints) {
            is_costly |= self.examine_endpoint(&alike, examined, findings);
        }
        let is_none = effective.endpoints.is_empty();
        if is_none && !matches!(self.facts.format, Format::None) {
            findings.push(Finding::note(&self.name, "its configuration has no TLS connections"));
        }
        for (setting, reason) in effective.idle_lines() {
            findings.push(Finding::note(
                &self.name,
                format!("{}: '{}' has no effect: {reason}", setting.place, setting.line),
            ));
        }
        let of_system = examined.and_then(|examined| examined.groups.as_deref());
        let is_client = is_none && self.facts.role == Role::Client;
        if let (Some(list), Some(examined)) = (of_system, examined) {
            is_costly |= is_client && costs(list, examined);
        }
        if is_costly {
            findings.push(Finding::note(&self.name, CLIENT_COST));
        }
    }

    /// Checks endpoints that have the same groups. Returns true if they are clients that pay for
    /// a wrong guess.
    fn examine_endpoint(
        &self,
        alike: &[&Endpoint],
        examined: Option<&Examined>,
        findings: &mut Vec<Finding>,
    ) -> bool {
        let Some(endpoint) = alike.first() else { return false };
        let name = names(alike);
        if let Some((reason, fix)) = &endpoint.without_tls13 {
            let message = format!("{name}: no TLS 1.3, and so none of our groups: {reason}");
            let line = fix.lines().last().unwrap_or_default();
            findings.push(match endpoint.role {
                Role::Server => Finding::wrong(&self.name, message, fix),
                Role::Client => {
                    Finding::note(&self.name, format!("{message}; '{line}' permits it"))
                }
            });
            return false;
        }
        let Some(setting) = &endpoint.setting else {
            if endpoint.otherwise == Otherwise::OfApplication {
                let list = match examined {
                    Some(examined) => short_list(endpoint.role, examined),
                    None => "X25519MLKEM768:X25519:P-256".to_owned(),
                };
                findings.push(Finding::wrong(
                    &self.name,
                    format!(
                        "{name}: sets its own default groups over the configuration's unless told otherwise"
                    ),
                    format!("{}\n{}", endpoint.home, endpoint.line.replace("{}", &list)),
                ));
                return false;
            }
            findings.push(Finding::ok(
                &self.name,
                format!("{name}: no groups of its own: the configuration's count"),
            ));
            let of_system = examined.and_then(|examined| examined.groups.as_deref());
            return endpoint.role == Role::Client
                && examined.zip(of_system).is_some_and(|(examined, list)| costs(list, examined));
        };
        let place = setting.place.to_string();
        let shown = match alike.len() == 1 && name.ends_with(&place) {
            true => format!("{name}: '{}'", setting.line),
            false => format!("{name}: '{}' at {place}", setting.line),
        };
        let Some(examined) = examined else {
            findings.push(Finding::note(&self.name, format!("{shown}: not checked")));
            return false;
        };
        let release = examined.release;
        let context = examined.context.as_ref();
        let unknown = context
            .map_or(Ok(Vec::new()), |context| unknown_groups(context, &setting.list, release));
        let (unknown, malformed) = match unknown {
            Ok(unknown) => (unknown, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        let is_known =
            |name: &str| !unknown.iter().any(|other| other == name) || group_named(name).is_some();
        let list = mended(&setting.list, endpoint.role, release, &is_known);
        let line = if setting.list.is_empty() {
            endpoint.line.replace("{}", &list)
        } else {
            setting.line.replacen(&setting.list, &list, 1)
        };
        let mut fix = format!("{}\n{line}", setting.place);
        let is_first =
            context.is_none_or(|context| serves_browsers(context, &setting.list, release));
        let wrong = |message: String, fix: String| Finding::wrong(&self.name, message, fix);
        let finding = if let Some(problem) = malformed {
            wrong(format!("{shown}: {problem}"), fix)
        } else if !unknown.is_empty() {
            let not_offered: Vec<_> =
                unknown.iter().filter(|name| group_named(name).is_some()).cloned().collect();
            if !not_offered.is_empty()
                && let Some(section) = &examined.section
            {
                let value = settings::groups_for(&setting.list);
                let own = format!("[{section}]\n{} = {value}", settings::GROUPS.name);
                fix = if list == setting.list { own } else { format!("{fix}\n{own}") };
            }
            wrong(format!("{shown} names what OpenSSL does not know: {}", unknown.join(", ")), fix)
        } else if !names_ours(&setting.list, release) {
            wrong(format!("{shown} overrides the configuration, without our groups"), fix)
        } else if !names_preferred(&setting.list, release) {
            findings.push(Finding::note(
                &self.name,
                format!("{shown}: without X25519MLKEM768, so browsers get none of our groups"),
            ));
            Finding::ok(&self.name, shown)
        } else if endpoint.role == Role::Server && !is_first {
            wrong(format!("{shown}: browsers offer X25519MLKEM768, but do not get it"), fix)
        } else {
            Finding::ok(&self.name, shown)
        };
        findings.push(finding);
        endpoint.role == Role::Client && costs(&setting.list, examined)
    }

    /// Checks that running processes have loaded the module.
    fn examine_processes(&self, findings: &mut Vec<Finding>) {
        let found =
            process::all_of(self.facts.processes, &self.files.root().resolved(&self.program));
        if found.outdated > 0 {
            findings.push(Finding::wrong(
                &self.name,
                format!(
                    "{} running processes use libraries or a module that have been replaced since they started",
                    found.outdated
                ),
                format!("restart {}", self.name),
            ));
        }
        if found.without > 0 {
            findings.push(Finding::wrong(
                &self.name,
                format!(
                    "{} running processes have not loaded the module, {} have",
                    found.without, found.with
                ),
                format!("restart {}", self.name),
            ));
        } else if found.with > 0 {
            findings.push(Finding::ok(
                &self.name,
                format!("{} running processes, all with the module", found.with),
            ));
        }
        if found.unreadable > 0 {
            findings.push(Finding::note(
                &self.name,
                format!(
                    "{} running processes of other users: run as root to look at them",
                    found.unreadable
                ),
            ));
        }
    }
}

/// True if only root may read a file.
fn is_roots_alone(path: &Path) -> bool {
    const OF_ALL: u32 = 0o004;
    const OF_GROUP: u32 = 0o040;
    path.metadata().is_ok_and(|data| {
        let is_of_group = data.mode() & OF_GROUP != 0 && data.gid() != 0;
        data.uid() == 0 && data.mode() & OF_ALL == 0 && !is_of_group
    })
}

/// True if a client with this list pays for a wrong guess of the server's groups.
fn costs(list: &str, examined: &Examined) -> bool {
    !openssl_has_ml_kem(examined.release) && begins_with_preferred(list, examined.release)
}

/// A list for an application that needs a line of its own.
fn short_list(role: Role, examined: &Examined) -> String {
    mended("X25519:P-256", role, examined.release, &|_| true)
}

/// Puts endpoints together that get the same findings, in their order.
fn groups_of(endpoints: &[Endpoint]) -> Vec<Vec<&Endpoint>> {
    let mut groups: Vec<Vec<&Endpoint>> = Vec::new();
    for endpoint in endpoints {
        let is_alike = |group: &&mut Vec<&Endpoint>| {
            // Each of those that need a line has its own place for it.
            let needs_line = endpoint.setting.is_none()
                && (endpoint.otherwise == Otherwise::OfApplication
                    || endpoint.without_tls13.is_some());
            !needs_line
                && group.first().is_some_and(|first| {
                    first.role == endpoint.role
                        && first.setting == endpoint.setting
                        && first.without_tls13 == endpoint.without_tls13
                })
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push(endpoint),
            None => groups.push(vec![endpoint]),
        }
    }
    groups
}

/// Returns the names of endpoints, or of the first ones and the number of the others.
fn names(endpoints: &[&Endpoint]) -> String {
    const MOST: usize = 3;
    let names: Vec<_> =
        endpoints.iter().take(MOST).map(|endpoint| endpoint.name.as_str()).collect();
    match endpoints.len().saturating_sub(MOST) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
