//! Writes a configuration that includes another one and adds a provider to it.

use std::fmt::{self, Write};
use std::path::{Path, PathBuf};

use crate::config::{Config, Entry, Origin};
use crate::groups::{GroupListError, split_groups};
use crate::interpretation::{Interpretation, ModuleKind};
use crate::problem::Problem;
use crate::quote;
use crate::release::Release;

/// The maximum number of entries changed for one provider. If further entries keep the addition
/// from having its effect, the check at the end reports it.
const LISTED: usize = 16;

/// The configuration to start from.
#[derive(Clone, Copy, Debug)]
pub struct Base<'a> {
    /// The parsed configuration.
    pub config: &'a Config,
    /// Its absolute path.
    pub path: &'a Path,
}

/// The provider and the settings to add.
#[derive(Clone, Copy, Debug)]
pub struct Addition<'a> {
    /// The release of OpenSSL that is to read the result.
    pub release: Release,
    /// The provider's name, of letters, digits, `_` and `-`.
    pub provider: &'a str,
    /// The path of its module; `None` if OpenSSL finds the module by the provider's name in its
    /// folder of modules.
    pub module: Option<&'a Path>,
    /// Further keys of its section and their values.
    pub keys: &'a [(String, String)],
    /// The groups of every TLS context; `None` leaves them unchanged.
    pub groups: Option<&'a str>,
    /// A clause for the property query of every fetch, such as `?provider=fastkex`; `None` leaves
    /// the query unchanged.
    pub properties: Option<&'a str>,
}

/// The reason why a configuration could not be composed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ComposeError {
    /// The base's path is relative.
    RelativeBase(PathBuf),
    /// A path is not UTF-8.
    NotUtf8(PathBuf),
    /// The provider's name contains a character that is not allowed here, or is empty.
    ProviderName(String),
    /// The key cannot be written, or OpenSSL itself reads it.
    Key(String),
    /// The value of the key is also the name of a section. OpenSSL would replace the value by that
    /// section.
    ValueIsSection {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
    /// The name of a section in the base cannot be written in UTF-8.
    SectionName(String),
    /// OpenSSL does not accept the list of groups.
    Groups(GroupListError),
    /// OpenSSL stops in the base before it reaches the addition.
    Stops(Problem),
    /// The base keeps the addition from having its effect, without an error that OpenSSL would
    /// report.
    NoEffect,
}

impl fmt::Display for ComposeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RelativeBase(path) => write!(
                f,
                "the configuration {path:?} is named by a relative path; name it by an absolute one"
            ),
            Self::NotUtf8(path) => {
                write!(
                    f,
                    "the path {path:?} is not UTF-8; use one that is, such as a symbolic link"
                )
            }
            Self::ProviderName(name) => {
                write!(f, "{name:?} cannot name a provider; use letters, digits, _ and -")
            }
            Self::Key(key) => write!(
                f,
                "{key:?} cannot be a key of the provider; use letters, digits, _ and ., and not identity, module, \
                 activate or soft_load"
            ),
            Self::ValueIsSection { key, value } => write!(
                f,
                "{key} = {value} is also the name of a section, which OpenSSL would put in its place; use another value"
            ),
            Self::SectionName(name) => write!(
                f,
                "the section {name:?} cannot be extended because its name is not ASCII; rename it"
            ),
            Self::Groups(error) => error.fmt(f),
            Self::Stops(problem) => {
                write!(f, "OpenSSL stops before it gets to what is added: {problem}")
            }
            Self::NoEffect => write!(
                f,
                "what is added has no effect with this configuration; give the sections of openssl_conf, providers \
                 and ssl_conf names of their own"
            ),
        }
    }
}

impl std::error::Error for ComposeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Groups(error) => Some(error),
            Self::Stops(problem) => Some(problem),
            _ => None,
        }
    }
}

