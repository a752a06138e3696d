//! Keys: generating, importing, comparing and checking them.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use crate::c_string::text;
use crate::constants::*;
use crate::context::LibraryContext;
use crate::error::Error;
use crate::library::c_text;
use crate::owned::Owned;
use crate::parameter::{InputParameters, Value};
use crate::provider;
use crate::secret::Secret;
use crate::symbols::Symbols;
use crate::types::{EVP_PKEY, EVP_PKEY_CTX};

/// A key, a key pair, or the parameters of one, of any algorithm that the context's providers know.
///
/// It keeps the property query of its creation and uses it for every operation. OpenSSL erases its
/// secrets when it is dropped.
pub struct Key {
    pkey: Owned<EVP_PKEY>,
    context: LibraryContext,
    properties: Option<CString>,
}

// SAFETY: OpenSSL locks the values that it caches in a key; changes take `&mut self`, and handles
// to a key are not shared.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

impl Drop for Key {
    fn drop(&mut self) {
        // Freeing runs the provider's code on this thread.
        self.context.enter();
    }
}

/// The parts of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selection {
    /// The parameters only, such as a group.
    Parameters,
    /// The public key and the parameters.
    Public,
    /// All parts: the private key, the public key and the parameters.
    Pair,
}

impl Selection {
    pub(crate) fn bits(self) -> c_int {
        match self {
            Self::Parameters => EVP_PKEY_KEY_PARAMETERS,
            Self::Public => EVP_PKEY_PUBLIC_KEY,
            Self::Pair => EVP_PKEY_KEYPAIR,
        }
    }
}

/// The checks of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// The parameters are valid.
    Parameters,
    /// The public key is valid.
    Public,
    /// The private key is valid.
    Private,
    /// The private key and the public key belong together.
    Pairwise,
}

impl Key {
    /// Generates a key pair of `algorithm`, such as `X25519`. `properties` selects among providers,
    /// such as `provider=fastkex`.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when no active provider has the algorithm or generation fails.
    pub fn generate(
        context: &LibraryContext,
        algorithm: &str,
        properties: Option<&str>,
    ) -> Result<Self, Error> {
        Self::generate_with(context, algorithm, properties, &[])
    }

