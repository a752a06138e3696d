//! Certificates with their keys: newly generated for tests and demonstrations, or read from PEM.

use std::ffi::{CStr, CString, c_int};
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::ptr;
use std::str::FromStr;

use crate::bio::MemoryBio;
use crate::constants::*;
use crate::context::LibraryContext;
use crate::error::Error;
use crate::key::Key;
use crate::key_encoding::no_passphrase;
use crate::owned::Owned;
use crate::parameter::Value;
use crate::types::{EVP_MD, X509};

/// The kind of a certificate's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// ECDSA on P-256.
    EcP256,
    /// RSA with 2048 bits.
    Rsa2048,
    /// Ed25519.
    Ed25519,
}

/// Parses [`KeyType::name`].
impl FromStr for KeyType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|kind| kind.name() == text);
        named.ok_or_else(|| format!("expected {}", Self::ALL.map(Self::name).join(", ")))
    }
}

impl KeyType {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::EcP256, Self::Rsa2048, Self::Ed25519];

    /// Returns the name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::EcP256 => "ecdsa-p-256",
            Self::Rsa2048 => "rsa-2048",
            Self::Ed25519 => "ed25519",
        }
    }

    /// Returns the name in texts for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::EcP256 => "ECDSA P-256",
            Self::Rsa2048 => "RSA-2048",
            Self::Ed25519 => "Ed25519",
        }
    }

    fn generate(self, context: &LibraryContext) -> Result<Key, Error> {
        let name = |name: &'static CStr| name.to_str().unwrap_or_default();
        match self {
            Self::EcP256 => {
                let parameters = [(name(OSSL_PKEY_PARAM_GROUP_NAME), Value::Text("P-256"))];
                Key::generate_with(context, "EC", None, &parameters)
            }
            Self::Rsa2048 => {
                let parameters = [(name(OSSL_PKEY_PARAM_RSA_BITS), Value::Number(2048))];
                Key::generate_with(context, "RSA", None, &parameters)
            }
            Self::Ed25519 => Key::generate(context, "ED25519", None),
        }
    }

    /// Returns the digest to sign with; `None` for Ed25519, which has its own.
    fn digest(self) -> Option<&'static CStr> {
        match self {
            Self::EcP256 | Self::Rsa2048 => Some(c"SHA256"),
            Self::Ed25519 => None,
        }
    }
}

/// A certificate, the other certificates of its chain, and its private key.
pub struct Certificate {
    /// The certificate first, then its issuers.
    chain: Vec<Owned<X509>>,
    key: Key,
}

// SAFETY: not changed after its creation; OpenSSL locks the values that it caches in certificates.
unsafe impl Send for Certificate {}
// SAFETY: as above.
unsafe impl Sync for Certificate {}

impl Drop for Certificate {
    fn drop(&mut self) {
        // Freeing runs providers' code on this thread.
        self.key.context().enter();
    }
}

const COMMON_NAME_BYTES: usize = 64;
const VALID_BEFORE_NOW_SECONDS: i64 = 3600;
const VALID_FROM_NOW_SECONDS: i64 = 365 * 24 * 3600;

