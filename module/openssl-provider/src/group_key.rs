//! Keys of the TLS groups.

use core::ffi::{CStr, c_int};
use core::marker::PhantomData;

use kex::TlsKem;
pub(crate) use keypool::KeyMaterial;
use openssl_abi::{Param, ParamType, Params, ValueError, WrongType, names, selection};
use secret::NoMemory;

use crate::context::Provider;
use crate::key::{KeyType, Raised, SharedKey, selects};
use crate::reason;

/// The type of the keys of `K`.
pub(crate) struct GroupKey<K>(PhantomData<K>);

/// A key of `K`.
pub(crate) type Key<K> = SharedKey<GroupKey<K>>;

impl<K: TlsKem> KeyType for GroupKey<K> {
    const NAME: &'static str = K::GROUP.name;
    const BITS: u32 = 8 * K::PUBLIC_KEY_BYTES as u32;
    const SECURITY_BITS: u32 = K::GROUP.security_bits;
    const MAX_SIZE: u32 = K::CIPHERTEXT_BYTES as u32;
    const EXCHANGES: bool = true;
    const IS_DECODED: bool = true;
    const EXPORTS_PUBLIC_KEY_ALWAYS: bool = false;

    const GENERATION_SETTABLE: &'static [Param] =
        &[Param::descriptor(names::GROUP, ParamType::Utf8), Param::END];
    const GETTABLE: &'static [Param] = &[
        Param::descriptor(names::BITS, ParamType::Integer),
        Param::descriptor(names::SECURITY_BITS, ParamType::Integer),
        Param::descriptor(names::MAX_SIZE, ParamType::Integer),
        Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets),
        Param::descriptor(names::PUBLIC_KEY, ParamType::Octets),
        Param::descriptor(names::PRIVATE_KEY, ParamType::Octets),
        Param::END,
    ];
    const SETTABLE: &'static [Param] =
        &[Param::descriptor(names::ENCODED_PUBLIC_KEY, ParamType::Octets), Param::END];
    const PUBLIC_TYPES: &'static [Param] =
        &[Param::descriptor(names::PUBLIC_KEY, ParamType::Octets), Param::END];

    type Material = KeyMaterial<K>;
    type Options = ();

    /// The algorithm is the group: a `group` parameter can only repeat its name.
    fn set_options((): &mut (), provider: &Provider, params: Params<'_>) -> bool {
        let expected = K::GROUP.name;
        match params.utf8(names::GROUP) {
            Ok(None) => true,
            Ok(Some(name)) if name.eq_ignore_ascii_case(expected.as_bytes()) => true,
            other => {
                let name = match other {
                    Ok(name) => reason::shown(name.unwrap_or_default()),
                    Err(error) => error.to_string(),
                };
                let message = format!("group {name} for a {expected} key: expected {expected}");
                provider.core.raise(reason::PARAMETER, &message);
                false
            }
        }
    }

    fn generate(provider: &Provider, (): &()) -> Result<KeyMaterial<K>, (u32, String)> {
        let pair = provider.pools.keys::<K>().take();
        pair.map(KeyMaterial::Pair)
            .map_err(|error| (reason::of(&error, reason::RANDOM_SOURCE), error.to_string()))
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
        let (public, secret) =
            match (params.octets(names::PUBLIC_KEY), params.octets(names::PRIVATE_KEY)) {
                (Ok(public), Ok(secret)) => {
                    (public, secret.filter(|_| selects(selection, selection::PRIVATE_KEY)))
                }
                (Err(error), _) => return raise(&format!("'pub' is {error}")),
                (_, Err(error)) => return raise(&format!("'priv' is {error}")),
            };
        let backend = key.provider().backend;
        match (secret, public) {
            (Some(secret), public) => {
                let material = read(key, KeyMaterial::<K>::from_secret_bytes(backend, secret))?;
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
