//! The problems at which OpenSSL stops applying a configuration.

use std::fmt;

use crate::config::Origin;

/// The maximum number of settings examined, each counted as often as other settings lead to it.
pub(crate) const VISITS_LIMIT: usize = 20_000;

/// A problem at which OpenSSL stops. The rest of the configuration has no effect. Unless
/// `config_diagnostics` is set, most applications continue without a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file and line of the wrong setting.
    pub origin: Origin,
    /// The kind of problem.
    pub kind: ProblemKind,
}

/// The kind of problem with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The setting `key` names a section that does not exist.
    MissingSection {
        /// The key of the setting.
        key: String,
        /// The section it names.
        section: String,
    },
    /// The setting `key` names a section without settings, but OpenSSL requires some.
    EmptySection {
        /// The key of the setting.
        key: String,
        /// The section it names.
        section: String,
    },
    /// A key in the init section is not a module of this release.
    UnknownModule(String),
    /// The value of the key is not a boolean in a spelling that OpenSSL knows.
    NotABoolean {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
    /// `alg_section` does not support the key.
    UnknownAlgorithmOption(String),
    /// The parameters of a provider refer to a section that contains them.
    Recursion {
        /// The provider.
        provider: String,
        /// The section that occurs again.
        section: String,
    },
    /// The name of a provider's parameter, including the names of its sections, is longer than 511
    /// bytes.
    LongParameter {
        /// The provider.
        provider: String,
    },
    /// Sections refer to other sections so often that OpenSSL might never finish; the analysis
    /// stops at a limit.
    TooManySettings,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        match &self.kind {
            ProblemKind::MissingSection { key, section } => write!(
                f,
                "{key} = {section}, but there is no section [{section}]; add it, or remove the setting"
            ),
            ProblemKind::EmptySection { key, section } => write!(
                f,
                "{key} = {section}, but the section [{section}] is empty; fill it, or remove the setting"
            ),
            ProblemKind::UnknownModule(name) => write!(
                f,
                "{name} is no module of this OpenSSL; modules are oid_section, stbl_section, alg_section, ssl_conf, \
                 providers, random and, before 4.0, engines"
            ),
            ProblemKind::NotABoolean { key, value } => {
                write!(f, "{key} = {value} is neither yes nor no; write {key} = yes or {key} = no")
            }
            ProblemKind::UnknownAlgorithmOption(name) => write!(
                f,
                "alg_section does not know {name}; it takes default_properties and fips_mode"
            ),
            ProblemKind::Recursion { provider, section } => write!(
                f,
                "the parameters of the provider {provider} lead to the section [{section}] again; name each once"
            ),
            ProblemKind::LongParameter { provider } => write!(
                f,
                "the name of a parameter of the provider {provider} is longer than 511 bytes; nest fewer sections"
            ),
            ProblemKind::TooManySettings => write!(
                f,
                "more than {} settings in all are led to from the init section; name each section once",
                VISITS_LIMIT
            ),
        }
    }
}

impl std::error::Error for Problem {}
