//! Servers of files, data and messages: ProFTPD, Redis, memcached, mosquitto, MariaDB and
//! PostgreSQL, and their clients.

use std::path::Path;
use std::time::Duration;

use crate::cases::STUNNEL_SERVER;
use crate::protocol::{Content, SERVED};
use crate::setup::{Setup, Way, is_listening};
use crate::{Case, Role};

/// The time limit for making an empty database, which waits for disks.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const REDIS_SERVER: Case = Case {
    program: "redis-server",
    package: "redis-server",
    block: "redis-server",
    places: &[("tls-port 6379", "tls-port {port}\nbind 127.0.0.1\nsave \"\"")],
    frame: "{block}",
    command: &["redis-server", "{file}"],
    role: Role::Server,
    content: Content::Redis,
    served: "+PONG",
    word: None,
    alone: true,
    line: None,
    properties: true,
    prepare: |_| {},
};

pub(crate) const REDIS_CLIENT: Case = Case {
    program: "redis-cli",
    block: "redis-client",
    places: &[("-h example.org", "-h localhost -p {peer}")],
    command: &["sh", "-e", "{file}"],
    role: Role::Client,
    served: SERVED,
    ..REDIS_SERVER
};

pub(crate) const MEMCACHED_SERVER: Case = Case {
    program: "memcached",
    package: "memcached",
    block: "memcached-server",
    places: &[("-p 11211", "-p {port}"), ("-l 0.0.0.0", "-l 127.0.0.1")],
    // memcached's file has one option in each line.
    frame: "options=$(cat <<'END'\n{block}\nEND\n)\n%root options=\"-u memcache $options\"\nexec memcached $options\n",
    command: &["sh", "-e", "{file}"],
    content: Content::Memcached,
    served: "VERSION",
    ..REDIS_SERVER
};

pub(crate) const MOSQUITTO_SERVER: Case = Case {
    program: "mosquitto",
    package: "mosquitto",
    block: "mosquitto-server",
    places: &[("listener 8883", "listener {port} 127.0.0.1")],
    frame: "{block}\n%root user mosquitto\nallow_anonymous true\n",
    command: &["mosquitto", "-c", "{file}"],
    content: Content::Mqtt,
    served: SERVED,
    prepare: Setup::open,
    ..REDIS_SERVER
};

pub(crate) const MOSQUITTO_CLIENT: Case = Case {
    program: "mosquitto_sub",
    package: "mosquitto-clients",
    block: "mosquitto-client",
    places: &[("-h example.org", "-h localhost -p {peer} -C 1")],
    frame: "{block}",
    command: &["sh", "-e", "{file}"],
    role: Role::Client,
    prepare: |_| {},
    ..MOSQUITTO_SERVER
};

/// MariaDB. It does not run as root unless it is told to.
pub(crate) const MARIADB_SERVER: Case = Case {
    program: "mariadbd",
    package: "mariadb-server",
    block: "mariadb-server",
    places: &[],
    frame: "{block}
datadir = {folder}/data
bind-address = 127.0.0.1
port = {port}
socket = {folder}/socket
%root user = root
",
    command: &["mariadbd", "--defaults-file={file}"],
    content: Content::MariaDb,
    served: SERVED,
    prepare: |setup| {
        let data = format!("--datadir={}", setup.folder_of("data", None).display());
        let mut command = setup.command("mariadb-install-db");
        command.args([
            "--no-defaults",
            &data,
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ]);
        if testbed::is_root() {
            command.arg("--user=root");
        }
        let finished = setup.set.stage.run_within(PATIENCE, &mut command).unwrap();
        assert!(finished.status.success(), "{}{}", finished.output, finished.errors);
    },
    ..REDIS_SERVER
};

pub(crate) const MARIADB_CLIENT: Case = Case {
    program: "mariadb-admin",
    package: "mariadb-client",
    block: "mariadb-client",
    places: &[
        ("mariadb-admin ", "mariadb-admin --no-defaults --protocol=tcp --user=root "),
        ("--host=example.org", "--host=localhost --port={peer}"),
    ],
    frame: "{block}",
    command: &["sh", "-e", "{file}"],
    role: Role::Client,
    served: "is alive",
    prepare: |_| {},
    ..MARIADB_SERVER
};

pub(crate) const POSTGRESQL_CLIENT: Case = Case {
    program: "psql",
    package: "postgresql-client",
    block: "postgresql-client",
    places: &[("host=example.org", "host=localhost port={peer} user=user gssencmode=disable")],
    frame: "{block}",
    command: &["sh", "-e", "{file}"],
    role: Role::Client,
    content: Content::PostgreSql,
    served: SERVED,
    ..REDIS_SERVER
};

/// stunnel in front of a PostgreSQL server.
pub(crate) const POSTGRESQL_STUNNEL: Case = Case {
    block: "postgresql-stunnel",
    places: &[
        ("accept = 5432", "accept = 127.0.0.1:{port}"),
        ("connect = 127.0.0.1:5433", "connect = 127.0.0.1:{plain}"),
    ],
    content: Content::PostgreSql,
    word: None,
    ..STUNNEL_SERVER
};

