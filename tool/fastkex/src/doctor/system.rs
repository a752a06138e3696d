//! Checks of OpenSSL, the module, and the system's configuration.

use std::path::{Path, PathBuf};

use kex::{RECOMMENDED_GROUPS, TLS_GROUPS, TlsGroup, group_named};
use lanes::Backend;
use openssl_conf::{Config, Interpretation, ModuleKind, Provider, Release};
use openssl_runtime::{
    Certificate, InMemoryHandshake, Key, KeyType, Libraries, LibraryContext, SslContext,
};
use warmup::ColdStart;

use super::finding::Finding;
use super::{curves, keys};
use crate::groups::{
    CLIENT_COST, Role, begins_with_preferred, mended, names_ours, names_preferred,
    openssl_has_ml_kem, recommended,
};
use crate::module;
use crate::run::{PROPERTIES, PROVIDER, environment, release, unknown_groups};

/// The results that the checks of an application need.
pub(super) struct Examined {
    pub(super) libraries: Libraries,
    pub(super) release: Release,
    /// The side of connections that the configuration is for.
    role: Role,
    pub(super) module: Option<PathBuf>,
    /// The configuration that programs started from here read. The next field is true if it comes
    /// from OPENSSL_CONF.
    pub(super) config_path: PathBuf,
    pub(super) config_is_from_environment: bool,
    /// True if only the service of the application reads it.
    config_is_of_service: bool,
    /// True if the configuration activates the provider and the provider loads.
    pub(super) active: bool,
    /// A library context with that configuration.
    pub(super) context: Option<LibraryContext>,
    /// The module that the configuration names.
    pub(super) configured: Option<PathBuf>,
    /// The provider's section of the configuration.
    pub(super) section: Option<String>,
    /// The groups of programs that do not set their own.
    pub(super) groups: Option<String>,
}

/// Runs all checks that concern every application; returns `None` without OpenSSL.
///
/// `of_service` is the configuration that an application's service reads. The one that programs
/// started from here read comes before it, if OPENSSL_CONF names it.
pub(super) fn examine(
    asked_for: Option<&Path>,
    role: Role,
    of_service: Option<PathBuf>,
    findings: &mut Vec<Finding>,
) -> Option<Examined> {
    let libraries = match Libraries::system() {
        Ok(libraries) => libraries,
        Err(error) => {
            findings.push(Finding::wrong("OpenSSL", error.to_string(), "apt-get install openssl"));
            return None;
        }
    };
    findings.push(Finding::ok(
        "OpenSSL",
        format!("{} at {}", libraries.version_text(), libraries.libssl_path().display()),
    ));
    let module = examine_module(asked_for, &libraries, findings);
    examine_processor(findings);

    let is_named = std::env::var_os("OPENSSL_CONF").is_some();
    let of_service = of_service.filter(|_| !is_named);
    let mut examined = Examined {
        config_is_of_service: of_service.is_some(),
        config_path: of_service.unwrap_or_else(|| libraries.default_config_file()),
        release: release(&libraries),
        role,
        config_is_from_environment: is_named,
        active: false,
        context: None,
        configured: None,
        section: None,
        groups: None,
        module,
        libraries,
    };
    examine_configuration(&mut examined, findings);
    Some(examined)
}

/// Reports the instruction set and the vector units of the processor.
fn examine_processor(findings: &mut Vec<Finding>) {
    let backend = Backend::best();
    let cold_start = ColdStart::of(backend);
    findings.push(Finding::ok("processor", format!("{}; {cold_start}", backend.name())));
}

