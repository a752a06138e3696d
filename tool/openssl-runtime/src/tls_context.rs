//! TLS contexts: the common settings of connections.

use std::ffi::{c_int, c_long, c_void};
use std::ptr;
use std::sync::{Arc, PoisonError};

use crate::certificate::{Certificate, read_certificates};
use crate::constants::*;
use crate::context::LibraryContext;
use crate::error::Error;
use crate::library::c_text;
use crate::owned::Owned;
use crate::raw_context::CONFIGURATION;
use crate::tls::{Role, TlsVersion};
use crate::types::SSL_CTX;

/// The settings of TLS connections, made with [`SslContext::client`] or [`SslContext::server`];
/// clones share them.
///
/// It knows only the groups of providers that were active when it was made, so load the providers
/// first.
#[derive(Clone)]
pub struct SslContext {
    inner: Arc<Inner>,
}

struct Inner {
    pointer: Owned<SSL_CTX>,
    role: Role,
    context: LibraryContext,
}

// SAFETY: not changed after building; OpenSSL locks the parts that connections share.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // Freeing runs providers' code on this thread.
        self.context.enter();
    }
}

impl SslContext {
    /// Starts the settings of a client: TLS 1.3 only, no sessions kept, and the default groups. The
    /// server must have a certificate from a trusted issuer. No certificates are trusted yet: see
    /// [`SslContextBuilder::trust`], [`SslContextBuilder::trust_system`],
    /// [`SslContextBuilder::without_verification`].
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the context lacks algorithms that TLS needs, for example without the
    /// `default` provider.
    pub fn client(context: &LibraryContext) -> Result<SslContextBuilder, Error> {
        SslContextBuilder::new(context, Role::Client, None)
    }

    /// Starts the settings of a server with this certificate: TLS 1.3 only, no tickets, no sessions
    /// kept, the default groups, and no client certificates.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the context lacks algorithms that TLS needs or OpenSSL refuses the
    /// certificate, [`Error::Input`] when the certificate belongs to another library context.
    pub fn server(
        context: &LibraryContext,
        certificate: &Certificate,
    ) -> Result<SslContextBuilder, Error> {
        SslContextBuilder::new(context, Role::Server, None)?.certificate(certificate)
    }

    /// Does the same as [`SslContext::client`], with a property query for every fetch, such as
    /// `?provider=fastkex`.
    ///
    /// # Errors
    ///
    /// The errors of [`SslContext::client`].
    pub fn client_with_properties(
        context: &LibraryContext,
        properties: &str,
    ) -> Result<SslContextBuilder, Error> {
        SslContextBuilder::new(context, Role::Client, Some(properties))
    }

    /// Does the same as [`SslContext::server`], with a property query for every fetch, such as
    /// `?provider=fastkex`.
    ///
    /// # Errors
    ///
    /// The errors of [`SslContext::server`].
    pub fn server_with_properties(
        context: &LibraryContext,
        certificate: &Certificate,
        properties: &str,
    ) -> Result<SslContextBuilder, Error> {
        SslContextBuilder::new(context, Role::Server, Some(properties))?.certificate(certificate)
    }

    /// Returns the side that its connections are.
    pub fn role(&self) -> Role {
        self.inner.role
    }

    /// Returns the library context of the settings.
    pub fn context(&self) -> &LibraryContext {
        &self.inner.context
    }

    pub(crate) fn as_ptr(&self) -> *mut SSL_CTX {
        self.inner.pointer.as_ptr()
    }
}

/// The settings of an [`SslContext`] under construction.
pub struct SslContextBuilder {
    inner: Inner,
}

