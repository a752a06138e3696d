//! Configuration files for OpenSSL in servers, checked beforehand: OpenSSL itself does not report
//! errors in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use openssl_conf::{Addition, Base, Config, Release, compose, split_groups};
use openssl_runtime::{Libraries, LibraryContext, SslContext};

use output::Failure;

use crate::{Offer, Set};

/// The start of all files. No tickets: no session is resumed, and without TCP_NODELAY, which
/// unbound does not set, the answer would wait for the client's delayed acknowledgement of them, 40
/// ms.
const FULL_HANDSHAKES: &str = "openssl_conf = start
[start]
ssl_conf = tls
[tls]
system_default = full_handshakes
[full_handshakes]
NumTickets = 0
";

/// The name of the module in the configuration. stunnel has a property query with a provider of its
/// own in it, which does away with [`preference`]; libcrypto then takes what comes first, by the
/// names of its providers.
fn provider(uses_fastkex: bool) -> &'static str {
    if uses_fastkex { "before-default" } else { "fastkex" }
}

/// The property query that selects an implementation of X25519 and Ed25519.
pub(crate) fn preference(uses_fastkex: bool) -> &'static str {
    if uses_fastkex { "?provider=fastkex" } else { "?provider=default" }
}

/// Keys of the module's section: the groups of some lists; X25519 and Ed25519 with `uses_fastkex`,
/// which the module would keep to itself where they are not the faster ones.
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
    /// Whether the set's OpenSSL with the modules has all groups of a list, which may be of use
    /// before servers are started.
    ///
    /// # Errors
    /// The modules cannot be loaded.
    pub fn knows(&self, groups: &str) -> Result<bool, Failure> {
        let context = self.context(&[&Offer::new(groups)])?;
        Ok(accepts(&context, groups))
    }

    /// Writes the configuration of a server whose ports accept these offers, all of them with
    /// fastkex or none, and gives its path. With `sets_groups`, those of the first are for whatever
    /// speaks TLS.
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
        let uses_fastkex = uses_fastkex(offers);
        let (release, provider) = (release(&self.libraries), provider(uses_fastkex));
        let keys = keys(uses_fastkex, offers.iter().map(|offer| offer.groups.as_str()));
        let keys: Vec<_> = keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let properties = Some(preference(uses_fastkex));
        let module = &self.module;
        let ours = Addition { release, provider, module, keys: &keys, groups, properties };
        self.stage.write(BASE, FULL_HANDSHAKES)?;
        let mut text = self.add(BASE, &ours)?;
        for (index, module) in self.further.iter().enumerate() {
            let provider = &further_name(index);
            let (groups, properties) = (None, None);
            let one = Addition { release, provider, module, keys: &[], groups, properties };
            let base = self.name("base") + ".cnf";
            self.stage.write(&base, &text)?;
            text = self.add(&base, &one)?;
        }
        Ok(text)
    }

    /// A configuration in the stage's folder with an addition.
    fn add(&self, base: &str, addition: &Addition<'_>) -> Result<String, Failure> {
        let path = self.stage.folder().join(base);
        let config = Config::load(&path, &|_| None).map_err(Failure::new)?;
        compose(Some(Base { config: &config, path: &path }), addition).map_err(Failure::new)
    }

    /// The library context of a server with the configuration for such offers and the set's
    /// OpenSSL.
    fn context(&self, offers: &[&Offer]) -> Result<LibraryContext, Failure> {
        let text = self.text(offers, None)?;
        let context = LibraryContext::new(&self.libraries).map_err(Failure::new)?;
        context.load_config_text(&text).map_err(Failure::new)?;
        let active = context.active_providers();
        let is_active = |name: &str| active.iter().any(|provider| provider.name == name);
        let further = self.further.iter().enumerate();
        let further = further.map(|(index, module)| (further_name(index), module));
        for (name, module) in
            [(provider(uses_fastkex(offers)).to_owned(), &self.module)].into_iter().chain(further)
        {
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

/// Names of further modules, by their place.
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

/// Says which groups of a list are unknown, and which are not.
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
    // Some have several names.
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

/// A module that is loaded by its path.
pub(crate) fn load(context: &LibraryContext, module: &Path) -> Result<(), Failure> {
    let path = module.display().to_string();
    context.load_provider(&path).map_err(Failure::about(&path))?.keep();
    Ok(())
}
