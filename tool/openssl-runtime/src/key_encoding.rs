//! Keys as DER, PEM and text.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use crate::context::LibraryContext;
use crate::error::Error;
use crate::key::{Key, Selection};
use crate::library::c_text;
use crate::owned::Owned;
use crate::secret::Secret;

/// The format of an encoded key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Binary.
    Der,
    /// Base64 between lines that name the structure.
    Pem,
    /// For people; cannot be decoded.
    Text,
}

impl Format {
    fn name(self) -> &'static CStr {
        match self {
            Self::Der => c"DER",
            Self::Pem => c"PEM",
            Self::Text => c"TEXT",
        }
    }
}

/// The encoded part of a key, and its structure.
#[derive(Clone, Copy)]
pub enum Structure<'a> {
    /// The public key: "PUBLIC KEY".
    SubjectPublicKeyInfo,
    /// The unencrypted key pair: "PRIVATE KEY".
    PrivateKeyInfo,
    /// The key pair, encrypted with a passphrase: "ENCRYPTED PRIVATE KEY".
    EncryptedPrivateKeyInfo {
        /// The cipher, such as `AES-256-CBC`.
        cipher: &'a str,
        /// The passphrase.
        passphrase: &'a [u8],
    },
}

impl Key {
    /// Encodes the key.
    ///
    /// # Errors
    ///
    /// [`Error::NoImplementation`] when no active provider has an encoder for the key,
    /// [`Error::OpenSsl`] when the key lacks the part to encode.
    pub fn encode(&self, format: Format, structure: Structure<'_>) -> Result<Secret, Error> {
        let (selection, name) = match structure {
            Structure::SubjectPublicKeyInfo => (Selection::Public, c"SubjectPublicKeyInfo"),
            Structure::PrivateKeyInfo => (Selection::Pair, c"PrivateKeyInfo"),
            Structure::EncryptedPrivateKeyInfo { .. } => {
                (Selection::Pair, c"EncryptedPrivateKeyInfo")
            }
        };
        let what = || {
            format!(
                "encode a key as {} {}",
                format.name().to_string_lossy(),
                name.to_string_lossy()
            )
        };
        // The text encoders of OpenSSL have no structure.
        let name = if format == Format::Text { ptr::null() } else { name.as_ptr() };
        let symbols = self.context().enter();
        // SAFETY: the key is alive and the texts are C strings or null.
        let encoder = unsafe {
            let (key, format, properties) =
                (self.as_ptr(), format.name().as_ptr(), self.properties());
            let pointer = (symbols.OSSL_ENCODER_CTX_new_for_pkey)(
                key,
                selection.bits(),
                format,
                name,
                properties,
            );
            Owned::new(pointer, symbols.OSSL_ENCODER_CTX_free)
        };
        let encoder = encoder.ok_or_else(|| self.context().failure(what()))?;
        // SAFETY: the encoder is alive.
        if unsafe { (symbols.OSSL_ENCODER_CTX_get_num_encoders)(encoder.as_ptr()) } == 0 {
            return Err(Error::NoImplementation(format!("{} of {}", what(), self.algorithm())));
        }
        if let Structure::EncryptedPrivateKeyInfo { cipher, passphrase } = structure {
            let cipher = c_text("cipher", cipher)?;
            // SAFETY: the encoder is alive and copies cipher name and passphrase.
            let status = unsafe {
                (symbols.OSSL_ENCODER_CTX_set_cipher)(
                    encoder.as_ptr(),
                    cipher.as_ptr(),
                    self.properties(),
                )
            };
            self.context().expect(status, what)?;
            // SAFETY: as above.
            let status = unsafe {
                let (bytes, length) = (passphrase.as_ptr(), passphrase.len());
                (symbols.OSSL_ENCODER_CTX_set_passphrase)(encoder.as_ptr(), bytes, length)
            };
            self.context().expect(status, what)?;
        }
        let (mut data, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the encoder is alive; null asks for an allocation, which is ours.
        let status =
            unsafe { (symbols.OSSL_ENCODER_to_data)(encoder.as_ptr(), &mut data, &mut length) };
        self.context().expect(status, what)?;
        if data.is_null() {
            return Err(self.context().failure(what()));
        }
        // SAFETY: OpenSSL filled `length` bytes.
        let encoded = Secret::copied(unsafe { std::slice::from_raw_parts(data, length) });
        // SAFETY: allocated by OpenSSL for us, erased, and not used again.
        unsafe { (symbols.CRYPTO_clear_free)(data.cast(), length, ptr::null(), 0) };
        Ok(encoded)
    }

    /// Encodes the public key as PEM.
    ///
    /// # Errors
    ///
    /// The errors of [`Key::encode`].
    pub fn to_public_pem(&self) -> Result<String, Error> {
        let pem = self.encode(Format::Pem, Structure::SubjectPublicKeyInfo)?;
        Ok(String::from_utf8_lossy(&pem).into_owned())
    }

    /// Encodes the public key as DER.
    ///
    /// # Errors
    ///
    /// The errors of [`Key::encode`].
    pub fn to_public_der(&self) -> Result<Vec<u8>, Error> {
        self.encode(Format::Der, Structure::SubjectPublicKeyInfo).map(Secret::into_public)
    }

    /// Encodes the key pair as unencrypted PEM.
    ///
    /// # Errors
    ///
    /// The errors of [`Key::encode`].
    pub fn to_private_pem(&self) -> Result<Secret, Error> {
        self.encode(Format::Pem, Structure::PrivateKeyInfo)
    }

    /// Encodes the key pair as unencrypted DER.
    ///
    /// # Errors
    ///
    /// The errors of [`Key::encode`].
    pub fn to_private_der(&self) -> Result<Secret, Error> {
        self.encode(Format::Der, Structure::PrivateKeyInfo)
    }

    /// Decodes a public or private key from PEM, of any algorithm that the context's providers
    /// know.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the active providers cannot read the key, or when it needs a
    /// passphrase and gets none or the wrong one; [`Error::Input`] for [`Format::Text`].
    pub fn from_pem(
        context: &LibraryContext,
        pem: impl AsRef<[u8]>,
        passphrase: Option<&[u8]>,
    ) -> Result<Self, Error> {
        Self::decode(context, Format::Pem, pem.as_ref(), None, None, passphrase)
    }

    /// Does the same as [`Key::from_pem`] for DER.
    ///
    /// # Errors
    ///
    /// The errors of [`Key::from_pem`].
    pub fn from_der(
        context: &LibraryContext,
        der: impl AsRef<[u8]>,
        passphrase: Option<&[u8]>,
    ) -> Result<Self, Error> {
        Self::decode(context, Format::Der, der.as_ref(), None, None, passphrase)
    }

    /// Decodes a key of a certain algorithm, if one is given, with the decoders that a property
    /// query selects.
    ///
    /// # Errors
    ///
    /// The errors of [`Key::from_pem`].
    pub fn decode(
        context: &LibraryContext,
        format: Format,
        data: &[u8],
        algorithm: Option<&str>,
        properties: Option<&str>,
        passphrase: Option<&[u8]>,
    ) -> Result<Self, Error> {
        let what = || {
            format!("decode a key from {} bytes of {}", data.len(), format.name().to_string_lossy())
        };
        if format == Format::Text {
            return Err(Error::Input("a key cannot be read back from text; use DER or PEM".into()));
        }
        let algorithm = algorithm.map(|name| c_text("algorithm", name)).transpose()?;
        let properties = properties.map(|text| c_text("property query", text)).transpose()?;
        let as_ptr = |text: &Option<std::ffi::CString>| {
            text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
        };
        let symbols = context.enter();
        let mut pkey = ptr::null_mut();
        // SAFETY: the context is alive, the texts are C strings or null, and `pkey` outlives the
        // decoder.
        let decoder = unsafe {
            let pointer = (symbols.OSSL_DECODER_CTX_new_for_pkey)(
                &mut pkey,
                format.name().as_ptr(),
                ptr::null(),
                as_ptr(&algorithm),
                0,
                context.as_ptr(),
                as_ptr(&properties),
            );
            Owned::new(pointer, symbols.OSSL_DECODER_CTX_free)
        };
        let decoder = decoder.ok_or_else(|| context.failure(what()))?;
        // SAFETY: the decoder is alive.
        if unsafe { (symbols.OSSL_DECODER_CTX_get_num_decoders)(decoder.as_ptr()) } == 0 {
            return Err(Error::NoImplementation(what()));
        }
        // SAFETY: the decoder is alive and copies the passphrase. Without one, the callback keeps
        // it from asking at the terminal.
        let status = unsafe {
            match passphrase {
                Some(text) => (symbols.OSSL_DECODER_CTX_set_passphrase)(
                    decoder.as_ptr(),
                    text.as_ptr(),
                    text.len(),
                ),
                None => (symbols.OSSL_DECODER_CTX_set_pem_password_cb)(
                    decoder.as_ptr(),
                    Some(no_passphrase),
                    ptr::null_mut(),
                ),
            }
        };
        context.expect(status, what)?;
        let (mut next, mut left) = (data.as_ptr(), data.len());
        // SAFETY: the decoder is alive; pointer and length describe the data.
        let status =
            unsafe { (symbols.OSSL_DECODER_from_data)(decoder.as_ptr(), &mut next, &mut left) };
        let failed = context.expect(status, what);
        // SAFETY: the decoded key, if there is one, is ours, also after a failure.
        let key = unsafe { Self::take(context, pkey, properties, &what) };
        failed.and(key)
    }
}

/// Replaces the default callback, which asks at the terminal.
pub(crate) unsafe extern "C" fn no_passphrase(
    _: *mut c_char,
    _: c_int,
    _: c_int,
    _: *mut c_void,
) -> c_int {
    -1
}