impl Certificate {
    /// Generates a key and a self-signed certificate for it, valid for a year and for these DNS
    /// names and IP addresses.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if there are no names, or if a name is neither an IP address nor made of
    /// letters, digits, `-`, `.`, `_` and `*`; [`Error::OpenSsl`] when no provider has the
    /// algorithms.
    pub fn self_signed(
        context: &LibraryContext,
        key_type: KeyType,
        names: &[&str],
    ) -> Result<Self, Error> {
        const WHAT: &str = "make a certificate";
        let alternatives = alternative_names(names)?;
        let key = key_type.generate(context)?;
        let symbols = context.enter();
        let expect = |status: c_int| context.expect(status, || WHAT.into());
        let certificate = new_certificate(context)?;
        let x509 = certificate.as_ptr();

        let mut serial = [0; 8];
        // SAFETY: the context is alive and the buffer has eight bytes.
        expect(unsafe {
            (symbols.RAND_bytes_ex)(context.as_ptr(), serial.as_mut_ptr(), serial.len(), 0)
        })?;
        // A serial number must be positive, and short enough for the buffers of its readers.
        let serial = u64::from_le_bytes(serial) >> 1 | 1;
        // SAFETY: the certificate is alive and ours; its fields belong to it.
        unsafe {
            expect((symbols.X509_set_version)(x509, X509_VERSION_3))?;
            expect((symbols.ASN1_INTEGER_set_uint64)(
                (symbols.X509_get_serialNumber)(x509),
                serial,
            ))?;
            let (start, end) =
                ((symbols.X509_getm_notBefore)(x509), (symbols.X509_getm_notAfter)(x509));
            let start = (symbols.X509_gmtime_adj)(start, -VALID_BEFORE_NOW_SECONDS);
            let end = (symbols.X509_gmtime_adj)(end, VALID_FROM_NOW_SECONDS);
            expect((!start.is_null() && !end.is_null()).into())?;
            expect((symbols.X509_set_pubkey)(x509, key.as_ptr()))?;
        }

        // SAFETY: no arguments; freed by its own function.
        let name = unsafe { Owned::new((symbols.X509_NAME_new)(), symbols.X509_NAME_free) };
        let name = name.ok_or_else(|| context.failure(WHAT))?;
        // X.509 limits the length of the common name. Verification uses only the alternative names.
        let common = &names[0].as_bytes()[..names[0].len().min(COMMON_NAME_BYTES)];
        // SAFETY: name and certificate are alive; the name is copied; -1 and 0 mean "append".
        unsafe {
            let (field, length) = (c"CN".as_ptr(), common.len().try_into().unwrap_or(c_int::MAX));
            let bytes = common.as_ptr();
            let name = name.as_ptr();
            expect((symbols.X509_NAME_add_entry_by_txt)(
                name,
                field,
                MBSTRING_UTF8,
                bytes,
                length,
                -1,
                0,
            ))?;
            expect((symbols.X509_set_subject_name)(x509, name))?;
            expect((symbols.X509_set_issuer_name)(x509, name))?;
        }
        for (kind, value) in [
            (NID_subject_alt_name, alternatives.as_c_str()),
            (NID_basic_constraints, c"critical,CA:TRUE"),
        ] {
            // SAFETY: null stands for "no configuration, no context", which these extensions do not
            // need.
            let extension = unsafe {
                let (none, no_context) = (ptr::null_mut(), ptr::null_mut());
                let pointer =
                    (symbols.X509V3_EXT_nconf_nid)(none, no_context, kind, value.as_ptr());
                Owned::new(pointer, symbols.X509_EXTENSION_free)
            };
            let extension = extension.ok_or_else(|| context.failure(WHAT))?;
            // SAFETY: both are alive; the extension is copied.
            expect(unsafe { (symbols.X509_add_ext)(x509, extension.as_ptr(), -1) })?;
        }

        let digest = key_type.digest().map(|name| fetch_digest(context, name)).transpose()?;
        let digest = digest.as_ref().map_or(ptr::null_mut(), Owned::as_ptr);
        // SAFETY: all are alive; null stands for the key's own digest.
        expect(unsafe { (symbols.X509_sign)(x509, key.as_ptr(), digest) })?;
        Ok(Self { chain: vec![certificate], key })
    }

    /// Reads a certificate, followed by its issuers if there are any, and its private key.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when one of them cannot be read or the key does not match the
    /// certificate.
    pub fn from_pem(
        context: &LibraryContext,
        certificates: impl AsRef<[u8]>,
        key: impl AsRef<[u8]>,
        passphrase: Option<&[u8]>,
    ) -> Result<Self, Error> {
        let chain = read_certificates(context, certificates.as_ref())?;
        let key = Key::from_pem(context, key, passphrase)?;
        let symbols = context.enter();
        // SAFETY: both are alive.
        let status = unsafe { (symbols.X509_check_private_key)(chain[0].as_ptr(), key.as_ptr()) };
        context.expect(status, || "match the certificate with the private key".into())?;
        Ok(Self { chain, key })
    }

    /// Does the same as [`Certificate::from_pem`] with files.
    ///
    /// # Errors
    ///
    /// The errors of [`Certificate::from_pem`], and [`Error::Io`].
    pub fn from_pem_files(
        context: &LibraryContext,
        certificates: impl AsRef<Path>,
        key: impl AsRef<Path>,
        passphrase: Option<&[u8]>,
    ) -> Result<Self, Error> {
        let read = |path: &Path| {
            fs::read(path).map_err(|error| {
                std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })
        };
        let certificates = read(certificates.as_ref())?;
        let key = zeroize::Zeroizing::new(read(key.as_ref())?);
        Self::from_pem(context, certificates, &*key, passphrase)
    }

