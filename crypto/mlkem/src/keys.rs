//! Keys and ciphertexts as bytes, in the encodings of FIPS 203.

use core::fmt;

use kem_common::{Array, Error, Object};
use secret::Secret;
use zerocopy::FromZeros;

use crate::params::{POLY_BYTES, ParameterSet, SEED};

/// Bytes of the seed of a key pair: d and z.
pub const SEED_BYTES: usize = 2 * SEED;

/// An encoded encapsulation key, checked: all its coefficients are below q.
#[derive(Clone, PartialEq, Eq)]
pub struct EncapsulationKey<P: ParameterSet>(pub(crate) P::EncapsulationKeyBytes);

/// A decapsulation key: s, the encapsulation key, its hash and z, encoded as in FIPS 203, and d if
/// the key was made from a seed. In protected memory; erased on drop.
pub struct DecapsulationKey<P: ParameterSet>(Secret<Stored<P>>);

/// A decapsulation key in memory.
#[derive(FromZeros)]
#[repr(C)]
struct Stored<P: ParameterSet> {
    bytes: P::DecapsulationKeyBytes,
    d: [u8; SEED],
    /// 1 if `d` is known, else 0.
    has_d: u8,
}

/// A key pair for one use: [`KeyPair::decapsulate`] consumes it.
pub struct KeyPair<P: ParameterSet> {
    encapsulation_key: EncapsulationKey<P>,
    decapsulation_key: DecapsulationKey<P>,
}

/// A ciphertext. Any bytes of the right length are accepted; decapsulation rejects a wrong
/// ciphertext implicitly.
#[derive(Clone, PartialEq, Eq)]
pub struct Ciphertext<P: ParameterSet>(pub(crate) P::CiphertextBytes);

/// The parts of an encoded decapsulation key, in the order of the encoding.
pub(crate) struct Parts<B> {
    pub(crate) s: B,
    pub(crate) encapsulation_key: B,
    pub(crate) hash: B,
    pub(crate) z: B,
}

pub(crate) fn object<P: ParameterSet>(kind: &'static str) -> Object {
    Object { parameter_set: P::NAME, kind }
}

impl<P: ParameterSet> EncapsulationKey<P> {
    /// Its encoding.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_ref()
    }

    /// The seed of the matrix.
    pub(crate) fn matrix_seed(&self) -> &[u8; SEED] {
        self.as_bytes().last_chunk().unwrap()
    }
}

impl<P: ParameterSet> fmt::Debug for EncapsulationKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} encapsulation key", P::NAME)
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
    pub fn encapsulation_key(&self) -> &EncapsulationKey<P> {
        &self.encapsulation_key
    }

    /// Both halves, for a key that is to be used more than once.
    pub fn into_parts(self) -> (EncapsulationKey<P>, DecapsulationKey<P>) {
        (self.encapsulation_key, self.decapsulation_key)
    }

    /// A pair of zeros, to be filled in.
    pub(crate) fn blank() -> Self {
        let bytes = P::EncapsulationKeyBytes::filled(0);
        KeyPair {
            encapsulation_key: EncapsulationKey(bytes),
            decapsulation_key: DecapsulationKey(Secret::zeroed()),
        }
    }

    /// The encodings of both halves, to be filled in.
    pub(crate) fn encodings_mut(&mut self) -> (&mut [u8], Parts<&mut [u8]>) {
        let stored = &mut *self.decapsulation_key.0;
        (self.encapsulation_key.0.as_mut(), parts_mut::<P>(stored.bytes.as_mut()))
    }

    /// Completes a pair whose halves have s and the encapsulation key's own bytes.
    pub(crate) fn complete(&mut self, hash: &[u8], seed: &[u8; SEED_BYTES]) {
        let stored = &mut *self.decapsulation_key.0;
        let parts = parts_mut::<P>(stored.bytes.as_mut());
        parts.encapsulation_key.copy_from_slice(self.encapsulation_key.as_bytes());
        parts.hash.copy_from_slice(hash);
        parts.z.copy_from_slice(&seed[SEED..]);
        stored.d.copy_from_slice(&seed[..SEED]);
        stored.has_d = 1;
    }
}

