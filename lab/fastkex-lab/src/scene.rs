//! `fastkex-lab scene`: stock servers on loopback, set up, measured and torn down.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use measure::Machine;
use openssl_runtime::{KeyType, Libraries};
use shaper::Shaper;
use testbed::processor;
use testbed::{DNS_NAME, Listening, Offer, SERVER_NAME, Set, Started};
use timer::results::{self, What};
use timer::{
    Client, DnsQuery, Endpoint, Handshake, HttpRequests, Label, Page, Search, Target, Trust,
    Workload, libraries,
};

use crate::link::LinkArguments;
use fastkex::interrupt::Interrupt;
use fastkex::module;
use fastkex::time::comparison::Comparison;
use fastkex::time::{Sizes, requests};
use output::{Failure, Outcome};

/// Set up stock servers on loopback, time connections to them, and tear them down
///
/// Servers and client have a processor each if there are two or more. Nothing on the system is
/// changed, and nothing leaves it. Programs that are not installed are named and left out.
/// 'scripts/prerequisites scenes' installs them.
#[derive(Args, Debug)]
pub(crate) struct Scene {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand, Debug)]
enum Kind {
    Handshake(HandshakeScene),
    Dot(DotScene),
    Http(HttpScene),
}

/// Handshakes with stunnel, nginx and a minimal server (OpenSSLNTRU, figure 5)
#[derive(Args, Debug)]
struct HandshakeScene {
    /// Servers, comma-separated [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    server: Vec<ServerKind>,
    /// The server's certificate: rsa-2048, ecdsa-p-256 or ed25519
    #[arg(long, value_name = "KIND", default_value = "rsa-2048")]
    certificate: KeyType,
    #[command(flatten)]
    setting: SettingArguments,
    #[command(flatten)]
    sizes: Sizes,
}

/// DNS over TLS with unbound: one query after the other, then as many as it can take (ENG25519,
/// figure 3 and section 4.4)
#[derive(Args, Debug)]
struct DotScene {
    /// The server's certificate: rsa-2048, ecdsa-p-256 or ed25519
    #[arg(long, value_name = "KIND", default_value = "ed25519")]
    certificate: KeyType,
    /// Seconds for each number of clients, when the peak is looked for
    #[arg(long, value_name = "SECONDS", value_parser = fastkex::measuring::seconds, default_value = "5")]
    step: Duration,
    /// The most clients at once
    #[arg(long, value_name = "NUMBER", value_parser = fastkex::time::parallel, default_value_t = 64)]
    clients: usize,
    #[command(flatten)]
    setting: SettingArguments,
    #[command(flatten)]
    sizes: Sizes,
}

/// HTTP requests by way of HAProxy as a TCP load balancer to nginx (the AWS benchmark, tables 1 to
/// 3)
#[derive(Args, Debug)]
struct HttpScene {
    /// Requests on a connection; several numbers, comma-separated, take turns
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = requests, default_value = "1,2,10,25")]
    requests: Vec<usize>,
    /// Bytes of the page
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    page: usize,
    /// The server's certificate: rsa-2048, ecdsa-p-256 or ed25519
    #[arg(long, value_name = "KIND", default_value = "rsa-2048")]
    certificate: KeyType,
    #[command(flatten)]
    setting: SettingArguments,
    #[command(flatten)]
    sizes: Sizes,
}

/// Arguments of all scenes.
#[derive(Args, Debug)]
struct SettingArguments {
    /// Groups, comma-separated, each of them timed by itself; with '@fastkex', both ends prefer
    /// fastkex where OpenSSL has the group or Ed25519, too; without it X25519, P-256,
    /// 'X25519@fastkex', X25519MLKEM768, 'X25519MLKEM768@fastkex', sntrup761, sntrup857,
    /// X25519SNTRUP761
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    groups: Vec<String>,
    /// The client's OpenSSL, and the servers', of stock servers if it is of the major version that
    /// they are linked to: the folder of its libraries, or its libssl [default: the system's]
    #[arg(long, value_name = "PATH")]
    libssl: Option<PathBuf>,
    /// The module, if it is not beside this program
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// Seconds for which a server may say nothing
    #[arg(long, value_name = "SECONDS", value_parser = fastkex::measuring::seconds, default_value = "5")]
    timeout: Duration,
    #[command(flatten)]
    link: LinkArguments,
    /// Write all samples to files in this folder, too, for 'fastkex-lab plot' and 'fastkex-lab
    /// report'
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// The server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ServerKind {
    Stunnel,
    Nginx,
    Minimal,
}

/// Groups that are compared by default.
const USUAL: [&str; 8] = [
    "X25519",
    "P-256",
    "X25519@fastkex",
    "X25519MLKEM768",
    "X25519MLKEM768@fastkex",
    "sntrup761",
    "sntrup857",
    "X25519SNTRUP761",
];

