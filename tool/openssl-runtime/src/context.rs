//! Library contexts: OpenSSL's unit of configuration, providers and random generators.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::absent;
use crate::error::{Error, Failure};
use crate::library::{Libraries, c_path, c_text};
use crate::provider::Provider;
use crate::symbols::Symbols;
use crate::thread_use;
use crate::types::{OSSL_LIB_CTX, OSSL_PROVIDER};

/// Reading a configuration rewrites tables that, before OpenSSL 4.0, belong to the whole process (the list of
/// configuration modules; the `ssl_conf` section) and are read without a lock when an SSL_CTX is made.
pub(crate) static CONFIGURATION: RwLock<()> = RwLock::new(());

/// A library context of its own: nothing is loaded or configured in it but what the program asks for.
///
/// Clones share it. As long as no provider has been loaded explicitly or by a configuration, OpenSSL falls back to
/// its `default` provider; after that it does not, so load `default` too.
///
/// Contexts and what is made from them may be used from any thread. OpenSSL keeps per-thread state in them, so a
/// context lives on after its last handle is dropped until the other threads that used it have ended.
#[derive(Clone)]
pub struct LibraryContext {
    handle: Arc<Handle>,
}

/// What the clones share; its end is the context's, but for other threads' use.
struct Handle(Arc<RawContext>);

impl Drop for Handle {
    fn drop(&mut self) {
        thread_use::forget(&self.0);
    }
}

pub(crate) struct RawContext {
    pointer: NonNull<OSSL_LIB_CTX>,
    libraries: Libraries,
    /// References to providers that stay active for the context's life.
    kept: Mutex<Vec<NonNull<OSSL_PROVIDER>>>,
}

// SAFETY: OpenSSL locks what a library context holds; the parts it does not are guarded by `CONFIGURATION`.
unsafe impl Send for RawContext {}
// SAFETY: as above.
unsafe impl Sync for RawContext {}

impl RawContext {
    /// Frees what this thread has in the context.
    pub(crate) fn stop_thread(&self) {
        // SAFETY: the context is alive; the call only concerns the calling thread.
        unsafe { (self.libraries.symbols().OPENSSL_thread_stop_ex)(self.pointer.as_ptr()) }
    }
}

impl Drop for RawContext {
    fn drop(&mut self) {
        let symbols = self.libraries.symbols();
        for provider in self.kept.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // SAFETY: gives back the reference that was handed over to be kept; the context is still alive.
            unsafe { (symbols.OSSL_PROVIDER_unload)(provider.as_ptr()) };
        }
        // SAFETY: objects made from the context hold a handle and every thread that used it has let go of it.
        unsafe { (symbols.OSSL_LIB_CTX_free)(self.pointer.as_ptr()) }
    }
}

impl LibraryContext {
    /// Makes an empty context.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when out of memory.
    pub fn new(libraries: &Libraries) -> Result<Self, Error> {
        let symbols = libraries.symbols();
        // SAFETY: no arguments.
        let pointer = unsafe { (symbols.OSSL_LIB_CTX_new)() };
        let pointer = NonNull::new(pointer)
            .ok_or_else(|| Failure::drain(symbols, "make a library context"))?;
        let raw =
            Arc::new(RawContext { pointer, libraries: libraries.clone(), kept: Mutex::default() });
        Ok(Self { handle: Arc::new(Handle(raw)) })
    }

    /// The libraries it belongs to.
    pub fn libraries(&self) -> &Libraries {
        &self.handle.0.libraries
    }

    /// Reads an OpenSSL configuration file into this context and carries out what it says: loads its providers and
    /// sets its default properties.
    ///
    /// Before OpenSSL 4.0 (seen in 3.0.22 and 3.5.7), the `ssl_conf` section, which sets defaults of TLS such as
    /// `Groups`, is not the context's but the process's: the file read last counts for every TLS context made after
    /// it. A default TLS cannot use, such as an unknown group, is dropped without an error.
    ///
    /// A provider the file activates and that does not load is *not* an error to OpenSSL, which forgets what was
    /// wrong with it; this is how applications come to run without one. Compare with
    /// [`LibraryContext::active_providers`], and hear the reason from [`LibraryContext::load_provider`].
    ///
    /// In OpenSSL 1.1.1 all of it is the process's, and it is where ENGINEs are loaded and given control commands; what goes
    /// wrong with them is an error.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the file is absent or malformed or refers to a section it does not have.
    pub fn load_config(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.load_config_named(path.as_ref(), &path.as_ref().display().to_string())
    }

