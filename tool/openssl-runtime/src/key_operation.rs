//! Operations with keys: encapsulate, decapsulate, derive, sign and verify.

use std::ptr;

use crate::constants::OSSL_KEM_PARAM_OPERATION;
use crate::error::Error;
use crate::key::Key;
use crate::owned::Owned;
use crate::parameter::{InputParameters, Value};
use crate::secret::Secret;
use crate::types::EVP_MD_CTX;

impl Key {
    /// Encapsulates to this public key; returns the ciphertext for the key's owner, and the shared
    /// secret.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the algorithm is not a KEM or the provider fails.
    pub fn encapsulate(&self) -> Result<(Vec<u8>, Secret), Error> {
        self.encapsulate_as(None)
    }

    /// Does the same as [`Key::encapsulate`], for algorithms that need a named operation: `RSASVE`
    /// for RSA.
    ///
    /// # Errors
    ///
    /// The errors of [`Key::encapsulate`].
    pub fn encapsulate_as(&self, operation: Option<&str>) -> Result<(Vec<u8>, Secret), Error> {
        const WHAT: &str = "encapsulate";
        let parameters = kem_parameters(operation);
        let mut parameters = InputParameters::new(parameters.as_slice())?;
        let symbols = self.context().enter();
        let context = self.operation(WHAT)?;
        // SAFETY: the operation is alive and the array terminated.
        let status = unsafe {
            (symbols.EVP_PKEY_encapsulate_init)(context.as_ptr(), parameters.as_mut_ptr())
        };
        self.context().expect(status, || WHAT.into())?;
        let (mut ciphertext_bytes, mut secret_bytes) = (0, 0);
        // SAFETY: null buffers ask for the lengths.
        let status = unsafe {
            let (null, lengths) = (ptr::null_mut(), (&mut ciphertext_bytes, &mut secret_bytes));
            (symbols.EVP_PKEY_encapsulate)(context.as_ptr(), null, lengths.0, null, lengths.1)
        };
        self.context().expect(status, || WHAT.into())?;
        let mut ciphertext = vec![0; ciphertext_bytes];
        let mut secret = Secret::zeroed(secret_bytes);
        // SAFETY: the buffers have the lengths asked for.
        let status = unsafe {
            let (ciphertext, secret) = (ciphertext.as_mut_ptr(), secret.as_mut_ptr());
            let lengths = (&mut ciphertext_bytes, &mut secret_bytes);
            (symbols.EVP_PKEY_encapsulate)(
                context.as_ptr(),
                ciphertext,
                lengths.0,
                secret,
                lengths.1,
            )
        };
        self.context().expect(status, || WHAT.into())?;
        ciphertext.truncate(ciphertext_bytes);
        secret.shorten(secret_bytes);
        Ok((ciphertext, secret))
    }

    /// Decapsulates a ciphertext with this private key.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the algorithm is not a KEM, there is no private key, or the provider
    /// refuses the ciphertext.
    pub fn decapsulate(&self, ciphertext: &[u8]) -> Result<Secret, Error> {
        self.decapsulate_as(None, ciphertext)
    }

    /// Does the same as [`Key::decapsulate`], for algorithms that need a named operation: `RSASVE`
    /// for RSA.
    ///
    /// # Errors
    ///
    /// The errors of [`Key::decapsulate`].
    pub fn decapsulate_as(
        &self,
        operation: Option<&str>,
        ciphertext: &[u8],
    ) -> Result<Secret, Error> {
        let what = || format!("decapsulate {} bytes", ciphertext.len());
        let parameters = kem_parameters(operation);
        let mut parameters = InputParameters::new(parameters.as_slice())?;
        let symbols = self.context().enter();
        let context = self.operation("decapsulate")?;
        // SAFETY: the operation is alive and the array terminated.
        let status = unsafe {
            (symbols.EVP_PKEY_decapsulate_init)(context.as_ptr(), parameters.as_mut_ptr())
        };
        self.context().expect(status, what)?;
        self.two_step(what, |buffer, length| {
            let (from, from_bytes) = (ciphertext.as_ptr(), ciphertext.len());
            // SAFETY: `two_step` offers null or a buffer of `length` bytes.
            unsafe {
                (symbols.EVP_PKEY_decapsulate)(context.as_ptr(), buffer, length, from, from_bytes)
            }
        })
    }