impl Scene {
    pub(crate) fn run(&self) -> Outcome {
        let interrupt = Interrupt::by(testbed::interrupts()?);
        let outcome = match &self.kind {
            Kind::Handshake(scene) => scene.run(&interrupt),
            Kind::Dot(scene) => scene.run(&interrupt),
            Kind::Http(scene) => scene.run(&interrupt),
        };
        // All servers have ended by now.
        interrupt.end()?;
        outcome
    }
}

impl HandshakeScene {
    fn run(&self, interrupt: &Interrupt) -> Outcome {
        let setting = Setting::new(&self.setting, self.certificate, interrupt)?;
        let all = [ServerKind::Stunnel, ServerKind::Nginx, ServerKind::Minimal];
        let mut is_well = true;
        for kind in all {
            if !(self.server.is_empty() || self.server.contains(&kind)) || setting.is_over() {
                continue;
            }
            let (set, key) = (&setting.set, self.certificate);
            let (name, started) = match kind {
                ServerKind::Stunnel => ("stunnel", testbed::stunnel(set, key, &setting.offers)),
                ServerKind::Nginx => ("nginx", testbed::nginx(set, key, &setting.offers)),
                ServerKind::Minimal => {
                    let openssl = setting.openssl_folder();
                    let started =
                        testbed::minimal::start(set, key, &setting.offers, openssl.as_deref());
                    ("minimal", started)
                }
            };
            let Some(servers) = present(started?) else { continue };
            let running = Running::new(&setting, servers)?;
            let targets = running.targets(|_| Ok(vec![(None, Handshake)]))?;
            let comparison =
                running.comparison(What::Tls, "handshake", &format!("handshake-{name}"))?;
            is_well &= comparison.run(&targets, &self.sizes.plan())?;
        }
        Ok(is_well)
    }
}

impl DotScene {
    fn run(&self, interrupt: &Interrupt) -> Outcome {
        let setting = Setting::new(&self.setting, self.certificate, interrupt)?;
        let started = testbed::unbound(&setting.set, self.certificate, &setting.offers);
        let Some(servers) = present(started?) else { return Ok(false) };
        let running = Running::new(&setting, servers)?;
        let targets = running.targets(|_| Ok(vec![(None, DnsQuery::new(DNS_NAME, "A")?)]))?;
        let one_by_one = running.comparison(What::Dot, "dot", "dot")?;
        let is_well = one_by_one.run(&targets, &self.sizes.plan())?;
        if setting.is_over() {
            return Ok(false);
        }
        let search = Search { step: self.step, clients: self.clients };
        let peak = running.comparison(What::Dot, "dot", "dot-peak")?;
        Ok(peak.search(&targets, &search)? && is_well)
    }
}

impl HttpScene {
    fn run(&self, interrupt: &Interrupt) -> Outcome {
        let setting = Setting::new(&self.setting, self.certificate, interrupt)?;
        let path = setting.set.page(self.page)?;
        let started = testbed::nginx(&setting.set, self.certificate, &setting.offers);
        let Some(servers) = present(started?) else { return Ok(false) };
        let Some(servers) = present(testbed::haproxy_before(&setting.set, &servers)?) else {
            return Ok(false);
        };
        let running = Running::new(&setting, servers)?;
        let targets = running.targets(|server| {
            let page = Page::parse(&format!("https://{SERVER_NAME}:{}{path}", server.port))?;
            let workload = |&count: &usize| Ok((Some(count), HttpRequests::new(&page, count)?));
            self.requests.iter().map(workload).collect()
        })?;
        let comparison = running.comparison(What::Http, "http", "http")?;
        comparison.run(&targets, &self.sizes.plan())
    }
}

/// Returns the servers, or prints a line about the missing program.
fn present(started: Started) -> Option<Vec<Listening>> {
    match started {
        Started::Listening(servers) => Some(servers),
        Started::Absent(why) => {
            output::note(format_args!("left out: {why}"));
            None
        }
    }
}

/// Client, servers' folder, and offers.
struct Setting<'a> {
    arguments: &'a SettingArguments,
    interrupt: Interrupt,
    machine: Machine,
    certificate: KeyType,
    client: Client,
    trust: Trust,
    set: Set,
    labels: Vec<String>,
    offers: Vec<Offer>,
    /// The processors of the client and of the servers.
    processors: [Option<usize>; 2],
}

