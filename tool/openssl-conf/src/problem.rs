//! What stops OpenSSL while it applies a configuration.

use std::fmt;

use crate::config::Origin;

/// Something at which OpenSSL stops. What comes after it in the configuration has no effect, and unless
/// `config_diagnostics` is set most applications go on without a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The setting at fault.
    pub origin: Origin,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong with a setting.
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
    /// The setting `key` names a section without settings, where OpenSSL wants some.
    EmptySection {
        /// The key of the setting.
        key: String,
        /// The section it names.
        section: String,
    },
    /// A key in the init section that is no module of this release.
    UnknownModule(String),
    /// A value of the key that is no boolean in the spellings OpenSSL knows.
    NotABoolean {
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
    /// A key that `alg_section` does not know.
    UnknownAlgorithmOption(String),
    /// The parameters of a provider lead back to a section that leads to them.
    Recursion {
        /// The provider.
        provider: String,
        /// The section that comes again.
        section: String,
    },
    /// The name of a provider's parameter, with the sections that lead to it, is beyond 511 bytes.
    LongParameter {
        /// The provider.
        provider: String,
    },
    /// Sections lead to other sections so often that OpenSSL might never end; no more of them were looked at.
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
                crate::walk::VISITS_LIMIT
            ),
        }
    }
}

impl std::error::Error for Problem {}
