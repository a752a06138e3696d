//! Handshakes in memory with a configuration: whether programs that read it negotiate a group of
//! the module, and whether the module computes it.

use std::path::Path;

use kex::{RECOMMENDED_GROUPS, TLS_GROUPS, TlsGroup, group_named};
use openssl_conf::{Config, Interpretation, Release, split_groups};
use openssl_runtime::{
    Certificate, Error, InMemoryHandshake, Key, KeyType, Libraries, LibraryContext, SslContext,
};
use output::Failure;

use super::configuration::Module;
use crate::groups::names_ours;
use crate::run::{PROVIDER, environment, unknown_groups};

/// A configuration as OpenSSL reads it.
pub(super) enum Source<'a> {
    Text(&'a str),
    File(&'a Path),
}

/// Loads a configuration and makes handshakes with it. Returns the group that was negotiated.
///
/// # Errors
/// The reason why programs would not use the module, or would not connect at all.
pub(super) fn verify(
    libraries: &Libraries,
    release: Release,
    source: &Source<'_>,
    module: &Module,
) -> Result<&'static TlsGroup, Failure> {
    let fail = |error: Error| Failure::new(format!("the configuration does not work: {error}"));
    let parsed = match source {
        Source::Text(text) => Config::parse(text, Path::new("openssl.cnf"), &environment),
        Source::File(path) => Config::load(path, &environment),
    };
    let parsed = parsed.map_err(Failure::new)?;
    let interpretation = Interpretation::new(&parsed, release);
    if let Some(problem) = interpretation.problems.first() {
        return Err(Failure::new(format!("OpenSSL stops reading: {problem}")));
    }
    let context = LibraryContext::new(libraries).map_err(fail)?;
    if let Some(folder) = module.folder() {
        context.set_provider_search_path(folder).map_err(fail)?;
    }
    match source {
        Source::Text(text) => context.load_config_text(text).map_err(fail)?,
        Source::File(path) => context.load_config(path).map_err(fail)?,
    }
    let active: Vec<_> = context.active_providers().into_iter().map(|found| found.name).collect();
    if !active.iter().any(|name| name == PROVIDER) {
        let reason = LibraryContext::new(libraries)
            .and_then(|context| context.load_provider(&module.real.to_string_lossy()).map(drop));
        return Err(match reason {
            Ok(()) => Failure::new("the module is not active in the resulting configuration"),
            Err(error) => Failure::new(error.to_string()),
        });
    }

    let list = interpretation.system_default().and_then(|profile| profile.groups());
    let list = list.map(|command| command.value.as_str());
    if let Some(list) = list {
        let unknown = unknown_groups(&context, list, release).map_err(Failure::new)?;
        if !unknown.is_empty() {
            return Err(unusable(&unknown, &interpretation));
        }
        if !names_ours(list, release) {
            return Err(Failure::new(format!("none of our groups in '{list}': name one of them")));
        }
    }
    let group = first_of_ours(list, release)?;
    for (client, server, who) in [
        (None, None, "programs"),
        (Some(group.name), None, "servers"),
        (None, Some(group.name), "clients"),
    ] {
        let negotiated = negotiated(&context, client, server)
            .map_err(|problem| Failure::new(format!("a handshake fails: {problem}")))?;
        let is_restricted = client.is_some() || server.is_some();
        if is_restricted && negotiated != group.code_point {
            return Err(Failure::new(format!(
                "{who} would use the group {negotiated:#06x}, not {}",
                group.name
            )));
        }
    }
    // The name of the algorithm in all releases.
    let algorithm = group.algorithm_names.split(':').next().unwrap_or(group.name);
    let key = Key::generate(&context, algorithm, None).map_err(fail)?;
    match key.provider() {
        Some(name) if name == PROVIDER => Ok(group),
        other => {
            let properties = interpretation.default_properties();
            let place = properties.map_or(String::new(), |entry| {
                format!(", because of {}: default_properties = {}", entry.origin, entry.value)
            });
            Err(Failure::new(format!(
                "{} would be computed by the provider {}, not by {PROVIDER}{place}",
                group.name,
                other.unwrap_or_default()
            )))
        }
    }
}

/// Returns the error for groups that OpenSSL does not know.
fn unusable(unknown: &[String], interpretation: &Interpretation) -> Failure {
    let names = unknown.join(", ");
    let others: Vec<_> =
        unknown.iter().filter(|name| group_named(name).is_none()).map(String::as_str).collect();
    if !others.is_empty() {
        let ours: Vec<_> = TLS_GROUPS.iter().map(|group| group.name).collect();
        return Failure::new(format!(
            "unknown group {}: OpenSSL would ignore the whole list; ours are {}",
            others.join(", "),
            ours.join(", ")
        ));
    }
    let reason = match interpretation.default_properties() {
        Some(entry) => format!("{}: default_properties = {}", entry.origin, entry.value),
        None => format!("the key '{}' of the module's section", settings::GROUPS.name),
    };
    Failure::new(format!("OpenSSL would not take {names} from the module, because of {reason}"))
}

/// Returns the first group of the module in a list, or in OpenSSL's own.
fn first_of_ours(list: Option<&str>, release: Release) -> Result<&'static TlsGroup, Failure> {
    let named = match list {
        Some(list) => split_groups(list, release.group_syntax()).map_err(Failure::new)?,
        None => Vec::new(),
    };
    let mut ours =
        named.iter().filter(|group| !group.remove).filter_map(|group| group_named(&group.name));
    let default = || group_named(RECOMMENDED_GROUPS[0]);
    ours.next().or_else(default).ok_or_else(|| Failure::new("no group of the module"))
}

/// Makes a handshake, and returns the code point of the group.
fn negotiated(
    context: &LibraryContext,
    client_groups: Option<&str>,
    server_groups: Option<&str>,
) -> Result<u16, String> {
    let run = || {
        let certificate = Certificate::self_signed(context, KeyType::EcP256, &["localhost"])?;
        let mut server = SslContext::server(context, &certificate)?;
        let mut client = SslContext::client(context)?.trust(&certificate)?;
        if let Some(groups) = client_groups {
            client = client.groups(groups)?;
        }
        if let Some(groups) = server_groups {
            server = server.groups(groups)?;
        }
        InMemoryHandshake::new(&client.build(), &server.build()).echo(64).run(&mut |_, _| {})
    };
    let report = run().map_err(|error: Error| error.to_string())?;
    if !report.is_ok() {
        return Err(format!("client: {}; server: {}", report.client, report.server));
    }
    match (report.client.group, report.server.group) {
        (Some(client), Some(server)) if client.id == server.id => Ok(client.id),
        (client, server) => Err(format!("the sides differ: {client:?}, {server:?}")),
    }
}
