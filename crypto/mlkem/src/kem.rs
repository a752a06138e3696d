//! The key encapsulation mechanism: generate, encapsulate, decapsulate with implicit rejection
//! (FIPS 203, section 7).

use core::marker::PhantomData;

use kem_common::{Array, Error, SharedSecret};
use lanes::Backend;
use rand_core::TryCryptoRng;
use secret::Secret;

use crate::decapsulate::{Decapsulate, Expand, ExpandedKey, HashKey};
use crate::encapsulate::{CheckModulus, Encapsulate, PreparedEncapsulation};
use crate::generate::Generate;
use crate::generate_many::{BatchMemory, GenerateBatch};
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, KeyPair, SEED_BYTES, object};
use crate::operations::Operations;
use crate::params::SEED;

/// Draws random bytes in one call, which are erased on drop.
fn random_bytes<const BYTES: usize, R: TryCryptoRng + ?Sized>(
    random: &mut R,
) -> Result<Secret<[u8; BYTES]>, Error> {
    let mut bytes = Secret::<[u8; BYTES]>::zeroed();
    random.try_fill_bytes(&mut *bytes).map_err(|_| Error::RandomSource)?;
    Ok(bytes)
}

impl<P: Operations> EncapsulationKey<P> {
    /// Reads an encoded encapsulation key (FIPS 203, section 7.2).
    ///
    /// # Errors
    /// The length is not [`crate::ParameterSet::ENCAPSULATION_KEY_BYTES`], or a coefficient is not
    /// below q.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_bytes_on(Backend::best(), bytes)
    }

    /// [`EncapsulationKey::from_bytes`], checked on a given backend.
    ///
    /// # Errors
    /// As [`EncapsulationKey::from_bytes`].
    pub fn from_bytes_on(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let object = object::<P>("encapsulation key");
        let key = EncapsulationKey::<P>(Array::copied(object, bytes)?);
        if !P::check_modulus(backend, CheckModulus(&key)) {
            return Err(Error::NotCanonical { object });
        }
        Ok(key)
    }

    /// Makes a shared secret, and the ciphertext from which the owner of the key computes it. Draws
    /// 32 random bytes.
    ///
    /// # Errors
    /// The random source failed.
    pub fn encapsulate<R: TryCryptoRng + ?Sized>(
        &self,
        backend: Backend,
        random: &mut R,
    ) -> Result<(Ciphertext<P>, SharedSecret), Error> {
        Ok(self.encapsulate_derand(backend, &*random_bytes(random)?))
    }

    /// [`EncapsulationKey::encapsulate`] with the random bytes given.
    pub fn encapsulate_derand(
        &self,
        backend: Backend,
        message: &[u8; SEED],
    ) -> (Ciphertext<P>, SharedSecret) {
        P::encapsulate(backend, Encapsulate { key: self, message })
    }
}

impl<P: Operations> PreparedEncapsulation<P> {
    /// Prepares one encapsulation. Draws 32 random bytes.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        random: &mut R,
    ) -> Result<Self, Error> {
        Ok(PreparedEncapsulation {
            backend,
            message: random_bytes(random)?,
            parameter_set: PhantomData,
        })
    }

    /// Prepares `count` encapsulations: the same as `count` single ones drawn one after another
    /// from the same stream.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate_batch<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<Self>, Error> {
        (0..count).map(|_| Self::generate(backend, random)).collect()
    }

    /// Makes a shared secret, and the ciphertext from which the owner of the key computes it.
    pub fn encapsulate(self, key: &EncapsulationKey<P>) -> (Ciphertext<P>, SharedSecret) {
        key.encapsulate_derand(self.backend, &self.message)
    }
}

