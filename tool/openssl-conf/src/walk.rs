//! Follows the settings as OpenSSL does in `crypto/conf/conf_mod.c`, `crypto/provider_conf.c`,
//! `crypto/conf/conf_ssl.c` and `crypto/evp/evp_cnf.c`.

use crate::config::{Config, Entry};
use crate::interpretation::{
    Activation, Command, Interpretation, Module, ModuleKind, Parameter, Profile, Provider,
};
use crate::problem::{Problem, ProblemKind, VISITS_LIMIT};
use crate::release::Release;

/// The size of OpenSSL's buffer for the name of a parameter.
const PARAMETER_NAME: usize = 512;

impl Interpretation {
    /// Interprets `config` as `release` does, in an application that sets no configuration name of
    /// its own. Nearly all applications are of this kind.
    pub fn new(config: &Config, release: Release) -> Self {
        let init = config.own("default", "openssl_conf");
        let diagnostics = config.own("default", "config_diagnostics").is_some_and(|entry| {
            let digits = entry.value.bytes().take_while(u8::is_ascii_digit).count();
            entry.value[..digits].parse::<i64>().is_ok_and(|number| number > 0)
        });
        let mut interpretation = Self {
            release,
            init: init.cloned(),
            modules: Vec::new(),
            providers: Vec::new(),
            profiles: Vec::new(),
            algorithms: Vec::new(),
            problems: Vec::new(),
            diagnostics,
        };
        if let Some(init) = init {
            Walk { config, out: &mut interpretation, visited: 0 }.init(init);
        }
        interpretation
    }
}

struct Walk<'a, 'o> {
    config: &'a Config,
    out: &'o mut Interpretation,
    /// The number of settings examined so far.
    visited: usize,
}

/// Returns the part after the first dot, or the whole name without a dot. Several keys can
/// therefore have the same meaning.
fn behind_dot(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, rest)| rest)
}

/// Returns the module of a key. OpenSSL looks for the first module whose name *begins* with the key
/// up to its last dot.
fn module_kind(key: &str, release: Release) -> ModuleKind {
    let table = [
        ("oid_section", ModuleKind::ObjectIdentifiers),
        ("stbl_section", ModuleKind::StringTable),
        ("engines", ModuleKind::Engines),
        ("alg_section", ModuleKind::Algorithms),
        ("ssl_conf", ModuleKind::Ssl),
        ("providers", ModuleKind::Providers),
        ("random", ModuleKind::Random),
    ];
    let start = key.rsplit_once('.').map_or(key, |(start, _)| start);
    table
        .into_iter()
        .filter(|(_, kind)| *kind != ModuleKind::Engines || release.has_engines())
        .find(|(name, _)| name.starts_with(start))
        .map_or(ModuleKind::Other, |(_, kind)| kind)
}

