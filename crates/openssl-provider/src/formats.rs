//! Keys as SubjectPublicKeyInfo (RFC 5280), PKCS#8 (RFC 5958), encrypted PKCS#8, PEM and text.
//!
//! The public key is the bit string's bytes, the secret key the octet string's, both as they are: sntrup's part first.

use core::fmt::Write;

use der::asn1::{AnyRef, BitStringRef, OctetStringRef};
use der::pem::{LineEnding, encode_string};
use der::{Decode, Encode, Sequence, Tag, Tagged};
use getrandom::SysRng;
use kex::TlsGroup;
use pkcs5::pbes2;
use zeroize::Zeroizing;

/// Iterations of PBKDF2 with HMAC-SHA-256 (OWASP's recommendation of 2023).
const ITERATIONS: u32 = 600_000;
const SALT_BYTES: usize = 16;
const BLOCK_BYTES: usize = 16;

/// What a key is wrapped in, by the names that properties use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::enum_variant_names)]
pub(crate) enum Structure {
    SubjectPublicKeyInfo,
    PrivateKeyInfo,
    EncryptedPrivateKeyInfo,
}

impl Structure {
    /// What its PEM begins with.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Structure::SubjectPublicKeyInfo => "PUBLIC KEY",
            Structure::PrivateKeyInfo => "PRIVATE KEY",
            Structure::EncryptedPrivateKeyInfo => "ENCRYPTED PRIVATE KEY",
        }
    }
}

/// Identifiers are read as raw values: their arcs, UUIDs, are larger than the usual decoders take.
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

    fn is(&self, oid: &[u8]) -> bool {
        self.oid.tag() == Tag::ObjectIdentifier && self.oid.value() == oid
    }
}

/// A key that was found, or not.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<T> {
    Key(T),
    /// Something else, perhaps another algorithm's key.
    NotOurs,
    /// Our identifier, but no key: with what is wrong.
    Malformed(&'static str),
}

/// A public key as DER.
pub(crate) fn public_to_der(group: &TlsGroup, key: &[u8]) -> der::Result<Vec<u8>> {
    let oid = group.oid_der();
    SubjectPublicKeyInfo {
        algorithm: AlgorithmIdentifier::new(&oid)?,
        key: BitStringRef::from_bytes(key)?,
    }
    .to_der()
}

/// The public key in DER.
pub(crate) fn public_from_der<'a>(group: &TlsGroup, der: &'a [u8]) -> Found<&'a [u8]> {
    let Ok(info) = SubjectPublicKeyInfo::from_der(der) else { return Found::NotOurs };
    if !info.algorithm.is(&group.oid_der()) {
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

/// A secret key as DER.
pub(crate) fn secret_to_der(group: &TlsGroup, key: &[u8]) -> der::Result<Zeroizing<Vec<u8>>> {
    let oid = group.oid_der();
    let info = PrivateKeyInfo {
        version: 0,
        algorithm: AlgorithmIdentifier::new(&oid)?,
        key: OctetStringRef::new(key)?,
    };
    // One allocation of the right size: growing would leave copies behind.
    let length = usize::try_from(info.encoded_len()?)?;
    let mut der = Zeroizing::new(vec![0; length]);
    info.encode_to_slice(&mut der)?;
    Ok(der)
}

/// The secret key in DER.
pub(crate) fn secret_from_der<'a>(group: &TlsGroup, der: &'a [u8]) -> Found<&'a [u8]> {
    let Ok(info) = PrivateKeyInfo::from_der(der) else { return Found::NotOurs };
    if !info.algorithm.is(&group.oid_der()) {
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

/// A cipher for secret keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cipher {
    Aes128Cbc,
    Aes256Cbc,
}

impl Cipher {
    pub(crate) const NAMES: &'static str = "AES-128-CBC or AES-256-CBC";

    pub(crate) fn named(name: &str) -> Option<Cipher> {
        match name.to_ascii_uppercase().as_str() {
            "AES-128-CBC" | "AES128" => Some(Cipher::Aes128Cbc),
            "AES-256-CBC" | "AES256" => Some(Cipher::Aes256Cbc),
            _ => None,
        }
    }
}