/// Loads the module and does a handshake with every group.
fn examine_module(
    asked_for: Option<&Path>,
    libraries: &Libraries,
    findings: &mut Vec<Finding>,
) -> Option<PathBuf> {
    let path = match module::find(asked_for, libraries) {
        Ok(path) => path,
        Err(failure) => {
            findings.push(Finding::wrong("module", failure.to_string(), "make"));
            return None;
        }
    };
    let load = || {
        let context = LibraryContext::new(libraries)?;
        context.load_provider("default")?.keep();
        let all = [(settings::GROUPS.name, settings::ALL_GROUPS)];
        let provider = context.load_provider_with(&path, &all)?;
        let version = provider.info().version.unwrap_or_default();
        provider.keep();
        // OpenSSL may have some of the groups itself.
        context.set_default_properties(PROPERTIES)?;
        Ok::<_, openssl_runtime::Error>((context, version))
    };
    let (context, version) = match load() {
        Ok(loaded) => loaded,
        Err(error) => {
            findings.push(Finding::wrong("module", error.to_string(), "make clean && make"));
            return Some(path);
        }
    };
    let shown = path.display();
    if version == env!("CARGO_PKG_VERSION") {
        findings.push(Finding::ok("module", format!("{shown}, version {version}, loads")));
    } else {
        findings.push(Finding::wrong(
            "module",
            format!("{shown} is version {version}, this program is {}", env!("CARGO_PKG_VERSION")),
            "make: build both from the same source",
        ));
    }

    let mut good = Vec::new();
    for group in TLS_GROUPS {
        match handshake(&context, Some(group.name), Some(group.name)) {
            Ok(Negotiated { id, .. }) if id == group.code_point => good.push(group.name),
            Ok(Negotiated { name, .. }) => findings.push(Finding::wrong(
                "handshake",
                format!("{} was asked for, {name} negotiated", group.name),
                "please report this",
            )),
            Err(problem) => findings.push(Finding::wrong(
                "handshake",
                format!("{}: {problem}", group.name),
                "please report this",
            )),
        }
    }
    if !good.is_empty() {
        findings.push(Finding::ok(
            "handshake",
            format!("{} of {} groups: {}", good.len(), TLS_GROUPS.len(), good.join(", ")),
        ));
    }
    Some(path)
}

/// The group that both sides negotiated.
pub(super) struct Negotiated {
    id: u16,
    name: String,
}

/// Does a handshake in memory between a client and a server of `context`, with the given groups of
/// each or the default ones.
fn handshake(
    context: &LibraryContext,
    of_client: Option<&str>,
    of_server: Option<&str>,
) -> Result<Negotiated, String> {
    let run = || {
        let certificate = Certificate::self_signed(context, KeyType::EcP256, &["localhost"])?;
        let mut server = SslContext::server(context, &certificate)?;
        let mut client = SslContext::client(context)?.trust(&certificate)?;
        if let Some(groups) = of_server {
            server = server.groups(groups)?;
        }
        if let Some(groups) = of_client {
            client = client.groups(groups)?;
        }
        InMemoryHandshake::new(&client.build(), &server.build()).echo(64).run(&mut |_, _| {})
    };
    let report = run().map_err(|error: openssl_runtime::Error| error.to_string())?;
    if !report.is_ok() {
        return Err(format!("client: {}; server: {}", report.client, report.server));
    }
    match (report.client.group, report.server.group) {
        (Some(client), Some(server)) if client.id == server.id => Ok(Negotiated {
            id: client.id,
            name: client.name.unwrap_or_else(|| format!("{:#06x}", client.id)),
        }),
        (client, server) => Err(format!("the sides differ: {client:?}, {server:?}")),
    }
}

/// True if a server with this list takes X25519MLKEM768 from a browser, which sends key shares of
/// it and of X25519.
pub(super) fn serves_browsers(context: &LibraryContext, list: &str, release: Release) -> bool {
    let preferred = RECOMMENDED_GROUPS[0];
    let offered = match openssl_has_ml_kem(release) {
        true => format!("*{preferred}:*X25519"),
        // A client sends one key share. A server takes the first that it supports.
        false => format!("{preferred}:X25519"),
    };
    let negotiated = handshake(context, Some(&offered), Some(list));
    let expected = group_named(preferred).map(|group| group.code_point);
    negotiated.is_ok_and(|negotiated| Some(negotiated.id) == expected)
}

/// Checks the configuration as programs read it.
fn examine_configuration(examined: &mut Examined, findings: &mut Vec<Finding>) {
    let path = examined.config_path.clone();
    let shown = path.display().to_string();
    let origin = if examined.config_is_from_environment {
        format!(
            "{shown}, from OPENSSL_CONF: a service reads it only if its own environment names it"
        )
    } else if examined.config_is_of_service {
        format!("{shown}, which the service reads")
    } else {
        format!("{shown}, the system's own")
    };
    let lines = lines_to_add(examined, None);
    let config = match Config::load(&path, &environment) {
        Ok(config) => config,
        Err(error) => {
            findings.push(Finding::wrong(
                "configuration",
                format!("{origin}: {error}"),
                format!("write {shown}:\n{lines}"),
            ));
            return;
        }
    };
    findings.push(Finding::ok("configuration", origin));
    let interpretation = Interpretation::new(&config, examined.release);
    if let Some(problem) = interpretation.problems.first() {
        findings.push(Finding::wrong(
            "configuration",
            format!("OpenSSL stops reading: {problem}"),
            format!("mend {}", problem.origin),
        ));
    }

    let ours = interpretation.providers.iter().find(|provider| is_ours(provider));
    let Some(provider) = ours else {
        findings.push(Finding::wrong(
            "provider",
            format!("{shown} does not list fastkex, so programs do not get it"),
            format!(
                "run 'fastkex enable', start the program with 'fastkex run -- PROGRAM', or add to {shown}:\n{}",
                lines_to_add(examined, Some(&interpretation))
            ),
        ));
        return;
    };
    keys::examine(provider, &config, findings);
    examined.section = Some(provider.section().to_owned());
    examined.configured = provider.module.as_ref().map(|entry| PathBuf::from(&entry.value));
    let groups = interpretation.system_default().and_then(|profile| profile.groups());
    examined.groups = groups.map(|list| list.value.clone());
    examine_provider(examined, provider, &interpretation, findings);
    if examined.active {
        keys::examine_offers(provider, examined.release, findings);
        examine_groups(examined, provider, &interpretation, findings);
        if let Some(context) = &examined.context {
            curves::examine(context, provider, &interpretation, findings);
        }
    }
}

