//! `fastkex speed --handshakes`: processor time of TLS 1.3 handshakes in this process, with and
//! without the module.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use measure::{Align, Table};
use openssl_runtime::{KeyType, Libraries, LibraryContext, SslContext};
use timer::results::{CostRow, HandshakeCosts, ModuleUse};
use timer::{Sides, handshake_costs};

use crate::measuring::{self, progress_bar, warn_of_noise};
use crate::module;
use output::{Failure, Outcome};

/// The time for each line: ten seconds in total on OpenSSL 3.5 and later.
pub(super) const TIME: Duration = Duration::from_millis(1200);
/// Arguments of `--handshakes`.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// With --handshakes: comma-separated keys of the server's certificate: ecdsa-p-256, rsa-2048,
    /// ed25519
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "ecdsa-p-256",
        requires = "handshakes"
    )]
    certificate: Vec<KeyType>,
    /// With --handshakes: comma-separated groups of the module to measure besides OpenSSL's
    /// [default: the recommended ones]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "handshakes")]
    groups: Vec<String>,
    /// With --handshakes: the OpenSSL to use: the folder of its libraries, or its libssl [default:
    /// the system's]
    #[arg(long, value_name = "PATH", requires = "handshakes")]
    libssl: Option<PathBuf>,
    /// With --handshakes: the module [default: the one beside this program or in the folders of an
    /// installation]
    #[arg(long, value_name = "PATH", requires = "handshakes")]
    module: Option<PathBuf>,
}

/// Makes a library context in which the module has a part in handshakes.
fn context(
    part: ModuleUse,
    libraries: &Libraries,
    module: &PathBuf,
    groups: &str,
) -> Result<LibraryContext, openssl_runtime::Error> {
    let context = LibraryContext::new(libraries)?;
    context.load_provider("default")?.keep();
    if part != ModuleUse::NotLoaded {
        context.load_provider_with(module, &[(settings::GROUPS.name, groups)])?.keep();
        let used = part == ModuleUse::Used;
        let properties = if used { "?provider=fastkex" } else { "?provider=default" };
        context.set_default_properties(properties)?;
    }
    Ok(context)
}

/// Groups of OpenSSL that are measured where this release has them, besides those of ours that it
/// has, too. The first is the one that all others are compared with.
const OPENSSLS: [&str; 3] = ["X25519", "P-256", "X25519MLKEM768"];

/// Groups to measure: their names, and the module's part.
fn candidates(ours: &[&str]) -> Vec<(String, ModuleUse)> {
    let of = |module| move |name: &&str| ((*name).to_owned(), module);
    let is_openssls = |name: &&&str| {
        !OPENSSLS.contains(name) && kex::group_named(name).is_some_and(|group| !group.is_private())
    };
    let stock = OPENSSLS.iter().chain(ours.iter().filter(is_openssls));
    let stock = stock.map(of(ModuleUse::NotLoaded)).collect::<Vec<_>>();
    let unused = OPENSSLS.iter().take(1).map(of(ModuleUse::Unused));
    let used = ["X25519"].iter().chain(ours).map(of(ModuleUse::Used)).collect::<Vec<_>>();
    stock.into_iter().chain(unused).chain(used).collect()
}

/// Measures for about `time` for each line, and prints the lines.
pub(super) fn run(arguments: &Arguments, time: Duration, json: bool) -> Outcome {
    let libraries = timer::libraries(arguments.libssl.as_deref())?;
    if libraries.is_legacy() {
        return Err(Failure::new("--handshakes needs OpenSSL 3.0 or later"));
    }
    let module = module::find(arguments.module.as_deref(), &libraries)?;
    let ours: Vec<&str> = if arguments.groups.is_empty() {
        kex::RECOMMENDED_GROUPS.to_vec()
    } else {
        arguments.groups.iter().map(|name| our_group(name)).collect::<Result<_, _>>()?
    };
    let offered = ours.join(":");
    let mut contexts = Vec::new();
    for part in ModuleUse::ALL {
        let context = context(part, &libraries, &module, &offered);
        contexts.push((part, context.map_err(Failure::about(module.display()))?));
    }
    let mut rows = Vec::new();
    for (index, &kind) in arguments.certificate.iter().enumerate() {
        let mut labels = Vec::new();
        let mut sides = Vec::new();
        for (group, part) in candidates(&ours) {
            let context =
                contexts.iter().find(|(other, _)| *other == part).map(|(_, context)| context);
            let Some(context) = context else { continue };
            if !has_group(context, &group) {
                continue;
            }
            let settings = Sides::self_signed(context, kind, &group);
            sides.push(settings.map_err(Failure::about(&group))?);
            labels.push((group, part));
        }
        let all = time * labels.len() as u32;
        let progress = progress_bar(PERCENT, all / PERCENT as u32);
        progress.set_message(format!(
            "{}, {} of {}",
            kind.title(),
            index + 1,
            arguments.certificate.len()
        ));
        let costs = handshake_costs(&sides, all, &mut |part| {
            progress.set_position((part * PERCENT as f64) as u64);
        })?;
        progress.finish_and_clear();
        rows.extend(labels.into_iter().zip(costs).map(|((group, module), cost)| CostRow {
            certificate: kind.name().to_owned(),
            group,
            module,
            cost,
        }));
    }
    let costs = HandshakeCosts {
        openssl: libraries.version().to_string(),
        machine: measure::machine(),
        method: METHOD.into(),
        rows,
    };
    if json {
        output::line(crate::json::text(&costs)?)?;
    } else {
        print(&costs)?;
    }
    Ok(true)
}

