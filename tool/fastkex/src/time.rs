//! `fastkex time`: times connections to any server.

pub mod comparison;
mod report;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use timer::results::{Plan, What};
use timer::{
    Client, DnsQuery, Endpoint, Handshake, HttpRequests, Page, Search, Target, Trust, Workload,
    libraries,
};

use crate::interrupt::Interrupt;
use crate::module;
use comparison::Comparison;
use output::{Failure, Outcome};

/// Time connections to any server: TLS handshakes, DNS over TLS, HTTP
///
/// All handshakes are full TLS 1.3 handshakes: no session is resumed. Several groups take turns,
/// sample by sample, so that changes over time affect all groups alike. Failed connections are
/// counted, and are in no other number.
#[derive(Args, Debug)]
pub struct Time {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand, Debug)]
enum Kind {
    Tls(Tls),
    Dot(Dot),
    Http(Http),
}

/// Time full handshakes and the close, without application data (as tls_timer of OpenSSLNTRU)
///
/// A connection's time begins before TCP connects and ends when the connection ends.
#[derive(Args, Debug)]
struct Tls {
    /// The server
    #[arg(value_name = "HOST:PORT")]
    server: String,
    #[command(flatten)]
    client: ClientArguments,
    #[command(flatten)]
    sizes: Sizes,
}

/// Time a handshake, one DNS query and the close (as dot_timer of ENG25519)
///
/// A connection's time begins before TCP connects and ends when the connection ends. The response
/// must answer the query, report no error and contain a record.
#[derive(Args, Debug)]
struct Dot {
    /// The server
    #[arg(value_name = "HOST:PORT")]
    server: String,
    /// The name to query
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The type of record to query
    #[arg(long = "type", value_name = "TYPE", default_value = "A")]
    record_type: String,
    /// Search for the maximum number of queries a minute: the number of clients grows, and each
    /// client opens its next connection as soon as it is served
    #[arg(long, conflicts_with_all = ["samples", "connections", "warm_up", "concurrency"])]
    peak: bool,
    /// Seconds of measurement for each number of clients of --peak
    #[arg(long, value_name = "SECONDS", value_parser = crate::measuring::seconds, default_value = "10", requires = "peak")]
    step: Duration,
    /// The maximum number of clients of --peak
    #[arg(long, value_name = "NUMBER", value_parser = parallel, default_value_t = 128, requires = "peak")]
    clients: usize,
    #[command(flatten)]
    client: ClientArguments,
    #[command(flatten)]
    sizes: Sizes,
}

/// Time HTTP requests, one after the other on a connection (as the AWS benchmark of hybrid key
/// exchange)
///
/// A connection's time begins before TCP connects and ends with the last byte of the last response.
#[derive(Args, Debug)]
struct Http {
    /// The page: https://HOST/PATH or https://HOST:PORT/PATH
    url: String,
    /// Requests on a connection; several comma-separated numbers take turns
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = requests, default_value = "1,2,10,25")]
    requests: Vec<usize>,
    #[command(flatten)]
    client: ClientArguments,
    #[command(flatten)]
    sizes: Sizes,
}

