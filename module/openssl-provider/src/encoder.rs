//! Encoders of keys to PEM, DER and text.

use core::ffi::{CStr, c_int, c_void};
use core::marker::PhantomData;
use core::ptr;
use std::io::Write;

use kex::TlsKem;
use openssl_abi::functions::encoder as function;
use openssl_abi::{
    CoreBio, Dispatch, Param, ParamType, Params, Passphrase, PassphraseCallback, guard, names,
    selection,
};
use secret::{NoMemory, Secret};
use zeroize::Zeroizing;

use crate::context::Provider;
use crate::formats::{
    Cipher, Structure, WriteError, encrypt, pem, public_to_der, secret_to_der, text,
};
use crate::group_key::{GroupKey, Key, KeyMaterial};
use crate::key::{KeyType, Raised};
use crate::keymgmt::KeyManagement;
use crate::memory::Buffer;
use crate::reason;
use crate::seed_key::{Form as KeyForm, SeedKey};

/// Maximum length of a passphrase in bytes, as in libcrypto.
const PASSPHRASE_BYTES: usize = 1024;

/// An output format, an element of [`FORMS`].
struct Form {
    properties: &'static CStr,
    /// `None` for text.
    structure: Option<Structure>,
    pem: bool,
}

const FORMS: [Form; 7] = [
    Form {
        properties: c"provider=fastkex,output=der,structure=SubjectPublicKeyInfo",
        structure: Some(Structure::SubjectPublicKeyInfo),
        pem: false,
    },
    Form {
        properties: c"provider=fastkex,output=pem,structure=SubjectPublicKeyInfo",
        structure: Some(Structure::SubjectPublicKeyInfo),
        pem: true,
    },
    Form {
        properties: c"provider=fastkex,output=der,structure=PrivateKeyInfo",
        structure: Some(Structure::PrivateKeyInfo),
        pem: false,
    },
    Form {
        properties: c"provider=fastkex,output=pem,structure=PrivateKeyInfo",
        structure: Some(Structure::PrivateKeyInfo),
        pem: true,
    },
    Form {
        properties: c"provider=fastkex,output=der,structure=EncryptedPrivateKeyInfo",
        structure: Some(Structure::EncryptedPrivateKeyInfo),
        pem: false,
    },
    Form {
        properties: c"provider=fastkex,output=pem,structure=EncryptedPrivateKeyInfo",
        structure: Some(Structure::EncryptedPrivateKeyInfo),
        pem: true,
    },
    Form { properties: c"provider=fastkex,output=text", structure: None, pem: false },
];

/// The encoders of keys of `K`.
pub(crate) struct Encoder<K>(PhantomData<K>);

/// The encoder of the format `FORMS[FORM]`.
struct To<K, const FORM: usize>(PhantomData<K>);

/// The context of an encoder.
struct Encoding {
    provider: *const Provider,
    cipher: Option<Cipher>,
    /// The requested cipher is not available. The key must not be written unencrypted, even if the
    /// caller ignores that error.
    is_refused: bool,
}

/// Reason number and message of a failure.
struct Refusal(u32, &'static str);

impl From<WriteError> for Refusal {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::RandomSource => Refusal(reason::RANDOM_SOURCE, "the random source failed"),
            WriteError::Memory => Refusal(reason::MEMORY, "no memory to write the key"),
            WriteError::Encoding => Refusal(reason::ENCODING, "the key cannot be encoded"),
        }
    }
}

impl From<NoMemory> for Refusal {
    fn from(error: NoMemory) -> Self {
        WriteError::from(error).into()
    }
}

impl<K: TlsKem> Encoder<K> {
    /// Property definition and functions of each encoder.
    pub(crate) const ALL: [(&'static CStr, &'static [Dispatch]); FORMS.len()] = [
        (FORMS[0].properties, To::<K, 0>::DISPATCH),
        (FORMS[1].properties, To::<K, 1>::DISPATCH),
        (FORMS[2].properties, To::<K, 2>::DISPATCH),
        (FORMS[3].properties, To::<K, 3>::DISPATCH),
        (FORMS[4].properties, To::<K, 4>::DISPATCH),
        (FORMS[5].properties, To::<K, 5>::DISPATCH),
        (FORMS[6].properties, To::<K, 6>::DISPATCH),
    ];
}

impl<K: TlsKem, const FORM: usize> To<K, FORM> {
    const FORM_: &'static Form = &FORMS[FORM];

