//! Encodings of keys: SubjectPublicKeyInfo (RFC 5280), PKCS#8 (RFC 5958), encrypted PKCS#8, PEM and
//! text.
//!
//! The bit string holds the encoded public key and the octet string the encoded secret key: of
//! ML-KEM as in RFC 9935 (module `seed_key`), of hybrids the parts in the order of key shares.

use std::io::{self, Write};

use der::asn1::{AnyRef, BitStringRef, OctetStringRef};
use der::pem::{self, LineEnding};
use der::{Decode, Encode, Sequence, Tag, Tagged};
use getrandom::SysRng;
use kex::{Identifier, TlsGroup};
use pkcs5::pbes2;
use secret::{NoMemory, Secret};

use crate::memory::{self, Buffer};

/// Iterations of PBKDF2 with HMAC-SHA-256 (OWASP's recommendation of 2023).
const ITERATIONS: u32 = 600_000;
const SALT_BYTES: usize = 16;
const BLOCK_BYTES: usize = 16;

/// The structure around a key, by the names in properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::enum_variant_names)]
pub(crate) enum Structure {
    SubjectPublicKeyInfo,
    PrivateKeyInfo,
    EncryptedPrivateKeyInfo,
}

impl Structure {
    /// The label of its PEM.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Structure::SubjectPublicKeyInfo => "PUBLIC KEY",
            Structure::PrivateKeyInfo => "PRIVATE KEY",
            Structure::EncryptedPrivateKeyInfo => "ENCRYPTED PRIVATE KEY",
        }
    }
}

/// Object identifiers are compared as raw values: the UUIDs in their arcs are too large for the
/// usual decoders.
#[derive(Sequence)]
struct AlgorithmIdentifier<'a> {
    oid: AnyRef<'a>,
    parameters: Option<AnyRef<'a>>,
}

#[derive(Sequence)]
struct SubjectPublicKeyInfo<'a> {
    algorithm: AlgorithmIdentifier<'a>,
    key: BitStringRef<'a>,
}

#[derive(Sequence)]
struct PrivateKeyInfo<'a> {
    version: u8,
    algorithm: AlgorithmIdentifier<'a>,
    key: &'a OctetStringRef,
}

#[derive(Sequence)]
struct EncryptedPrivateKeyInfo<'a> {
    algorithm: pkcs5::EncryptionScheme,
    key: &'a OctetStringRef,
}

impl<'a> AlgorithmIdentifier<'a> {
    fn new(oid: &'a [u8]) -> der::Result<Self> {
        Ok(AlgorithmIdentifier { oid: AnyRef::new(Tag::ObjectIdentifier, oid)?, parameters: None })
    }

    fn is_of(&self, group: &TlsGroup) -> bool {
        let is = |identifier: Identifier| self.oid.value() == identifier.der();
        self.oid.tag() == Tag::ObjectIdentifier && group.identifier.is_some_and(is)
    }
}

/// The contents of the identifier of a group's algorithm.
fn identifier(group: &TlsGroup) -> Result<Vec<u8>, WriteError> {
    // Public: an identifier.
    group.identifier.map(Identifier::der).ok_or(WriteError::Encoding)
}

/// The result of decoding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<T> {
    Key(T),
    /// Not a key, or a key of another algorithm.
    NotOurs,
    /// The identifier of the group with an invalid key, and the reason.
    Malformed(&'static str),
}

/// Reasons why a key could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteError {
    RandomSource,
    Memory,
    Encoding,
}

impl From<NoMemory> for WriteError {
    fn from(_: NoMemory) -> Self {
        WriteError::Memory
    }
}

impl From<io::Error> for WriteError {
    fn from(_: io::Error) -> Self {
        WriteError::Encoding
    }
}

impl From<der::Error> for WriteError {
    fn from(_: der::Error) -> Self {
        WriteError::Encoding
    }
}

/// Encodes into one allocation of the right size, as growing would leave copies of secrets behind.
pub(crate) fn to_der(info: &impl Encode) -> Result<Secret<[u8]>, WriteError> {
    let length = usize::try_from(info.encoded_len()?)?;
    let mut der = memory::zeros(length)?;
    info.encode_to_slice(&mut der)?;
    Ok(der)
}

/// Encodes a public key as SubjectPublicKeyInfo.
pub(crate) fn public_to_der(group: &TlsGroup, key: &[u8]) -> Result<Secret<[u8]>, WriteError> {
    let oid = identifier(group)?;
    to_der(&SubjectPublicKeyInfo {
        algorithm: AlgorithmIdentifier::new(&oid)?,
        key: BitStringRef::from_bytes(key)?,
    })
}

