//! The key encapsulation mechanism: generate, encapsulate, decapsulate with implicit rejection
//! (round-3 specification, section 4).

use core::marker::PhantomData;

use kem_common::{Array, Error, SharedSecret, public};
use lanes::Backend;
use rand_core::TryCryptoRng;

use crate::batch::{BatchMemory, Generate};
use crate::decapsulate::{Decapsulate, Expand, ExpandedKey, FromBytes, FromExpansion};
use crate::encapsulate::{
    Encapsulate, Prepare, PrepareAgain, PrepareBatch, PreparedEncapsulation, Randomness,
};
use crate::encode::is_canonical_small;
use crate::keys::{Ciphertext, KeyPair, PublicKey, SecretKey, object};
use crate::operations::Operations;
use crate::random::with_sample;
use crate::validate::{Check, Inspect, Recode};

impl<P: Operations> PublicKey<P> {
    /// Reads an encoded public key.
    ///
    /// # Errors
    /// The length is not [`crate::ParameterSet::PUBLIC_KEY_BYTES`], or the encoding is not
    /// canonical: some other bytes decode to the same element of R/q.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_bytes_on(Backend::best(), bytes)
    }

    /// [`PublicKey::from_bytes`], checked on a given backend.
    ///
    /// # Errors
    /// As [`PublicKey::from_bytes`].
    pub fn from_bytes_on(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let key = PublicKey::<P>(Array::copied(object::<P>("public key"), bytes)?);
        if P::recode(backend, Recode(&key)) != key {
            return Err(Error::NotCanonical { object: object::<P>("public key") });
        }
        Ok(key)
    }

    /// Makes a shared secret, and the ciphertext from which the owner of the key computes it. Draws
    /// 4p random bytes in one call.
    ///
    /// # Errors
    /// The random source failed.
    pub fn encapsulate<R: TryCryptoRng + ?Sized>(
        &self,
        backend: Backend,
        random: &mut R,
    ) -> Result<(Ciphertext<P>, SharedSecret), Error> {
        with_sample::<P, _, _>(random, |bytes| self.encapsulate_derand(backend, bytes))
    }

    /// [`PublicKey::encapsulate`] with the random bytes given.
    pub fn encapsulate_derand(
        &self,
        backend: Backend,
        random: &P::SampleBytes,
    ) -> (Ciphertext<P>, SharedSecret) {
        P::encapsulate(backend, Encapsulate { key: self, r: Randomness::Random(random) })
    }
}

impl<P: Operations> KeyPair<P> {
    /// One key pair.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        random: &mut R,
    ) -> Result<Self, Error> {
        let mut keys = Self::generate_batch(backend, 1, random)?;
        keys.pop().ok_or(Error::RandomSource)
    }

    /// Makes `count` key pairs, which share one inversion in each ring. They are the same keys as
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
        let mut random =
            |bytes: &mut [u8]| random.try_fill_bytes(bytes).map_err(|_| Error::RandomSource);
        P::generate(backend, Generate { count, random: &mut random, memory })
    }

    /// The shared secret of `ciphertext`; the key pair is used up and erased.
    pub fn decapsulate(self, backend: Backend, ciphertext: &Ciphertext<P>) -> SharedSecret {
        self.into_parts().1.decapsulate(backend, ciphertext)
    }
}

impl<P: Operations> SecretKey<P> {
    /// Reads an encoded secret key.
    ///
    /// # Errors
    /// The length is not [`crate::ParameterSet::SECRET_KEY_BYTES`]; a part is not canonically
    /// encoded; f has not weight w; or the hash is not the public key's. [`SecretKey::check`] goes
    /// further.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_bytes_on(Backend::best(), bytes)
    }

    /// [`SecretKey::from_bytes`], checked on a given backend.
    ///
    /// # Errors
    /// As [`SecretKey::from_bytes`].
    pub fn from_bytes_on(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let key = Self::from_trusted_bytes(bytes)?;
        let object = object::<P>("secret key");
        let parts = key.parts();
        // The reason why a file is no key is not secret.
        let canonical = public(is_canonical_small::<P>(parts.f))
            && public(is_canonical_small::<P>(parts.g_inverse))
            && PublicKey::<P>::from_bytes_on(backend, parts.public_key).is_ok();
        if !canonical {
            return Err(Error::NotCanonical { object });
        }
        let (mismatch, public_key_hash) = P::inspect(backend, Inspect(&key));
        let weighs = public(mismatch == 0);
        let hashes = public_key_hash == *parts.public_key_hash;
        if !(weighs && hashes) {
            return Err(Error::Inconsistent { object });
        }
        Ok(key)
    }

    /// The shared secret of `ciphertext`. If [`PublicKey::encapsulate`] did not make it for this
    /// key, the result, in the same time, is a secret that nobody else knows (implicit rejection).
    pub fn decapsulate(&self, backend: Backend, ciphertext: &Ciphertext<P>) -> SharedSecret {
        P::decapsulate(backend, Decapsulate { key: self, ciphertext, factors: FromBytes(self) })
    }

    /// Prepares for many decapsulations.
    pub fn expand(&self, backend: Backend) -> ExpandedKey<P> {
        let key = self.clone();
        let expansion = P::expand(backend, Expand(&key));
        ExpandedKey { backend, key, expansion }
    }

    /// Whether f, 1/g and the public key belong together: 3 f h is small, and is g.
    ///
    /// # Errors
    /// They do not.
    pub fn check(&self, backend: Backend) -> Result<(), Error> {
        P::check(backend, Check(self))
    }
}

impl<P: Operations> ExpandedKey<P> {
    /// The key itself.
    pub fn secret_key(&self) -> &SecretKey<P> {
        &self.key
    }

    /// As [`SecretKey::decapsulate`].
    pub fn decapsulate(&self, ciphertext: &Ciphertext<P>) -> SharedSecret {
        let factors = FromExpansion(&self.expansion);
        let operation = Decapsulate { key: &self.key, ciphertext, factors };
        P::decapsulate_expanded(self.backend, operation)
    }
}

impl<P: Operations> PreparedEncapsulation<P> {
    /// Prepares one encapsulation; draws 4p bytes in one call.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        random: &mut R,
    ) -> Result<Self, Error> {
        with_sample::<P, _, _>(random, |bytes| Self::generate_derand(backend, bytes))
    }

    /// [`PreparedEncapsulation::generate`] with the random bytes given.
    pub fn generate_derand(backend: Backend, random: &P::SampleBytes) -> Self {
        P::prepare(backend, Prepare { backend, random })
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
        let mut random =
            |bytes: &mut [u8]| random.try_fill_bytes(bytes).map_err(|_| Error::RandomSource);
        let random = &mut random;
        P::prepare_batch(
            backend,
            PrepareBatch { backend, count, random, parameter_set: PhantomData },
        )
    }

    /// Reads bytes that [`PreparedEncapsulation::write`] wrote, from trusted memory: only the
    /// length is checked.
    ///
    /// # Errors
    /// The length is not [`Self::BYTES`].
    pub fn from_trusted_bytes(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() != Self::BYTES {
            let object = object::<P>("prepared encapsulation");
            return Err(Error::Length { object, expected: Self::BYTES, actual: bytes.len() });
        }
        Ok(P::prepare_again(backend, PrepareAgain { backend, bytes, parameter_set: PhantomData }))
    }

    /// Makes a shared secret, and the ciphertext from which the owner of the key computes it.
    pub fn encapsulate(self, key: &PublicKey<P>) -> (Ciphertext<P>, SharedSecret) {
        P::encapsulate(self.backend, Encapsulate { key, r: Randomness::Prepared(self.r) })
    }
}
