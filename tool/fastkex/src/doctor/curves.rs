//! The providers of X25519 and Ed25519 in programs, and the reasons for the choice.

use curve25519::{Backend, is_fast, self_check};
use openssl_conf::{Interpretation, ModuleKind, Provider};
use openssl_runtime::{Key, LibraryContext};

use super::finding::Finding;
use crate::run::PROPERTIES;

/// The algorithms that the default provider has too: the name for people, OpenSSL's name, and the
/// key that selects our implementation.
const ALGORITHMS: [(&str, &str, &str); 2] =
    [("X25519", "X25519", settings::X25519.name), ("Ed25519", "ED25519", settings::ED25519.name)];

/// Makes a key of each algorithm as programs do. Neither provider is wrong: both work.
pub(super) fn examine(
    context: &LibraryContext,
    provider: &Provider,
    interpretation: &Interpretation,
    findings: &mut Vec<Finding>,
) {
    let backend = backend(provider);
    for (title, name, key) in ALGORITHMS {
        let served_by = match Key::generate(context, name, None) {
            Ok(made) => made.provider().unwrap_or_default(),
            Err(error) => {
                findings.push(Finding::wrong(title, error.to_string(), "please report this"));
                continue;
            }
        };
        if served_by == provider.name {
            let chosen = match interpretation.default_properties() {
                Some(entry) => format!("default_properties = {} chooses it", entry.value),
                None => "its provider is the first of those that have it".to_owned(),
            };
            let message = format!("{served_by} serves, on {}: {chosen}", backend.name());
            findings.push(Finding::ok(title, message));
            continue;
        }
        let why = why_not(backend, key, provider, interpretation);
        findings.push(Finding::note(title, format!("{served_by} serves: {why}")));
    }
}

/// Returns the instruction set that the provider uses.
fn backend(provider: &Provider) -> Backend {
    let configured = value(provider, settings::BACKEND.name);
    // With an invalid name the provider does not load.
    configured.and_then(|name| Backend::named(name).ok()).unwrap_or_else(Backend::best)
}

fn value<'a>(provider: &'a Provider, key: &str) -> Option<&'a str> {
    let mut parameters = provider.own_parameters();
    parameters.find(|parameter| parameter.name == key).map(|parameter| parameter.value.as_str())
}

fn why_not(
    backend: Backend,
    key: &str,
    provider: &Provider,
    interpretation: &Interpretation,
) -> String {
    let choice = value(provider, key).unwrap_or("auto");
    if choice == "off" {
        return format!("{key} = off in section [{}]", provider.section());
    }
    if choice == "auto" && !is_fast(backend) {
        return format!(
            "it is the faster one with {}; ours needs AVX2 with FMA, or AVX-512 with IFMA ({key} = on takes it all the same)",
            backend.name()
        );
    }
    if let Err(error) = self_check(backend) {
        return error.to_string();
    }
    let properties = interpretation.default_properties();
    if let Some(entry) = properties.filter(|entry| entry.value.contains("provider")) {
        return format!("{} says default_properties = {}", entry.origin, entry.value);
    }
    let line = match properties {
        Some(entry) => format!("default_properties = {},{PROPERTIES}", entry.value),
        None => format!("default_properties = {PROPERTIES}"),
    };
    let modules = &interpretation.modules;
    match modules.iter().find(|module| module.kind == ModuleKind::Algorithms) {
        Some(module) => {
            format!("ours is asked for with '{line}' in section [{}]", module.entry.value)
        }
        None => {
            let init = interpretation.init.as_ref().map_or("openssl_init", |init| &init.value);
            format!(
                "ours is asked for with 'alg_section = evp_properties' in section [{init}] and '{line}' in section [evp_properties]"
            )
        }
    }
}