/// True if a listed provider is ours, under any name.
pub(super) fn is_ours(provider: &Provider) -> bool {
    let module = provider.module.as_ref().map(|entry| entry.value.as_str()).unwrap_or_default();
    provider.name == PROVIDER
        || Path::new(module).file_name().is_some_and(|name| name == "fastkex.so")
}

/// Loads the configuration as programs do.
fn examine_provider(
    examined: &mut Examined,
    provider: &Provider,
    interpretation: &Interpretation,
    findings: &mut Vec<Finding>,
) {
    let section = provider.section();
    let place = &provider.entry.origin;
    match &provider.module {
        None => findings.push(Finding::note(
            "provider",
            format!(
                "section [{section}] names no module, so OpenSSL looks for {}.so in {}",
                provider.name,
                examined.libraries.modules_dir().display()
            ),
        )),
        Some(entry) if entry.value.starts_with('/') && !Path::new(&entry.value).exists() => {
            findings.push(Finding::wrong(
                "provider",
                format!("{}: there is no module {}", entry.origin, entry.value),
                format!("module = {}", shown_module(examined)),
            ));
            return;
        }
        Some(_) => {}
    }
    if !provider.active {
        findings.push(Finding::wrong(
            "provider",
            format!("fastkex is listed at {place} but not activated"),
            format!("[{section}]\nactivate = 1"),
        ));
        return;
    }
    let load = || {
        let context = LibraryContext::new(&examined.libraries)?;
        context.load_config(&examined.config_path)?;
        Ok::<_, openssl_runtime::Error>(context)
    };
    let context = match load() {
        Ok(context) => context,
        Err(error) => {
            findings.push(Finding::wrong(
                "provider",
                error.to_string(),
                format!("mend {}", examined.config_path.display()),
            ));
            return;
        }
    };
    let active: Vec<_> = context.active_providers().into_iter().map(|info| info.name).collect();
    if !active.contains(&provider.name) {
        let reason = reason_not_to_load(examined, provider);
        findings.push(Finding::wrong(
            "provider",
            format!("OpenSSL cannot load it, and programs go on without: {reason}"),
            format!("mend section [{section}], which {place} names"),
        ));
        return;
    }
    findings.push(Finding::ok("provider", format!("active, listed at {place}")));
    if active.iter().any(|name| name == "default" || name == "fips") {
        findings.push(Finding::ok("other providers", active.join(", ")));
        examined.active = true;
    } else {
        let list = interpretation.provider("default").map(Provider::section);
        let section = list.unwrap_or("default_sect");
        findings.push(Finding::wrong(
            "other providers",
            "the default provider is not active: with fastkex activated explicitly it must be, too, \
             or programs have no random numbers and no ciphers",
            format!(
                "[{}]\ndefault = {section}\n[{section}]\nactivate = 1",
                provider.listed_in
            ),
        ));
    }
    examined.context = Some(context);
}

