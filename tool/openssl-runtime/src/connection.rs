//! One side of a TLS connection in memory. The caller moves its bytes.

use std::ffi::{c_int, c_long};
use std::net::IpAddr;
use std::ptr::{self, NonNull};

use crate::bio::MemoryBio;
use crate::c_string::text;
use crate::constants::*;
use crate::error::Error;
use crate::failure::Failure;
use crate::inside::inside;
use crate::library::c_text;
use crate::observer::{Observer, message_callback};
use crate::owned::Owned;
use crate::summary::{Group, Summary};
use crate::symbols::Symbols;
use crate::tls::{Role, TlsVersion};
use crate::tls_context::SslContext;
use crate::types::SSL;

/// One side of a TLS connection. The caller passes the bytes of [`MemoryConnection::take_outgoing`]
/// to the other side's [`MemoryConnection::feed`]. It may use any transport, and may change the
/// bytes.
pub struct MemoryConnection {
    ssl: Owned<SSL>,
    incoming: MemoryBio,
    outgoing: MemoryBio,
    /// Owned by the connection. A pointer, because libssl also holds it as the message callback's
    /// state.
    observer: NonNull<Observer>,
    context: SslContext,
    finished: bool,
    failure: Option<Failure>,
    bytes_sent: usize,
    bytes_received: usize,
}

// SAFETY: a connection may be used from any thread, by one thread at a time; `&mut self` ensures
// this.
unsafe impl Send for MemoryConnection {}

impl Drop for MemoryConnection {
    fn drop(&mut self) {
        let symbols = self.symbols();
        // SAFETY: the connection is alive; from here on libssl does not use the observer, which is
        // freed once.
        unsafe {
            (symbols.SSL_set_msg_callback)(self.ssl.as_ptr(), None);
            drop(Box::from_raw(self.observer.as_ptr()));
        }
    }
}

/// The progress of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Progress {
    /// This side has finished its handshake.
    Finished,
    /// This side waits for bytes from the other side. There may be bytes to send first.
    NeedsInput,
}

/// The result of reading application data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Received {
    /// The number of bytes that were read.
    Data(usize),
    /// There is no data yet.
    NeedsInput,
    /// The other side will send no more data.
    Closed,
}

/// The key in a certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PeerKey {
    /// The name of the algorithm in libcrypto, such as `RSA`, `EC` or `ED25519`.
    pub algorithm: String,
    /// The size of the key in bits.
    pub bits: u32,
}

impl MemoryConnection {
    /// Creates one side of a connection; the context determines which. If a client gives
    /// `server_name`, it sends the name to the server (SNI). If it also verifies certificates, it
    /// accepts only a certificate for this DNS name or IP address. A server ignores `server_name`.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a name with a NUL byte, [`Error::OpenSsl`] for one that cannot be used.
    pub fn new(context: &SslContext, server_name: Option<&str>) -> Result<Self, Error> {
        let this = Self::unobserved(context)?;
        let state = this.observer.as_ptr().cast();
        let symbols = this.symbols();
        // SAFETY: the connection is alive; the observer outlives its use, because `drop` ends the
        // use before it frees the observer.
        unsafe {
            (symbols.SSL_set_msg_callback)(this.ssl.as_ptr(), Some(message_callback));
            (symbols.SSL_ctrl)(this.ssl.as_ptr(), SSL_CTRL_SET_MSG_CALLBACK_ARG, 0, state);
        }
        if let (Role::Client, Some(name)) = (context.role(), server_name) {
            this.expect_server(name)?;
        }
        Ok(this)
    }

    /// Creates one side of a connection as [`MemoryConnection::new`] does, without a server name.
    /// The summary lists no messages and alerts: collecting them takes time.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when out of memory.
    pub fn unobserved(context: &SslContext) -> Result<Self, Error> {
        const WHAT: &str = "make a TLS connection";
        let library = context.context();
        let symbols = library.enter();
        // SAFETY: the TLS context is alive, and the connection takes a reference to it.
        let ssl =
            inside(|| unsafe { Owned::new((symbols.SSL_new)(context.as_ptr()), symbols.SSL_free) });
        let ssl = ssl.ok_or_else(|| library.failure(WHAT))?;
        let (incoming, outgoing) = (MemoryBio::new(symbols)?, MemoryBio::new(symbols)?);
        let observer = NonNull::from(Box::leak(Box::<Observer>::default()));
        // SAFETY: the connection is alive and takes a reference to each BIO.
        unsafe {
            (symbols.SSL_set0_rbio)(ssl.as_ptr(), incoming.share(symbols));
            (symbols.SSL_set0_wbio)(ssl.as_ptr(), outgoing.share(symbols));
            match context.role() {
                Role::Client => (symbols.SSL_set_connect_state)(ssl.as_ptr()),
                Role::Server => (symbols.SSL_set_accept_state)(ssl.as_ptr()),
            }
        }
        Ok(Self {
            ssl,
            incoming,
            outgoing,
            observer,
            context: context.clone(),
            finished: false,
            failure: None,
            bytes_sent: 0,
            bytes_received: 0,
        })
    }

