//! The ClientHello that programs on this machine would send.

use std::path::PathBuf;

use openssl_runtime::{Error, Libraries, LibraryContext, MemoryConnection, SslContext, TlsVersion};

use output::Failure;

/// A client with this machine's OpenSSL and its configuration.
pub(super) struct OwnClient {
    /// Name and version of OpenSSL.
    pub(super) openssl: String,
    /// The configuration that programs read; `None` if the file is not there.
    pub(super) configuration: Option<PathBuf>,
    /// Its first flight: a ClientHello.
    pub(super) flight: Vec<u8>,
}

impl OwnClient {
    /// Makes the ClientHello for a server of this name.
    ///
    /// # Errors
    /// OpenSSL cannot make it with its configuration.
    pub(super) fn new(libraries: &Libraries, name: Option<&str>) -> Result<Self, Failure> {
        let file = libraries.default_config_file();
        let configuration = file.exists().then_some(file);
        let make = || -> Result<Vec<u8>, Error> {
            let context = LibraryContext::new(libraries)?;
            if let Some(file) = &configuration {
                context.load_config(file)?;
            }
            let settings = SslContext::client(&context)?
                .versions(TlsVersion::Tls12, TlsVersion::Tls13)?
                .without_verification()
                .build();
            let mut connection = MemoryConnection::new(&settings, name)?;
            connection.handshake()?;
            Ok(connection.take_outgoing())
        };
        let flight = make().map_err(Failure::new)?;
        let openssl = format!("OpenSSL {}", libraries.version());
        Ok(Self { openssl, configuration, flight })
    }
}
