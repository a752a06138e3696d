//! The ends of a connection: programs that are started as a client or as a server, and that report
//! the group.

use std::cell::Cell;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fmt, fs};

use kex::TlsGroup;
use testbed::{Server, Stage, free_ports};

use crate::absent;
use crate::words::*;

/// The group that everyone has, and its code point.
pub(crate) const FALLBACK: &str = "X25519";
const FALLBACK_CODE_POINT: u16 = 0x1D;

/// A program that speaks TLS.
#[derive(Clone)]
pub(crate) struct End {
    /// Name and version: `Go 1.26.8`.
    pub(crate) name: String,
    program: Program,
    /// The text of OpenSSL's configuration. Without one, the program's own arguments choose groups.
    configuration: Option<String>,
    word: Word,
}

/// A function that reads the group in a program's output.
type Word = fn(&str) -> Option<String>;

#[derive(Clone)]
enum Program {
    /// `openssl s_server` and `openssl s_client`.
    OpenSsl(PathBuf),
    /// A server only.
    Nginx,
    /// A client only.
    Curl,
    /// A program of the folder `programs`, or rustls-peer: the command before `client GROUPS PORT`
    /// or `server GROUPS`.
    Other(Vec<String>),
}

/// The report of one end of a connection.
#[derive(Clone)]
pub(crate) struct Report {
    pub(crate) group: Option<String>,
    /// The process, if it still runs.
    pub(crate) process: Option<u32>,
    log: String,
}

impl End {
    /// `openssl` as a server and a client, with groups as arguments.
    pub(crate) fn openssl(name: String, program: &Path) -> End {
        let program = Program::OpenSsl(program.into());
        End { name, program, configuration: None, word: in_openssl_messages }
    }

    /// nginx, which writes the group into its page.
    pub(crate) fn nginx(name: String) -> End {
        let program = Program::Nginx;
        End { name, program, configuration: None, word: in_nginx_page }
    }

    pub(crate) fn curl(name: String) -> End {
        let program = Program::Curl;
        End { name, program, configuration: None, word: in_curl_trace }
    }

    /// A program that is told its groups.
    pub(crate) fn other(name: String, command: Vec<String>) -> End {
        let program = Program::Other(command);
        End { name, program, configuration: None, word: in_group_line }
    }

    /// A program with groups of its own.
    pub(crate) fn fixed(name: String, command: Vec<String>, word: Word) -> End {
        End { word, ..End::other(name, command) }
    }

    /// The same end with a configuration of OpenSSL.
    pub(crate) fn configured(&self, text: String) -> End {
        End { configuration: Some(text), ..self.clone() }
    }

    /// Whether it writes the group into the page, which the client prints.
    fn reports_in_page(&self) -> bool {
        matches!(self.program, Program::Nginx)
    }

    /// Whether it stays as a client until the server closes the connection, so that its counts can
    /// be read.
    fn stays(&self) -> bool {
        matches!(self.program, Program::OpenSsl(_))
    }

    fn prepared(&self, scene: &Scene, program: impl AsRef<Path>) -> Command {
        let mut command = scene.stage().stock(&program.as_ref().display().to_string());
        if let Some(text) = &self.configuration {
            let file = scene.name("openssl.cnf");
            scene.stage().write(&file, text).unwrap();
            command.env("OPENSSL_CONF", file);
        }
        command
    }

    /// Returns the command of a server, with a port for those that are told one. With `stays`, the
    /// server leaves it to the client to close the connection.
    fn server(&self, scene: &Scene, group: &TlsGroup, port: u16, stays: bool) -> Command {
        match &self.program {
            Program::OpenSsl(program) => {
                let mut command = self.prepared(scene, program);
                command.args(["s_server", "-accept", &format!("127.0.0.1:{port}"), "-msg"]);
                command.arg(if stays { "-rev" } else { "-www" });
                command.args(["-cert", CERTIFICATE, "-key", KEY, "-tls1_3"]);
                if self.configuration.is_none() {
                    command.args(["-groups", &list(group)]);
                }
                command
            }
            Program::Nginx => {
                let file = scene.name("nginx.conf");
                let text = NGINX.replace("{port}", &port.to_string()).replace("{file}", &file);
                scene.stage().write(&file, &text).unwrap();
                let mut command = self.prepared(scene, "nginx");
                command.args(["-e", "stderr", "-p", ".", "-c", &file]);
                command
            }
            Program::Curl => unreachable!("curl is no server"),
            Program::Other(words) => {
                let mut command = self.prepared(scene, &words[0]);
                command.args(&words[1..]).args(["server", &code_points(group)]);
                command
            }
        }
    }

