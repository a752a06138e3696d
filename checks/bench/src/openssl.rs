//! A stock OpenSSL, called in the same way as by its libssl in a handshake: each operation has a
//! context of its own, public keys are encoded, and peers' keys are decoded.

use std::fmt;
use std::path::Path;

use openssl_runtime::{Error, Key, Libraries, LibraryContext, Selection, Value};

/// An OpenSSL with its default provider.
#[derive(Clone)]
pub struct OpenSsl {
    context: LibraryContext,
}

impl OpenSsl {
    /// Opens the system's OpenSSL.
    ///
    /// # Errors
    /// There is none.
    pub fn system() -> Result<Self, Error> {
        Self::of(&Libraries::system()?)
    }

    /// Opens the OpenSSL in a directory with its libcrypto and libssl.
    ///
    /// # Errors
    /// There is none, or the process has loaded another one with the same soname.
    pub fn in_directory(directory: &Path) -> Result<Self, Error> {
        Self::of(&Libraries::open_directory(directory)?)
    }

    fn of(libraries: &Libraries) -> Result<Self, Error> {
        let context = LibraryContext::new(libraries)?;
        context.load_provider("default")?.keep();
        Ok(OpenSsl { context })
    }

    /// Returns true if its default provider has an algorithm.
    pub fn has(&self, algorithm: &str) -> bool {
        Key::generate(&self.context, algorithm, None).is_ok()
    }

    /// Returns the version with its date.
    pub fn version_text(&self) -> String {
        self.context.libraries().version_text()
    }

    /// Generates a key pair and returns it with its encoded public half.
    pub(crate) fn generate(&self, algorithm: &str) -> Result<(Vec<u8>, Key), Error> {
        let key = Key::generate(&self.context, algorithm, None)?;
        Ok((key.encoded_public_key()?, key))
    }

    /// Imports a secret key from its bytes.
    pub(crate) fn import_secret(&self, algorithm: &str, secret: &[u8]) -> Result<Key, Error> {
        let parts = [("priv", Value::Octets(secret))];
        Key::from_data(&self.context, algorithm, None, Selection::Pair, &parts)
    }

    /// Imports a public key from its bytes.
    pub(crate) fn import_public(&self, algorithm: &str, public: &[u8]) -> Result<Key, Error> {
        Key::from_raw_public(&self.context, algorithm, None, public)
    }

    /// Imports a peer's key share.
    pub(crate) fn import(&self, algorithm: &str, public: &[u8]) -> Result<Key, Error> {
        let mut key = Key::generate_parameters(&self.context, algorithm, None, &[])?;
        key.set_encoded_public_key(public)?;
        Ok(key)
    }
}

impl fmt::Display for OpenSsl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenSSL {}", self.context.libraries().version())
    }
}