/// The public key in a SubjectPublicKeyInfo.
pub(crate) fn public_from_der<'a>(group: &TlsGroup, der: &'a [u8]) -> Found<&'a [u8]> {
    let Ok(info) = SubjectPublicKeyInfo::from_der(der) else { return Found::NotOurs };
    if !info.algorithm.is_of(group) {
        return Found::NotOurs;
    }
    if info.algorithm.parameters.is_some() {
        return Found::Malformed("the algorithm has parameters: expected none");
    }
    match info.key.as_bytes() {
        Some(key) => Found::Key(key),
        None => Found::Malformed("the bit string has unused bits: expected none"),
    }
}

/// Encodes a secret key as PrivateKeyInfo.
pub(crate) fn secret_to_der(group: &TlsGroup, key: &[u8]) -> Result<Secret<[u8]>, WriteError> {
    let oid = identifier(group)?;
    to_der(&PrivateKeyInfo {
        version: 0,
        algorithm: AlgorithmIdentifier::new(&oid)?,
        key: OctetStringRef::new(key)?,
    })
}

/// The secret key in a PrivateKeyInfo.
pub(crate) fn secret_from_der<'a>(group: &TlsGroup, der: &'a [u8]) -> Found<&'a [u8]> {
    let Ok(info) = PrivateKeyInfo::from_der(der) else { return Found::NotOurs };
    if !info.algorithm.is_of(group) {
        return Found::NotOurs;
    }
    if info.version != 0 {
        return Found::Malformed("the version is not 0");
    }
    if info.algorithm.parameters.is_some() {
        return Found::Malformed("the algorithm has parameters: expected none");
    }
    Found::Key(info.key.as_bytes())
}

/// A cipher for PEM and DER of secret keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cipher {
    Aes128Cbc,
    Aes256Cbc,
}

impl Cipher {
    pub(crate) const NAMES: &'static str = "AES-128-CBC or AES-256-CBC";

    pub(crate) fn named(name: &[u8]) -> Option<Cipher> {
        const KNOWN: [(&str, Cipher); 4] = [
            ("AES-128-CBC", Cipher::Aes128Cbc),
            ("AES128", Cipher::Aes128Cbc),
            ("AES-256-CBC", Cipher::Aes256Cbc),
            ("AES256", Cipher::Aes256Cbc),
        ];
        let found = KNOWN.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
        found.map(|&(_, cipher)| cipher)
    }
}

/// Encrypts a PrivateKeyInfo under a passphrase (PBES2).
pub(crate) fn encrypt(
    private_key_info: &[u8],
    cipher: Cipher,
    passphrase: &[u8],
) -> Result<Secret<[u8]>, WriteError> {
    let mut random = [0; SALT_BYTES + BLOCK_BYTES];
    rand_fill(&mut random)?;
    let (salt, iv) = random.split_at(SALT_BYTES);
    let iv = iv.try_into().map_err(|_| WriteError::Encoding)?;
    let parameters = match cipher {
        Cipher::Aes128Cbc => {
            pbes2::Parameters::generate_pbkdf2_sha256_aes128cbc(ITERATIONS, salt, iv)
        }
        Cipher::Aes256Cbc => {
            pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(ITERATIONS, salt, iv)
        }
    };
    let parameters = parameters.map_err(|_| WriteError::Encoding)?;
    // Padding adds at most one block.
    let mut buffer = memory::zeros(private_key_info.len() + BLOCK_BYTES)?;
    buffer[..private_key_info.len()].copy_from_slice(private_key_info);
    let key = parameters
        .encrypt_in_place(passphrase, &mut buffer, private_key_info.len())
        .map_err(|_| WriteError::Encoding)?;
    to_der(&EncryptedPrivateKeyInfo {
        algorithm: parameters.into(),
        key: OctetStringRef::new(key)?,
    })
}

fn rand_fill(bytes: &mut [u8]) -> Result<(), WriteError> {
    use getrandom::rand_core::TryRng;
    SysRng.try_fill_bytes(bytes).map_err(|_| WriteError::RandomSource)
}