    /// Finds the port in the log of a server that is ready.
    fn port(&self, log: &str, told: u16) -> Option<u16> {
        match &self.program {
            Program::OpenSsl(_) => log.lines().any(|line| line == "ACCEPT").then_some(told),
            Program::Nginx => answers(told).then_some(told),
            Program::Curl => None,
            Program::Other(_) => {
                log.lines().find_map(|line| line.strip_prefix("port ")?.parse().ok())
            }
        }
    }

    fn client(&self, scene: &Scene, group: &TlsGroup, port: u16) -> Command {
        match &self.program {
            Program::OpenSsl(program) => {
                let mut command = self.prepared(scene, program);
                command.args(["s_client", "-connect", &format!("127.0.0.1:{port}"), "-msg"]);
                command.args(["-CAfile", CERTIFICATE, "-verify_return_error", "-tls1_3"]);
                command.args(["-verify_hostname", "localhost", "-ign_eof"]);
                if self.configuration.is_none() {
                    command.args(["-groups", &list(group)]);
                }
                command.stdin(fs::File::open(scene.stage().folder().join(REQUEST)).unwrap());
                command
            }
            Program::Curl => {
                let mut command = self.prepared(scene, "curl");
                command.args(["--disable", "--noproxy", "*", "--no-progress-meter"]);
                command.args(["--cacert", CERTIFICATE, "--trace", "-"]);
                command.arg(format!("https://localhost:{port}/"));
                command
            }
            Program::Nginx => unreachable!("nginx is no client"),
            Program::Other(words) => {
                let mut command = self.prepared(scene, &words[0]);
                command.args(&words[1..]).args(["client", &code_points(group), &port.to_string()]);
                command
            }
        }
    }
}

/// Starts a server, whose first choice is this group if it has it, and returns its port.
fn start(scene: &Scene, server: &End, group: &TlsGroup, stays: bool) -> (Server, u16) {
    let about = format!("server {}, {}", server.name, group.name);
    let [told] = free_ports().unwrap();
    let mut command = server.server(scene, group, told, stays);
    let running = scene
        .stage()
        .start(&scene.name("server"), &mut command, |log| server.port(log, told).is_some())
        .unwrap_or_else(|failure| panic!("{about}: {failure}"));
    let port = server.port(&running.log().unwrap(), told).unwrap();
    (running, port)
}

/// Returns the groups that `fastkex check` finds at a server whose first choice is this group.
pub(crate) fn found_groups(scene: &Scene, server: &End, group: &TlsGroup) -> Vec<String> {
    let (running, port) = start(scene, server, group, false);
    let mut command = Command::new(env!("CARGO_BIN_EXE_fastkex"));
    command.args(["check", &format!("127.0.0.1:{port}"), "--json"]);
    let ended = scene.stage().run(&mut command).unwrap();
    let about = || format!("{}: {}\n{}", server.name, ended.errors, brief(&running.log().unwrap()));
    let report = serde_json::from_str(&ended.output);
    let report: serde_json::Value = report.unwrap_or_else(|error| panic!("{error}: {}", about()));
    let all_arrive = report["client_hellos"].as_array().unwrap();
    assert!(all_arrive.iter().all(|hello| hello["answered"] == true), "{report}: {}", about());
    let groups = report["groups"].as_array().unwrap().iter();
    groups.map(|group| group["name"].as_str().unwrap().to_owned()).collect()
}

/// Connects two programs, whose first choice is this group if they have it, and returns what the
/// server and the client report.
pub(crate) fn connect(scene: &Scene, server: &End, client: &End, group: &TlsGroup) -> [Report; 2] {
    let about = format!("server {}, client {}, {}", server.name, client.name, group.name);
    let stage = scene.stage();
    let (running, port) = start(scene, server, group, client.stays());
    let log = || running.log().unwrap();

    let mut command = client.client(scene, group, port);
    let (process, output) = if client.stays() {
        let started = stage.start(&scene.name("client"), &mut command, is_served);
        let started =
            started.unwrap_or_else(|failure| panic!("{about}: {failure}\n{}", brief(&log())));
        (Some(started.id()), started.log().unwrap())
    } else {
        let ended = stage.run(&mut command).unwrap_or_else(|failure| panic!("{about}: {failure}"));
        let output = format!("{}{}", ended.output, ended.errors);
        let is_well = ended.status.success() && is_served(&output);
        assert!(is_well, "{about}: {}\n{}\n{}", ended.status, brief(&output), brief(&log()));
        (None, output)
    };
    let source = || if server.reports_in_page() { output.clone() } else { log() };
    // A log may be late.
    let group = testbed::wait_for(|| (server.word)(&source()));
    [
        Report { group, process: Some(running.id()), log: log() },
        Report { group: (client.word)(&output), process, log: output.clone() },
    ]
}