    /// As [`LibraryContext::load_config`], with the file's text instead of its name. `.include` takes absolute paths.
    ///
    /// # Errors
    ///
    /// As [`LibraryContext::load_config`], and [`Error::Io`] when the temporary file OpenSSL needs cannot be written.
    pub fn load_config_text(&self, text: &str) -> Result<(), Error> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(text.as_bytes())?;
        self.load_config_named(file.path(), "given as text")
    }

    fn load_config_named(&self, path: &Path, name: &str) -> Result<(), Error> {
        let path = c_path(path)?;
        let symbols = self.enter();
        let _changing = CONFIGURATION.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the context is alive and the path a C string.
        let status = unsafe { (symbols.OSSL_LIB_CTX_load_config)(self.as_ptr(), path.as_ptr()) };
        self.expect(status, || format!("load the configuration {name}"))
    }

    /// Sets where providers without a path are looked for, instead of [`Libraries::modules_dir`].
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a path with a NUL byte.
    pub fn set_provider_search_path(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        let directory = c_path(directory.as_ref())?;
        let symbols = self.enter();
        let _changing = CONFIGURATION.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the context is alive and copies the path.
        let status = unsafe {
            (symbols.OSSL_PROVIDER_set_default_search_path)(self.as_ptr(), directory.as_ptr())
        };
        self.expect(status, || "set the provider search path".into())
    }

    /// Sets the property query that is added to every fetch in this context, such as `?provider=fastkex`.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] for a malformed query.
    pub fn set_default_properties(&self, properties: &str) -> Result<(), Error> {
        let text = c_text("property query", properties)?;
        let symbols = self.enter();
        let _changing = CONFIGURATION.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the context is alive and copies the query.
        let status = unsafe { (symbols.EVP_set_default_properties)(self.as_ptr(), text.as_ptr()) };
        self.expect(status, || format!("set the default properties {properties:?}"))
    }

    /// Loads and activates a provider by name (`default`, `legacy`, a module in the search path) or, when there is a
    /// slash in it, by the path of its module. The module's code runs in this process: the caller trusts it.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] for a path that does not exist, [`Error::OpenSsl`] when the module cannot be loaded or refuses.
    pub fn load_provider(&self, name_or_path: &str) -> Result<Provider, Error> {
        if !name_or_path.contains('/') {
            return Provider::load(self, name_or_path);
        }
        let path = module_path(Path::new(name_or_path))?;
        Provider::load(self, &path)
    }

    /// Loads a provider from the path of its module with configuration parameters, as its section of an
    /// `openssl.cnf` would give them. It gets the module's file name without extension as its name.
    ///
    /// # Errors
    ///
    /// As [`LibraryContext::load_provider`]; [`Error::Input`] for a key or value that cannot stand in a
    /// configuration file.
    pub fn load_provider_with(
        &self,
        path: impl AsRef<Path>,
        parameters: &[(&str, &str)],
    ) -> Result<Provider, Error> {
        let path = module_path(path.as_ref())?;
        let name =
            Path::new(&path).file_stem().and_then(|stem| stem.to_str()).unwrap_or("provider");
        self.load_config_text(&provider_configuration(name, &path, parameters)?)?;
        Provider::load(self, name)
    }

    /// Objects of different contexts must not be combined: OpenSSL would keep parts of one in the other, beyond the
    /// life of its context and unknown to `thread_use`.
    pub(crate) fn expect_same(&self, other: &Self, what: &str) -> Result<(), Error> {
        if Arc::ptr_eq(&self.handle, &other.handle) {
            return Ok(());
        }
        Err(Error::Input(format!(
            "cannot {what} of different library contexts; import them into one"
        )))
    }

    /// Takes a reference to a provider over, to be given back when the context ends.
    pub(crate) fn keep(&self, provider: NonNull<OSSL_PROVIDER>) {
        self.handle.0.kept.lock().unwrap_or_else(PoisonError::into_inner).push(provider);
    }

    pub(crate) fn as_ptr(&self) -> *mut OSSL_LIB_CTX {
        self.handle.0.pointer.as_ptr()
    }

    /// The functions, for one operation in this context: notes the thread and clears its error queue, so that what
    /// is in it after a failure belongs to the operation.
    pub(crate) fn enter(&self) -> &Symbols {
        thread_use::note(&self.handle.0);
        let symbols = self.libraries().symbols();
        absent::take();
        // SAFETY: no arguments; concerns the calling thread only.
        unsafe { (symbols.ERR_clear_error)() };
        symbols
    }

    /// The error for a failed call, from the thread's queue.
    pub(crate) fn failure(&self, operation: impl Into<String>) -> Error {
        Failure::drain(self.libraries().symbols(), operation).into()
    }

    /// OpenSSL's functions return 1 for success; 0 and negative numbers are failures.
    pub(crate) fn expect(
        &self,
        status: i32,
        operation: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        if status > 0 { Ok(()) } else { Err(self.failure(operation())) }
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

/// A configuration that makes the provider known without activating it. The sections' names are long so that no
/// parameter's value is taken for one of them.
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
