//! OpenSSL's interpretation of a configuration.

use crate::config::{Entry, Origin};
use crate::problem::Problem;
use crate::release::Release;

/// The effect of a configuration in a release of OpenSSL.
///
/// All fields follow from the text alone. They do not tell whether modules load, groups exist or
/// OpenSSL accepts the values.
#[derive(Clone, Debug)]
pub struct Interpretation {
    /// The release of OpenSSL.
    pub release: Release,
    /// The setting `openssl_conf`, which names the init section. Without it OpenSSL ignores all
    /// other settings.
    pub init: Option<Entry>,
    /// The settings of the init section.
    pub modules: Vec<Module>,
    /// The providers that the configuration lists, in OpenSSL's order.
    pub providers: Vec<Provider>,
    /// The named TLS configurations of `ssl_conf`, `system_default` among them.
    pub profiles: Vec<Profile>,
    /// The settings of `alg_section`.
    pub algorithms: Vec<Entry>,
    /// The problems at which OpenSSL stops. It stops at the first one; the others take effect after
    /// the first is fixed.
    pub problems: Vec<Problem>,
    /// True if `config_diagnostics` is set. Then OpenSSL reports a problem as an error instead of
    /// ignoring it.
    pub diagnostics: bool,
}

/// A setting of the init section.
#[derive(Clone, Debug)]
pub struct Module {
    /// The setting; its value is the name of a section.
    pub entry: Entry,
    /// The meaning of the key.
    pub kind: ModuleKind,
    /// True if OpenSSL applies the module completely.
    pub reached: bool,
}

/// The modules of the init section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleKind {
    /// `oid_section`
    ObjectIdentifiers,
    /// `stbl_section`
    StringTable,
    /// `engines`, before 4.0
    Engines,
    /// `alg_section`
    Algorithms,
    /// `ssl_conf`
    Ssl,
    /// `providers`
    Providers,
    /// `random`
    Random,
    /// Any other key. OpenSSL tries to load it as a shared library.
    Other,
}

/// The meaning of a value of `activate` from 3.3 on. Before 3.3, every value activates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `1`, `yes`, `true` or `on`, all in lower or all in upper case.
    Yes,
    /// `0`, `no`, `false` or `off`, all in lower or all in upper case.
    No,
    /// Any other value. OpenSSL stops at it.
    NotABoolean,
}

impl Activation {
    /// Parses a value of `activate` or `soft_load`.
    pub fn of(value: &str) -> Self {
        match value {
            "1" | "yes" | "YES" | "true" | "TRUE" | "on" | "ON" => Self::Yes,
            "0" | "no" | "NO" | "false" | "FALSE" | "off" | "OFF" => Self::No,
            _ => Self::NotABoolean,
        }
    }
}

/// A provider that the configuration lists.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The provider's name: the value of `identity` if set, otherwise the key that lists the
    /// provider, without the part before its first dot.
    pub name: String,
    /// The setting that lists it; its value is the provider's section.
    pub entry: Entry,
    /// The section that contains that setting.
    pub listed_in: String,
    /// The setting `identity`.
    pub identity: Option<Entry>,
    /// The setting `module`: the path of the shared library.
    pub module: Option<Entry>,
    /// The setting `activate`; see [`Provider::activation`].
    pub activate: Option<Entry>,
    /// The setting `soft_load`; a boolean like `activate`.
    pub soft_load: Option<Entry>,
    /// All parameters that OpenSSL passes to the provider.
    pub parameters: Vec<Parameter>,
    /// True if this setting activates the provider (provided that the module loads): OpenSSL
    /// reaches the setting, its value is on, and no provider of the same name was activated before.
    pub active: bool,
    /// True if OpenSSL tries to activate the provider. After that, `default` is no longer implied.
    pub(crate) tried: bool,
}

impl Provider {
    /// Returns the name of the provider's section.
    pub fn section(&self) -> &str {
        &self.entry.value
    }

    /// Returns the meaning of the provider's `activate` from 3.3 on, `None` if there is no such
    /// key. Before 3.3, the presence of the key is enough to activate the provider.
    pub fn activation(&self) -> Option<Activation> {
        self.activate.as_ref().map(|entry| Activation::of(&entry.value))
    }

    /// Returns the parameters that only the provider uses, not OpenSSL itself.
    pub fn own_parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| !parameter.reserved)
    }
}

/// A parameter as the provider receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name. If a value names a section, the parameters are the keys of that section, with
    /// names such as `key.subkey`.
    pub name: String,
    /// The value.
    pub value: String,
    /// The file and line of the setting.
    pub origin: Origin,
    /// True if the parameter comes from `identity`, `module`, `activate` or `soft_load`. OpenSSL
    /// reads these settings itself and also passes them on.
    pub reserved: bool,
}

/// A named TLS configuration.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The name; every context gets `system_default`.
    pub name: String,
    /// The setting that names the section.
    pub entry: Entry,
    /// The commands, in OpenSSL's order.
    pub commands: Vec<Command>,
    /// True if OpenSSL reaches the configuration.
    pub reached: bool,
}

/// A command of `SSL_CONF_cmd(3)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The name without the part before its first dot. Names are not case-sensitive.
    pub name: String,
    /// The argument.
    pub value: String,
    /// The file and line of the setting.
    pub origin: Origin,
}

impl Command {
    /// True if this is the command `name`.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

impl Profile {
    /// Returns all commands of that name in their order. A command can occur several times, for
    /// example as `a.MinProtocol` and `b.MinProtocol`.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &Command> {
        self.commands.iter().filter(move |command| command.is(name))
    }

    /// Returns the last command of that name.
    pub fn get(&self, name: &str) -> Option<&Command> {
        self.all(name).last()
    }

    /// Returns the command that sets the groups: the last of `Groups`, `Curves` and
    /// `ECDHParameters` (servers only).
    ///
    /// OpenSSL ignores a list that it cannot accept; then an earlier list stays in force.
    pub fn groups(&self) -> Option<&Command> {
        self.commands.iter().rfind(|command| {
            command.is("Groups")
                || command.is("Curves")
                || (command.is("ECDHParameters")
                    && !["automatic", "+automatic"]
                        .iter()
                        .any(|word| word.eq_ignore_ascii_case(&command.value)))
        })
    }
}

impl Interpretation {
    /// Returns the first listed provider of that name.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// True if `default` is active only because OpenSSL tries to activate no provider at all.
    pub fn default_is_implicit(&self) -> bool {
        !self.providers.iter().any(|provider| provider.tried)
    }

    /// Returns the providers that are active if their modules load, in OpenSSL's order, including
    /// the implicit `default`.
    pub fn active_providers(&self) -> Vec<&str> {
        if self.default_is_implicit() {
            return vec!["default"];
        }
        let active = self.providers.iter().filter(|provider| provider.active);
        active.map(|provider| provider.name.as_str()).collect()
    }

    /// True if the provider of that name is active, explicitly or as the implicit `default`.
    pub fn is_active(&self, name: &str) -> bool {
        self.active_providers().contains(&name)
    }

    /// Returns the property query that OpenSSL adds to every fetch; a later setting replaces an
    /// earlier one.
    pub fn default_properties(&self) -> Option<&Entry> {
        self.algorithms.iter().rfind(|entry| entry.key == "default_properties")
    }

    /// Returns the TLS settings that every context gets.
    pub fn system_default(&self) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == "system_default")
    }
}
