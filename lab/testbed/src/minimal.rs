//! The minimal server, which performs handshakes and nothing else: the lowest cost that a handshake
//! can have for a server.

use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use openssl_runtime::{Certificate, KeyType, Libraries, LibraryContext, SslContext, TlsStream};
use serde::{Deserialize, Serialize};

use output::{Failure, Outcome};

use crate::configuration::{check_groups, keys, load, preference};
use crate::{Listening, Offer, Program, Server, Set, Started};

/// The subcommand, followed by a file, for which the tool calls [`serve`].
pub const ROLE: &str = "minimal-server";
const NAME: &str = "minimal server";
/// Read timeout. Without it, a silent client would block the clients after it.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Serialize, Deserialize)]
struct Plan {
    /// The folder of OpenSSL's libraries, or `None` for the system's.
    openssl: Option<PathBuf>,
    /// `fastkex.so`.
    module: PathBuf,
    further: Vec<PathBuf>,
    certificate: PathBuf,
    key: PathBuf,
    listeners: Vec<Listener>,
    /// True to skip groups that OpenSSL does not know, false to report them as an error.
    leaves_out: bool,
}

/// A port to open.
#[derive(Serialize, Deserialize)]
enum Listener {
    Tls { groups: String, uses_fastkex: bool },
    Plain,
}

/// The line that the server prints when the ports are open.
#[derive(Deserialize, Serialize)]
struct Ready {
    openssl: String,
    /// `None` for an offer that was skipped because of its groups.
    ports: Vec<Option<u16>>,
}

/// Starts the minimal server: one process with a thread for each offer, which serves one connection
/// after the other. `openssl` is a folder with libcrypto and libssl, or `None` for the system's.
///
/// # Errors
/// A group is unknown to that OpenSSL, or the server does not start.
pub fn start(
    set: &Set,
    kind: KeyType,
    offers: &[Offer],
    openssl: Option<&Path>,
) -> Result<Started, Failure> {
    start_with(set, kind, offers, openssl, false)
}

/// Starts the minimal server like [`start`], but skips offers with groups that OpenSSL does not
/// know.
///
/// # Errors
/// The server does not start.
pub fn start_known(
    set: &Set,
    kind: KeyType,
    offers: &[Offer],
    openssl: Option<&Path>,
) -> Result<Started, Failure> {
    start_with(set, kind, offers, openssl, true)
}

fn start_with(
    set: &Set,
    kind: KeyType,
    offers: &[Offer],
    openssl: Option<&Path>,
    leaves_out: bool,
) -> Result<Started, Failure> {
    let tls = |offer: &Offer| Listener::Tls {
        groups: offer.groups.clone(),
        uses_fastkex: offer.uses_fastkex,
    };
    let listeners = offers.iter().map(tls).collect();
    let (server, ready) = run(set, kind, listeners, openssl, leaves_out)?;
    let program = program(&server);
    let known = offers.iter().zip(ready.ports).filter_map(|(offer, port)| Some((offer, port?)));
    let listening = known.map(|(offer, port)| Listening {
        offer: offer.clone(),
        port,
        tls: program.clone(),
        openssl: ready.openssl.clone(),
        log: server.log_file().to_path_buf(),
        others: Vec::new(),
    });
    Ok(Started::Listening(listening.collect()))
}

/// Starts a minimal server that accepts connections without TLS.
pub(crate) fn plain(set: &Set) -> Result<(Program, u16), Failure> {
    let (server, ready) = run(set, KeyType::EcP256, vec![Listener::Plain], None, false)?;
    let port = ready.ports.first().copied().flatten();
    Ok((program(&server), port.ok_or_else(|| Failure::new("the minimal server has no port"))?))
}

