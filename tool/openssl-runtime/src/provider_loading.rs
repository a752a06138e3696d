//! Loading of providers, with parameters if needed.

use std::fs;
use std::path::Path;

use crate::context::LibraryContext;
use crate::error::Error;
use crate::provider::Provider;

impl LibraryContext {
    /// Loads and activates a provider by name (`default`, `legacy`, a module in the search path)
    /// or, if the argument contains a slash, by the path of its module. The module's code runs in
    /// this process; the caller trusts it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] for a path that does not exist, [`Error::OpenSsl`] when the module cannot be
    /// loaded or reports a failure.
    pub fn load_provider(&self, name_or_path: &str) -> Result<Provider, Error> {
        if !name_or_path.contains('/') {
            return Provider::load(self, name_or_path);
        }
        let path = module_path(Path::new(name_or_path))?;
        Provider::load(self, &path)
    }

    /// Loads a provider from the path of its module with configuration parameters, as its section
    /// of an `openssl.cnf` would set them. Its name is the module's file name without extension.
    ///
    /// # Errors
    ///
    /// The errors of [`LibraryContext::load_provider`]; [`Error::Input`] for a key or value that a
    /// configuration file cannot contain.
    pub fn load_provider_with(
        &self,
        path: impl AsRef<Path>,
        parameters: &[(&str, &str)],
    ) -> Result<Provider, Error> {
        let path = module_path(path.as_ref())?;
        let name =
            Path::new(&path).file_stem().and_then(|stem| stem.to_str()).unwrap_or("provider");
        let text = provider_configuration(name, &path, parameters)?;
        let version = self.libraries().version();
        // Releases of 3.1 and 3.2 forget a provider that its section does not activate.
        let is_forgotten = version.major == 3 && [1, 2].contains(&version.minor);
        self.load_config_text(&(text + if is_forgotten { "activate = 1\n" } else { "" }))?;
        Provider::load(self, name)
    }
}

fn module_path(path: &Path) -> Result<String, Error> {
    let path = fs::canonicalize(path).map_err(|error| {
        std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    })?;
    path.into_os_string()
        .into_string()
        .map_err(|path| Error::Input(format!("the module path {path:?} is not UTF-8")))
}

/// Returns a configuration that makes the provider known without activating it; the provider's
/// section comes last. The sections have long names, so that no parameter's value is taken for the
/// name of a section.
fn provider_configuration(
    name: &str,
    path: &str,
    parameters: &[(&str, &str)],
) -> Result<String, Error> {
    let mut text = String::from(
        "openssl_conf = openssl_runtime_start\n\
         [openssl_runtime_start]\nproviders = openssl_runtime_providers\n\
         [openssl_runtime_providers]\n",
    );
    text += &format!("{} = openssl_runtime_provider\n[openssl_runtime_provider]\n", key(name)?);
    text += &format!("module = {}\n", quoted(path)?);
    for (name, value) in parameters {
        text += &format!("{} = {}\n", key(name)?, quoted(value)?);
    }
    Ok(text)
}

fn key(name: &str) -> Result<&str, Error> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !name.is_empty() && name.chars().all(allowed) {
        return Ok(name);
    }
    Err(Error::Input(format!(
        "{name:?} cannot be a configuration key: letters, digits, '_', '-' and '.' only"
    )))
}

fn quoted(value: &str) -> Result<String, Error> {
    if value.contains(['\0', '\n', '\r']) {
        return Err(Error::Input(format!(
            "the configuration value {value:?} is not a single line"
        )));
    }
    Ok(format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_quotes_values_and_refuses_keys() {
        let text = provider_configuration("p", "/m.so", &[("pool", "a # \"$b\" \\")]).unwrap();
        assert!(text.ends_with("module = \"/m.so\"\npool = \"a # \\\"$b\\\" \\\\\"\n"), "{text}");
        assert!(matches!(
            provider_configuration("p", "/m.so", &[("a b", "")]),
            Err(Error::Input(_))
        ));
        assert!(matches!(
            provider_configuration("p", "/m.so", &[("a", "x\ny")]),
            Err(Error::Input(_))
        ));
    }
}
