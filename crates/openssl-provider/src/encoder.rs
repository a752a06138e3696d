//! Encoders: keys to PEM, DER and text.

use core::ffi::{CStr, c_int, c_void};
use core::marker::PhantomData;
use core::ptr;
use std::io::Write;

use kex::TlsKem;
use openssl_abi::functions::encoder as function;
use openssl_abi::{
    CoreBio, Dispatch, Param, ParamType, Params, Passphrase, PassphraseCallback, Value, guard,
    names, selection,
};
use zeroize::Zeroizing;

use crate::formats::{
    Cipher, EncryptError, Structure, encrypt, pem, public_to_der, secret_to_der, text,
};
use crate::key::{Key, Material};
use crate::keymgmt::{KeyManagement, fill_from_params};
use crate::provider::Provider;
use crate::reason;

/// The longest passphrase, as in libcrypto.
const PASSPHRASE_BYTES: usize = 1024;

/// A form that keys are written in. The discriminants index [`FORMS`].
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

/// The encoders for keys of `K`.
pub(crate) struct Encoder<K>(PhantomData<K>);

/// The encoder to form number `FORM`.
struct To<K, const FORM: usize>(PhantomData<K>);

/// One encoding in progress.
struct Encoding {
    provider: *const Provider,
    cipher: Option<Cipher>,
}

impl<K: TlsKem> Encoder<K> {
    /// Property definition and functions of each.
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
        function::FREE_OBJECT.entry(KeyManagement::<K>::free),
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
            // SAFETY: libcrypto hands back our encoding, and parameters; the provider is still there.
            let (provider, params) =
                unsafe { (&*(*encoding.cast::<Encoding>()).provider, Params::new(params)) };
            let key = Key::<K>::new(provider, None);
            if fill_from_params(&key, selection, params) { key.into_raw() } else { ptr::null_mut() }
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
            let Some(material) = key.and_then(Key::material) else {
                return raise(reason::MISSING_KEY, "the key is empty");
            };
            // SAFETY: callback and argument come from libcrypto together.
            let passphrase = unsafe { PassphraseCallback::new(passphrase, argument) };
            match Self::contents(&material, wanted, encoding.cipher, &passphrase) {
                Ok(bytes) => {
                    // SAFETY: libcrypto's stream, valid during this call.
                    let mut out = unsafe { provider.core.bio(out) };
                    match out.write_all(&bytes) {
                        Ok(()) => 1,
                        Err(_) => raise(reason::ENCODING, "the output cannot be written"),
                    }
                }
                Err((reason, message)) => raise(reason, message),
            }
        })
    }

    fn contents(
        material: &Material<K>,
        wanted: c_int,
        cipher: Option<Cipher>,
        passphrase: &PassphraseCallback,
    ) -> Result<Zeroizing<Vec<u8>>, (u32, &'static str)> {
        const NO_SECRET: (u32, &str) = (reason::MISSING_KEY, "the key has no private half");
        const FAILED: (u32, &str) = (reason::ENCODING, "the key cannot be encoded");

        let group = K::GROUP;
        let Some(structure) = Self::FORM_.structure else {
            let secret = material.secret_bytes().filter(|_| wanted & selection::PRIVATE_KEY != 0);
            let public = material.public_bytes();
            let text = text(group, secret.as_deref(), Some(&public));
            return Ok(Zeroizing::new(text.as_bytes().to_vec()));
        };
        let (structure, der) = match (structure, cipher) {
            (Structure::SubjectPublicKeyInfo, _) => {
                let der = public_to_der(group, &material.public_bytes()).map_err(|_| FAILED)?;
                (structure, Zeroizing::new(der))
            }
            (Structure::PrivateKeyInfo, None) => {
                let secret = material.secret_bytes().ok_or(NO_SECRET)?;
                (structure, secret_to_der(group, &secret).map_err(|_| FAILED)?)
            }
            (Structure::EncryptedPrivateKeyInfo, None) => {
                return Err((reason::ENCODING, "no cipher given to encrypt the key with"));
            }
            // As in libcrypto's own encoders, a cipher turns a plain structure into the encrypted one.
            (_, Some(cipher)) => {
                let secret = material.secret_bytes().ok_or(NO_SECRET)?;
                let plain = secret_to_der(group, &secret).map_err(|_| FAILED)?;
                let mut buffer = Zeroizing::new([0; PASSPHRASE_BYTES]);
                let length = passphrase
                    .ask(&mut *buffer)
                    .ok_or((reason::ENCODING, "no passphrase given to encrypt the key with"))?;
                let der =
                    encrypt(&plain, cipher, &buffer[..length]).map_err(|error| match error {
                        EncryptError::RandomSource => {
                            (reason::RANDOM_SOURCE, "the random source failed")
                        }
                        EncryptError::Encoding => FAILED,
                    })?;
                (Structure::EncryptedPrivateKeyInfo, Zeroizing::new(der))
            }
        };
        if Self::FORM_.pem {
            let pem = pem(structure, &der).map_err(|_| FAILED)?;
            Ok(Zeroizing::new(pem.as_bytes().to_vec()))
        } else {
            Ok(der)
        }
    }
}

unsafe extern "C" fn new(context: *mut c_void) -> *mut c_void {
    guard(ptr::null_mut(), || {
        Box::into_raw(Box::new(Encoding { provider: context.cast(), cipher: None })).cast()
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
        // SAFETY: libcrypto hands back our encoding, and parameters, and runs one call at a time on it.
        let (encoding, params) =
            unsafe { (&mut *encoding.cast::<Encoding>(), Params::new(params)) };
        let Some(Value::Utf8(name)) = params.get(names::CIPHER) else { return 1 };
        let name = String::from_utf8_lossy(name);
        encoding.cipher = match Cipher::named(&name) {
            _ if name.is_empty() => None,
            Some(cipher) => Some(cipher),
            None => {
                // Going on without would write the key in the clear.
                let message =
                    format!("cipher {name} for a private key: expected {}", Cipher::NAMES);
                // SAFETY: the provider outlives its encodings.
                unsafe { &*encoding.provider }.core.raise(reason::PARAMETER, &message);
                return 0;
            }
        };
        1
    })
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
