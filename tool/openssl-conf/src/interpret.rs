//! What OpenSSL makes of a configuration.

use crate::config::{Config, Entry, Origin};
use crate::problem::Problem;
use crate::release::Release;
use crate::walk;

/// What a release of OpenSSL does with a configuration.
///
/// Everything that is listed can be told from the text alone. Whether modules load, groups exist or values are
/// accepted is not known here.
#[derive(Clone, Debug)]
pub struct Interpretation {
    /// The release it is for.
    pub release: Release,
    /// The setting that names the init section: `openssl_conf` or the application's own. Without it OpenSSL ignores
    /// everything else.
    pub init: Option<Entry>,
    /// The settings of the init section.
    pub modules: Vec<Module>,
    /// The providers that the configuration lists, in OpenSSL's order.
    pub providers: Vec<Provider>,
    /// The named TLS configurations of `ssl_conf`, `system_default` among them.
    pub profiles: Vec<Profile>,
    /// The settings of `alg_section`.
    pub algorithms: Vec<Entry>,
    /// Where OpenSSL stops: at the first of these. The others come to light when it is mended.
    pub problems: Vec<Problem>,
    /// Whether `config_diagnostics` is set, so that a problem is an error rather than silence.
    pub diagnostics: bool,
}

/// A setting of the init section.
#[derive(Clone, Debug)]
pub struct Module {
    /// The setting; its value is a section.
    pub entry: Entry,
    /// What the key means.
    pub kind: ModuleKind,
    /// Whether OpenSSL gets through it.
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
    /// Anything else, which OpenSSL tries to load as a shared library.
    Other,
}

/// What a value of `activate` says from 3.3 on. Before that, every value activates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `1`, `yes`, `true` or `on`, all in lower or all in upper case.
    Yes,
    /// `0`, `no`, `false` or `off`, all in lower or all in upper case.
    No,
    /// Any other value, at which OpenSSL stops.
    NotABoolean,
}

impl Activation {
    /// Reads a value of `activate` or `soft_load`.
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
    /// Its name: that of `identity`, else the key that lists it without what stands before its first dot.
    pub name: String,
    /// The setting that lists it; its value is the provider's section.
    pub entry: Entry,
    /// The section with that setting.
    pub listed_in: String,
    /// `identity`.
    pub identity: Option<Entry>,
    /// `module`: the path of the shared library.
    pub module: Option<Entry>,
    /// `activate`; see [`Provider::activation`].
    pub activate: Option<Entry>,
    /// `soft_load`, which counts like `activate`.
    pub soft_load: Option<Entry>,
    /// All that is handed to the provider.
    pub parameters: Vec<Parameter>,
    /// Whether this setting activates it (if the module loads): OpenSSL gets to it, it is switched on, and none of
    /// the same name was activated before.
    pub active: bool,
    /// Whether OpenSSL gets as far as trying to, after which `default` is no longer implied.
    pub(crate) tried: bool,
}

impl Provider {
    /// The name of its section.
    pub fn section(&self) -> &str {
        &self.entry.value
    }

    /// What its `activate` says from 3.3 on, none if there is no such key. Before 3.3, presence alone activates.
    pub fn activation(&self) -> Option<Activation> {
        self.activate.as_ref().map(|entry| Activation::of(&entry.value))
    }

    /// The parameters that mean something to the provider only, not to OpenSSL.
    pub fn own_parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| !parameter.reserved)
    }
}

/// A parameter as the provider gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name. A value that names a section stands for the keys of that section: `key.subkey`.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where it was set.
    pub origin: Origin,
    /// It comes from `identity`, `module`, `activate` or `soft_load`, which OpenSSL reads itself and passes on too.
    pub reserved: bool,
}

/// A named TLS configuration.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name; every context gets `system_default`.
    pub name: String,
    /// The setting that names its section.
    pub entry: Entry,
    /// Its commands, in OpenSSL's order.
    pub commands: Vec<Command>,
    /// Whether OpenSSL gets to it.
    pub reached: bool,
}

/// A command of `SSL_CONF_cmd(3)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The name without what stands before its first dot. Upper and lower case are the same.
    pub name: String,
    /// The argument.
    pub value: String,
    /// Where it was set.
    pub origin: Origin,
}

impl Command {
    /// Whether this is the command `name`.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

impl Profile {
    /// All commands of that name in their order; each may come several times, as `a.MinProtocol` and `b.MinProtocol`.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &Command> {
        self.commands.iter().filter(move |command| command.is(name))
    }

    /// The last command of that name.
    pub fn get(&self, name: &str) -> Option<&Command> {
        self.all(name).last()
    }

    /// The command that sets the groups: the last of `Groups`, `Curves` and `ECDHParameters` (servers only).
    ///
    /// OpenSSL ignores a list it cannot accept, and an earlier one stays in force.
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
    /// What `release` does with `config` in an application without a name of its own, as nearly all are.
    pub fn new(config: &Config, release: Release) -> Self {
        Self::of(config, release, config.own("default", "openssl_conf"))
    }

    /// The same in an application that gives OpenSSL a name, such as `nodejs_conf`, to look up before `openssl_conf`.
    pub fn for_application(config: &Config, release: Release, name: &str) -> Self {
        let init = config.own("default", name).or_else(|| config.own("default", "openssl_conf"));
        Self::of(config, release, init)
    }

    fn of(config: &Config, release: Release, init: Option<&Entry>) -> Self {
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
            walk::run(config, &mut interpretation, init);
        }
        interpretation
    }

    /// The first provider of that name that the configuration lists.
    pub fn provider(&self, name: &str) -> Option<&Provider> {
        self.providers.iter().find(|provider| provider.name == name)
    }

    /// Whether `default` is active only because OpenSSL tries to activate no provider at all.
    pub fn default_is_implicit(&self) -> bool {
        !self.providers.iter().any(|provider| provider.tried)
    }

    /// The providers that are active if their modules load, in OpenSSL's order, the implicit `default` included.
    pub fn active_providers(&self) -> Vec<&str> {
        if self.default_is_implicit() {
            return vec!["default"];
        }
        let active = self.providers.iter().filter(|provider| provider.active);
        active.map(|provider| provider.name.as_str()).collect()
    }

    /// Whether the provider of that name is active, explicitly or as the implicit `default`.
    pub fn is_active(&self, name: &str) -> bool {
        self.active_providers().contains(&name)
    }

    /// The property query that is added to every fetch; each setting of it replaces those before.
    pub fn default_properties(&self) -> Option<&Entry> {
        self.algorithms.iter().rfind(|entry| entry.key == "default_properties")
    }

    /// The TLS settings that every context gets.
    pub fn system_default(&self) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == "system_default")
    }
}
