//! Private keys of a KEM with seeds, as RFC 9935 has them for ML-KEM: the seed, the expanded key,
//! or both.
//!
//! ```text
//! CHOICE { seed [0] OCTET STRING, expandedKey OCTET STRING,
//!          both SEQUENCE { seed OCTET STRING, expandedKey OCTET STRING } }
//! ```

use der::asn1::{AnyRef, OctetStringRef};
use der::{Decode, Sequence, Tag, TagNumber, Tagged};
use kex::{Backend, TlsKem};
use keypool::KeyMaterial;
use secret::Secret;

use crate::formats::{WriteError, to_der};

/// The parts of a private key that are given. At least one is.
pub(crate) struct SeedKey<'a> {
    pub(crate) seed: Option<&'a [u8]>,
    pub(crate) expanded: Option<&'a [u8]>,
}

#[derive(Sequence)]
struct Both<'a> {
    seed: &'a OctetStringRef,
    expanded: &'a OctetStringRef,
}

/// The tag of a seed alone: it replaces that of the octet string.
const SEED_TAG: Tag = Tag::ContextSpecific { constructed: false, number: TagNumber(0) };

/// A form of private keys in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Seed,
    Expanded,
    Both,
}

impl Form {
    /// The forms of a new file unless configured otherwise: the first one is written that the key
    /// has the parts for.
    pub(crate) const DEFAULT: [Form; 2] = [Form::Both, Form::Expanded];
    /// The names of the forms, as OpenSSL has them.
    pub(crate) const NAMES: [(&'static str, Form); 3] =
        [("seed-only", Form::Seed), ("priv-only", Form::Expanded), ("seed-priv", Form::Both)];

    /// Reads a list of names.
    pub(crate) fn list(text: &str) -> Option<Box<[Form]>> {
        let words = text.split(|c: char| c == ',' || c.is_whitespace());
        let forms = words.filter(|word| !word.is_empty()).map(|word| {
            Self::NAMES
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(word))
                .map(|found| found.1)
        });
        forms.collect::<Option<Box<[Form]>>>().filter(|forms| !forms.is_empty())
    }
}

/// Reasons to refuse a private key.
pub(crate) enum SeedKeyError {
    Key(kex::Error),
    /// The two forms of the key differ.
    Mismatch,
    /// No memory to compare them.
    Memory,
}

impl From<kex::Error> for SeedKeyError {
    fn from(error: kex::Error) -> Self {
        SeedKeyError::Key(error)
    }
}

impl core::fmt::Display for SeedKeyError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            SeedKeyError::Key(error) => error.fmt(f),
            SeedKeyError::Mismatch => f.write_str("the expanded key is not that of the seed"),
            SeedKeyError::Memory => f.write_str("no memory to compare the key with its seed"),
        }
    }
}

impl<'a> SeedKey<'a> {
    /// Reads the contents of a PrivateKeyInfo's octet string.
    pub(crate) fn from_der(der: &'a [u8]) -> Option<Self> {
        if let Ok(both) = Both::from_der(der) {
            let (seed, expanded) = (both.seed.as_bytes(), both.expanded.as_bytes());
            return Some(SeedKey { seed: Some(seed), expanded: Some(expanded) });
        }
        let one = AnyRef::from_der(der).ok()?;
        match one.tag() {
            SEED_TAG => Some(SeedKey { seed: Some(one.value()), expanded: None }),
            Tag::OctetString => Some(SeedKey { seed: None, expanded: Some(one.value()) }),
            _ => None,
        }
    }

    /// Writes the contents of a PrivateKeyInfo's octet string in the first of `forms` that there
    /// are parts for; `None` if there is none.
    pub(crate) fn to_der(&self, forms: &[Form]) -> Option<Result<Secret<[u8]>, WriteError>> {
        forms.iter().find_map(|form| match (form, self.seed, self.expanded) {
            (Form::Both, Some(seed), Some(expanded)) => Some(Self::both(seed, expanded)),
            (Form::Seed, Some(seed), _) => Some(Self::one(SEED_TAG, seed)),
            (Form::Expanded, _, Some(expanded)) => Some(Self::one(Tag::OctetString, expanded)),
            _ => None,
        })
    }

    fn both(seed: &[u8], expanded: &[u8]) -> Result<Secret<[u8]>, WriteError> {
        let (seed, expanded) = (OctetStringRef::new(seed)?, OctetStringRef::new(expanded)?);
        to_der(&Both { seed, expanded })
    }

    fn one(tag: Tag, part: &[u8]) -> Result<Secret<[u8]>, WriteError> {
        to_der(&AnyRef::new(tag, part)?)
    }

    /// The key. If both parts are given, they must belong together.
    pub(crate) fn read<K: TlsKem>(&self, backend: Backend) -> Result<KeyMaterial<K>, SeedKeyError> {
        let Some(seed) = self.seed else {
            return Ok(KeyMaterial::from_secret_bytes(backend, self.expanded.unwrap_or_default())?);
        };
        let material = KeyMaterial::from_seed(backend, seed)?;
        let Some(expanded) = self.expanded else { return Ok(material) };
        match material.secret_bytes() {
            Ok(Some(bytes)) if secret::is_equal(&bytes, expanded) => Ok(material),
            Ok(_) => Err(SeedKeyError::Mismatch),
            Err(_) => Err(SeedKeyError::Memory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_those_of_the_standard() {
        let (seed, expanded) = (&[1; 64][..], &[2; 300][..]);
        let key = SeedKey { seed: Some(seed), expanded: Some(expanded) };
        let write = |forms: &[Form]| key.to_der(forms).unwrap().unwrap().to_vec();
        let octets = |part: &[u8]| match part.len() {
            short @ ..128 => [&[4, short as u8][..], part].concat(),
            long => [&[4, 0x82, (long >> 8) as u8, long as u8][..], part].concat(),
        };
        let seed_only = [&[0x80, 64][..], seed].concat();
        let (inside, priv_only) = ([octets(seed), octets(expanded)].concat(), octets(expanded));
        let both =
            [&[0x30, 0x82, (inside.len() >> 8) as u8, inside.len() as u8], &inside[..]].concat();
        for (form, expected, parts) in [
            (Form::Seed, seed_only, (Some(seed), None)),
            (Form::Expanded, priv_only, (None, Some(expanded))),
            (Form::Both, both, (Some(seed), Some(expanded))),
        ] {
            assert_eq!(write(&[form]), expected, "{form:?}");
            let read = SeedKey::from_der(&expected).unwrap();
            assert_eq!((read.seed, read.expanded), parts);
            assert!(SeedKey::from_der(&expected[..expected.len() - 1]).is_none());
        }
        assert!(SeedKey::from_der(&[0x81, 1, 0]).is_none() && SeedKey::from_der(&[]).is_none());

        // Without a seed, the next form is taken.
        let key = SeedKey { seed: None, expanded: Some(expanded) };
        assert_eq!(key.to_der(&Form::DEFAULT).unwrap().unwrap()[..], octets(expanded));
        assert!(key.to_der(&[Form::Seed]).is_none());
    }

    #[test]
    fn lists_of_forms_are_read() {
        assert_eq!(Form::list("seed-only"), Some([Form::Seed].into()));
        assert_eq!(Form::list(" SEED-PRIV, priv-only"), Some(Form::DEFAULT.into()));
        for wrong in ["", " ,", "seed", "seed-only,bare-priv"] {
            assert_eq!(Form::list(wrong), None, "{wrong}");
        }
    }
}