/// Encodes DER as PEM.
pub(crate) fn pem(structure: Structure, der: &[u8]) -> Result<Secret<[u8]>, WriteError> {
    let unfit = |_| WriteError::Encoding;
    let length = pem::encoded_len(structure.label(), LineEnding::LF, der).map_err(unfit)?;
    let mut text = memory::zeros(length)?;
    let written = pem::encode(structure.label(), LineEnding::LF, der, &mut text).map_err(unfit)?;
    if written.len() == length { Ok(text) } else { Err(WriteError::Encoding) }
}

/// Key bytes in a line of text.
const LINE_BYTES: usize = 15;
/// Length of a line in bytes: an indent, two digits and a colon for each byte, and a newline.
const LINE_TEXT_BYTES: usize = 4 + 3 * LINE_BYTES + 1;
/// Upper bound of the other lines in bytes, group names included.
const HEADINGS_BYTES: usize = 128;

/// A key as text for people: those of its parts that are given, with their names.
pub(crate) fn text(
    group: &TlsGroup,
    is_private: bool,
    parts: &[(&str, Option<&[u8]>)],
) -> Result<Buffer, WriteError> {
    let kind = if is_private { "Private-Key" } else { "Public-Key" };
    let lines = |part: &[u8]| part.len().div_ceil(LINE_BYTES);
    let count: usize = parts.iter().filter_map(|(_, part)| part.map(lines)).sum();
    let mut text = Buffer::with_room(HEADINGS_BYTES + LINE_TEXT_BYTES * count)?;
    writeln!(text, "{} {kind}:", group.algorithm())?;
    for (name, part) in parts {
        let Some(part) = part else { continue };
        writeln!(text, "{name}:")?;
        let count = lines(part);
        for (i, line) in part.chunks(LINE_BYTES).enumerate() {
            text.write_all(b"    ")?;
            for (j, byte) in line.iter().enumerate() {
                let last = i + 1 == count && j + 1 == line.len();
                write!(text, "{byte:02x}{}", if last { "" } else { ":" })?;
            }
            text.write_all(b"\n")?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use kex::TLS_GROUPS;

    use super::*;

    fn with_identifiers() -> impl Iterator<Item = &'static TlsGroup> {
        TLS_GROUPS.iter().copied().filter(|group| group.identifier.is_some())
    }

    #[test]
    fn keys_without_an_identifier_are_not_written() {
        let group = kex::group_named("X25519MLKEM768").unwrap();
        assert!(group.identifier.is_none());
        assert!(matches!(public_to_der(group, &[1]), Err(WriteError::Encoding)));
        assert!(matches!(secret_to_der(group, &[1]), Err(WriteError::Encoding)));
    }

    #[test]
    fn keys_come_back_for_their_own_group_only() {
        for group in with_identifiers() {
            let (public, secret) =
                (vec![1; group.public_key_bytes], vec![2; group.secret_key_bytes]);
            let public_der = public_to_der(group, &public).unwrap();
            let secret_der = secret_to_der(group, &secret).unwrap();
            for other in with_identifiers() {
                let same = other.name == group.name;
                let found = public_from_der(other, &public_der);
                assert_eq!(found == Found::Key(&public[..]), same);
                assert_eq!(found == Found::NotOurs, !same);
                assert_eq!(secret_from_der(other, &secret_der) == Found::Key(&secret[..]), same);
            }
            assert_eq!(public_from_der(group, &secret_der), Found::NotOurs);
            assert_eq!(public_from_der(group, &public_der[..9]), Found::NotOurs);
            assert_eq!(public_from_der(group, b""), Found::NotOurs);
        }
    }

    #[test]
    fn text_shows_what_is_asked_for() {
        let group = kex::group_named("MLKEM768").unwrap();
        let shown = text(group, false, &[("ek", Some(&[0xab; 16]))]).unwrap();
        let expected =
            format!("ML-KEM-768 Public-Key:\nek:\n    {}ab:\n    ab\n", "ab:".repeat(14));
        assert_eq!(&*shown, expected.as_bytes());
        let shown = text(group, true, &[("dk", Some(&[1])), ("ek", None)]).unwrap();
        assert_eq!(&*shown, b"ML-KEM-768 Private-Key:\ndk:\n    01\n");
    }

    #[test]
    fn text_fits_its_room() {
        for group in TLS_GROUPS {
            for bytes in [0, 1, 14, 15, 16, group.secret_key_bytes] {
                let part = vec![1; bytes];
                let parts = ["seed", "priv", "pub"].map(|name| (name, Some(&part[..])));
                text(group, true, &parts).unwrap();
            }
        }
    }
}
