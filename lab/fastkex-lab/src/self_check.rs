//! `fastkex-lab self-check`: the timer's own share of a timed connection.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use fastkex::time::{ClientArguments, Sizes};
use fastkex_insecure_null::{FILE, VARIABLE};
use openssl_runtime::{KeyType, Libraries, LibraryContext};
use testbed::{SERVER_NAME, Set, Started};
use timer::results::Plan;
use timer::{Client, Endpoint, Handshake, Target, Trust, Workload, libraries, own_time};

use crate::scene::offer;
use fastkex::module;
use output::{Failure, Outcome};

/// The largest accepted share of a connection.
const MOST: f64 = 0.03;
/// The candidate if there is no null provider.
const CHEAPEST: &str = "X25519@fastkex";

/// Measure the timer's own share of a connection, beside libssl and the kernel; fail if it is 3 %
/// or more
///
/// Without HOST:PORT, a minimal server answers, with the null key exchange if that module is beside
/// this program.
#[derive(Args, Debug)]
pub(crate) struct SelfCheck {
    /// The server
    #[arg(value_name = "HOST:PORT")]
    server: Option<String>,
    #[command(flatten)]
    client: ClientArguments,
    #[command(flatten)]
    sizes: Sizes,
}

impl SelfCheck {
    pub(crate) fn run(&self) -> Outcome {
        let (arguments, plan) = (&self.client, self.sizes.plan());
        let Some(server) = &self.server else {
            let libraries = libraries(arguments.libssl.as_deref())?;
            return alone(&libraries, arguments.module.as_deref(), &plan);
        };
        let endpoint = Endpoint::find(server, arguments.timeout)?;
        let client = arguments.load()?;
        with(&arguments.targets(&client, &endpoint, &|| Ok((None, Handshake)))?, &plan)
    }
}

/// Measures with these targets.
fn with<E: Workload>(targets: &[Target<E>], plan: &Plan) -> Outcome {
    let mut is_little = true;
    for target in targets {
        // A warm-up, which is not counted.
        own_time(target, plan.warm_up)?;
        let time = own_time(target, plan.connections)?;
        let part = time.own() / time.all;
        output::line(format_args!(
            "{}: {:.1} \u{b5}s a connection, of which libssl and libcrypto {:.1}, the kernel and the server {:.1}, this tool {:.1} ({})",
            target.candidate.label,
            time.all,
            time.libssl,
            time.kernel,
            time.own(),
            measure::percent(part)
        ))?;
        is_little &= part < MOST;
    }
    Ok(is_little)
}

/// Measures with the minimal server, and with the null key exchange if it is present, so that a
/// connection is as short as possible.
fn alone(libraries: &Libraries, asked_for: Option<&Path>, plan: &Plan) -> Outcome {
    const TIMEOUT: Duration = Duration::from_secs(5);
    let module = module::find(asked_for, libraries)?;
    let tool = env::current_exe().map_err(Failure::about("this program"))?;
    // cargo leaves the null provider beside the tool if both are built.
    let null = Some(tool.with_file_name(FILE)).filter(|file| file.exists());
    if null.is_some() && env::var_os(VARIABLE).is_none() {
        // The variable must be set before the module is loaded, in this process and in the server.
        let mut again = Command::new(&tool);
        return Err(Failure::new(again.args(env::args_os().skip(1)).env(VARIABLE, "1").exec()));
    }
    let label = match &null {
        Some(null) => first_group(libraries, null)?,
        None => {
            output::note(format_args!(
                "{CHEAPEST} instead of the null key exchange: no {FILE} beside this tool"
            ));
            CHEAPEST.to_owned()
        }
    };
    let offer = offer(&label)?;
    let mut set = Set::new(libraries, &module, &tool)?.on(testbed::processor::last());
    let modules: Vec<PathBuf> = [module].into_iter().chain(null).collect();
    for further in &modules[1..] {
        set = set.with_module(further)?;
    }
    let Started::Listening(servers) =
        testbed::minimal::start(&set, KeyType::Ed25519, &[offer], None)?
    else {
        return Err(Failure::new("the minimal server is absent"));
    };
    let certificate = set.certificate(KeyType::Ed25519)?.certificate;
    let trust = fs::read(&certificate).map_err(Failure::about(certificate.display()))?;
    let client = Client::new(libraries, &modules, [label.as_str()].into_iter())?;
    let candidate = client.candidate(&label, &Trust::Pem(trust), None)?;
    let mut targets = Vec::new();
    for server in &servers {
        targets.push(Target {
            candidate: candidate.clone(),
            endpoint: Endpoint::at("127.0.0.1", server.port, TIMEOUT)?,
            server_name: SERVER_NAME.into(),
            workload: Handshake,
            requests: None,
            timeout: TIMEOUT,
            server_seconds: None,
        });
    }
    with(&targets, plan)
}

/// Returns the first group that a module announces.
fn first_group(libraries: &Libraries, module: &Path) -> Result<String, Failure> {
    let shown = module.display().to_string();
    let context = LibraryContext::new(libraries).map_err(Failure::new)?;
    let provider = context.load_provider(&shown).map_err(Failure::about(&shown))?;
    let group = provider.tls_groups().into_iter().next();
    group
        .map(|group| group.name)
        .ok_or_else(|| Failure::new(format!("{shown}: announces no group")))
}