/// Arguments that describe the client.
#[derive(Args, Debug)]
pub struct ClientArguments {
    /// Comma-separated groups, each timed by itself; 'A:B' offers both and sends a key share of A;
    /// 'X25519@fastkex' prefers fastkex's code where OpenSSL has it, too [default: X25519MLKEM768,
    /// 'X25519MLKEM768@fastkex', X25519SNTRUP761, sntrup761, X25519 and P-256, as far as the server
    /// accepts them]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    groups: Vec<String>,
    /// Signature algorithms to accept, in the syntax of OpenSSL's SignatureAlgorithms
    #[arg(long, value_name = "LIST")]
    sigalgs: Option<String>,
    /// Certificates to trust, in PEM [default: the system's]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
    /// The name in the server's certificate, if it is not HOST
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
    /// The OpenSSL to use: the folder of its libraries, or its libssl [default: the system's]
    ///
    /// OpenSSL 1.1.1 uses ENGINEs instead of the module: the ENGINEs of the configuration file that
    /// OPENSSL_CONF names.
    #[arg(long, value_name = "PATH")]
    pub libssl: Option<PathBuf>,
    /// The module [default: the one beside this program or in the folders of an installation]
    #[arg(long, value_name = "PATH")]
    pub module: Option<PathBuf>,
    /// Timeout for each wait for the server, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = crate::measuring::seconds, default_value = "5")]
    pub timeout: Duration,
    /// Also write all samples to this file, for 'fastkex-lab plot' and 'fastkex-lab report'
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The numbers of samples and connections of a measurement.
#[derive(Args, Clone, Copy, Debug)]
pub struct Sizes {
    /// Samples of each group
    #[arg(long, value_name = "NUMBER", value_parser = number, default_value_t = 10)]
    samples: usize,
    /// Connections in a sample; OpenSSLNTRU takes 100 samples of 8192
    #[arg(long, value_name = "NUMBER", value_parser = number, default_value_t = 512)]
    connections: usize,
    /// Uncounted connections before each sample: they restart pools of keys, which are idle while
    /// other groups take their turn
    #[arg(long, value_name = "NUMBER", value_parser = number_or_none, default_value_t = 64)]
    warm_up: usize,
    /// Connections at a time
    #[arg(long, value_name = "NUMBER", value_parser = parallel, default_value_t = 1)]
    concurrency: usize,
}

/// Replaces an endpoint by another one.
pub type Via<'a> = &'a mut dyn FnMut(Endpoint) -> Result<Endpoint, Failure>;

const MOST: usize = 100_000_000;
const MOST_PARALLEL: usize = 4096;

fn between(text: &str, from: usize, to: usize) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (from..=to).contains(number));
    number.ok_or_else(|| format!("expected a number from {from} to {to}"))
}

fn number(text: &str) -> Result<usize, String> {
    between(text, 1, MOST)
}

fn number_or_none(text: &str) -> Result<usize, String> {
    between(text, 0, MOST)
}

/// Parses a number of requests on a connection.
///
/// # Errors
/// The text is not a number, or the number is out of range.
pub fn requests(text: &str) -> Result<usize, String> {
    between(text, 1, 100_000)
}

/// Parses a number of connections at a time.
///
/// # Errors
/// The text is not a number, or the number is out of range.
pub fn parallel(text: &str) -> Result<usize, String> {
    between(text, 1, MOST_PARALLEL)
}

impl Sizes {
    /// Returns the sizes in the timer's format.
    pub fn plan(&self) -> Plan {
        let &Self { samples, connections, warm_up, concurrency } = self;
        Plan { samples, connections, warm_up, concurrency }
    }
}

impl Time {
    pub(crate) fn run(&self) -> Outcome {
        self.run_via(&mut Ok)
    }

    /// Times connections to the endpoint that `via` returns in place of the named one, for example
    /// the same server behind a proxy.
    ///
    /// # Errors
    /// There is no such server, or the run could not be finished.
    pub fn run_via(&self, via: Via<'_>) -> Outcome {
        match &self.kind {
            Kind::Tls(tls) => tls.run(via),
            Kind::Dot(dot) => dot.run(via),
            Kind::Http(http) => http.run(via),
        }
    }
}

impl Tls {
    fn run(&self, via: Via<'_>) -> Outcome {
        let interrupt = Interrupt::heed()?;
        let endpoint = via(Endpoint::find(&self.server, self.client.timeout)?)?;
        let client = self.client.load()?;
        let targets = self.client.targets(&client, &endpoint, &|| Ok((None, Handshake)))?;
        let comparison = self.client.comparison(What::Tls, &endpoint, &client, interrupt);
        comparison.run(&targets, &self.sizes.plan())
    }
}

impl Dot {
    fn run(&self, via: Via<'_>) -> Outcome {
        let query = || Ok((None, DnsQuery::new(&self.name, &self.record_type)?));
        query()?;
        let interrupt = Interrupt::heed()?;
        let endpoint = via(Endpoint::find(&self.server, self.client.timeout)?)?;
        let client = self.client.load()?;
        let targets = self.client.targets(&client, &endpoint, &query)?;
        let comparison = self.client.comparison(What::Dot, &endpoint, &client, interrupt);
        if self.peak {
            return comparison.search(&targets, &Search { step: self.step, clients: self.clients });
        }
        comparison.run(&targets, &self.sizes.plan())
    }
}