impl<'a> Setting<'a> {
    fn new(
        arguments: &'a SettingArguments,
        certificate: KeyType,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        if let Some(folder) = &arguments.output {
            fs::create_dir_all(folder).map_err(Failure::about(folder.display()))?;
        }
        let libraries = libraries(arguments.libssl.as_deref())?;
        let module = module::find(arguments.module.as_deref(), &libraries)?;
        let groups = arguments.groups.iter().map(String::as_str).chain(USUAL);
        let client = Client::new(&libraries, std::slice::from_ref(&module), groups)?;
        let machine = measure::machine();
        let processors = match processor::allowed()[..] {
            [first, .., last] => [Some(first), Some(last)],
            _ => [None, None],
        };
        let tool = std::env::current_exe().map_err(Failure::about("this program"))?;
        // Stock servers can load another release of the same major version in place of the
        // system's, but not another major version.
        let system = Libraries::system().map_err(Failure::new)?;
        let same = system.version().major == libraries.version().major;
        let stock = if same { &libraries } else { &system };
        let set = Set::new(stock, &module, &tool)?.on(processors[1]);
        let files = set.certificate(certificate)?;
        let text = fs::read(&files.certificate).map_err(Failure::about("certificate"))?;
        let labels: Vec<String> = if arguments.groups.is_empty() {
            let mut usual = Vec::new();
            for label in USUAL {
                let Label { groups, .. } = Label::parse(label)?;
                if client.has(label) && set.knows(groups)? {
                    usual.push(label.to_owned());
                }
            }
            usual
        } else {
            arguments.groups.clone()
        };
        let offers = labels.iter().map(|label| offer(label)).collect::<Result<_, _>>()?;
        processor::stay_on(processors[0])?;
        let (trust, interrupt) = (Trust::Pem(text), interrupt.clone());
        Ok(Self {
            arguments,
            interrupt,
            machine,
            certificate,
            client,
            trust,
            set,
            labels,
            offers,
            processors,
        })
    }

    /// Returns the folder of the client's OpenSSL, if it is not the system's.
    fn openssl_folder(&self) -> Option<PathBuf> {
        let path = self.arguments.libssl.as_deref()?;
        let folder = if path.is_dir() { path } else { path.parent()? };
        Some(folder.to_path_buf())
    }

    fn is_over(&self) -> bool {
        self.interrupt.is_pending()
    }
}

/// Returns the offer that a server accepts for the candidate `label`.
pub(crate) fn offer(label: &str) -> Result<Offer, Failure> {
    let label = Label::parse(label)?;
    let offer = Offer::new(label.groups);
    Ok(if label.uses_fastkex() { offer.with_fastkex() } else { offer })
}

/// Running servers, and the links to them.
struct Running<'a> {
    setting: &'a Setting<'a>,
    servers: Vec<Listening>,
    endpoints: Vec<Endpoint>,
    /// Links run as long as this value exists.
    _links: Vec<Shaper>,
}

impl<'a> Running<'a> {
    fn new(setting: &'a Setting<'a>, servers: Vec<Listening>) -> Result<Self, Failure> {
        let (mut endpoints, mut links) = (Vec::new(), Vec::new());
        for server in &servers {
            let endpoint = Endpoint::at("127.0.0.1", server.port, setting.arguments.timeout)?;
            let (endpoint, link) = setting.arguments.link.before(endpoint)?;
            endpoints.push(endpoint);
            links.extend(link);
        }
        Ok(Self { setting, servers, endpoints, _links: links })
    }

    /// Returns the targets of each candidate at its server.
    fn targets<E: Workload>(
        &self,
        workloads: impl Fn(&Listening) -> Result<Vec<(Option<usize>, E)>, Failure>,
    ) -> Result<Vec<Target<E>>, Failure> {
        let Setting { client, trust, labels, arguments, .. } = self.setting;
        let mut targets = Vec::new();
        for ((server, endpoint), label) in self.servers.iter().zip(&self.endpoints).zip(labels) {
            for (requests, workload) in workloads(server)? {
                let busy = server.clone();
                targets.push(Target {
                    candidate: client.candidate(label, trust, None)?,
                    endpoint: endpoint.clone(),
                    server_name: SERVER_NAME.into(),
                    workload,
                    requests,
                    timeout: arguments.timeout,
                    server_seconds: Some(Box::new(move || busy.seconds())),
                });
            }
        }
        // All targets with one request, then all with two, as they are compared with one another.
        targets.sort_by_key(|target| target.requests);
        Ok(targets)
    }

    /// Makes a comparison that writes a file. Its name consists of `name`, the certificate, the
    /// link, and the OpenSSL if it is not the system's.
    fn comparison(&self, what: What, scene: &str, name: &str) -> Result<Comparison, Failure> {
        let server = self.servers.first().ok_or_else(|| Failure::new("no groups to be timed"))?;
        let processor = |number: Option<usize>| {
            number.map_or_else(|| "any".into(), |number: usize| number.to_string())
        };
        let certificate = self.setting.certificate.name();
        let link = self.setting.arguments.link.suffix();
        let openssl = match &self.setting.arguments.libssl {
            Some(_) => format!("-{}", self.setting.client.name().replace(' ', "-").to_lowercase()),
            None => String::new(),
        };
        let json = |folder: &Path| folder.join(format!("{name}-{certificate}{link}{openssl}.json"));
        Ok(Comparison {
            what,
            target: "127.0.0.1".into(),
            client: self.setting.client.name(),
            scene: Some(results::Scene {
                name: scene.into(),
                servers: server.programs(),
                openssl: server.openssl.clone(),
                processors: self.setting.processors.map(processor),
                link: self.setting.arguments.link.name(),
            }),
            interrupt: self.setting.interrupt.clone(),
            machine: self.setting.machine.clone(),
            ends_here: false,
            json: self.setting.arguments.output.as_deref().map(json),
        })
    }
}