impl<'a> Walk<'a, '_> {
    fn stopped(&self) -> bool {
        !self.out.problems.is_empty()
    }

    fn problem(&mut self, entry: &Entry, kind: ProblemKind) {
        self.out.problems.push(Problem { origin: entry.origin.clone(), kind });
    }

    /// Returns the settings of the section that `entry` names; records a problem if there is no
    /// such section.
    fn section(&mut self, entry: &Entry) -> Option<Vec<&'a Entry>> {
        let (key, section) = (entry.key.clone(), entry.value.clone());
        let kind = match self.config.section(&entry.value) {
            None => ProblemKind::MissingSection { key, section },
            Some(section) => {
                self.visited += 1 + section.len();
                if self.visited <= VISITS_LIMIT {
                    return Some(section.entries().collect());
                }
                ProblemKind::TooManySettings
            }
        };
        self.problem(entry, kind);
        None
    }

    fn init(&mut self, init: &Entry) {
        for entry in self.section(init).unwrap_or_default() {
            let kind = module_kind(&entry.key, self.out.release);
            match kind {
                ModuleKind::Providers => self.providers(entry),
                ModuleKind::Ssl => self.profiles(entry),
                ModuleKind::Algorithms => self.algorithms(entry),
                ModuleKind::Other => {
                    // A module with a path may exist.
                    if self.config.get(&entry.value, "path").is_none() {
                        self.problem(entry, ProblemKind::UnknownModule(entry.key.clone()));
                    }
                }
                _ => {
                    self.section(entry);
                }
            }
            let reached = !self.stopped();
            self.out.modules.push(Module { entry: entry.clone(), kind, reached });
        }
    }

    fn algorithms(&mut self, module: &Entry) {
        for entry in self.section(module).unwrap_or_default() {
            self.out.algorithms.push(entry.clone());
            match entry.key.as_str() {
                "default_properties" => {}
                // X509V3_get_value_bool, which accepts other words than the providers' settings do.
                "fips_mode" => match entry.value.as_str() {
                    "TRUE" | "true" | "Y" | "y" | "YES" | "yes" => {}
                    "FALSE" | "false" | "N" | "n" | "NO" | "no" => {}
                    _ => self.problem(entry, not_a_boolean(entry)),
                },
                _ => self.problem(entry, ProblemKind::UnknownAlgorithmOption(entry.key.clone())),
            }
        }
    }

    fn profiles(&mut self, module: &Entry) {
        let reached = !self.stopped();
        if reached {
            // A second `ssl_conf` replaces the first.
            self.out.profiles.clear();
        }
        let Some(entries) = self.filled(module) else { return };
        for entry in entries {
            let commands = self.filled(entry).unwrap_or_default();
            let commands = commands.into_iter().map(|command| Command {
                name: behind_dot(&command.key).to_owned(),
                value: command.value.clone(),
                origin: command.origin.clone(),
            });
            let commands = commands.collect();
            let (name, entry) = (entry.key.clone(), entry.clone());
            self.out.profiles.push(Profile { name, entry, commands, reached });
        }
        // If one profile is wrong, OpenSSL drops all of them.
        if self.stopped() {
            for profile in &mut self.out.profiles {
                profile.reached &= !reached;
            }
        }
    }

    /// Returns the same as `section`, but treats an empty section as a problem too.
    fn filled(&mut self, entry: &Entry) -> Option<Vec<&'a Entry>> {
        let entries = self.section(entry)?;
        if entries.is_empty() {
            let (key, section) = (entry.key.clone(), entry.value.clone());
            self.problem(entry, ProblemKind::EmptySection { key, section });
            return None;
        }
        Some(entries)
    }

    fn providers(&mut self, module: &Entry) {
        for entry in self.section(module).unwrap_or_default() {
            self.provider(entry, &module.value);
        }
    }

    fn provider(&mut self, entry: &'a Entry, listed_in: &str) {
        let mut provider = Provider {
            name: behind_dot(&entry.key).to_owned(),
            entry: entry.clone(),
            listed_in: listed_in.to_owned(),
            identity: None,
            module: None,
            activate: None,
            soft_load: None,
            parameters: Vec::new(),
            active: false,
            tried: false,
        };
        let Some(settings) = self.section(entry) else {
            self.out.providers.push(provider);
            return;
        };
        let by_presence = self.out.release.activates_by_presence();
        for setting in settings {
            let slot = match behind_dot(&setting.key) {
                "identity" => {
                    provider.name = setting.value.clone();
                    &mut provider.identity
                }
                "module" => &mut provider.module,
                "activate" => &mut provider.activate,
                "soft_load" => &mut provider.soft_load,
                _ => continue,
            };
            *slot = Some(setting.clone());
            let boolean = matches!(behind_dot(&setting.key), "activate" | "soft_load");
            if boolean && !by_presence && Activation::of(&setting.value) == Activation::NotABoolean
            {
                self.problem(setting, not_a_boolean(setting));
            }
        }
        let on = match provider.activation() {
            None => false,
            Some(activation) => by_presence || activation == Activation::Yes,
        };
        // Of several entries with the same name, OpenSSL activates the first that is switched on,
        // and skips the others.
        let first =
            !self.out.providers.iter().any(|other| other.active && other.name == provider.name);
        provider.tried = on && first && !self.stopped();
        if let Err(kind) = self.parameters(&mut provider, "", entry, &mut vec![]) {
            self.problem(entry, kind);
        }
        provider.active = provider.tried && !self.stopped();
        self.out.providers.push(provider);
    }

    /// Adds the parameters in the section that `entry` names; their names begin with `prefix`.
    fn parameters(
        &mut self,
        provider: &mut Provider,
        prefix: &str,
        entry: &'a Entry,
        visited: &mut Vec<&'a Entry>,
    ) -> Result<(), ProblemKind> {
        let Some(section) = self.config.section(&entry.value) else { return Ok(()) };
        // OpenSSL compares the settings that lead to sections, not the sections.
        if visited.iter().any(|seen| std::ptr::eq(*seen, entry)) {
            let (provider, section) = (provider.name.clone(), entry.value.clone());
            return Err(ProblemKind::Recursion { provider, section });
        }
        visited.push(entry);
        for setting in section.entries() {
            self.visited += 1;
            if self.visited > VISITS_LIMIT {
                return Err(ProblemKind::TooManySettings);
            }
            let name = format!("{prefix}{}", setting.key);
            if name.len() >= PARAMETER_NAME {
                return Err(ProblemKind::LongParameter { provider: provider.name.clone() });
            }
            if self.config.section(&setting.value).is_some() {
                self.parameters(provider, &format!("{name}."), setting, visited)?;
                continue;
            }
            let words = ["identity", "module", "activate", "soft_load"];
            provider.parameters.push(Parameter {
                reserved: prefix.is_empty() && words.contains(&behind_dot(&name)),
                name,
                value: setting.value.clone(),
                origin: setting.origin.clone(),
            });
        }
        visited.pop();
        Ok(())
    }
}

fn not_a_boolean(entry: &Entry) -> ProblemKind {
    ProblemKind::NotABoolean { key: entry.key.clone(), value: entry.value.clone() }
}