/// Why a key could not be encrypted.
pub(crate) enum EncryptError {
    RandomSource,
    Encoding,
}

/// A PrivateKeyInfo, encrypted under a passphrase (PBES2).
pub(crate) fn encrypt(
    private_key_info: &[u8],
    cipher: Cipher,
    passphrase: &[u8],
) -> Result<Vec<u8>, EncryptError> {
    let mut random = [0; SALT_BYTES + BLOCK_BYTES];
    rand_fill(&mut random)?;
    let (salt, iv) = random.split_at(SALT_BYTES);
    let iv = iv.try_into().map_err(|_| EncryptError::Encoding)?;
    let parameters = match cipher {
        Cipher::Aes128Cbc => {
            pbes2::Parameters::generate_pbkdf2_sha256_aes128cbc(ITERATIONS, salt, iv)
        }
        Cipher::Aes256Cbc => {
            pbes2::Parameters::generate_pbkdf2_sha256_aes256cbc(ITERATIONS, salt, iv)
        }
    };
    let parameters = parameters.map_err(|_| EncryptError::Encoding)?;
    let key =
        parameters.encrypt(passphrase, private_key_info).map_err(|_| EncryptError::Encoding)?;
    let encode = || {
        let key = OctetStringRef::new(&key)?;
        EncryptedPrivateKeyInfo { algorithm: parameters.into(), key }.to_der()
    };
    encode().map_err(|_| EncryptError::Encoding)
}

fn rand_fill(bytes: &mut [u8]) -> Result<(), EncryptError> {
    use getrandom::rand_core::TryRng;
    SysRng.try_fill_bytes(bytes).map_err(|_| EncryptError::RandomSource)
}

/// DER in PEM.
pub(crate) fn pem(structure: Structure, der: &[u8]) -> der::Result<Zeroizing<String>> {
    Ok(Zeroizing::new(encode_string(structure.label(), LineEnding::LF, der)?))
}

/// A key for people to read.
pub(crate) fn text(
    group: &TlsGroup,
    secret: Option<&[u8]>,
    public: Option<&[u8]>,
) -> Zeroizing<String> {
    let kind = if secret.is_some() { "Private-Key" } else { "Public-Key" };
    let bytes = secret.map_or(0, <[u8]>::len) + public.map_or(0, <[u8]>::len);
    // Large enough, so that no copy of the secret is left behind by growing.
    let mut text = Zeroizing::new(String::with_capacity(128 + 4 * bytes));
    let _ = writeln!(*text, "{} {kind}:", group.name);
    for (name, part) in [("priv", secret), ("pub", public)] {
        let Some(part) = part else { continue };
        let _ = writeln!(*text, "{name}:");
        let count = part.chunks(15).len();
        for (i, line) in part.chunks(15).enumerate() {
            text.push_str("    ");
            for (j, byte) in line.iter().enumerate() {
                let last = i + 1 == count && j + 1 == line.len();
                let _ = write!(*text, "{byte:02x}{}", if last { "" } else { ":" });
            }
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use kex::TLS_GROUPS;

    use super::*;

    #[test]
    fn keys_come_back_for_their_own_group_only() {
        for group in TLS_GROUPS {
            let (public, secret) =
                (vec![1; group.public_key_bytes], vec![2; group.secret_key_bytes]);
            let public_der = public_to_der(group, &public).unwrap();
            let secret_der = secret_to_der(group, &secret).unwrap();
            for other in TLS_GROUPS {
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
        let group = TLS_GROUPS[0];
        let shown = text(group, None, Some(&[0xab; 16]));
        assert_eq!(
            *shown,
            format!("sntrup653 Public-Key:\npub:\n    {}ab:\n    ab\n", "ab:".repeat(14))
        );
        assert!(
            text(group, Some(&[1]), None).starts_with("sntrup653 Private-Key:\npriv:\n    01\n")
        );
    }
}