/// Returns the reason why the provider does not load. OpenSSL drops the reason for a provider in
/// its configuration, but reports it if the provider is loaded by name with the same parameters.
fn reason_not_to_load(examined: &Examined, provider: &Provider) -> String {
    let parameters: Vec<_> = provider
        .own_parameters()
        .map(|parameter| (parameter.name.as_str(), parameter.value.as_str()))
        .collect();
    let module = match &provider.module {
        Some(entry) => PathBuf::from(&entry.value),
        None => examined.libraries.modules_dir().join(format!("{}.so", provider.name)),
    };
    let loaded = LibraryContext::new(&examined.libraries)
        .and_then(|context| context.load_provider_with(module, &parameters));
    match loaded {
        Ok(_) => "OpenSSL does not say why".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Checks the groups of programs that do not set their own.
fn examine_groups(
    examined: &Examined,
    provider: &Provider,
    interpretation: &Interpretation,
    findings: &mut Vec<Finding>,
) {
    let Some(context) = &examined.context else { return };
    let groups = interpretation.system_default().and_then(|profile| profile.groups());
    let (role, release) = (examined.role, examined.release);
    let add = format!("Groups = {}", recommended(role, release));
    let section = interpretation
        .system_default()
        .map_or("system_default_sect", |profile| profile.entry.value.as_str());
    let newest = interpretation.system_default().and_then(|profile| profile.get("MaxProtocol"));
    if let Some(newest) =
        newest.filter(|newest| !["TLSv1.3", "None"].contains(&newest.value.as_str()))
    {
        findings.push(Finding::wrong(
            "groups",
            format!(
                "{}: 'MaxProtocol = {}': no TLS 1.3, and so none of our groups",
                newest.origin, newest.value
            ),
            format!("[{section}]\nMaxProtocol = TLSv1.3"),
        ));
        return;
    }
    let Some(list) = groups else {
        if openssl_has_ml_kem(release) {
            examine_negotiated(examined, provider, "OpenSSL's own list", &add, findings);
            return;
        }
        let lines = lines_to_add(examined, Some(interpretation));
        findings.push(Finding::wrong(
            "groups",
            "no Groups are set, so only programs that name our groups themselves use them",
            lines,
        ));
        return;
    };
    let unknown = unknown_groups(context, &list.value, release);
    let not_known = unknown.clone().unwrap_or_default();
    // Groups that the module has but does not offer stay: the module can be told to offer them.
    let is_known =
        |name: &str| !not_known.iter().any(|other| other == name) || group_named(name).is_some();
    let new = mended(&list.value, role, release, &is_known);
    let add = format!("Groups = {new}");
    match unknown {
        Err(problem) => {
            findings.push(Finding::wrong(
                "groups",
                format!("{}: {problem}", list.origin),
                format!("[{section}]\n{add}"),
            ));
            return;
        }
        Ok(unknown) if !unknown.is_empty() => {
            let problem = "OpenSSL silently ignores the whole list and uses its defaults";
            let (ours, others): (Vec<_>, Vec<_>) =
                unknown.into_iter().partition(|name| group_named(name).is_some());
            let (mut problems, mut fixes) = (Vec::new(), Vec::new());
            if !ours.is_empty() {
                problems.push(format!("the module does not offer {}", ours.join(", ")));
                let value = settings::groups_for(&list.value);
                fixes.push(format!(
                    "[{}]\n{} = {value}",
                    provider.section(),
                    settings::GROUPS.name
                ));
            }
            if !others.is_empty() {
                problems.push(format!("unknown {}", others.join(", ")));
                fixes.push(format!("[{section}]\n{add}"));
            }
            findings.push(Finding::wrong(
                "groups",
                format!("{}: {}: {problem}", list.origin, problems.join("; ")),
                fixes.join("\n"),
            ));
            return;
        }
        Ok(_) => {}
    }
    if !names_ours(&list.value, examined.release) {
        findings.push(Finding::wrong(
            "groups",
            format!("{}: none of ours in '{}'", list.origin, list.value),
            format!("[{section}]\n{add}"),
        ));
        return;
    }
    if !names_preferred(&list.value, release) {
        findings.push(Finding::note(
            "groups",
            format!(
                "'{}' is without X25519MLKEM768, so browsers get none of our groups",
                list.value
            ),
        ));
    }
    let is_first = |group: &&TlsGroup| {
        let first = list.value.split(':').next().unwrap_or_default();
        group.name.eq_ignore_ascii_case(first.trim())
    };
    if role == Role::Client && !openssl_has_ml_kem(release) {
        let guess = TLS_GROUPS.iter().copied().find(is_first);
        let choice = match guess {
            Some(group) => format!("clients send a key share of {}", group.name),
            None => "the server decides".to_owned(),
        };
        findings.push(Finding::ok("groups", format!("'{}': {choice}", list.value)));
        findings.push(Finding::note("groups", CLIENT_COST));
        return;
    }
    let is_for_all = !examined.config_is_from_environment && !examined.config_is_of_service;
    if is_for_all && !openssl_has_ml_kem(release) && begins_with_preferred(&list.value, release) {
        findings.push(Finding::note(
            "groups",
            format!("this list is also that of the system's clients, such as curl. {CLIENT_COST}"),
        ));
    }
    let shown = format!("'{}'", list.value);
    examine_negotiated(examined, provider, &shown, &format!("[{section}]\n{add}"), findings);
}

/// Makes a handshake between two programs with the configuration, whose list of groups is `shown`,
/// and reports the group and the provider of its algorithm. `fix` has the lines that put our group
/// first.
fn examine_negotiated(
    examined: &Examined,
    provider: &Provider,
    shown: &str,
    fix: &str,
    findings: &mut Vec<Finding>,
) {
    let Some(context) = &examined.context else { return };
    let negotiated = match handshake(context, None, None) {
        Ok(negotiated) => negotiated,
        Err(problem) => {
            let message = format!("two programs with {shown} cannot shake hands: {problem}");
            findings.push(Finding::wrong("groups", message, fix));
            return;
        }
    };
    let message = format!("{shown}: two programs with it negotiate {}", negotiated.name);
    let Some(group) = TLS_GROUPS.iter().find(|group| group.code_point == negotiated.id) else {
        let fix = format!("put ours first:\n{fix}");
        findings.push(Finding::wrong("groups", message, fix));
        return;
    };
    let key = Key::generate(context, group.algorithm(), None);
    let serves = key.ok().and_then(|key| key.provider()).unwrap_or_default();
    if serves == provider.name {
        findings.push(Finding::ok("groups", format!("{message}, by {serves}")));
    } else {
        findings.push(Finding::wrong(
            "groups",
            format!("{message}, but by OpenSSL's provider {serves}"),
            format!("default_properties = {PROPERTIES}, in the section that alg_section names"),
        ));
    }
}

fn shown_module(examined: &Examined) -> String {
    let path = examined.module.as_deref().unwrap_or(Path::new("/path/to/fastkex.so"));
    path.display().to_string()
}

/// Returns the lines that activate the provider, for the sections that a configuration already has.
pub(super) fn lines_to_add(examined: &Examined, base: Option<&Interpretation>) -> String {
    let module = shown_module(examined);
    let groups = recommended(examined.role, examined.release);
    let existing = |kind: ModuleKind| {
        let mut modules = base.map(|base| base.modules.iter()).into_iter().flatten();
        modules
            .find(|module| module.reached && module.kind == kind)
            .map(|module| module.entry.value.clone())
    };
    let init = base.and_then(|base| base.init.as_ref()).map(|entry| entry.value.clone());
    let (providers, ssl) = (existing(ModuleKind::Providers), existing(ModuleKind::Ssl));
    let algorithms = existing(ModuleKind::Algorithms);
    let system_default =
        base.and_then(Interpretation::system_default).map(|profile| profile.entry.value.clone());

    let mut lines = String::new();
    let mut add = |line: &str| {
        lines.push_str(line);
        lines.push('\n');
    };
    if init.is_none() {
        add("openssl_conf = openssl_init     # before the first section");
    }
    if providers.is_none() || ssl.is_none() || algorithms.is_none() {
        add(&format!("[{}]", init.as_deref().unwrap_or("openssl_init")));
    }
    if providers.is_none() {
        add("providers = provider_sect");
    }
    if ssl.is_none() {
        add("ssl_conf = ssl_sect");
    }
    if algorithms.is_none() {
        add("alg_section = evp_properties");
    }
    let listed = base.is_some_and(|base| base.providers.iter().any(is_ours));
    if !listed {
        let default_is_listed = base.is_some_and(|base| base.provider("default").is_some());
        add(&format!("[{}]", providers.as_deref().unwrap_or("provider_sect")));
        if !default_is_listed {
            add("default = default_sect");
        }
        add("fastkex = fastkex_sect");
        let default = base.and_then(|base| base.provider("default"));
        if !default.is_some_and(|provider| provider.active) {
            add(&format!("[{}]", default.map_or("default_sect", Provider::section)));
            add("activate = 1");
        }
        add("[fastkex_sect]");
        add(&format!("module = {module}"));
        add("activate = 1");
    }
    if system_default.is_none() {
        add(&format!("[{}]", ssl.as_deref().unwrap_or("ssl_sect")));
        add("system_default = system_default_sect");
    }
    add(&format!("[{}]", system_default.as_deref().unwrap_or("system_default_sect")));
    add(&format!("Groups = {groups}"));
    if algorithms.is_none() {
        add("[evp_properties]");
        add(&format!("default_properties = {PROPERTIES}"));
    }
    lines
}
