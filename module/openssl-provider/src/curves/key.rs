//! Keys of X25519 and Ed25519.

use core::ffi::{CStr, c_int};

use openssl_abi::{Param, ParamRef, ParamType, Params, ValueError, WrongType, names, selection};
use secret::{NoMemory, Secret};

use crate::context::Provider;
use crate::curves::dhkem;
use crate::curves::scheme::{KEY_BYTES, SECURITY_BITS, Scheme};
use crate::key::{KEY_PAIR_TYPES, KeyType, Raised, SharedKey, selects};
use crate::memory;
use crate::reason;

/// The contents of a key. They are immutable: operations in progress go on with the contents that
/// they started with.
pub(crate) enum KeyMaterial<S: Scheme> {
    /// Any 32 bytes. A bad point shows when it is used, as with the default provider.
    Public([u8; KEY_BYTES]),
    Pair(S::Pair),
}

impl<S: Scheme> KeyMaterial<S> {
    pub(crate) fn public(&self) -> &[u8; KEY_BYTES] {
        match self {
            KeyMaterial::Public(public) => public,
            KeyMaterial::Pair(pair) => S::public(pair),
        }
    }

    pub(crate) fn pair(&self) -> Option<&S::Pair> {
        match self {
            KeyMaterial::Public(_) => None,
            KeyMaterial::Pair(pair) => Some(pair),
        }
    }
}

/// A key of `S`.
pub(super) type Key<S> = SharedKey<S>;

/// The parameters of keys for key exchange that can be read.
const EXCHANGE_GETTABLE: &[Param] = &[
    Param::descriptor(names::BITS, ParamType::Integer),
    Param::descriptor(names::SECURITY_BITS, ParamType::Integer),
    Param::descriptor(names::MAX_SIZE, ParamType::Integer),
    Param::descriptor(names::SECURITY_CATEGORY, ParamType::Integer),
    Param::descriptor(names::PUBLIC_KEY, ParamType::Octets),
    Param::descriptor(names::PRIVATE_KEY, ParamType::Octets),
    Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets),
    Param::END,
];
/// The same of keys for signatures.
const SIGNATURE_GETTABLE: &[Param] = &[
    Param::descriptor(names::BITS, ParamType::Integer),
    Param::descriptor(names::SECURITY_BITS, ParamType::Integer),
    Param::descriptor(names::MAX_SIZE, ParamType::Integer),
    Param::descriptor(names::SECURITY_CATEGORY, ParamType::Integer),
    Param::descriptor(names::PUBLIC_KEY, ParamType::Octets),
    Param::descriptor(names::PRIVATE_KEY, ParamType::Octets),
    Param::descriptor(names::MANDATORY_DIGEST, ParamType::Utf8),
    Param::END,
];

impl<S: Scheme> KeyType for S {
    const NAME: &'static str = <S as Scheme>::NAME;
    const BITS: u32 = <S as Scheme>::BITS;
    const SECURITY_BITS: u32 = SECURITY_BITS;
    const MAX_SIZE: u32 = <S as Scheme>::MAX_SIZE;
    const EXCHANGES: bool = <S as Scheme>::EXCHANGES;
    const IS_DECODED: bool = false;
    const EXPORTS_PUBLIC_KEY_ALWAYS: bool = true;