fn run(
    set: &Set,
    kind: KeyType,
    listeners: Vec<Listener>,
    openssl: Option<&Path>,
    leaves_out: bool,
) -> Result<(Server, Ready), Failure> {
    let absolute = |path: &Path| path.canonicalize().map_err(Failure::about(path.display()));
    let files = set.certificate(kind)?;
    let plan = Plan {
        openssl: openssl.map(absolute).transpose()?,
        module: set.module.clone(),
        further: set.further.clone(),
        certificate: files.certificate,
        key: files.key,
        listeners,
        leaves_out,
    };
    let name = set.name("minimal");
    let file = format!("{name}.json");
    set.stage.write(&file, &serde_json::to_string(&plan).map_err(Failure::new)?)?;
    let mut command = Command::new(&set.tool);
    set.stage.prepare(&mut command);
    let ready = |log: &str| -> Option<Ready> { serde_json::from_str(log.lines().last()?).ok() };
    let server = set.start(&name, command.args([ROLE, &file]), |log| ready(log).is_some())?;
    let ready =
        ready(&server.log()?).ok_or_else(|| Failure::new("the minimal server is silent"))?;
    Ok((server, ready))
}

fn program(server: &Server) -> Program {
    Program { name: NAME.into(), processes: vec![server.id()] }
}

/// Runs the minimal server from a plan file that [`start`] wrote. Returns only on an error.
///
/// # Errors
/// The file is not a plan, OpenSSL or a module cannot be loaded, or a group is unknown.
pub fn serve(plan: &Path) -> Outcome {
    let text = fs::read_to_string(plan).map_err(Failure::about(plan.display()))?;
    let plan: Plan = serde_json::from_str(&text).map_err(Failure::about(plan.display()))?;
    let libraries = match &plan.openssl {
        Some(folder) => Libraries::open_directory(folder),
        None => Libraries::system(),
    }
    .map_err(Failure::new)?;
    let contexts = [plan.context(&libraries, false)?, plan.context(&libraries, true)?];
    let mut ports = Vec::new();
    for listener in &plan.listeners {
        let settings = match listener {
            Listener::Tls { groups, uses_fastkex } => {
                match plan.settings(&contexts[usize::from(*uses_fastkex)], groups) {
                    Err(_) if plan.leaves_out => {
                        ports.push(None);
                        continue;
                    }
                    settings => Some(settings?),
                }
            }
            Listener::Plain => None,
        };
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Failure::about("port"))?;
        ports.push(Some(listener.local_addr().map_err(Failure::about("port"))?.port()));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(settings.as_ref(), stream);
            }
        });
    }
    let ready = Ready { openssl: libraries.version().to_string(), ports };
    output::line(serde_json::to_string(&ready).map_err(Failure::new)?)?;
    loop {
        thread::park();
    }
}

impl Plan {
    fn context(
        &self,
        libraries: &Libraries,
        uses_fastkex: bool,
    ) -> Result<LibraryContext, Failure> {
        let context = LibraryContext::new(libraries).map_err(Failure::new)?;
        context.load_provider("default").map_err(Failure::about("default"))?.keep();
        let lists = self.listeners.iter().filter_map(|listener| match listener {
            Listener::Tls { groups, .. } => Some(groups.as_str()),
            Listener::Plain => None,
        });
        let keys = keys(uses_fastkex, lists);
        let keys: Vec<_> = keys.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let ours = context.load_provider_with(&self.module, &keys);
        ours.map_err(Failure::about(self.module.display()))?.keep();
        for module in &self.further {
            load(&context, module)?;
        }
        context.set_default_properties(preference(uses_fastkex)).map_err(Failure::new)?;
        Ok(context)
    }

    fn settings(&self, context: &LibraryContext, groups: &str) -> Result<SslContext, Failure> {
        check_groups(context, groups)?;
        Certificate::from_pem_files(context, &self.certificate, &self.key, None)
            .and_then(|certificate| SslContext::server(context, &certificate)?.groups(groups))
            .map(|settings| settings.build())
            .map_err(Failure::new)
    }
}

/// Performs a handshake, waits until the client closes, and closes. Errors are ignored here, as the
/// client sees them, too.
fn answer(settings: Option<&SslContext>, stream: TcpStream) {
    let _ = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(TIMEOUT)));
    let Some(settings) = settings else {
        let _ = (&stream).read(&mut [0]);
        return;
    };
    if let Ok(mut stream) = TlsStream::new(settings, stream, None) {
        let _ = stream.read(&mut [0]);
        let _ = stream.close();
    }
}
