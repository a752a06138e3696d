//! Library contexts: OpenSSL's unit of configuration, providers and random generators.

use std::io::Write;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError};

use crate::absent;
use crate::error::Error;
use crate::failure::Failure;
use crate::library::{Libraries, c_path, c_text};
use crate::raw_context::{CONFIGURATION, RawContext};
use crate::symbols::Symbols;
use crate::thread_use;
use crate::types::{OSSL_LIB_CTX, OSSL_PROVIDER};

/// A separate library context: it contains only the providers and settings that the program loads
/// into it.
///
/// Clones share the context. As long as no provider has been loaded explicitly or by a
/// configuration, OpenSSL falls back to its `default` provider; after that it does not, so load
/// `default` too.
///
/// Contexts and the objects made from them may be used from any thread. OpenSSL keeps per-thread
/// state in a context. A context therefore stays alive after its last handle is dropped, until the
/// other threads that used it have ended.
#[derive(Clone)]
pub struct LibraryContext {
    handle: Arc<Handle>,
}

/// The handle that the clones share. Its end frees the context, unless other threads still use it.
struct Handle(Arc<RawContext>);

impl Drop for Handle {
    fn drop(&mut self) {
        thread_use::forget(&self.0);
    }
}

impl LibraryContext {
    /// Creates an empty context.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when out of memory.
    pub fn new(libraries: &Libraries) -> Result<Self, Error> {
        let raw = Arc::new(RawContext::new(libraries)?);
        Ok(Self { handle: Arc::new(Handle(raw)) })
    }

    /// Returns the libraries of the context.
    pub fn libraries(&self) -> &Libraries {
        self.handle.0.libraries()
    }

    /// Reads an OpenSSL configuration file into this context and applies it: loads its providers
    /// and sets its default properties.
    ///
    /// Before OpenSSL 4.0 (observed in 3.0.22 and 3.5.7), the `ssl_conf` section, which sets
    /// defaults of TLS such as `Groups`, belongs to the process and not to the context. The file
    /// read last applies to every TLS context made after it. OpenSSL drops a default that TLS
    /// cannot use, such as an unknown group, without an error.
    ///
    /// If the file activates a provider that does not load, this is *not* an error for OpenSSL, and
    /// OpenSSL drops the reason. This is why applications can run without a configured provider.
    /// Compare with [`LibraryContext::active_providers`], and get the reason from
    /// [`LibraryContext::load_provider`].
    ///
    /// In OpenSSL 1.1.1 the whole configuration belongs to the process. It can load ENGINEs and
    /// give them control commands; failures of these are errors.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the file is absent or malformed or refers to a section it does not
    /// have.
    pub fn load_config(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.load_config_named(path.as_ref(), &path.as_ref().display().to_string())
    }

    /// Does the same as [`LibraryContext::load_config`], with the file's text instead of its name.
    /// `.include` takes absolute paths.
    ///
    /// # Errors
    ///
    /// The errors of [`LibraryContext::load_config`], and [`Error::Io`] when the temporary file
    /// that OpenSSL needs cannot be written.
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

    /// Sets the directory in which providers without a path are searched, instead of
    /// [`Libraries::modules_dir`].
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

    /// Sets the property query that is added to every fetch in this context, such as
    /// `?provider=fastkex`.
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

    /// Checks that two objects have the same context. Objects of different contexts must not be
    /// combined: OpenSSL would keep parts of one object in the other. These parts could outlive
    /// their context, and `thread_use` would not know of them.
    pub(crate) fn expect_same(&self, other: &Self, what: &str) -> Result<(), Error> {
        if Arc::ptr_eq(&self.handle, &other.handle) {
            return Ok(());
        }
        Err(Error::Input(format!(
            "cannot {what} of different library contexts; import them into one"
        )))
    }

    /// Takes ownership of a reference to a provider, and releases it when the context ends.
    pub(crate) fn keep(&self, provider: NonNull<OSSL_PROVIDER>) {
        self.handle.0.keep(provider);
    }

    pub(crate) fn as_ptr(&self) -> *mut OSSL_LIB_CTX {
        self.handle.0.as_ptr()
    }

    /// Returns the functions for one operation in this context. Records that the thread uses the
    /// context, and clears the thread's error queue, so that its entries after a failure belong to
    /// the operation.
    pub(crate) fn enter(&self) -> &Symbols {
        thread_use::note(&self.handle.0);
        let symbols = self.libraries().symbols();
        absent::take();
        // SAFETY: no arguments; concerns the calling thread only.
        unsafe { (symbols.ERR_clear_error)() };
        symbols
    }

    /// Returns the error for a failed call, from the thread's queue.
    pub(crate) fn failure(&self, operation: impl Into<String>) -> Error {
        Failure::drain(self.libraries().symbols(), operation).into()
    }

    /// Converts a status: OpenSSL's functions return 1 for success; 0 and negative numbers are
    /// failures.
    pub(crate) fn expect(
        &self,
        status: i32,
        operation: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        if status > 0 { Ok(()) } else { Err(self.failure(operation())) }
    }
}