impl<P: Operations> KeyPair<P> {
    /// One key pair. Draws [`SEED_BYTES`] random bytes.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        random: &mut R,
    ) -> Result<Self, Error> {
        Ok(Self::from_seed(backend, &*random_bytes(random)?))
    }

    /// The key pair of a seed: d and z.
    pub fn from_seed(backend: Backend, seed: &[u8; SEED_BYTES]) -> Self {
        P::generate(backend, Generate { seed, parameter_set: PhantomData })
    }

    /// Makes `count` key pairs, as many at once as the backend has lanes. They are the same keys as
    /// `count` single ones made one after another from the same random stream.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate_batch<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<Self>, Error> {
        Self::generate_batch_in(&mut BatchMemory::default(), backend, count, random)
    }

    /// [`KeyPair::generate_batch`] in memory that is kept between batches.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate_batch_in<R: TryCryptoRng + ?Sized>(
        memory: &mut BatchMemory<P>,
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<Self>, Error> {
        // A single key needs none of the memory.
        if count == 1 {
            return Ok(Vec::<Self>::from([Self::generate(backend, random)?]));
        }
        let mut random =
            |bytes: &mut [u8]| random.try_fill_bytes(bytes).map_err(|_| Error::RandomSource);
        P::generate_batch(backend, GenerateBatch { count, random: &mut random, memory })
    }

    /// The shared secret of `ciphertext`; the key pair is used up and erased.
    pub fn decapsulate(self, backend: Backend, ciphertext: &Ciphertext<P>) -> SharedSecret {
        self.into_parts().1.decapsulate(backend, ciphertext)
    }
}

impl<P: Operations> DecapsulationKey<P> {
    /// Reads an encoded decapsulation key (FIPS 203, section 7.3).
    ///
    /// # Errors
    /// The length is not [`crate::ParameterSet::DECAPSULATION_KEY_BYTES`]; a coefficient of the
    /// encapsulation key is not below q; or the hash is not that of the encapsulation key.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_bytes_on(Backend::best(), bytes)
    }

    /// [`DecapsulationKey::from_bytes`], checked on a given backend.
    ///
    /// # Errors
    /// As [`DecapsulationKey::from_bytes`].
    pub fn from_bytes_on(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let object = object::<P>("decapsulation key");
        let (expected, actual) = (P::DECAPSULATION_KEY_BYTES, bytes.len());
        if actual != expected {
            return Err(Error::Length { object, expected, actual });
        }
        let key = Self::copied(bytes);
        key.check(backend)?;
        Ok(key)
    }

    /// Checks that the encapsulation key in the key is canonical, and that the hash is its hash
    /// (FIPS 203, section 7.3).
    ///
    /// # Errors
    /// As [`DecapsulationKey::from_bytes`], except for the length.
    pub fn check(&self, backend: Backend) -> Result<(), Error> {
        let object = object::<P>("decapsulation key");
        let parts = self.parts();
        // Both are public parts of the key.
        EncapsulationKey::<P>::from_bytes_on(backend, parts.encapsulation_key)
            .map_err(|_| Error::NotCanonical { object })?;
        if P::hash_key(backend, HashKey(self)) != *parts.hash {
            return Err(Error::Inconsistent { object });
        }
        Ok(())
    }

    /// [`DecapsulationKey::check`], and that a secret encapsulated with the encapsulation key
    /// arrives (FIPS 203, section 7.1: pair-wise consistency).
    ///
    /// # Errors
    /// As [`DecapsulationKey::check`], or the two halves do not belong together.
    pub fn check_pairwise(&self, backend: Backend) -> Result<(), Error> {
        self.check(backend)?;
        let (ciphertext, sent) = self.encapsulation_key().encapsulate_derand(backend, &[0; SEED]);
        let received = self.decapsulate(backend, &ciphertext);
        if secret::is_equal(sent.as_bytes(), received.as_bytes()) {
            Ok(())
        } else {
            Err(Error::Inconsistent { object: object::<P>("decapsulation key") })
        }
    }

    /// The shared secret of `ciphertext`. If [`EncapsulationKey::encapsulate`] did not make it for
    /// this key, the result, in the same time, is a secret that nobody else knows (implicit
    /// rejection).
    pub fn decapsulate(&self, backend: Backend, ciphertext: &Ciphertext<P>) -> SharedSecret {
        P::decapsulate(backend, Decapsulate { key: self, expansion: None, ciphertext })
    }

    /// Prepares for many decapsulations.
    pub fn expand(&self, backend: Backend) -> ExpandedKey<P> {
        let key = self.clone();
        let expansion = P::expand(backend, Expand(&key));
        ExpandedKey { backend, key, expansion }
    }
}

impl<P: Operations> ExpandedKey<P> {
    /// The key itself.
    pub fn decapsulation_key(&self) -> &DecapsulationKey<P> {
        &self.key
    }

    /// As [`DecapsulationKey::decapsulate`].
    pub fn decapsulate(&self, ciphertext: &Ciphertext<P>) -> SharedSecret {
        let (key, expansion) = (&self.key, Some(&*self.expansion));
        P::decapsulate(self.backend, Decapsulate { key, expansion, ciphertext })
    }
}