/// Omits the messages of OpenSSL in hexadecimal.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in\n{}", self.group, brief(&self.log))
    }
}

fn brief(log: &str) -> String {
    let is_word = |line: &&str| !line.starts_with("    ") && !line.starts_with("message ");
    log.lines().filter(is_word).map(|line| format!("{line}\n")).collect()
}

impl Report {
    /// The number of hellos that a client has sent, if this is a log of `openssl -msg`.
    pub(crate) fn client_hellos(&self) -> usize {
        self.log.matches(", ClientHello\n").count()
    }
}

/// The page of HTTP servers, or the request as `s_server -rev` returns it.
fn is_served(output: &str) -> bool {
    output.to_uppercase().contains("200 OK") || output.contains("0.1/PTTH / TEG")
}

fn list(group: &TlsGroup) -> String {
    format!("{}:{FALLBACK}", group.name)
}

fn code_points(group: &TlsGroup) -> String {
    format!("{:#06x},{FALLBACK_CODE_POINT:#06x}", group.code_point)
}

/// The files in the folder of all programs.
const CERTIFICATE: &str = "cert.pem";
const KEY: &str = "key.pem";
const REQUEST: &str = "request";

const NGINX: &str = "daemon off;
pid {file}.pid;
worker_processes 1;
user root;
events {}
http {
    access_log off;
    client_body_temp_path tmp;
    proxy_temp_path tmp;
    fastcgi_temp_path tmp;
    uwsgi_temp_path tmp;
    scgi_temp_path tmp;
    server {
        listen 127.0.0.1:{port} ssl;
        ssl_certificate cert.pem;
        ssl_certificate_key key.pem;
        ssl_protocols TLSv1.3;
        return 200 \"group $ssl_curve\\n\";
    }
}
";

/// The certificate's configuration. The certificate is its own authority, but says that it is none:
/// as a server's certificate, rustls refuses that of an authority.
const REQUESTED: &str = "[req]
prompt = no
distinguished_name = name
x509_extensions = extensions
[name]
CN = localhost
[extensions]
basicConstraints = critical, CA:FALSE
subjectAltName = DNS:localhost, IP:127.0.0.1
";

/// A folder with a certificate, and the processes in it.
pub(crate) struct Scene {
    stage: Stage,
    module: PathBuf,
    names: Cell<usize>,
}

impl Scene {
    /// Makes the folder; `None`, after a message, without the program `openssl`.
    pub(crate) fn new() -> Option<Scene> {
        let module = artifacts::module().unwrap().canonicalize().unwrap();
        let scene = Scene { stage: Stage::new().unwrap(), module, names: Cell::new(0) };
        scene.stage.write("certificate.cnf", REQUESTED).unwrap();
        scene.stage.write(REQUEST, "GET / HTTP/1.0\r\n\r\n").unwrap();
        let made = scene.asked(&[
            "openssl",
            "req",
            "-x509",
            "-config",
            "certificate.cnf",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
            "-out",
            CERTIFICATE,
            "-keyout",
            KEY,
        ]);
        if made.is_none() {
            absent("no openssl program that makes certificates (apt-get install openssl)");
        }
        made.map(|_| scene)
    }

    pub(crate) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Writes one of the folder `programs` into the scene's folder and returns its name.
    pub(crate) fn program(&self, name: &'static str, text: &str) -> String {
        self.stage.write(name, text).unwrap();
        name.into()
    }

    /// Returns a file name that was not used before.
    fn name(&self, name: &str) -> String {
        self.names.set(self.names.get() + 1);
        format!("{}-{name}", self.names.get())
    }

    /// Returns what a program prints, or `None` if it is not installed or fails.
    pub(crate) fn asked(&self, command: &[&str]) -> Option<String> {
        let mut asked = self.stage().stock(command[0]);
        // The time limit is that of a compiler, too.
        let limit = Duration::from_secs(300);
        let finished = self.stage().run_within(limit, asked.args(&command[1..])).ok()?;
        let output = format!("{}{}", finished.output, finished.errors);
        finished.status.success().then_some(output)
    }

    /// Returns a configuration of OpenSSL that prefers this group and, where it has the choice, the
    /// module.
    pub(crate) fn configuration(&self, group: &TlsGroup) -> String {
        format!(
            "openssl_conf = init
[init]
providers = providers
ssl_conf = tls
alg_section = algorithms
[providers]
default = default_sect
fastkex = fastkex_sect
[default_sect]
activate = 1
[fastkex_sect]
module = {}
activate = 1
groups = all
statistics = on
[tls]
system_default = defaults
[defaults]
Groups = {}
[algorithms]
default_properties = ?provider=fastkex
",
            self.module.display(),
            list(group)
        )
    }
}

/// True if a port on loopback accepts connections.
fn answers(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}