impl SslContextBuilder {
    fn new(context: &LibraryContext, role: Role, properties: Option<&str>) -> Result<Self, Error> {
        let properties = properties.map(|text| c_text("property query", text)).transpose()?;
        let properties = properties.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let symbols = context.enter();
        let pointer = {
            let _unchanging = CONFIGURATION.read().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the context is alive, the query null or a C string, the method a constant of
            // the library.
            unsafe {
                let method = match role {
                    Role::Client => (symbols.TLS_client_method)(),
                    Role::Server => (symbols.TLS_server_method)(),
                };
                let pointer = (symbols.SSL_CTX_new_ex)(context.as_ptr(), properties, method);
                Owned::new(pointer, symbols.SSL_CTX_free)
            }
        };
        let pointer = pointer.ok_or_else(|| context.failure("make a TLS context"))?;
        let this = Self { inner: Inner { pointer, role, context: context.clone() } };
        this.control(SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, ptr::null_mut());
        // The chain is given, so searching for one in every handshake would waste time.
        this.control(SSL_CTRL_MODE, SSL_MODE_NO_AUTO_CHAIN, ptr::null_mut());
        // SAFETY: the TLS context is alive and has no other user.
        unsafe {
            let ssl_ctx = this.inner.pointer.as_ptr();
            (symbols.SSL_CTX_set_options)(ssl_ctx, SSL_OP_NO_TICKET);
            (symbols.SSL_CTX_set_num_tickets)(ssl_ctx, 0);
            let mode = if role == Role::Client { SSL_VERIFY_PEER } else { SSL_VERIFY_NONE };
            (symbols.SSL_CTX_set_verify)(ssl_ctx, mode, None);
        }
        this.versions(TlsVersion::Tls13, TlsVersion::Tls13)
    }

    /// Sets the lowest and highest version of TLS.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when OpenSSL refuses the range.
    pub fn versions(self, lowest: TlsVersion, highest: TlsVersion) -> Result<Self, Error> {
        self.inner.context.enter();
        let what = || format!("allow {lowest:?} to {highest:?}");
        let (lowest_number, highest_number) = (lowest.number().into(), highest.number().into());
        self.expect(
            self.control(SSL_CTRL_SET_MIN_PROTO_VERSION, lowest_number, ptr::null_mut()),
            what,
        )?;
        self.expect(
            self.control(SSL_CTRL_SET_MAX_PROTO_VERSION, highest_number, ptr::null_mut()),
            what,
        )?;
        Ok(self)
    }

    /// Sets the groups, most preferred first, such as `X25519:P-256`; a client sends a key share
    /// for the first one.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when a group is unknown (its provider is not loaded) or below the
    /// security level. OpenSSL 3.0 gives no more detailed reason.
    pub fn groups(self, list: &str) -> Result<Self, Error> {
        self.list(SSL_CTRL_SET_GROUPS_LIST, "groups", list)
    }

    /// Sets the signature algorithms, most preferred first, such as `ed25519:ECDSA+SHA256`.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when an algorithm is unknown.
    pub fn signature_algorithms(self, list: &str) -> Result<Self, Error> {
        self.list(SSL_CTRL_SET_SIGALGS_LIST, "signature algorithms", list)
    }

    fn list(self, command: c_int, what: &str, list: &str) -> Result<Self, Error> {
        let text = c_text(what, list)?;
        self.inner.context.enter();
        let status = self.control(command, 0, text.as_ptr().cast_mut().cast());
        self.expect(status, || format!("set the {what} {list:?}"))?;
        Ok(self)
    }

    /// Sets the cipher suites of TLS 1.3, most preferred first, such as `TLS_AES_128_GCM_SHA256`.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when a cipher suite is unknown.
    pub fn cipher_suites(self, list: &str) -> Result<Self, Error> {
        let text = c_text("cipher suites", list)?;
        let symbols = self.inner.context.enter();
        // SAFETY: the TLS context is alive and has no other user; the list is a C string.
        let status = unsafe {
            (symbols.SSL_CTX_set_ciphersuites)(self.inner.pointer.as_ptr(), text.as_ptr())
        };
        self.inner.context.expect(status, || format!("set the cipher suites {list:?}"))?;
        Ok(self)
    }

    /// Sets OpenSSL's security level, 0 to 5: the minimum strength of groups, keys and signatures.
    pub fn security_level(self, level: u8) -> Self {
        let symbols = self.inner.context.enter();
        // SAFETY: the TLS context is alive and has no other user.
        unsafe { (symbols.SSL_CTX_set_security_level)(self.inner.pointer.as_ptr(), level.into()) };
        self
    }