    const DISPATCH: &'static [Dispatch] = &[
        function::NEWCTX.entry(new),
        function::FREECTX.entry(free),
        function::SET_CTX_PARAMS.entry(set_params),
        function::SETTABLE_CTX_PARAMS.entry(settable_params),
        function::DOES_SELECTION.entry(Self::does_selection),
        function::ENCODE.entry(Self::encode),
        function::IMPORT_OBJECT.entry(Self::import_object),
        function::FREE_OBJECT.entry(KeyManagement::<GroupKey<K>>::free),
        Dispatch::END,
    ];

    unsafe extern "C" fn does_selection(_: *mut c_void, wanted: c_int) -> c_int {
        let fits = match Self::FORM_.structure {
            None => wanted & selection::KEYPAIR != 0,
            Some(Structure::SubjectPublicKeyInfo) => {
                wanted & selection::PRIVATE_KEY == 0 && wanted & selection::PUBLIC_KEY != 0
            }
            Some(Structure::PrivateKeyInfo | Structure::EncryptedPrivateKeyInfo) => {
                wanted & selection::PRIVATE_KEY != 0
            }
        };
        c_int::from(fits || wanted == 0)
    }

    unsafe extern "C" fn import_object(
        encoding: *mut c_void,
        selection: c_int,
        params: *const Param,
    ) -> *mut c_void {
        guard(ptr::null_mut(), || {
            // SAFETY: libcrypto hands back our encoding, and parameters; the provider is still
            // there.
            let (provider, params) =
                unsafe { (&*(*encoding.cast::<Encoding>()).provider, Params::new(params)) };
            let key = Key::<K>::new(provider, None);
            match GroupKey::from_params(&key, selection, params) {
                Ok(material) => {
                    key.set(material);
                    key.into_raw()
                }
                Err(Raised) => ptr::null_mut(),
            }
        })
    }

    unsafe extern "C" fn encode(
        encoding: *mut c_void,
        out: *mut CoreBio,
        key: *const c_void,
        abstract_key: *const Param,
        wanted: c_int,
        passphrase: Option<Passphrase>,
        argument: *mut c_void,
    ) -> c_int {
        guard(0, || {
            // SAFETY: libcrypto hands back our encoding and key; the provider is still there.
            let (encoding, key) = unsafe { (&*encoding.cast::<Encoding>(), Key::<K>::borrow(key)) };
            // SAFETY: as above.
            let provider = unsafe { &*encoding.provider };
            let raise = |reason, message: &str| {
                provider.core.raise(reason, &format!("{}: {message}", K::GROUP.name));
                0
            };
            if !abstract_key.is_null() {
                return raise(reason::ENCODING, "a key as parameters: expected a key object");
            }
            if encoding.is_refused {
                return raise(reason::ENCODING, "the cipher that was asked for cannot be had");
            }
            let Some(material) = key.and_then(Key::material) else {
                return raise(reason::MISSING_KEY, "the key is empty");
            };
            // SAFETY: callback and argument come from libcrypto together.
            let passphrase = unsafe { PassphraseCallback::new(passphrase, argument) };
            let forms = &provider.key_forms;
            match Self::contents(&material, wanted, encoding.cipher, forms, &passphrase) {
                Ok(bytes) => {
                    // SAFETY: libcrypto's stream, valid during this call.
                    let mut out = unsafe { provider.core.bio(out) };
                    match out.write_all(&bytes) {
                        Ok(()) => 1,
                        Err(_) => raise(reason::ENCODING, "the output cannot be written"),
                    }
                }
                Err(Refusal(reason, message)) => raise(reason, message),
            }
        })
    }

    fn contents(
        material: &KeyMaterial<K>,
        wanted: c_int,
        cipher: Option<Cipher>,
        forms: &[KeyForm],
        passphrase: &PassphraseCallback,
    ) -> Result<Buffer, Refusal> {
        const NO_SECRET: Refusal = Refusal(reason::MISSING_KEY, "the key has no private half");

        let group = K::GROUP;
        let Some(structure) = Self::FORM_.structure else {
            return Self::shown(material, wanted & selection::PRIVATE_KEY != 0);
        };
        let (structure, der) = match (structure, cipher) {
            (Structure::SubjectPublicKeyInfo, _) => {
                (structure, public_to_der(group, &material.public_bytes()?)?)
            }
            (Structure::PrivateKeyInfo, None) => {
                (structure, Self::private_key_info(material, forms)?.ok_or(NO_SECRET)?)
            }
            (Structure::EncryptedPrivateKeyInfo, None) => {
                let message = "no cipher given to encrypt the key with";
                return Err(Refusal(reason::ENCODING, message));
            }
            // As in libcrypto's own encoders, a cipher turns a plain structure into the encrypted
            // one.
            (_, Some(cipher)) => {
                let plain = Self::private_key_info(material, forms)?.ok_or(NO_SECRET)?;
                let mut buffer = Zeroizing::new([0; PASSPHRASE_BYTES]);
                let none = Refusal(reason::ENCODING, "no passphrase given to encrypt the key with");
                let length = passphrase.ask(&mut *buffer).ok_or(none)?;
                let der = encrypt(&plain, cipher, &buffer[..length])?;
                (Structure::EncryptedPrivateKeyInfo, der)
            }
        };
        Ok(if Self::FORM_.pem { pem(structure, &der)? } else { der }.into())
    }

    /// A PrivateKeyInfo, `None` if there is no private half.
    fn private_key_info(
        material: &KeyMaterial<K>,
        forms: &[KeyForm],
    ) -> Result<Option<Secret<[u8]>>, Refusal> {
        const NO_SEED: Refusal = Refusal(
            reason::ENCODING,
            "the key's seed is not known: expected priv-only in ml-kem.output_formats",
        );

        let Some(secret) = material.secret_bytes()? else { return Ok(None) };
        if K::SEED_BYTES == 0 {
            return Ok(Some(secret_to_der(K::GROUP, &secret)?));
        }
        let seed = material.seed_bytes()?;
        let key = SeedKey { seed: seed.as_deref(), expanded: Some(&secret) };
        let key = key.to_der(forms).ok_or(NO_SEED)??;
        Ok(Some(secret_to_der(K::GROUP, &key)?))
    }

    /// The key as text. The parts of ML-KEM's keys are named as OpenSSL names them.
    fn shown(material: &KeyMaterial<K>, with_secret: bool) -> Result<Buffer, Refusal> {
        let (secret_name, public_name) =
            if K::SEED_BYTES > 0 { ("dk", "ek") } else { ("priv", "pub") };
        let none = || Ok::<_, NoMemory>(None);
        let secret = if with_secret { material.secret_bytes() } else { none() }?;
        let seed = if with_secret { material.seed_bytes() } else { none() }?;
        let public = material.public_bytes()?;
        let parts = [
            ("seed", seed.as_deref()),
            (secret_name, secret.as_deref()),
            (public_name, Some(&*public)),
        ];
        Ok(text(K::GROUP, secret.is_some(), &parts)?)
    }
}