/// ProFTPD. Its modules are not loaded unless its configuration says so.
pub(crate) const PROFTPD_SERVER: Case = Case {
    program: "proftpd",
    package: "proftpd-core",
    block: "proftpd-server",
    places: &[],
    frame: "ServerName test
ServerType standalone
DefaultServer on
Port {port}
DefaultAddress 127.0.0.1
SocketBindTight on
UseIPv6 off
ModulePath /usr/lib/proftpd
LoadModule mod_tls.c
%root User nobody
%root Group nogroup
ScoreboardFile none
PidFile {folder}/pid
DelayEngine off
<IfModule mod_ctrls.c>
ControlsEngine off
</IfModule>
{block}
",
    command: &["proftpd", "-n", "-q", "-c", "{folder}/{file}"],
    content: Content::Ftp,
    served: "AUTH TLS",
    line: Some(Way::Line),
    ..REDIS_SERVER
};

/// All cases of such servers.
pub(crate) const ALL: &[Case] = &[
    REDIS_SERVER,
    REDIS_CLIENT,
    MEMCACHED_SERVER,
    MOSQUITTO_SERVER,
    MOSQUITTO_CLIENT,
    MARIADB_SERVER,
    MARIADB_CLIENT,
    POSTGRESQL_CLIENT,
    POSTGRESQL_STUNNEL,
    PROFTPD_SERVER,
];

#[test]
fn redis() {
    REDIS_SERVER.run();
    REDIS_CLIENT.run();
}

#[test]
fn memcached() {
    MEMCACHED_SERVER.run();
}

#[test]
fn mosquitto() {
    MOSQUITTO_SERVER.run();
    MOSQUITTO_CLIENT.run();
}

#[test]
fn mariadb() {
    MARIADB_SERVER.run();
    MARIADB_CLIENT.run();
}

#[test]
fn postgresql_as_a_client() {
    POSTGRESQL_CLIENT.run();
}

#[test]
fn proftpd() {
    if !testbed::is_root() {
        return artifacts::skipped("ProFTPD changes its users (run as root)");
    }
    if !Path::new("/usr/lib/proftpd/mod_tls.so").exists() {
        return artifacts::absent("no mod_tls for ProFTPD (apt-get install proftpd-mod-crypto)");
    }
    PROFTPD_SERVER.run();
}

#[test]
fn postgresql_behind_stunnel() {
    POSTGRESQL_STUNNEL.run();
}

/// PostgreSQL 15 replaces the configuration's groups by one elliptic curve, and knows no other
/// groups. It refuses to run as root.
#[test]
fn postgresql_servers_take_one_curve() {
    const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
    if !Path::new(PROGRAMS).join("postgres").exists() {
        return artifacts::absent("no PostgreSQL 15 (apt-get install postgresql-15)");
    }
    let Some(setup) = Setup::new("openssl", "openssl") else { return };
    let stage = &setup.set.stage;
    setup.share_module();
    let folder = setup.folder_of("database", Some("postgres"));
    let data = folder.join("data").display().to_string();
    let configuration = setup.configure(Way::Configuration);
    let as_its_user = |program: &str| {
        let program = format!("{PROGRAMS}/{program}");
        if !testbed::is_root() {
            return setup.command(&program);
        }
        let mut command = setup.command("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", &program]);
        command
    };
    let made = stage
        .run_within(PATIENCE, as_its_user("initdb").args(["-A", "trust", "-D", &data]))
        .unwrap();
    assert!(made.status.success(), "{}{}", made.output, made.errors);
    // The server wants a key that belongs to its user or to root.
    let mut key = setup.command("install");
    if testbed::is_root() {
        key.args(["-o", "postgres"]);
    }
    key.args(["-m", "600", "key.pem", &format!("{data}/server.key")]);
    assert!(stage.run(&mut key).unwrap().status.success());

    let [port] = testbed::free_ports().unwrap();
    let server = |curve: Option<&str>| {
        let mut command = as_its_user("postgres");
        command.env("OPENSSL_CONF", &configuration).args(["-D", &data, "-p", &port.to_string()]);
        let certificate = format!("ssl_cert_file={}", setup.path("cert.pem"));
        let curve = curve.map(|curve| format!("ssl_ecdh_curve={curve}"));
        let settings =
            ["ssl=on", "listen_addresses=127.0.0.1", "unix_socket_directories=", &certificate];
        for setting in settings.into_iter().chain(curve.as_deref()) {
            command.args(["-c", setting]);
        }
        command
    };
    for (curve, complaint) in [
        ("X25519MLKEM768", "unrecognized curve name: X25519MLKEM768"),
        ("X25519MLKEM768:prime256v1", "unrecognized curve name: X25519MLKEM768:prime256v1"),
        ("", "unrecognized curve name: "),
        ("X25519", "could not create key"),
    ] {
        let finished = stage.run(&mut server(Some(curve))).unwrap();
        assert!(!finished.status.success(), "{curve}");
        assert!(finished.errors.contains(complaint), "{curve}: {}", finished.errors);
    }
    stage.start("postgres", &mut server(None), |_| is_listening(port)).unwrap();
    for (groups, expected) in [("X25519MLKEM768:X25519", false), ("X25519MLKEM768:P-256", true)] {
        let mut client = setup.command("openssl");
        client.env("OPENSSL_CONF", &configuration);
        client.args(["s_client", "-starttls", "postgres", "-groups", groups]);
        client.args(["-connect", &format!("127.0.0.1:{port}")]);
        let finished = stage.run(&mut client).unwrap();
        let said = format!("{}{}", finished.output, finished.errors);
        assert_eq!(
            said.contains("Server Temp Key: ECDH, prime256v1"),
            expected,
            "{groups}: {said}"
        );
    }
}