    /// Returns the certificate and its chain as PEM.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when encoding fails.
    pub fn to_pem(&self) -> Result<String, Error> {
        let context = self.key.context();
        let symbols = context.enter();
        let bio = MemoryBio::new(symbols)?;
        for certificate in &self.chain {
            // SAFETY: both are alive.
            let status =
                unsafe { (symbols.PEM_write_bio_X509)(bio.as_ptr(), certificate.as_ptr()) };
            context.expect(status, || "encode a certificate as PEM".into())?;
        }
        let mut pem = Vec::new();
        bio.read_all(symbols, &mut pem);
        Ok(String::from_utf8_lossy(&pem).into_owned())
    }

    /// Returns the private key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// Returns the library context of the certificate.
    pub fn context(&self) -> &LibraryContext {
        self.key.context()
    }

    /// Returns the certificate, then its issuers.
    pub(crate) fn chain(&self) -> impl Iterator<Item = *mut X509> {
        self.chain.iter().map(Owned::as_ptr)
    }
}

fn new_certificate(context: &LibraryContext) -> Result<Owned<X509>, Error> {
    let symbols = context.libraries().symbols();
    // SAFETY: the context is alive; freed by its own function.
    let x509 = unsafe {
        Owned::new((symbols.X509_new_ex)(context.as_ptr(), ptr::null()), symbols.X509_free)
    };
    x509.ok_or_else(|| context.failure("make a certificate"))
}

/// Reads all certificates of a PEM text, at least one.
pub(crate) fn read_certificates(
    context: &LibraryContext,
    pem: &[u8],
) -> Result<Vec<Owned<X509>>, Error> {
    let symbols = context.enter();
    let bio = MemoryBio::with(symbols, pem)?;
    let mut chain = Vec::new();
    loop {
        // Created here so that it belongs to the context. The reader frees it only on failure.
        let mut x509 = new_certificate(context)?.into_raw();
        // SAFETY: the BIO is alive; the reader fills the certificate, or frees it and sets the
        // pointer to null.
        let read = unsafe {
            (symbols.PEM_read_bio_X509)(
                bio.as_ptr(),
                &mut x509,
                Some(no_passphrase),
                ptr::null_mut(),
            )
        };
        // SAFETY: the pointer is null or a certificate that is ours.
        let x509 = unsafe { Owned::new(x509, symbols.X509_free) };
        match x509 {
            Some(x509) if !read.is_null() => chain.push(x509),
            // The end of the text is the error "no start line".
            _ if !chain.is_empty() => {
                // SAFETY: no arguments; concerns this thread.
                unsafe { (symbols.ERR_clear_error)() };
                return Ok(chain);
            }
            _ => return Err(context.failure("read a certificate from PEM")),
        }
    }
}

fn fetch_digest(context: &LibraryContext, name: &CStr) -> Result<Owned<EVP_MD>, Error> {
    let symbols = context.libraries().symbols();
    // SAFETY: the context is alive; freed by its own function.
    let digest = unsafe {
        Owned::new(
            (symbols.EVP_MD_fetch)(context.as_ptr(), name.as_ptr(), ptr::null()),
            symbols.EVP_MD_free,
        )
    };
    digest.ok_or_else(|| context.failure(format!("fetch the digest {}", name.to_string_lossy())))
}

/// Formats the names in the syntax of OpenSSL's configuration, in which a comma separates names.
fn alternative_names(names: &[&str]) -> Result<CString, Error> {
    let mut parts = Vec::new();
    for name in names {
        if name.parse::<IpAddr>().is_ok() {
            parts.push(format!("IP:{name}"));
        } else if is_dns_name(name) {
            parts.push(format!("DNS:{name}"));
        } else {
            return Err(Error::Input(format!("{name:?} is neither a DNS name nor an IP address")));
        }
    }
    if parts.is_empty() {
        return Err(Error::Input("a certificate needs at least one name".into()));
    }
    crate::library::c_text("names", &parts.join(","))
}

fn is_dns_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '*');
    !name.is_empty() && name.len() <= 253 && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_typed_and_checked() {
        let names = alternative_names(&["localhost", "127.0.0.1", "::1"]).unwrap();
        assert_eq!(names.to_str(), Ok("DNS:localhost,IP:127.0.0.1,IP:::1"));
        for bad in [&["a,DNS:b"][..], &[""], &[]] {
            assert!(matches!(alternative_names(bad), Err(Error::Input(_))), "{bad:?}");
        }
    }
}