unsafe extern "C" fn new(context: *mut c_void) -> *mut c_void {
    guard(ptr::null_mut(), || {
        Box::into_raw(Box::new(Encoding {
            provider: context.cast(),
            cipher: None,
            is_refused: false,
        }))
        .cast()
    })
}

unsafe extern "C" fn free(encoding: *mut c_void) {
    guard((), || {
        if !encoding.is_null() {
            // SAFETY: made by `Box::into_raw` in `new`; libcrypto frees once.
            drop(unsafe { Box::from_raw(encoding.cast::<Encoding>()) });
        }
    });
}

unsafe extern "C" fn settable_params(_: *mut c_void) -> *const Param {
    static PARAMS: [Param; 3] = [
        Param::descriptor(names::CIPHER, ParamType::Utf8),
        Param::descriptor(names::PROPERTIES, ParamType::Utf8),
        Param::END,
    ];
    PARAMS.as_ptr()
}

unsafe extern "C" fn set_params(encoding: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto hands back our encoding, and parameters, and runs one call at a time on
        // it.
        let (encoding, params) =
            unsafe { (&mut *encoding.cast::<Encoding>(), Params::new(params)) };
        match cipher(params) {
            Ok(None) => {}
            Ok(Some(cipher)) => (encoding.cipher, encoding.is_refused) = (cipher, false),
            Err(message) => {
                encoding.is_refused = true;
                // SAFETY: the provider outlives its encodings.
                unsafe { &*encoding.provider }.core.raise(reason::PARAMETER, &message);
                return 0;
            }
        }
        1
    })
}

/// The cipher set by parameters: `None` if they set none, `Some(None)` for an empty name.
fn cipher(params: Params<'_>) -> Result<Option<Option<Cipher>>, String> {
    params
        .utf8(names::PROPERTIES)
        .map_err(|error| format!("properties of a cipher: {error}: expected a string"))?;
    let name = params.utf8(names::CIPHER).map_err(|error| {
        format!("cipher for a private key: {error}: expected {}", Cipher::NAMES)
    })?;
    match name {
        None => Ok(None),
        Some([]) => Ok(Some(None)),
        Some(name) => match Cipher::named(name) {
            Some(cipher) => Ok(Some(Some(cipher))),
            None => Err(format!(
                "cipher {} for a private key: expected {}",
                reason::shown(name),
                Cipher::NAMES
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_say_what_the_forms_are() {
        for form in &FORMS {
            let properties = form.properties.to_str().unwrap();
            let output = if form.structure.is_none() {
                "text"
            } else if form.pem {
                "pem"
            } else {
                "der"
            };
            assert!(properties.contains(&format!("output={output}")));
            match form.structure {
                Some(structure) => {
                    assert!(properties.ends_with(&format!("structure={structure:?}")));
                }
                None => assert!(!properties.contains("structure")),
            }
        }
    }
}
