//! The client's OpenSSL with its providers, and the candidates.

use std::path::{Path, PathBuf};

use openssl_runtime::{Libraries, LibraryContext, SslContext};

use crate::label::Label;
use output::Failure;

/// Property queries for algorithms that both providers have: the first prefers the default
/// provider, the second prefers fastkex. Without a preference, the order in which libcrypto finds
/// the providers decides.
const DEFAULT: &str = "?provider=default";
const FASTKEX: &str = "?provider=fastkex";

/// An OpenSSL with its default provider and modules, or OpenSSL 1.1.1 with ENGINEs.
pub struct Client {
    stock: LibraryContext,
    /// `None` without modules, and with OpenSSL 1.1.1, which has no providers.
    preferring_fastkex: Option<LibraryContext>,
}

/// The certificates that a client accepts.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Certificates that the system trusts.
    System,
    /// The certificates in a PEM text, and certificates that they signed.
    Pem(Vec<u8>),
    /// Any certificate.
    Anything,
}

/// A client's settings for a list of groups.
#[derive(Clone)]
pub struct Candidate {
    /// The label as it was given.
    pub label: String,
    pub(crate) settings: SslContext,
}

impl Client {
    /// Creates a client that loads these modules. The modules offer the groups that `groups`, lists
    /// of groups, name.
    ///
    /// # Errors
    /// OpenSSL does not accept a module.
    pub fn new<'a>(
        libraries: &Libraries,
        modules: &[PathBuf],
        groups: impl Iterator<Item = &'a str>,
    ) -> Result<Self, Failure> {
        let groups = settings::groups_for(&groups.collect::<Vec<_>>().join(":"));
        let context = |preference| {
            let context = LibraryContext::new(libraries)?;
            context.load_provider("default")?.keep();
            for module in modules {
                let offered = [(settings::GROUPS.name, groups.as_str())];
                context.load_provider_with(module, &offered)?.keep();
            }
            context.set_default_properties(preference)?;
            Ok(context)
        };
        let contexts = context(DEFAULT).and_then(|stock| Ok((stock, context(FASTKEX)?)));
        let (stock, fastkex) =
            contexts.map_err(|error: openssl_runtime::Error| Failure::new(error))?;
        Ok(Self { stock, preferring_fastkex: (!modules.is_empty()).then_some(fastkex) })
    }

    /// Creates a client with OpenSSL 1.1.1, which takes no modules. The settings of a configuration
    /// file, including ENGINEs, apply to the whole process from now on.
    ///
    /// # Errors
    /// OpenSSL does not accept the file, or an ENGINE that it names.
    pub fn legacy(libraries: &Libraries, configuration: Option<&Path>) -> Result<Self, Failure> {
        let stock = LibraryContext::new(libraries).map_err(Failure::new)?;
        if let Some(file) = configuration {
            stock.load_config(file).map_err(Failure::new)?;
        }
        Ok(Self { stock, preferring_fastkex: None })
    }

    /// Returns the name and version: `OpenSSL 3.0.22`, `OpenSSL 1.1.1w`.
    pub fn name(&self) -> String {
        let libraries = self.stock.libraries();
        if !libraries.is_legacy() {
            return format!("OpenSSL {}", libraries.version());
        }
        // Only the text has the letter.
        let text = libraries.version_text();
        text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
    }

    /// True if libssl has the groups of a label, and the variant can be chosen.
    pub fn has(&self, label: &str) -> bool {
        let label = Label::of(label);
        let has_variant = self.preferring_fastkex.is_some() || !label.uses_fastkex();
        let client = SslContext::client(&self.stock);
        has_variant && client.and_then(|client| client.groups(label.groups)).is_ok()
    }

    /// Creates the candidate `label`: a list of groups in OpenSSL's syntax, of which the client
    /// sends a key share of the first. With `@fastkex` at the end of the label, fastkex also
    /// computes what OpenSSL has itself.
    ///
    /// # Errors
    /// OpenSSL does not know a group or signature algorithm, or there is no certificate to trust.
    pub fn candidate(
        &self,
        label: &str,
        trust: &Trust,
        signature_algorithms: Option<&str>,
    ) -> Result<Candidate, Failure> {
        let parsed = Label::parse(label)?;
        let (groups, uses_fastkex) = (parsed.groups, parsed.uses_fastkex());
        let context = match &self.preferring_fastkex {
            Some(fastkex) if uses_fastkex => fastkex,
            None if uses_fastkex => {
                return Err(Failure::new(format!(
                    "groups '{label}': {} has not loaded fastkex",
                    self.name()
                )));
            }
            _ => &self.stock,
        };
        let client = SslContext::client(context).map_err(Failure::new)?;
        let client = client.groups(groups).map_err(|_| {
            Failure::new(format!(
                "groups '{groups}': {} with {} does not know them, or takes no such list",
                self.name(),
                if self.preferring_fastkex.is_some() { "these modules" } else { "these ENGINEs" }
            ))
        })?;
        let client = match signature_algorithms {
            Some(list) => client.signature_algorithms(list).map_err(|_| {
                Failure::new(format!(
                    "signature algorithms '{list}': {} does not know them, or takes no such list",
                    self.name()
                ))
            })?,
            None => client,
        };
        let client = match trust {
            Trust::System => client.trust_system(),
            Trust::Pem(text) => client.trust_pem(text),
            Trust::Anything => Ok(client.without_verification()),
        };
        let settings = client.map_err(Failure::about("certificates to trust"))?.build();
        Ok(Candidate { label: label.into(), settings })
    }
}

/// Opens the system's OpenSSL, or the one at `libssl`: a folder, or the file in it.
///
/// # Errors
/// There is no such library.
pub fn libraries(libssl: Option<&Path>) -> Result<Libraries, Failure> {
    const NAME: &str = "libssl";
    let Some(path) = libssl else { return Libraries::system().map_err(Failure::new) };
    if path.is_dir() {
        return Libraries::open_directory(path).map_err(Failure::new);
    }
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(rest) = file.strip_prefix(NAME) else {
        return Err(Failure::new(format!(
            "{}: expected a file called libssl.so.3 or the like, or the folder of one",
            path.display()
        )));
    };
    Libraries::open(path.with_file_name(format!("libcrypto{rest}")), path).map_err(Failure::new)
}
