//! Configuration files for OpenSSL in servers, checked beforehand: OpenSSL itself does not report
//! errors in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use openssl_conf::{Addition, Base, Config, Release, compose, split_groups};
use openssl_runtime::{Libraries, LibraryContext, SslContext};

use output::Failure;

use crate::{Offer, Set};

/// Start of every configuration. Session tickets are off, so that no session is resumed. With them,
/// unbound's answer would also wait 40 ms for the client's delayed acknowledgement, as unbound does
/// not set TCP_NODELAY.
const FULL_HANDSHAKES: &str = "openssl_conf = start
[start]
ssl_conf = tls
[tls]
system_default = full_handshakes
[full_handshakes]
NumTickets = 0
";

/// Returns a configuration without a module.
fn groups_alone(groups: Option<&str>) -> String {
    let groups = groups.map_or_else(String::new, |groups| format!("Groups = {groups}\n"));
    FULL_HANDSHAKES.to_owned() + &groups
}

/// Returns the module's name in the configuration. stunnel replaces [`preference`] with a property
/// query of its own. libcrypto then takes the first match in the order of provider names.
fn provider(uses_fastkex: bool) -> &'static str {
    if uses_fastkex { "before-default" } else { "fastkex" }
}

/// Returns the property query that prefers one provider's implementation of X25519 and Ed25519.
/// Without a query, the order in which libcrypto loads the providers would decide.
pub fn preference(uses_fastkex: bool) -> &'static str {
    if uses_fastkex { "?provider=fastkex" } else { "?provider=default" }
}

/// Returns the keys of the module's section: the groups that `lists` name, and with `uses_fastkex`
/// X25519 and Ed25519. Without these two the module would not offer X25519 and Ed25519 on machines
/// on which its implementations are not faster.
pub(crate) fn keys<'a>(
    uses_fastkex: bool,
    lists: impl Iterator<Item = &'a str>,
) -> Vec<(&'static str, String)> {
    let lists: Vec<_> = lists.collect();
    let mut keys = vec![(settings::GROUPS.name, settings::groups_for(&lists.join(":")))];
    if uses_fastkex {
        keys.extend([settings::X25519, settings::ED25519].map(|key| (key.name, "on".to_owned())));
    }
    keys
}

impl Set {
    /// Returns true if the set's OpenSSL with the modules knows all groups of a list. Can be called
    /// before servers are started.
    ///
    /// # Errors
    /// The modules cannot be loaded.
    pub fn knows(&self, groups: &str) -> Result<bool, Failure> {
        let context = self.context(&[&Offer::new(groups)])?;
        Ok(accepts(&context, groups))
    }

    /// Writes the configuration of a server whose ports accept these offers and returns its path.
    /// Either all offers use fastkex or none. With `sets_groups`, the groups of the first offer
    /// apply to all TLS connections of the process.
    pub(crate) fn configure(
        &self,
        name: &str,
        offers: &[&Offer],
        sets_groups: bool,
    ) -> Result<PathBuf, Failure> {
        let first = offers.first().ok_or_else(|| Failure::new("no groups to offer"))?;
        let context = self.context(offers)?;
        for offer in offers {
            check_groups(&context, &offer.groups)?;
        }
        let groups = sets_groups.then_some(first.groups.as_str());
        let file = format!("{name}.cnf");
        self.stage.write(&file, &self.text(offers, groups)?)?;
        Ok(self.stage.folder().join(file))
    }

    fn text(&self, offers: &[&Offer], groups: Option<&str>) -> Result<String, Failure> {
        const BASE: &str = "base.cnf";
        if !self.loads_module {
            return Ok(groups_alone(groups));
        }
        let uses_fastkex = uses_fastkex(offers);
        let (release, provider) = (release(&self.libraries), provider(uses_fastkex));
        let keys = keys(uses_fastkex, offers.iter().map(|offer| offer.groups.as_str()));
        let statistics = self.reports.then(|| (settings::STATISTICS.name, "on".to_owned()));
        let keys = keys.into_iter().chain(statistics);
        let keys: Vec<_> = keys.map(|(key, value)| (key.to_owned(), value)).collect();
        let properties = Some(preference(uses_fastkex));
        let module = Some(self.module.as_path());
        let ours = Addition { release, provider, module, keys: &keys, groups, properties };
        self.stage.write(BASE, FULL_HANDSHAKES)?;
        let mut text = self.add(BASE, &ours)?;
        for (index, module) in self.further.iter().enumerate() {
            let provider = &further_name(index);
            let (groups, properties) = (None, None);
            let (module, keys) = (Some(module.as_path()), [].as_slice());
            let one = Addition { release, provider, module, keys, groups, properties };
            let base = self.name("base") + ".cnf";
            self.stage.write(&base, &text)?;
            text = self.add(&base, &one)?;
        }
        Ok(text)
    }