    const GENERATION_SETTABLE: &'static [Param] = &[
        Param::descriptor(names::GROUP, ParamType::Utf8),
        Param::descriptor(names::DHKEM_IKM, ParamType::Octets),
        Param::END,
    ];
    const GETTABLE: &'static [Param] =
        if <S as Scheme>::EXCHANGES { EXCHANGE_GETTABLE } else { SIGNATURE_GETTABLE };
    const SETTABLE: &'static [Param] = if <S as Scheme>::EXCHANGES {
        &[Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets), Param::END]
    } else {
        &[Param::END]
    };
    const PUBLIC_TYPES: &'static [Param] = KEY_PAIR_TYPES;

    type Material = KeyMaterial<S>;
    /// Input keying material to derive the key from, instead of drawing it (RFC 9180, section
    /// 7.1.3).
    type Options = Option<Secret<[u8]>>;

    /// There is one group only, whose name a `group` parameter can only repeat.
    fn set_options(
        options: &mut Option<Secret<[u8]>>,
        provider: &Provider,
        params: Params<'_>,
    ) -> bool {
        let algorithm = <S as Scheme>::NAME;
        let refuse = |message: String| {
            provider.core.raise(reason::PARAMETER, &format!("{algorithm}: {message}"));
            false
        };
        match params.utf8(names::GROUP) {
            Ok(None) => {}
            _ if !<S as Scheme>::EXCHANGES => {
                return refuse("a key for signatures has no group".to_owned());
            }
            Ok(Some(name)) if name.eq_ignore_ascii_case(algorithm.as_bytes()) => {}
            Ok(Some(name)) => {
                let name = reason::shown(name);
                return refuse(format!("group {name}: expected {algorithm}"));
            }
            Err(_) => return refuse(format!("group: expected {algorithm} as a string")),
        }
        match params.octets(names::DHKEM_IKM) {
            // Empty means none, as with the default provider.
            Ok(None | Some([])) => {}
            Ok(Some(material)) => match memory::copy(material) {
                Ok(copy) => *options = Some(copy),
                Err(NoMemory) => {
                    let message = format!("{algorithm}: no memory for dhkem-ikm");
                    provider.core.raise(reason::MEMORY, &message);
                    return false;
                }
            },
            Err(_) => return refuse("dhkem-ikm: expected bytes".to_owned()),
        }
        true
    }

    fn generate(
        provider: &Provider,
        options: &Option<Secret<[u8]>>,
    ) -> Result<KeyMaterial<S>, (u32, String)> {
        let pair = match options {
            None => <S as Scheme>::generate(provider)
                .map_err(|error| (reason::of(&error, reason::RANDOM_SOURCE), error.to_string())),
            Some(_) if !<S as Scheme>::EXCHANGES => {
                Err((reason::PARAMETER, "a key for signatures takes no dhkem-ikm".to_owned()))
            }
            Some(material) => match dhkem::derive(material) {
                Some(secret) => Ok(S::pair(provider.backend, &secret)),
                None => Err((
                    reason::PARAMETER,
                    format!("dhkem-ikm of {} bytes: expected {KEY_BYTES} or more", material.len()),
                )),
            },
        };
        pair.map(KeyMaterial::Pair)
    }

    fn has_secret(material: &KeyMaterial<S>) -> bool {
        material.pair().is_some()
    }

    fn public_only(material: &KeyMaterial<S>) -> KeyMaterial<S> {
        KeyMaterial::Public(*material.public())
    }

    fn is_same_public(first: &KeyMaterial<S>, second: &KeyMaterial<S>) -> bool {
        first.public() == second.public()
    }

    /// Any 32 bytes are a public key; only a pair can be inconsistent.
    fn check_pair(key: &Key<S>, material: &KeyMaterial<S>, selection: c_int) -> bool {
        if selection & selection::KEYPAIR != selection::KEYPAIR {
            return true;
        }
        material.pair().is_some_and(|pair| {
            let backend = key.provider().backend;
            let again = <S as Scheme>::with_secret(pair, |secret| S::pair(backend, secret));
            S::public(&again) == S::public(pair)
        })
    }

    fn with_public<R>(
        material: &KeyMaterial<S>,
        work: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, NoMemory> {
        Ok(work(material.public()))
    }

    fn with_secret<R>(
        material: &KeyMaterial<S>,
        work: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, NoMemory> {
        Ok(match material.pair() {
            Some(pair) => <S as Scheme>::with_secret(pair, |secret| work(Some(secret))),
            None => work(None),
        })
    }

    fn get_special(name: &CStr, param: &mut ParamRef<'_>) -> Result<(), ValueError> {
        if name == names::SECURITY_CATEGORY {
            // NIST's categories are for security against quantum computers.
            param.set_integer(0)
        } else if !<S as Scheme>::EXCHANGES && name == names::MANDATORY_DIGEST {
            // Ed25519 has its own hash; no other can be chosen.
            param.set_utf8(c"")
        } else {
            Ok(())
        }
    }

    fn parameter_message(name: &CStr, error: &ValueError) -> String {
        format!("{}: {name:?}: {error}", <S as Scheme>::NAME)
    }

    fn read_key_share(
        key: &Key<S>,
        share: Result<Option<&[u8]>, WrongType>,
    ) -> Result<Option<KeyMaterial<S>>, Raised> {
        Ok(bytes(key, "key share", share)?.map(|public| KeyMaterial::Public(*public)))
    }

    fn from_params(
        key: &Key<S>,
        selection: c_int,
        params: Params<'_>,
    ) -> Result<KeyMaterial<S>, Raised> {
        if !selects(selection, selection::KEYPAIR) {
            return Err(Raised);
        }
        let public = bytes(key, "public key", params.octets(names::PUBLIC_KEY))?;
        let secret = bytes(key, "private key", params.octets(names::PRIVATE_KEY))?;
        let secret = secret.filter(|_| selects(selection, selection::PRIVATE_KEY));
        let raise = |message: &str| {
            key.raise(reason::INVALID_KEY, message);
            Err(Raised)
        };
        match (secret, public) {
            (Some(secret), public) => {
                let pair = S::pair(key.provider().backend, secret);
                // A signature under another public key would give the private one away.
                if public.is_some_and(|public| public != S::public(&pair)) {
                    return raise("'pub' is not the public key of 'priv'");
                }
                Ok(KeyMaterial::Pair(pair))
            }
            (None, Some(public)) => Ok(KeyMaterial::Public(*public)),
            (None, None) => raise("neither 'pub' nor 'priv' given: expected one as bytes"),
        }
    }
}

/// The bytes of a public or private key, `None` if there are none.
fn bytes<'a, S: Scheme>(
    key: &Key<S>,
    what: &str,
    value: Result<Option<&'a [u8]>, WrongType>,
) -> Result<Option<&'a [u8; KEY_BYTES]>, Raised> {
    let Some(bytes) = value.map_err(|_| {
        key.raise(reason::PARAMETER, &format!("{what}: expected {KEY_BYTES} bytes"));
        Raised
    })?
    else {
        return Ok(None);
    };
    bytes.try_into().map(Some).map_err(|_| {
        let message = format!("{what} of {} bytes: expected {KEY_BYTES}", bytes.len());
        key.raise(reason::INVALID_KEY, &message);
        Raised
    })
}