    fn expect_server(&self, name: &str) -> Result<(), Error> {
        let what = || format!("expect the server to be {name:?}");
        let c_name = c_text("server name", name)?;
        let (symbols, ssl) = (self.symbols(), self.ssl.as_ptr());
        // SAFETY: the connection is alive and its verification parameters with it; the name is
        // copied.
        let status = unsafe {
            let parameters = (symbols.SSL_get0_param)(ssl);
            if name.parse::<IpAddr>().is_ok() {
                (symbols.X509_VERIFY_PARAM_set1_ip_asc)(parameters, c_name.as_ptr())
            } else {
                (symbols.X509_VERIFY_PARAM_set1_host)(parameters, c_name.as_ptr(), name.len())
            }
        };
        self.context.context().expect(status, what)?;
        if name.parse::<IpAddr>().is_ok() {
            return Ok(());
        }
        // SAFETY: the connection is alive and copies the name.
        let status = unsafe {
            let host = c_name.as_ptr().cast_mut().cast();
            (symbols.SSL_ctrl)(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host)
        };
        self.context.context().expect((status > 0).into(), what)
    }

    /// Passes bytes from the other side to this side.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when out of memory.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.incoming.write(self.symbols(), bytes)?;
        self.bytes_received += bytes.len();
        Ok(())
    }

    /// Tells this side that no more bytes will come: reading past the last byte becomes an error
    /// instead of waiting.
    pub fn end_incoming(&mut self) {
        self.incoming.end(self.symbols());
    }

    /// Takes the bytes that this side has to send, including alerts; empty if there are none.
    pub fn take_outgoing(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.outgoing.read_all(self.symbols(), &mut bytes);
        self.bytes_sent += bytes.len();
        bytes
    }

    /// Continues the handshake as far as the received bytes allow.
    ///
    /// # Errors
    ///
    /// [`Error::Handshake`] when the handshake failed, now or earlier. There may be an alert to
    /// send.
    pub fn handshake(&mut self) -> Result<Progress, Error> {
        if self.failure.is_some() {
            return Err(Error::Handshake(Box::new(self.summary())));
        }
        let symbols = self.symbols();
        // SAFETY: the connection is alive and not in use elsewhere.
        let status = inside(|| unsafe { (symbols.SSL_do_handshake)(self.ssl.as_ptr()) });
        if status == 1 {
            self.finished = true;
            return Ok(Progress::Finished);
        }
        match self.after(status, "finish the TLS handshake") {
            Stop::NeedsInput => Ok(Progress::NeedsInput),
            Stop::Closed | Stop::Failed => Err(Error::Handshake(Box::new(self.summary()))),
        }
    }

    /// Reads application data, and processes other messages that came after the handshake.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the connection failed.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Received, Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into());
        }
        let symbols = self.symbols();
        let mut read = 0;
        // SAFETY: the connection is alive and not in use elsewhere; pointer and length describe the
        // buffer.
        let status = inside(|| unsafe {
            let (ssl, room) = (self.ssl.as_ptr(), buffer.len());
            (symbols.SSL_read_ex)(ssl, buffer.as_mut_ptr().cast(), room, &mut read)
        });
        if status == 1 {
            return Ok(Received::Data(read));
        }
        match self.after(status, "read from a TLS connection") {
            Stop::NeedsInput => Ok(Received::NeedsInput),
            Stop::Closed => Ok(Received::Closed),
            Stop::Failed => Err(self.failed()),
        }
    }

    /// Encrypts all of the application data. The handshake must be finished.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the connection failed or its handshake is not finished.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into());
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let symbols = self.symbols();
        let mut written = 0;
        // SAFETY: the connection is alive and not in use elsewhere; pointer and length describe the
        // bytes.
        let status = inside(|| unsafe {
            let (ssl, length) = (self.ssl.as_ptr(), bytes.len());
            (symbols.SSL_write_ex)(ssl, bytes.as_ptr().cast(), length, &mut written)
        });
        if status == 1 && written == bytes.len() {
            return Ok(());
        }
        let what = "write to a TLS connection";
        match self.after(status, what) {
            // This happens only before the end of the handshake: afterwards, the memory BIO accepts
            // everything.
            Stop::NeedsInput => Err(Failure {
                operation: format!("{what} before its handshake"),
                queue: Vec::new(),
            }
            .into()),
            Stop::Closed | Stop::Failed => Err(self.failed()),
        }
    }

    /// Tells the other side that this side will send no more. The other side may still send.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the handshake is not finished or the connection failed.
    pub fn close(&mut self) -> Result<(), Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().into());
        }
        let symbols = self.symbols();
        // SAFETY: the connection is alive and not in use elsewhere.
        let status = inside(|| unsafe { (symbols.SSL_shutdown)(self.ssl.as_ptr()) });
        if status >= 0 {
            return Ok(());
        }
        match self.after(status, "close a TLS connection") {
            Stop::NeedsInput | Stop::Closed => Ok(()),
            Stop::Failed => Err(self.failed()),
        }
    }

    /// True if this side has finished its handshake.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns the state of the connection so far, as this side knows it.
    pub fn summary(&self) -> Summary {
        let symbols = self.symbols();
        // SAFETY: the observer lives as long as `self`, and no call to libssl is under way.
        let observer = unsafe { self.observer.as_ref() }.clone();
        let ssl = self.ssl.as_ptr();
        // SAFETY: the connection is alive; the cipher is null or a constant of the library.
        let (version, cipher) = unsafe {
            let cipher = (symbols.SSL_get_current_cipher)(ssl);
            let name =
                if cipher.is_null() { ptr::null() } else { (symbols.SSL_CIPHER_get_name)(cipher) };
            ((symbols.SSL_version)(ssl), text(name))
        };
        Summary {
            role: self.context.role(),
            finished: self.finished,
            failure: self.failure.clone(),
            alert_sent: observer.alert_sent,
            alert_received: observer.alert_received,
            version: cipher.is_some().then(|| TlsVersion::from_number(version)).flatten(),
            cipher,
            group: observer.group.map(|id| Group { id, name: self.group_name(id) }),
            hello_retry: observer.hello_retry,
            messages: observer.messages,
            bytes_sent: self.bytes_sent,
            bytes_received: self.bytes_received,
        }
    }

    /// Returns the key in the other side's certificate; `None` before the other side has sent one.
    pub fn peer_key(&self) -> Option<PeerKey> {
        let symbols = self.symbols();
        // SAFETY: the connection is alive and returns an owned reference to the certificate; its
        // key lives as long.
        unsafe {
            let certificate = (symbols.SSL_get1_peer_certificate)(self.ssl.as_ptr());
            let certificate = Owned::new(certificate, symbols.X509_free)?;
            let key = (symbols.X509_get0_pubkey)(certificate.as_ptr());
            if key.is_null() {
                return None;
            }
            let algorithm = text((symbols.EVP_PKEY_get0_type_name)(key))?;
            Some(PeerKey { algorithm, bits: (symbols.EVP_PKEY_get_bits)(key).try_into().ok()? })
        }
    }

    /// Returns libssl's name for a group. libssl accepts a code point only with this bit, as for
    /// groups without an NID.
    fn group_name(&self, id: u16) -> Option<String> {
        let number = TLSEXT_nid_unknown | c_int::from(id);
        let symbols = self.symbols();
        // SAFETY: the connection is alive; the name is null or lasts as long as its context.
        unsafe { text((symbols.SSL_group_to_name)(self.ssl.as_ptr(), number)) }
    }

    fn symbols(&self) -> &Symbols {
        self.context.context().enter()
    }

    /// Determines why a call did not succeed. Keeps the first failure.
    fn after(&mut self, status: c_int, what: &str) -> Stop {
        let symbols = self.context.context().libraries().symbols();
        // SAFETY: the connection is alive, and no other call was made after the one that returned
        // `status`.
        let kind = unsafe { (symbols.SSL_get_error)(self.ssl.as_ptr(), status) };
        match kind {
            SSL_ERROR_WANT_READ => return Stop::NeedsInput,
            SSL_ERROR_ZERO_RETURN => return Stop::Closed,
            _ => {}
        }
        let mut failure = Failure::drain(symbols, what);
        if failure.has_reason("certificate verify failed")
            && let Some(reason) = self.verification()
        {
            failure.operation += &format!(" ({reason})");
        }
        if failure.queue.is_empty() {
            match kind {
                SSL_ERROR_SYSCALL => failure.operation += " (the bytes ended)",
                SSL_ERROR_SSL => {}
                other => failure.operation += &format!(" (SSL_get_error gives {other})"),
            }
        }
        self.failure.get_or_insert(failure);
        Stop::Failed
    }

    /// Returns the error that verification found in the other side's certificate.
    fn verification(&self) -> Option<String> {
        let symbols = self.context.context().libraries().symbols();
        // SAFETY: the connection is alive; the text is a constant for every number.
        unsafe {
            let result: c_long = (symbols.SSL_get_verify_result)(self.ssl.as_ptr());
            (result != X509_V_OK).then(|| text((symbols.X509_verify_cert_error_string)(result)))?
        }
    }

    /// Returns the error for a call that made the connection fail.
    fn failed(&self) -> Error {
        let failure = self.failure.clone();
        failure
            .unwrap_or(Failure { operation: "use a TLS connection".into(), queue: Vec::new() })
            .into()
    }
}

enum Stop {
    NeedsInput,
    Closed,
    Failed,
}