/// Composes the text of a configuration that adds to `base`, if there is one.
///
/// The text includes `base` by its path and then re-opens its sections, so that
///
/// - the provider is listed and active with its module and keys. It overrides a provider that the
///   base lists under the same name;
/// - `default` is activated explicitly if and only if the base activates no provider. In that case
///   OpenSSL had activated `default` implicitly;
/// - `Groups` of `system_default` is the requested list, if any;
/// - `default_properties` of `alg_section` ends with the requested clause, if any, after the
///   clauses of the base. The clause is left out if the base already chooses a provider in its
///   clauses, or if the base sets `fips_mode`, which the clause would undo;
/// - all other settings of the base stay.
///
/// A section gets a new name if the base has no section to extend, or if the base also uses its
/// section for something else. An [`Interpretation`] of the result checks that the addition is in
/// force.
///
/// # Errors
/// See [`ComposeError`].
pub fn compose(base: Option<Base<'_>>, addition: &Addition<'_>) -> Result<String, ComposeError> {
    let Addition { release, provider, module, keys, groups, properties } = *addition;
    let module = module.map(utf8).transpose()?;
    if provider.is_empty()
        || !provider.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-')
    {
        return Err(ComposeError::ProviderName(provider.to_owned()));
    }
    for (key, _) in keys {
        let plain = key.split_once('.').map_or(key.as_str(), |(_, rest)| rest);
        let reserved = ["identity", "module", "activate", "soft_load"].contains(&plain);
        if reserved || !quote::is_key(key) {
            return Err(ComposeError::Key(key.clone()));
        }
    }
    if let Some(groups) = groups {
        split_groups(groups, release.group_syntax()).map_err(ComposeError::Groups)?;
    }
    let mut text = String::new();
    if let Some(base) = base {
        if !base.path.is_absolute() {
            return Err(ComposeError::RelativeBase(base.path.into()));
        }
        let _ = writeln!(text, ".include {}", quote::value(utf8(base.path)?));
    }
    let mut draft = Draft::new(base.map(|base| base.config.clone()).unwrap_or_default());
    let before = Interpretation::new(&draft.config, release);

    let init = draft.link("default", "openssl_conf", &format!("{provider}_init"));
    let listed = |kind| before.modules.iter().rfind(move |module| module.kind == kind);
    let list = match listed(ModuleKind::Providers) {
        Some(module) => module.entry.value.clone(),
        None => draft.link(&init, "providers", &format!("{provider}_providers")),
    };
    if before.default_is_implicit() {
        let fresh = format!("{provider}_default");
        draft.provider(&before, &list, "default", &fresh, &[("activate", "1")]);
    }
    let module_key = module.map(|module| ("module", module));
    let mut settings: Vec<_> = module_key.into_iter().chain([("activate", "1")]).collect();
    settings.extend(keys.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    draft.provider(&before, &list, provider, &format!("{provider}_provider"), &settings);
    if let Some(groups) = groups {
        let profiles = match listed(ModuleKind::Ssl) {
            Some(module) => module.entry.value.clone(),
            None => draft.link(&init, "ssl_conf", &format!("{provider}_ssl")),
        };
        let fresh = format!("{provider}_system_default");
        let section = match draft.config.own(&profiles, "system_default").cloned() {
            Some(entry) => draft.exclusive(&profiles, &entry, &fresh),
            None => draft.link(&profiles, "system_default", &fresh),
        };
        draft.set(&section, "Groups", groups);
    }

    if let Some(clause) = properties.filter(|_| !chooses_providers(&before)) {
        let section = match listed(ModuleKind::Algorithms) {
            Some(module) => module.entry.value.clone(),
            None => draft.link(&init, "alg_section", &format!("{provider}_algorithms")),
        };
        let query = match before.default_properties() {
            Some(entry) => format!("{},{clause}", entry.value),
            None => clause.to_owned(),
        };
        draft.set(&section, "default_properties", &query);
    }

    draft.check(&before, addition, module)?;
    draft.write(&mut text)?;
    Ok(text)
}

/// True if the properties already choose providers.
fn chooses_providers(interpretation: &Interpretation) -> bool {
    let sets = |key: &str| interpretation.algorithms.iter().any(|entry| entry.key == key);
    sets("fips_mode")
        || interpretation.default_properties().is_some_and(|entry| entry.value.contains("provider"))
}

fn utf8(path: &Path) -> Result<&str, ComposeError> {
    path.to_str().ok_or_else(|| ComposeError::NotUtf8(path.into()))
}

/// The base with the changes made so far, and a list of these changes.
struct Draft {
    config: Config,
    changes: Vec<(String, Vec<(String, String)>)>,
}

impl Draft {
    fn new(mut config: Config) -> Self {
        config.open("default");
        Self { config, changes: Vec::new() }
    }

    fn set(&mut self, section: &str, key: &str, value: &str) {
        let origin = Origin { file: Path::new("(added)").into(), line: 1 };
        let entry = Entry { key: key.to_owned(), value: value.to_owned(), origin };
        self.config.set(section, entry);
        let change = (key.to_owned(), value.to_owned());
        match self.changes.iter_mut().find(|(name, _)| name == section) {
            Some((_, changes)) => changes.push(change),
            None => self.changes.push((section.to_owned(), vec![change])),
        }
    }

    /// Returns a name for a section that does not exist and that no setting refers to.
    fn fresh(&self, name: &str) -> String {
        let taken = |name: &str| self.config.section(name).is_some() || self.references(name) > 0;
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names.find(|name| !taken(name)).unwrap_or_default()
    }

    fn references(&self, section: &str) -> usize {
        let entries = self.config.sections().flat_map(|section| section.entries());
        entries.filter(|entry| entry.value == section).count()
    }

    /// Returns the section that `key` names. If `key` is not set, sets it to a new section first.
    fn link(&mut self, section: &str, key: &str, fresh: &str) -> String {
        if let Some(entry) = self.config.own(section, key) {
            return entry.value.clone();
        }
        let fresh = self.fresh(fresh);
        self.set(section, key, &fresh);
        fresh
    }

    /// Returns the section that `entry` (of the section `list`) names, if no other setting uses it.
    /// Otherwise creates a new section with the same settings, and changes `entry` to name it.
    fn exclusive(&mut self, list: &str, entry: &Entry, fresh: &str) -> String {
        let section = entry.value.as_str();
        if section != "default" && self.references(section) == 1 {
            return section.to_owned();
        }
        let copied: Vec<Entry> = match self.config.section(section) {
            Some(old) if section != "default" => old.entries().cloned().collect(),
            _ => Vec::new(),
        };
        let fresh = self.fresh(fresh);
        self.set(list, &entry.key, &fresh);
        for setting in copied {
            self.set(&fresh, &setting.key, &setting.value);
        }
        fresh
    }

    /// Sets `settings` for the provider `name`: in its sections if it is listed, otherwise in a new
    /// entry of the section `list`.
    fn provider(
        &mut self,
        before: &Interpretation,
        list: &str,
        name: &str,
        fresh: &str,
        settings: &[(&str, &str)],
    ) {
        let listed = before.providers.iter().filter(|provider| provider.name == name).take(LISTED);
        let mut sections: Vec<String> = Vec::new();
        for provider in listed {
            sections.push(self.exclusive(&provider.listed_in, &provider.entry, fresh));
        }
        if sections.is_empty() {
            // An `identity` can give an entry another name; then its key is already taken.
            let numbered = (2..).map(|number| format!("{number}.{name}"));
            let mut keys = std::iter::once(name.to_owned()).chain(numbered);
            let key = keys.find(|key| self.config.own(list, key).is_none()).unwrap_or_default();
            sections.push(self.link(list, &key, fresh));
        }
        for section in sections {
            for (key, value) in settings {
                self.set(&section, key, value);
            }
        }
    }

    /// Interprets the draft as OpenSSL would, and checks that the addition is in force.
    fn check(
        &self,
        before: &Interpretation,
        addition: &Addition<'_>,
        module: Option<&str>,
    ) -> Result<(), ComposeError> {
        let given = addition.keys.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        for (key, value) in given.chain(module.map(|module| ("module", module))) {
            if self.config.section(value).is_some() {
                let (key, value) = (key.to_owned(), value.to_owned());
                return Err(ComposeError::ValueIsSection { key, value });
            }
        }
        let after = Interpretation::new(&self.config, addition.release);
        let ours = after.providers.iter().any(|provider| {
            let named = provider.module.as_ref().map(|entry| entry.value.as_str());
            provider.active && provider.name == addition.provider && named == module
        });
        let default = !before.default_is_implicit() || after.is_active("default");
        let groups = addition.groups.is_none_or(|groups| {
            after.system_default().filter(|profile| profile.reached).is_some_and(|profile| {
                profile.groups().is_some_and(|command| command.value == groups)
            })
        });
        let properties = addition.properties.is_none_or(|clause| {
            chooses_providers(before)
                || after
                    .default_properties()
                    .is_some_and(|entry| entry.value.split(',').any(|found| found.trim() == clause))
        });
        if ours && default && groups && properties {
            return Ok(());
        }
        Err(after
            .problems
            .first()
            .map_or(ComposeError::NoEffect, |problem| ComposeError::Stops(problem.clone())))
    }

    fn write(&self, text: &mut String) -> Result<(), ComposeError> {
        for (section, changes) in &self.changes {
            let header = quote::section(section)
                .ok_or_else(|| ComposeError::SectionName(section.clone()))?;
            let blank = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{blank}[ {header} ]");
            for (key, value) in changes {
                let _ = writeln!(text, "{key} = {}", quote::value(value));
            }
        }
        Ok(())
    }
}