impl Http {
    fn run(&self, via: Via<'_>) -> Outcome {
        let page = Page::parse(&self.url)?;
        let interrupt = Interrupt::heed()?;
        let endpoint = via(Endpoint::at(&page.host, page.port, self.client.timeout)?)?;
        let client = self.client.load()?;
        let mut targets = Vec::new();
        for &count in &self.requests {
            let workload = || Ok((Some(count), HttpRequests::new(&page, count)?));
            targets.extend(self.client.targets(&client, &endpoint, &workload)?);
        }
        let comparison = self.client.comparison(What::Http, &endpoint, &client, interrupt);
        comparison.run(&targets, &self.sizes.plan())
    }
}

/// The groups to compare if the user names none.
const USUAL: [&str; 6] =
    ["X25519MLKEM768", "X25519MLKEM768@fastkex", "X25519SNTRUP761", "sntrup761", "X25519", "P-256"];

impl ClientArguments {
    /// Loads OpenSSL with our module. OpenSSL's own groups work without the module, so a missing
    /// module is an error only if the user named one.
    ///
    /// # Errors
    /// OpenSSL, or a module that the user named, cannot be loaded.
    pub fn load(&self) -> Result<Client, Failure> {
        let libraries = libraries(self.libssl.as_deref())?;
        if libraries.is_legacy() {
            if let Some(module) = &self.module {
                return Err(Failure::new(format!(
                    "{}: OpenSSL 1.1.1 takes no modules; it takes the ENGINEs of the file that OPENSSL_CONF names",
                    module.display()
                )));
            }
            let file = env::var_os("OPENSSL_CONF").filter(|file| !file.is_empty());
            return Client::legacy(&libraries, file.as_deref().map(Path::new));
        }
        let module = match module::find(self.module.as_deref(), &libraries) {
            Ok(module) => Some(module),
            Err(failure) if self.module.is_some() => return Err(failure),
            Err(failure) => {
                output::note(format_args!("OpenSSL's groups only: {failure}"));
                None
            }
        };
        let groups = self.groups.iter().map(String::as_str).chain(USUAL);
        Client::new(&libraries, &Vec::from_iter(module), groups)
    }

    fn trust(&self) -> Result<Trust, Failure> {
        match &self.ca {
            _ if self.insecure => Ok(Trust::Anything),
            None => Ok(Trust::System),
            Some(file) => {
                let text = std::fs::read(file).map_err(Failure::about(file.display()))?;
                Ok(Trust::Pem(text))
            }
        }
    }

    /// Returns a target for each candidate.
    ///
    /// # Errors
    /// OpenSSL does not know a group, or the server accepts none of the usual groups.
    pub fn targets<E: Workload>(
        &self,
        client: &Client,
        endpoint: &Endpoint,
        workload: &dyn Fn() -> Result<(Option<usize>, E), Failure>,
    ) -> Result<Vec<Target<E>>, Failure> {
        let trust = self.trust()?;
        let target = |label: &str| -> Result<Target<E>, Failure> {
            let candidate = client.candidate(label, &trust, self.sigalgs.as_deref())?;
            let (requests, workload) = workload()?;
            Ok(Target {
                candidate,
                endpoint: endpoint.clone(),
                server_name: self.server_name.clone().unwrap_or_else(|| endpoint.host().into()),
                workload,
                requests,
                timeout: self.timeout,
                server_seconds: None,
            })
        };
        if !self.groups.is_empty() {
            return self.groups.iter().map(|label| target(label)).collect();
        }
        let known: Vec<_> = USUAL.into_iter().filter(|label| client.has(label)).collect();
        let mut targets = Vec::new();
        for label in &known {
            let target = target(label)?;
            if target.try_once().is_ok() {
                targets.push(target);
            }
        }
        if targets.is_empty() {
            // If no group works, the groups are not the cause. A connection with all of them
            // returns the actual error.
            let plain: Vec<_> =
                known.iter().copied().filter(|label| !label.contains('@')).collect();
            target(&plain.join(":"))?.try_once()?;
        }
        if targets.is_empty() {
            return Err(Failure::new(format!("{endpoint}: takes none of the groups by itself")));
        }
        Ok(targets)
    }

    fn comparison(
        &self,
        what: What,
        endpoint: &Endpoint,
        client: &Client,
        interrupt: Interrupt,
    ) -> Comparison {
        Comparison {
            what,
            target: endpoint.to_string(),
            client: client.name(),
            scene: None,
            interrupt,
            machine: measure::machine(),
            ends_here: true,
            json: self.json.clone(),
        }
    }
}
