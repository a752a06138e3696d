//! Keys, ciphertexts and shared secrets as bytes, in the encodings of the NIST submission.

use core::fmt;

use kem_common::{Array, Error, Object};
use lanes::{Hardware, HashLanes};
use secret::Secret;

use crate::encode::EncodeRq;
use crate::hash::{Hash, Purpose, hash_all};
use crate::params::ParameterSet;
use crate::product::Coefficients;

/// An encoded public key: canonical, so an element of R/q.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey<P: ParameterSet>(pub(crate) P::PublicKeyBytes);

/// A secret key: f, 1/g, the public key, rho, and the public key's hash, encoded as in the NIST
/// submission. In protected memory; erased on drop.
pub struct SecretKey<P: ParameterSet>(Secret<P::SecretKeyBytes>);

/// A key pair for one use: [`KeyPair::decapsulate`] consumes it.
pub struct KeyPair<P: ParameterSet> {
    public: PublicKey<P>,
    secret: SecretKey<P>,
}

/// A ciphertext: an encoded Rounded and the confirmation hash. Any bytes of the right length are
/// accepted; decapsulation rejects a wrong ciphertext implicitly.
#[derive(Clone, PartialEq, Eq)]
pub struct Ciphertext<P: ParameterSet>(pub(crate) P::CiphertextBytes);

/// The parts of an encoded secret key, in the order of the encoding.
pub(crate) struct Parts<B> {
    pub(crate) f: B,
    pub(crate) g_inverse: B,
    pub(crate) public_key: B,
    pub(crate) rho: B,
    pub(crate) public_key_hash: B,
}

fn parts<P: ParameterSet>(bytes: &[u8]) -> Parts<&[u8]> {
    let (f, rest) = bytes.split_at(P::SMALL_BYTES);
    let (g_inverse, rest) = rest.split_at(P::SMALL_BYTES);
    let (public_key, rest) = rest.split_at(P::PUBLIC_KEY_BYTES);
    let (rho, public_key_hash) = rest.split_at(P::SMALL_BYTES);
    Parts { f, g_inverse, public_key, rho, public_key_hash }
}

fn parts_mut<P: ParameterSet>(bytes: &mut [u8]) -> Parts<&mut [u8]> {
    let (f, rest) = bytes.split_at_mut(P::SMALL_BYTES);
    let (g_inverse, rest) = rest.split_at_mut(P::SMALL_BYTES);
    let (public_key, rest) = rest.split_at_mut(P::PUBLIC_KEY_BYTES);
    let (rho, public_key_hash) = rest.split_at_mut(P::SMALL_BYTES);
    Parts { f, g_inverse, public_key, rho, public_key_hash }
}

pub(crate) fn object<P: ParameterSet>(kind: &'static str) -> Object {
    Object { parameter_set: P::NAME, kind }
}

impl<P: ParameterSet> PublicKey<P> {
    /// Its encoding.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<P: ParameterSet> fmt::Debug for PublicKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} public key", P::NAME)
    }
}

impl<P: ParameterSet> fmt::Debug for Ciphertext<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ciphertext", P::NAME)
    }
}

impl<P: ParameterSet> Ciphertext<P> {
    /// Reads a ciphertext.
    ///
    /// # Errors
    /// The length is not [`ParameterSet::CIPHERTEXT_BYTES`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Ok(Ciphertext(Array::copied(object::<P>("ciphertext"), bytes)?))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<P: ParameterSet> KeyPair<P> {
    /// The public half.
    pub fn public_key(&self) -> &PublicKey<P> {
        &self.public
    }

    /// Both halves, for a key that is to be used more than once.
    pub fn into_parts(self) -> (PublicKey<P>, SecretKey<P>) {
        (self.public, self.secret)
    }

    /// A pair of zeros, to be filled in.
    pub(crate) fn blank() -> Self {
        let public = PublicKey(P::PublicKeyBytes::filled(0));
        KeyPair { public, secret: SecretKey(Secret::zeroed()) }
    }

    pub(crate) fn parts_mut(&mut self) -> Parts<&mut [u8]> {
        parts_mut::<P>((*self.secret.0).as_mut())
    }

    /// Fills in the public key, in both halves, but not its hash.
    pub(crate) fn set_public<L: Hardware>(&mut self, lanes: L, h: &Coefficients<P>) {
        lanes.run(EncodeRq(h, self.public.0.as_mut()));
        parts_mut::<P>((*self.secret.0).as_mut())
            .public_key
            .copy_from_slice(self.public.0.as_ref());
    }

    /// Completes pairs with their public keys' hashes.
    pub(crate) fn add_hashes<L: HashLanes>(lanes: L, keys: &mut [Self]) {
        let publics: Vec<&[u8]> = keys.iter().map(|key| key.public.as_bytes()).collect();
        let mut hashes = Secret::<[Hash]>::slice(publics.len());
        hash_all(lanes, Purpose::PublicKey, &publics, &mut hashes);
        for (key, hash) in keys.iter_mut().zip(&*hashes) {
            key.parts_mut().public_key_hash.copy_from_slice(hash);
        }
    }
}

impl<P: ParameterSet> SecretKey<P> {
    pub(crate) fn parts(&self) -> Parts<&[u8]> {
        parts::<P>(self.as_bytes())
    }

    /// Reads bytes that [`SecretKey::as_bytes`] gave, from trusted memory: only the length is
    /// checked.
    ///
    /// # Errors
    /// The length is not [`ParameterSet::SECRET_KEY_BYTES`].
    pub fn from_trusted_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let expected = P::SECRET_KEY_BYTES;
        if bytes.len() != expected {
            let object = object::<P>("secret key");
            return Err(Error::Length { object, expected, actual: bytes.len() });
        }
        Ok(Self::copied(bytes))
    }

    fn copied(bytes: &[u8]) -> Self {
        let mut key = Secret::<P::SecretKeyBytes>::zeroed();
        (*key).as_mut().copy_from_slice(bytes);
        SecretKey(key)
    }

    /// Whether the key lies in protected memory. It does unless the system provided none.
    pub fn is_protected(&self) -> bool {
        self.0.is_protected()
    }

    /// Its encoding of [`ParameterSet::SECRET_KEY_BYTES`] bytes, which are secret.
    pub fn as_bytes(&self) -> &[u8] {
        (*self.0).as_ref()
    }

    /// The public half.
    pub fn public_key(&self) -> PublicKey<P> {
        let mut public = P::PublicKeyBytes::filled(0);
        public.as_mut().copy_from_slice(parts::<P>(self.as_bytes()).public_key);
        PublicKey(public)
    }
}

impl<P: ParameterSet> Clone for SecretKey<P> {
    fn clone(&self) -> Self {
        Self::copied(self.as_bytes())
    }
}

impl<P: ParameterSet> zeroize::ZeroizeOnDrop for SecretKey<P> {}