    /// Derives the secret that this private key and the peer's public key share.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the algorithm is not a key exchange or the provider refuses one of
    /// the keys, [`Error::Input`] when the keys belong to different library contexts.
    pub fn derive(&self, peer: &Self) -> Result<Secret, Error> {
        let what = || "derive a shared secret".into();
        self.context().expect_same(peer.context(), "derive a secret from keys")?;
        let symbols = self.context().enter();
        let context = self.operation("derive a shared secret")?;
        // SAFETY: the operation is alive.
        self.context().expect(unsafe { (symbols.EVP_PKEY_derive_init)(context.as_ptr()) }, what)?;
        // SAFETY: both are alive; the operation takes a reference to the peer's key.
        let status = unsafe { (symbols.EVP_PKEY_derive_set_peer)(context.as_ptr(), peer.as_ptr()) };
        self.context().expect(status, what)?;
        self.two_step(what, |buffer, length| {
            // SAFETY: `two_step` offers null or a buffer of `length` bytes.
            unsafe { (symbols.EVP_PKEY_derive)(context.as_ptr(), buffer, length) }
        })
    }

    /// Signs a message. `digest` is `None` for algorithms that have their own, such as Ed25519.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the key cannot sign.
    pub fn sign(&self, digest: Option<&str>, message: &[u8]) -> Result<Vec<u8>, Error> {
        let what = || "sign".into();
        let digest = digest.map(|name| crate::library::c_text("digest", name)).transpose()?;
        let symbols = self.context().enter();
        let context = self.digest_operation()?;
        // SAFETY: everything passed is alive and the texts are C strings or null.
        let status = unsafe {
            (symbols.EVP_DigestSignInit_ex)(
                context.as_ptr(),
                ptr::null_mut(),
                digest.as_ref().map_or(ptr::null(), |name| name.as_ptr()),
                self.context().as_ptr(),
                self.properties(),
                self.as_ptr(),
                ptr::null(),
            )
        };
        self.context().expect(status, what)?;
        let signature = self.two_step(what, |buffer, length| {
            // SAFETY: `two_step` offers null or a buffer of `length` bytes.
            unsafe {
                (symbols.EVP_DigestSign)(
                    context.as_ptr(),
                    buffer,
                    length,
                    message.as_ptr(),
                    message.len(),
                )
            }
        })?;
        Ok(signature.into_public())
    }

    /// True if this public key's owner signed the message. For `digest` see [`Key::sign`].
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the key cannot verify; a wrong or malformed signature gives `false`.
    pub fn verify(
        &self,
        digest: Option<&str>,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, Error> {
        let digest = digest.map(|name| crate::library::c_text("digest", name)).transpose()?;
        let symbols = self.context().enter();
        let context = self.digest_operation()?;
        // SAFETY: everything passed is alive and the texts are C strings or null.
        let status = unsafe {
            (symbols.EVP_DigestVerifyInit_ex)(
                context.as_ptr(),
                ptr::null_mut(),
                digest.as_ref().map_or(ptr::null(), |name| name.as_ptr()),
                self.context().as_ptr(),
                self.properties(),
                self.as_ptr(),
                ptr::null(),
            )
        };
        self.context().expect(status, || "verify a signature".into())?;
        // SAFETY: the operation is initialised; pointers and lengths describe the slices.
        let status = unsafe {
            let (signature, message) = ((signature.as_ptr(), signature.len()), message);
            let context = context.as_ptr();
            (symbols.EVP_DigestVerify)(
                context,
                signature.0,
                signature.1,
                message.as_ptr(),
                message.len(),
            )
        };
        Ok(status == 1)
    }

    fn digest_operation(&self) -> Result<Owned<EVP_MD_CTX>, Error> {
        let symbols = self.context().libraries().symbols();
        // SAFETY: no arguments; freed by its own function.
        let context = unsafe { Owned::new((symbols.EVP_MD_CTX_new)(), symbols.EVP_MD_CTX_free) };
        context.ok_or_else(|| self.context().failure("make a digest operation"))
    }

    /// Calls a function for the length of its output, then for the output.
    fn two_step(
        &self,
        what: impl Fn() -> String,
        call: impl Fn(*mut u8, *mut usize) -> i32,
    ) -> Result<Secret, Error> {
        let mut length = 0;
        self.context().expect(call(ptr::null_mut(), &mut length), &what)?;
        let mut output = Secret::zeroed(length);
        self.context().expect(call(output.as_mut_ptr(), &mut length), &what)?;
        output.shorten(length);
        Ok(output)
    }
}

fn kem_parameters(operation: Option<&str>) -> Option<(&str, Value<'_>)> {
    let name = OSSL_KEM_PARAM_OPERATION.to_str().unwrap_or_default();
    operation.map(|operation| (name, Value::Text(operation)))
}
