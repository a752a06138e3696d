//! Keys of the TLS groups.

use core::ffi::{CStr, c_int};
use core::marker::PhantomData;

use kex::TlsKem;
pub(crate) use keypool::KeyMaterial;
use openssl_abi::{Param, ParamType, Params, ValueError, WrongType, names, selection};
use secret::{NoMemory, Secret};

use crate::context::Provider;
use crate::key::{KeyType, Raised, SharedKey, selects};
use crate::seed_key::SeedKey;
use crate::{memory, reason};

/// The type of the keys of `K`.
pub(crate) struct GroupKey<K>(PhantomData<K>);

/// A key of `K`.
pub(crate) type Key<K> = SharedKey<GroupKey<K>>;

/// Parameters of keys with seeds. Those of other keys are the same without the first.
const GENERATION_SETTABLE: &[Param] = &[
    Param::descriptor(names::SEED, ParamType::Octets),
    Param::descriptor(names::GROUP, ParamType::Utf8),
    Param::END,
];
const GETTABLE: &[Param] = &[
    Param::descriptor(names::SEED, ParamType::Octets),
    Param::descriptor(names::BITS, ParamType::Integer),
    Param::descriptor(names::SECURITY_BITS, ParamType::Integer),
    Param::descriptor(names::MAX_SIZE, ParamType::Integer),
    Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets),
    Param::descriptor(names::PUBLIC_KEY, ParamType::Octets),
    Param::descriptor(names::PRIVATE_KEY, ParamType::Octets),
    Param::END,
];
const KEY_PAIR: &[Param] = &[
    Param::descriptor(names::SEED, ParamType::Octets),
    Param::descriptor(names::PUBLIC_KEY, ParamType::Octets),
    Param::descriptor(names::PRIVATE_KEY, ParamType::Octets),
    Param::END,
];