/// Steps of the progress bar.
const PERCENT: usize = 100;

/// Checks that a group is one of the module's.
fn our_group(name: &str) -> Result<&'static str, Failure> {
    kex::group_named(name).map(|group| group.name).ok_or_else(|| {
        let known: Vec<_> = kex::TLS_GROUPS.iter().map(|group| group.name).collect();
        Failure::new(format!("{name} is no group of the module: expected {}", known.join(", ")))
    })
}

fn has_group(context: &LibraryContext, name: &str) -> bool {
    SslContext::client(context).and_then(|client| client.groups(name)).is_ok()
}

fn print(costs: &HandshakeCosts) -> Result<(), Failure> {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("certificate", Left),
        ("group", Left),
        ("module", Left),
        ("client", Right),
        ("server", Right),
        ("both", Right),
        ("against X25519", Right),
        ("spread", Right),
    ]);
    let microseconds = |value: f64| format!("{value:.0} µs");
    for CostRow { certificate, group, module, cost } in &costs.rows {
        table.row([
            certificate.clone(),
            group.clone(),
            module.text().to_owned(),
            microseconds(cost.client_microseconds),
            microseconds(cost.server_microseconds),
            microseconds(cost.microseconds),
            change(cost.ratio),
            measure::percent(cost.spread),
        ]);
    }
    output::line(format_args!("{table}\n"))?;
    output::line(format_args!(
        "Processor time of one full TLS 1.3 handshake with OpenSSL {}. Both ends run in this \
         process, without sockets.\n{}",
        costs.openssl,
        measuring::footer(&costs.method, &costs.machine)
    ))?;
    let noisy = costs.rows.iter().filter(|row| row.cost.spread > measure::LARGE_SPREAD).count();
    warn_of_noise(noisy, costs.rows.len())
}

/// The method of measurement.
const METHOD: &str = "processor time of turns of 15 ms, lower quartile; 'against X25519' is the median ratio to OpenSSL's X25519 \
     without the module in the same round";

/// Formats a ratio as a change: `-12.3 %`.
fn change(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_candidate_is_openssl_without_the_module() {
        let candidates = candidates(&["MLKEM768", "sntrup761"]);
        assert_eq!(candidates[0], ("X25519".to_owned(), ModuleUse::NotLoaded));
        assert!(candidates.contains(&("X25519".to_owned(), ModuleUse::Unused)));
        // Only what OpenSSL may have itself is measured without the module.
        for (group, expected) in [("MLKEM768", true), ("sntrup761", false)] {
            let stock = (group.to_owned(), ModuleUse::NotLoaded);
            assert_eq!(candidates.contains(&stock), expected, "{group}");
        }
        for group in ["X25519", "MLKEM768", "sntrup761"] {
            assert!(candidates.contains(&(group.to_owned(), ModuleUse::Used)));
        }
    }

    #[test]
    fn ratios_are_shown_as_changes() {
        assert_eq!((change(1.0), change(0.8765)), ("+0.0 %".to_owned(), "-12.4 %".to_owned()));
    }

    #[test]
    fn groups_are_those_of_the_module() {
        assert_eq!(our_group("SNTRUP761").unwrap(), "sntrup761");
        let error = our_group("P-256").unwrap_err().to_string();
        assert!(
            error.starts_with("P-256 is no group of the module: expected X25519MLKEM768,"),
            "{error}"
        );
    }
}