fn parts<P: ParameterSet>(bytes: &[u8]) -> Parts<&[u8]> {
    let (s, rest) = bytes.split_at(POLY_BYTES * P::K);
    let (encapsulation_key, rest) = rest.split_at(P::ENCAPSULATION_KEY_BYTES);
    let (hash, z) = rest.split_at(SEED);
    Parts { s, encapsulation_key, hash, z }
}

fn parts_mut<P: ParameterSet>(bytes: &mut [u8]) -> Parts<&mut [u8]> {
    let (s, rest) = bytes.split_at_mut(POLY_BYTES * P::K);
    let (encapsulation_key, rest) = rest.split_at_mut(P::ENCAPSULATION_KEY_BYTES);
    let (hash, z) = rest.split_at_mut(SEED);
    Parts { s, encapsulation_key, hash, z }
}

impl<P: ParameterSet> DecapsulationKey<P> {
    /// Bytes that [`DecapsulationKey::write`] writes.
    pub const STORED_BYTES: usize = P::DECAPSULATION_KEY_BYTES + SEED + 1;

    pub(crate) fn parts(&self) -> Parts<&[u8]> {
        parts::<P>(self.as_bytes())
    }

    /// A key without a seed, from an encoding of the right length: nothing is checked.
    pub(crate) fn copied(bytes: &[u8]) -> Self {
        let mut stored = Secret::<Stored<P>>::zeroed();
        stored.bytes.as_mut().copy_from_slice(bytes);
        DecapsulationKey(stored)
    }

    /// Writes the encoding and d, for [`DecapsulationKey::from_trusted_bytes`].
    ///
    /// # Panics
    /// `to` has not [`Self::STORED_BYTES`] bytes.
    pub fn write(&self, to: &mut [u8]) {
        let (bytes, rest) = to.split_at_mut(P::DECAPSULATION_KEY_BYTES);
        bytes.copy_from_slice(self.as_bytes());
        let (d, has_d) = rest.split_at_mut(SEED);
        d.copy_from_slice(&self.0.d);
        has_d.copy_from_slice(&[self.0.has_d]);
    }

    /// Reads bytes that [`DecapsulationKey::write`] wrote, from trusted memory: only the length is
    /// checked.
    ///
    /// # Errors
    /// The length is not [`Self::STORED_BYTES`].
    pub fn from_trusted_bytes(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != Self::STORED_BYTES {
            let object = object::<P>("stored decapsulation key");
            let (expected, actual) = (Self::STORED_BYTES, bytes.len());
            return Err(Error::Length { object, expected, actual });
        }
        let (encoding, rest) = bytes.split_at(P::DECAPSULATION_KEY_BYTES);
        let mut key = Self::copied(encoding);
        key.0.d.copy_from_slice(&rest[..SEED]);
        key.0.has_d = rest[SEED];
        Ok(key)
    }

    /// Whether the key lies in protected memory. It does unless the system provided none.
    pub fn is_protected(&self) -> bool {
        self.0.is_protected()
    }

    /// Its encoding of [`ParameterSet::DECAPSULATION_KEY_BYTES`] bytes, which are secret.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.bytes.as_ref()
    }

    /// Writes the seed, d and z, and returns true. Returns false if the seed is not known because
    /// the key was read from its encoding.
    pub fn write_seed(&self, to: &mut [u8; SEED_BYTES]) -> bool {
        // Public: the form in which a key was read.
        if self.0.has_d == 0 {
            return false;
        }
        let (d, z) = to.split_at_mut(SEED);
        d.copy_from_slice(&self.0.d);
        z.copy_from_slice(self.parts().z);
        true
    }

    /// The public half.
    pub fn encapsulation_key(&self) -> EncapsulationKey<P> {
        let mut bytes = P::EncapsulationKeyBytes::filled(0);
        bytes.as_mut().copy_from_slice(self.parts().encapsulation_key);
        EncapsulationKey(bytes)
    }
}

impl<P: ParameterSet> Clone for DecapsulationKey<P> {
    fn clone(&self) -> Self {
        let mut key = Self::copied(self.as_bytes());
        key.0.d = self.0.d;
        key.0.has_d = self.0.has_d;
        key
    }
}

impl<P: ParameterSet> zeroize::ZeroizeOnDrop for DecapsulationKey<P> {}