/// One of these lists for keys with a seed of so many bytes, or without one.
const fn list(with_seed: &'static [Param], seed_bytes: usize) -> &'static [Param] {
    match with_seed {
        [_seed, others @ ..] if seed_bytes == 0 => others,
        all => all,
    }
}

impl<K: TlsKem> KeyType for GroupKey<K> {
    const NAME: &'static str = K::GROUP.name;
    const BITS: u32 = 8 * K::PUBLIC_KEY_BYTES as u32;
    const SECURITY_BITS: u32 = K::GROUP.security_bits;
    const MAX_SIZE: u32 = K::CIPHERTEXT_BYTES as u32;
    const EXCHANGES: bool = true;
    const IS_DECODED: bool = true;
    const EXPORTS_PUBLIC_KEY_ALWAYS: bool = false;

    const GENERATION_SETTABLE: &'static [Param] = list(GENERATION_SETTABLE, K::SEED_BYTES);
    const GETTABLE: &'static [Param] = list(GETTABLE, K::SEED_BYTES);
    const SETTABLE: &'static [Param] =
        &[Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets), Param::END];
    const PUBLIC_TYPES: &'static [Param] =
        &[Param::descriptor(names::PUBLIC_KEY, ParamType::Octets), Param::END];
    const KEY_PAIR_TYPES: &'static [Param] = list(KEY_PAIR, K::SEED_BYTES);

    type Material = KeyMaterial<K>;
    /// The seed of the key pair, if one was given.
    type Options = Option<Secret<[u8]>>;

    /// The algorithm is the group: a `group` parameter can only repeat its name. libssl passes an
    /// empty one for groups of OpenSSL's own.
    fn set_options(
        seed: &mut Option<Secret<[u8]>>,
        provider: &Provider,
        params: Params<'_>,
    ) -> bool {
        let raise = |reason: u32, message: String| {
            provider.core.raise(reason, &message);
            false
        };
        let expected = K::GROUP.name;
        let is_name = |name: &[u8]| {
            let known = [expected, K::GROUP.algorithm(), ""];
            known.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
        };
        match params.utf8(names::GROUP) {
            Ok(name) if name.is_none_or(is_name) => {}
            other => {
                let name = match other {
                    Ok(name) => reason::shown(name.unwrap_or_default()),
                    Err(error) => error.to_string(),
                };
                let message = format!("group {name} for a {expected} key: expected {expected}");
                return raise(reason::PARAMETER, message);
            }
        }
        if K::SEED_BYTES == 0 {
            return true;
        }
        match params.octets(names::SEED) {
            Ok(None) => true,
            Ok(Some(bytes)) if bytes.len() == K::SEED_BYTES => match memory::copy(bytes) {
                Ok(copy) => {
                    *seed = Some(copy);
                    true
                }
                Err(NoMemory) => raise(reason::MEMORY, format!("{expected}: no memory for a seed")),
            },
            Ok(Some(bytes)) => {
                let (actual, right) = (bytes.len(), K::SEED_BYTES);
                let message = format!("{expected}: seed of {actual} bytes: expected {right}");
                raise(reason::PARAMETER, message)
            }
            Err(error) => raise(reason::PARAMETER, format!("{expected}: 'seed' is {error}")),
        }
    }

    fn generate(
        provider: &Provider,
        seed: &Option<Secret<[u8]>>,
    ) -> Result<KeyMaterial<K>, (u32, String)> {
        let material = match seed {
            Some(seed) => KeyMaterial::from_seed(provider.backend, seed),
            None => provider.pools.keys::<K>().take().map(KeyMaterial::Pair),
        };
        material.map_err(|error| (reason::of(&error, reason::RANDOM_SOURCE), error.to_string()))
    }

    fn has_secret(material: &KeyMaterial<K>) -> bool {
        material.has_secret()
    }

    fn public_only(material: &KeyMaterial<K>) -> KeyMaterial<K> {
        KeyMaterial::Public(material.public().clone())
    }

    fn is_same_public(first: &KeyMaterial<K>, second: &KeyMaterial<K>) -> bool {
        first.public() == second.public()
    }

    fn check_pair(key: &Key<K>, material: &KeyMaterial<K>, _: c_int) -> bool {
        match material.secret().map(|secret| K::check(secret, key.provider().backend)) {
            None => false,
            Some(Ok(())) => true,
            Some(Err(error)) => {
                key.raise(reason::INVALID_KEY, &error.to_string());
                false
            }
        }
    }

    fn with_public<R>(
        material: &KeyMaterial<K>,
        work: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, NoMemory> {
        material.public_bytes().map(|bytes| work(&bytes))
    }

    fn with_secret<R>(
        material: &KeyMaterial<K>,
        work: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, NoMemory> {
        material.secret_bytes().map(|bytes| work(bytes.as_deref()))
    }

    fn with_seed<R>(
        material: &KeyMaterial<K>,
        work: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R, NoMemory> {
        if K::SEED_BYTES == 0 {
            return Ok(work(None));
        }
        material.seed_bytes().map(|bytes| work(bytes.as_deref()))
    }

    fn parameter_message(name: &CStr, error: &ValueError) -> String {
        format!("{} {name:?}: {error}", K::GROUP.name)
    }

    fn read_key_share(
        key: &Key<K>,
        share: Result<Option<&[u8]>, WrongType>,
    ) -> Result<Option<KeyMaterial<K>>, Raised> {
        match share {
            Ok(None) => Ok(None),
            Ok(Some(bytes)) => {
                let backend = key.provider().backend;
                read(key, KeyMaterial::from_public_bytes(backend, bytes)).map(Some)
            }
            Err(_) => {
                let message = format!("{} key share: expected bytes", K::GROUP.name);
                key.provider().core.raise(reason::PARAMETER, &message);
                Err(Raised)
            }
        }
    }

    fn from_params(
        key: &Key<K>,
        selection: c_int,
        params: Params<'_>,
    ) -> Result<KeyMaterial<K>, Raised> {
        let raise = |message: &str| {
            key.raise(reason::INVALID_KEY, message);
            Err(Raised)
        };
        let octets = |name: &CStr| {
            params.octets(name).map_err(|error| {
                let name = name.to_string_lossy();
                key.raise(reason::INVALID_KEY, &format!("'{name}' is {error}"));
                Raised
            })
        };
        let is_private = selects(selection, selection::PRIVATE_KEY);
        let public = octets(names::PUBLIC_KEY)?;
        let secret = octets(names::PRIVATE_KEY)?.filter(|_| is_private);
        let seed = match K::SEED_BYTES {
            0 => None,
            _ => octets(names::SEED)?.filter(|_| is_private),
        };
        let backend = key.provider().backend;
        let private = match (seed, secret) {
            (None, None) => None,
            (None, Some(secret)) => {
                Some(read(key, KeyMaterial::<K>::from_secret_bytes(backend, secret))?)
            }
            (Some(_), expanded) => match (SeedKey { seed, expanded }).read(backend) {
                Ok(material) => Some(material),
                Err(error) => return raise(&error.to_string()),
            },
        };
        match (private, public) {
            (Some(material), public) => {
                match public.map(|bytes| Ok(*bytes == *material.public_bytes()?)) {
                    None | Some(Ok(true)) => Ok(material),
                    Some(Ok(false)) => raise("'pub' is not the public key of 'priv'"),
                    Some(Err(NoMemory)) => raise("no memory to compare 'pub'"),
                }
            }
            (None, Some(public)) => read(key, KeyMaterial::from_public_bytes(backend, public)),
            (None, None) => raise("neither 'pub' nor 'priv' given: expected one as bytes"),
        }
    }
}

/// Raises the error of a key that could not be read.
fn read<K: TlsKem>(
    key: &Key<K>,
    material: Result<KeyMaterial<K>, kex::Error>,
) -> Result<KeyMaterial<K>, Raised> {
    material.map_err(|error| {
        key.raise(reason::INVALID_KEY, &error.to_string());
        Raised
    })
}