    /// Adds `addition` to a configuration in the stage's folder.
    fn add(&self, base: &str, addition: &Addition<'_>) -> Result<String, Failure> {
        let path = self.stage.folder().join(base);
        let config = Config::load(&path, &|_| None).map_err(Failure::new)?;
        compose(Some(Base { config: &config, path: &path }), addition).map_err(Failure::new)
    }

    /// Makes the library context that a server with the set's OpenSSL and the configuration for
    /// `offers` would have.
    fn context(&self, offers: &[&Offer]) -> Result<LibraryContext, Failure> {
        let text = self.text(offers, None)?;
        let context = LibraryContext::new(&self.libraries).map_err(Failure::new)?;
        context.load_config_text(&text).map_err(Failure::new)?;
        let active = context.active_providers();
        let is_active = |name: &str| active.iter().any(|provider| provider.name == name);
        let further = self.further.iter().enumerate();
        let further = further.map(|(index, module)| (further_name(index), module));
        let ours = (provider(uses_fastkex(offers)).to_owned(), &self.module);
        let modules = [ours].into_iter().chain(further);
        for (name, module) in modules.filter(|_| self.loads_module) {
            if !is_active(&name) {
                let text = module.display().to_string();
                let why = match context.load_provider(&text) {
                    Ok(_) => "it is not active".into(),
                    Err(error) => error.to_string(),
                };
                return Err(Failure::new(format!("{text}: {why}")));
            }
        }
        Ok(context)
    }
}

/// Returns the name of a further module by its index.
fn further_name(index: usize) -> String {
    format!("module{index}")
}

/// Whether the server of these offers, all of them with fastkex or none, takes X25519 from it.
fn uses_fastkex(offers: &[&Offer]) -> bool {
    offers.first().is_some_and(|offer| offer.uses_fastkex)
}

fn release(libraries: &Libraries) -> Release {
    let version = libraries.version();
    Release::new(version.major, version.minor)
}

fn accepts(context: &LibraryContext, groups: &str) -> bool {
    SslContext::client(context).and_then(|client| client.groups(groups)).is_ok()
}

/// Fails with the unknown groups of a list and the known groups, if OpenSSL does not accept it.
pub(crate) fn check_groups(context: &LibraryContext, list: &str) -> Result<(), Failure> {
    if accepts(context, list) {
        return Ok(());
    }
    let about = || format!("groups '{list}'");
    let version = context.libraries().version();
    let groups = split_groups(list, release(context.libraries()).group_syntax());
    let groups = groups.map_err(Failure::about(about()))?;
    let unknown: Vec<_> = groups
        .iter()
        .filter(|group| !group.built_in_list && !group.remove && !accepts(context, &group.name))
        .map(|group| group.name.as_str())
        .collect();
    // Some groups have several names.
    let known: BTreeMap<_, _> =
        context.tls_groups().into_iter().map(|group| (group.id, group.name)).collect();
    let known: Vec<_> = known.into_values().collect();
    Err(Failure::new(format!(
        "{}: OpenSSL {version} with fastkex does not know {}; it knows {}",
        about(),
        if unknown.is_empty() { "such a list".into() } else { unknown.join(", ") },
        known.join(", ")
    )))
}

/// Loads a module by its path.
pub(crate) fn load(context: &LibraryContext, module: &Path) -> Result<(), Failure> {
    let path = module.display().to_string();
    context.load_provider(&path).map_err(Failure::about(&path))?.keep();
    Ok(())
}