    /// Does the same as [`Key::generate`] with parameters such as `("bits", Value::Number(2048))`
    /// or `("group", Value::Text("P-256"))`.
    ///
    /// # Errors
    ///
    /// The errors of [`Key::generate`]. OpenSSL ignores a parameter that the algorithm does not
    /// take.
    pub fn generate_with(
        context: &LibraryContext,
        algorithm: &str,
        properties: Option<&str>,
        parameters: &[(&str, Value<'_>)],
    ) -> Result<Self, Error> {
        let what = || format!("generate a key of {algorithm}");
        Self::generated(
            context,
            algorithm,
            properties,
            parameters,
            |s| s.EVP_PKEY_keygen_init,
            &what,
        )
    }

    /// Creates a key that contains only parameters, as libssl does on a server before it sets the
    /// client's share with [`Key::set_encoded_public_key`].
    ///
    /// # Errors
    ///
    /// The errors of [`Key::generate`].
    pub fn generate_parameters(
        context: &LibraryContext,
        algorithm: &str,
        properties: Option<&str>,
        parameters: &[(&str, Value<'_>)],
    ) -> Result<Self, Error> {
        let what = || format!("generate parameters of {algorithm}");
        Self::generated(
            context,
            algorithm,
            properties,
            parameters,
            |s| s.EVP_PKEY_paramgen_init,
            &what,
        )
    }

    fn generated(
        context: &LibraryContext,
        algorithm: &str,
        properties: Option<&str>,
        parameters: &[(&str, Value<'_>)],
        init: fn(&Symbols) -> unsafe extern "C" fn(*mut EVP_PKEY_CTX) -> c_int,
        what: &dyn Fn() -> String,
    ) -> Result<Self, Error> {
        let mut parameters = InputParameters::new(parameters)?;
        let properties = properties.map(|text| c_text("property query", text)).transpose()?;
        let symbols = context.enter();
        let operation = named_operation(context, algorithm, properties.as_deref(), what)?;
        // SAFETY: the operation is alive.
        context.expect(unsafe { init(symbols)(operation.as_ptr()) }, what)?;
        // SAFETY: the array is terminated and outlives the call.
        let status = unsafe {
            (symbols.EVP_PKEY_CTX_set_params)(operation.as_ptr(), parameters.as_mut_ptr())
        };
        context.expect(status, what)?;
        let mut pkey = ptr::null_mut();
        // SAFETY: the operation is initialised; `pkey` is null, so a new key is made.
        let status = unsafe { (symbols.EVP_PKEY_generate)(operation.as_ptr(), &mut pkey) };
        context.expect(status, what)?;
        // SAFETY: the new key is ours.
        unsafe { Self::take(context, pkey, properties, what) }
    }

    /// Imports a key from its parts, such as `("pub", Value::Octets(...))`, `("priv", ...)`,
    /// `("group", ...)`.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when no active provider has the algorithm or it refuses the parts.
    pub fn from_data(
        context: &LibraryContext,
        algorithm: &str,
        properties: Option<&str>,
        selection: Selection,
        parts: &[(&str, Value<'_>)],
    ) -> Result<Self, Error> {
        let what = || format!("import a key of {algorithm}");
        let mut parts = InputParameters::new(parts)?;
        let properties = properties.map(|text| c_text("property query", text)).transpose()?;
        let symbols = context.enter();
        let operation = named_operation(context, algorithm, properties.as_deref(), &what)?;
        // SAFETY: the operation is alive.
        context.expect(unsafe { (symbols.EVP_PKEY_fromdata_init)(operation.as_ptr()) }, what)?;
        let mut pkey = ptr::null_mut();
        // SAFETY: the operation is initialised, the array terminated; `pkey` is null, so a new key
        // is made.
        let status = unsafe {
            let array = parts.as_mut_ptr();
            (symbols.EVP_PKEY_fromdata)(operation.as_ptr(), &mut pkey, selection.bits(), array)
        };
        context.expect(status, what)?;
        // SAFETY: the new key is ours.
        unsafe { Self::take(context, pkey, properties, &what) }
    }

    /// Imports a public key from its bytes.
    ///
    /// # Errors
    ///
    /// The errors of [`Key::from_data`].
    pub fn from_raw_public(
        context: &LibraryContext,
        algorithm: &str,
        properties: Option<&str>,
        public: &[u8],
    ) -> Result<Self, Error> {
        let parts = [("pub", Value::Octets(public))];
        Self::from_data(context, algorithm, properties, Selection::Public, &parts)
    }

    /// Takes ownership of a key that OpenSSL has just created.
    ///
    /// # Safety
    ///
    /// `pkey` is null, or a key that belongs to `context` and has no other owner.
    pub(crate) unsafe fn take(
        context: &LibraryContext,
        pkey: *mut EVP_PKEY,
        properties: Option<CString>,
        what: &dyn Fn() -> String,
    ) -> Result<Self, Error> {
        let free = context.libraries().symbols().EVP_PKEY_free;
        // SAFETY: the caller vouches for the key, and this is how keys are freed.
        let pkey = unsafe { Owned::new(pkey, free) }.ok_or_else(|| context.failure(what()))?;
        Ok(Self { pkey, context: context.clone(), properties })
    }

    /// Returns a copy that shares nothing with this key.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the provider cannot copy it.
    pub fn duplicate(&self) -> Result<Self, Error> {
        let symbols = self.context.enter();
        // SAFETY: the key is alive.
        let copy = unsafe { (symbols.EVP_PKEY_dup)(self.as_ptr()) };
        // SAFETY: the copy is ours.
        unsafe {
            Self::take(&self.context, copy, self.properties.clone(), &|| "duplicate a key".into())
        }
    }

    /// True if both keys have the same public key and parameters.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the keys are of different types or cannot be compared,
    /// [`Error::Input`] when they belong to different library contexts.
    pub fn equals(&self, other: &Self) -> Result<bool, Error> {
        self.context.expect_same(&other.context, "compare keys")?;
        let symbols = self.context.enter();
        // SAFETY: both keys are alive.
        match unsafe { (symbols.EVP_PKEY_eq)(self.as_ptr(), other.as_ptr()) } {
            0 => Ok(false),
            1 => Ok(true),
            -1 => Err(self.context.failure("compare keys of different types")),
            _ => Err(self.context.failure("compare keys of this type")),
        }
    }

    /// Checks the key.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the check fails or the provider does not offer it.
    pub fn check(&self, check: Check) -> Result<(), Error> {
        let symbols = self.context.enter();
        let operation = self.operation("check a key")?;
        let function = match check {
            Check::Parameters => symbols.EVP_PKEY_param_check,
            Check::Public => symbols.EVP_PKEY_public_check,
            Check::Private => symbols.EVP_PKEY_private_check,
            Check::Pairwise => symbols.EVP_PKEY_pairwise_check,
        };
        // SAFETY: the operation is alive and holds the key.
        let status = unsafe { function(operation.as_ptr()) };
        self.context.expect(status, || format!("find the key sound ({check:?})"))
    }

    /// Returns the public key as it is encoded in a TLS key share.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when there is no public key or no such encoding of it.
    pub fn encoded_public_key(&self) -> Result<Vec<u8>, Error> {
        let symbols = self.context.enter();
        let mut bytes = ptr::null_mut();
        // SAFETY: the key is alive; `bytes` receives an allocation that is ours.
        let length =
            unsafe { (symbols.EVP_PKEY_get1_encoded_public_key)(self.as_ptr(), &mut bytes) };
        if length == 0 || bytes.is_null() {
            return Err(self.context.failure("encode a public key"));
        }
        // SAFETY: OpenSSL filled `length` bytes.
        let copy = unsafe { std::slice::from_raw_parts(bytes, length) }.to_vec();
        // SAFETY: allocated by OpenSSL for us and not used again.
        unsafe { (symbols.CRYPTO_free)(bytes.cast(), ptr::null(), 0) };
        Ok(copy)
    }

    /// Sets the public key from a TLS key share; the key must have its parameters already.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the provider refuses the bytes.
    pub fn set_encoded_public_key(&mut self, share: &[u8]) -> Result<(), Error> {
        let symbols = self.context.enter();
        // SAFETY: the key is alive and has no other user; pointer and length describe the share.
        let status = unsafe {
            (symbols.EVP_PKEY_set1_encoded_public_key)(self.as_ptr(), share.as_ptr(), share.len())
        };
        self.context.expect(status, || format!("take {} bytes as a public key", share.len()))
    }

    /// Sets one of the key's parameters.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the provider refuses the value.
    pub fn set(&mut self, name: &str, value: Value<'_>) -> Result<(), Error> {
        let parameters = [(name, value)];
        let mut parameters = InputParameters::new(&parameters)?;
        let symbols = self.context.enter();
        // SAFETY: the key is alive and has no other user; the array is terminated.
        let status =
            unsafe { (symbols.EVP_PKEY_set_params)(self.as_ptr(), parameters.as_mut_ptr()) };
        self.context.expect(status, || format!("set the key's parameter {name}"))
    }

    /// Returns one of the key's byte strings, such as `pub`. For `priv` see
    /// [`Key::private_octets`].
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the key has no such parameter.
    pub fn octets(&self, name: &str) -> Result<Vec<u8>, Error> {
        self.private_octets(name).map(Secret::into_public)
    }

    /// Returns one of the key's secret byte strings, such as `priv`.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the key has no such parameter.
    pub fn private_octets(&self, name: &str) -> Result<Secret, Error> {
        let what = || format!("get the key's parameter {name}");
        let c_name = c_text("parameter name", name)?;
        let symbols = self.context.enter();
        let get = |buffer: *mut u8, room: usize, length: &mut usize| {
            // SAFETY: the key is alive and `buffer` has `room` bytes, or is null to ask for the
            // length.
            let status = unsafe {
                let (pkey, name) = (self.as_ptr(), c_name.as_ptr());
                (symbols.EVP_PKEY_get_octet_string_param)(pkey, name, buffer, room, length)
            };
            self.context.expect(status, what)
        };
        let mut length = 0;
        get(ptr::null_mut(), 0, &mut length)?;
        let mut secret = Secret::zeroed(length);
        let room = secret.len();
        get(secret.as_mut_ptr(), room, &mut length)?;
        secret.shorten(length);
        Ok(secret)
    }

    /// Returns one of the key's texts, such as `group`.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when the key has no such parameter.
    pub fn text(&self, name: &str) -> Result<String, Error> {
        let c_name = c_text("parameter name", name)?;
        let symbols = self.context.enter();
        let (mut buffer, mut length) = ([0 as c_char; 256], 0);
        // SAFETY: the key is alive; the last byte of the buffer is not offered and stays zero, so
        // the buffer stays terminated.
        let status = unsafe {
            let (room, pkey) = (buffer.len() - 1, self.as_ptr());
            (symbols.EVP_PKEY_get_utf8_string_param)(
                pkey,
                c_name.as_ptr(),
                buffer.as_mut_ptr(),
                room,
                &mut length,
            )
        };
        self.context.expect(status, || format!("get the key's parameter {name}"))?;
        // SAFETY: the buffer ends in NUL.
        Ok(unsafe { text(buffer.as_ptr()) }.unwrap_or_default())
    }

    /// Returns the algorithm's name.
    pub fn algorithm(&self) -> String {
        let symbols = self.context.enter();
        // SAFETY: the key is alive, and the name lasts as long.
        unsafe { text((symbols.EVP_PKEY_get0_type_name)(self.as_ptr())) }.unwrap_or_default()
    }

    /// Returns the name of the provider that holds the key.
    pub fn provider(&self) -> Option<String> {
        let symbols = self.context.enter();
        // SAFETY: the key is alive, and with it its provider.
        unsafe { provider::name(symbols, (symbols.EVP_PKEY_get0_provider)(self.as_ptr())) }
    }

    /// Returns the key's size in bits; `None` if the provider does not report it.
    pub fn bits(&self) -> Option<u32> {
        // SAFETY: the key is alive.
        positive(unsafe { (self.context.enter().EVP_PKEY_get_bits)(self.as_ptr()) })
    }

    /// Returns the strength in bits; `None` if the provider does not report it.
    pub fn security_bits(&self) -> Option<u32> {
        // SAFETY: the key is alive.
        positive(unsafe { (self.context.enter().EVP_PKEY_get_security_bits)(self.as_ptr()) })
    }

    /// Returns the maximum size in bytes of the output: signature, ciphertext or shared secret;
    /// `None` if the provider does not report it.
    pub fn max_size(&self) -> Option<u32> {
        // SAFETY: the key is alive.
        positive(unsafe { (self.context.enter().EVP_PKEY_get_size)(self.as_ptr()) })
    }

    /// Returns the library context of the key.
    pub fn context(&self) -> &LibraryContext {
        &self.context
    }

    pub(crate) fn as_ptr(&self) -> *mut EVP_PKEY {
        self.pkey.as_ptr()
    }

    pub(crate) fn properties(&self) -> *const c_char {
        self.properties.as_ref().map_or(ptr::null(), |properties| properties.as_ptr())
    }

    /// Creates an operation with this key.
    pub(crate) fn operation(&self, what: &str) -> Result<Owned<EVP_PKEY_CTX>, Error> {
        let symbols = self.context.libraries().symbols();
        // SAFETY: context and key are alive; the operation takes a reference to the key.
        let operation = unsafe {
            let pointer = (symbols.EVP_PKEY_CTX_new_from_pkey)(
                self.context.as_ptr(),
                self.as_ptr(),
                self.properties(),
            );
            Owned::new(pointer, symbols.EVP_PKEY_CTX_free)
        };
        operation.ok_or_else(|| self.context.failure(what))
    }
}

/// Creates an operation for keys of an algorithm.
fn named_operation(
    context: &LibraryContext,
    algorithm: &str,
    properties: Option<&CStr>,
    what: &dyn Fn() -> String,
) -> Result<Owned<EVP_PKEY_CTX>, Error> {
    let name = c_text("algorithm", algorithm)?;
    let symbols = context.libraries().symbols();
    // SAFETY: the context is alive and the texts are C strings or null.
    let operation = unsafe {
        let properties = properties.map_or(ptr::null(), CStr::as_ptr);
        let pointer =
            (symbols.EVP_PKEY_CTX_new_from_name)(context.as_ptr(), name.as_ptr(), properties);
        Owned::new(pointer, symbols.EVP_PKEY_CTX_free)
    };
    operation.ok_or_else(|| context.failure(what()))
}

fn positive(number: c_int) -> Option<u32> {
    u32::try_from(number).ok().filter(|&number| number != 0)
}