    /// Sets the certificate of this side, with its chain and its key.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when OpenSSL refuses it, for example for a key below the security level,
    /// [`Error::Input`] when it belongs to another library context.
    pub fn certificate(self, certificate: &Certificate) -> Result<Self, Error> {
        let what = || "use the certificate".into();
        self.inner.context.expect_same(certificate.context(), "use settings and a certificate")?;
        let symbols = self.inner.context.enter();
        let ssl_ctx = self.inner.pointer.as_ptr();
        for (index, x509) in certificate.chain().enumerate() {
            if index == 0 {
                // SAFETY: both are alive; the TLS context takes a reference.
                let status = unsafe { (symbols.SSL_CTX_use_certificate)(ssl_ctx, x509) };
                self.inner.context.expect(status, what)?;
            } else {
                const TAKE_A_REFERENCE: c_long = 1;
                self.expect(
                    self.control(SSL_CTRL_CHAIN_CERT, TAKE_A_REFERENCE, x509.cast()),
                    what,
                )?;
            }
        }
        // SAFETY: both are alive; the TLS context takes a reference.
        let status =
            unsafe { (symbols.SSL_CTX_use_PrivateKey)(ssl_ctx, certificate.key().as_ptr()) };
        self.inner.context.expect(status, what)?;
        Ok(self)
    }

    /// Trusts a certificate, its chain, and certificates that they signed.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when OpenSSL does not accept it.
    pub fn trust(self, certificate: &Certificate) -> Result<Self, Error> {
        // Converts to PEM, because the certificate may belong to another library context.
        self.trust_pem(certificate.to_pem()?)
    }

    /// Trusts the certificates in a PEM text and certificates that they signed.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the text contains no certificate or cannot be read.
    pub fn trust_pem(self, pem: impl AsRef<[u8]>) -> Result<Self, Error> {
        let certificates = read_certificates(&self.inner.context, pem.as_ref())?;
        let symbols = self.inner.context.enter();
        for certificate in certificates {
            // SAFETY: the store belongs to the TLS context and takes a reference to the
            // certificate.
            let status = unsafe {
                let store = (symbols.SSL_CTX_get_cert_store)(self.inner.pointer.as_ptr());
                (symbols.X509_STORE_add_cert)(store, certificate.as_ptr())
            };
            self.inner.context.expect(status, || "trust a certificate".into())?;
        }
        Ok(self)
    }

    /// Trusts the certificates in OpenSSL's default certificate file and directory.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when they cannot be used.
    pub fn trust_system(self) -> Result<Self, Error> {
        let symbols = self.inner.context.enter();
        // SAFETY: the TLS context is alive and has no other user.
        let status =
            unsafe { (symbols.SSL_CTX_set_default_verify_paths)(self.inner.pointer.as_ptr()) };
        self.inner.context.expect(status, || "trust the system's certificates".into())?;
        Ok(self)
    }

    /// Accepts any certificate of the other side; for tests and measurements.
    pub fn without_verification(self) -> Self {
        self.verify(SSL_VERIFY_NONE)
    }

    fn verify(self, mode: c_int) -> Self {
        let symbols = self.inner.context.enter();
        // SAFETY: the TLS context is alive and has no other user; there is no callback.
        unsafe { (symbols.SSL_CTX_set_verify)(self.inner.pointer.as_ptr(), mode, None) };
        self
    }

    /// Completes the settings.
    pub fn build(self) -> SslContext {
        SslContext { inner: Arc::new(self.inner) }
    }

    /// Calls the function behind most macros of ssl.h.
    fn control(&self, command: c_int, number: c_long, pointer: *mut c_void) -> c_long {
        let symbols = self.inner.context.libraries().symbols();
        // SAFETY: the TLS context is alive and has no other user; callers pass the arguments that
        // the command takes.
        unsafe { (symbols.SSL_CTX_ctrl)(self.inner.pointer.as_ptr(), command, number, pointer) }
    }

    fn expect(&self, status: c_long, what: impl FnOnce() -> String) -> Result<(), Error> {
        self.inner.context.expect((status > 0).into(), what)
    }
}
