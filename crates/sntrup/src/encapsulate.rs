//! Encapsulation, and what of it can be done before the peer's key is known.

use core::marker::PhantomData;

use lanes::{Backend, Dispatch, Hardware};
use rand_core::TryCryptoRng;

use crate::encode::{DecodeRq, EncodeRounded, EncodeSmall};
use crate::error::Error;
use crate::hash::{Hash, Purpose, hash};
use crate::kem::{Ciphertext, PublicKey, SharedSecret};
use crate::params::{Array, HASH_BYTES, ParameterSet};
use crate::product::{Coefficients, Transform, Workspace, wipe};
use crate::rq::Round;
use crate::short;

/// All of one encapsulation that does not depend on the public key: r, hashed and transformed. For one use:
/// [`PreparedEncapsulation::encapsulate`] consumes it. On the heap, so that moving it leaves no copy; erased on drop.
pub struct PreparedEncapsulation<P: ParameterSet> {
    backend: Backend,
    r: Box<Prepared<P>>,
}

struct Prepared<P: ParameterSet> {
    transform: Transform<P>,
    hash: Hash,
}

impl<P: ParameterSet> PreparedEncapsulation<P> {
    /// Prepares one encapsulation; draws 4p bytes in one call.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        random: &mut R,
    ) -> Result<Self, Error> {
        let mut bytes = P::SampleBytes::filled(0);
        let drawn = random.try_fill_bytes(bytes.as_mut());
        let prepared = Self::generate_derand(backend, &bytes);
        wipe(bytes.as_mut());
        drawn.map(|()| prepared).map_err(|_| Error::RandomSource)
    }

    /// [`PreparedEncapsulation::generate`] with the random bytes given.
    pub fn generate_derand(backend: Backend, random: &P::SampleBytes) -> Self {
        backend.run(Prepare { backend, random })
    }

    /// Prepares `count` encapsulations: the same as `count` single ones drawn one after another from the same stream.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate_batch<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<Self>, Error> {
        backend.run(PrepareBatch { backend, count, random, parameter_set: PhantomData })
    }

    /// Makes a shared secret and the ciphertext that tells the key's owner about it.
    pub fn encapsulate(self, key: &PublicKey<P>) -> (Ciphertext<P>, SharedSecret) {
        self.backend.run(Encapsulate { key, r: self.r })
    }
}

// Operations on lanes are not inlined: the memory of one is then off the stack while another runs.

struct Prepare<'a, P: ParameterSet> {
    backend: Backend,
    random: &'a P::SampleBytes,
}

impl<P: ParameterSet> Dispatch for Prepare<'_, P> {
    type Output = PreparedEncapsulation<P>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let mut r = Coefficients::zero();
        short::short_derand(lanes, &mut r, self.random);
        let hash = hash_small(lanes, &r);
        let mut prepared = Box::new(Prepared { transform: Transform::zero(), hash });
        prepared.transform.set(lanes, &r, &mut Workspace::new());
        PreparedEncapsulation { backend: self.backend, r: prepared }
    }
}

struct PrepareBatch<'a, P: ParameterSet, R: ?Sized> {
    backend: Backend,
    count: usize,
    random: &'a mut R,
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet, R: TryCryptoRng + ?Sized> Dispatch for PrepareBatch<'_, P, R> {
    type Output = Result<Vec<PreparedEncapsulation<P>>, Error>;

    #[inline(never)]
    fn on<L: Hardware>(self, _: L) -> Self::Output {
        (0..self.count)
            .map(|_| PreparedEncapsulation::generate(self.backend, self.random))
            .collect()
    }
}

/// The hash of a secret Small's encoding.
pub(crate) fn hash_small<P: ParameterSet, L: Hardware>(lanes: L, r: &Coefficients<P>) -> Hash {
    let mut bytes = P::SmallBytes::filled(0);
    lanes.run(EncodeSmall(r, bytes.as_mut()));
    let hash = hash(Purpose::Small, &[bytes.as_ref()]);
    wipe(bytes.as_mut());
    hash
}

/// The ciphertext whose product r h is given as a transform, which is used up.
pub(crate) fn seal<P: ParameterSet, L: Hardware>(
    lanes: L,
    product: &mut Transform<P>,
    r_hash: &[u8; HASH_BYTES],
    public_key_hash: &[u8],
    rounded: &mut Coefficients<P>,
    space: &mut Workspace<P>,
) -> Ciphertext<P> {
    product.invert(lanes, rounded, space);
    lanes.run(Round::<P, L>(rounded));
    let mut bytes = P::CiphertextBytes::filled(0);
    let (rounded_bytes, confirmation) = bytes.as_mut().split_at_mut(P::ROUNDED_BYTES);
    lanes.run(EncodeRounded(rounded, rounded_bytes));
    confirmation.copy_from_slice(&*hash(Purpose::Confirmation, &[r_hash, public_key_hash]));
    Ciphertext(bytes)
}

struct Encapsulate<'a, P: ParameterSet> {
    key: &'a PublicKey<P>,
    r: Box<Prepared<P>>,
}

impl<P: ParameterSet> Dispatch for Encapsulate<'_, P> {
    type Output = (Ciphertext<P>, SharedSecret);

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let public_key_hash = hash(Purpose::PublicKey, &[self.key.as_bytes()]);
        let (mut h, space) = (Coefficients::zero(), &mut Workspace::new());
        lanes.run(DecodeRq(&mut h, self.key.as_bytes()));
        let mut product = Transform::zero();
        product.set(lanes, &h, space);
        product.multiply_by(lanes, &self.r.transform, space);
        let r_hash = &self.r.hash;
        let ciphertext = seal(lanes, &mut product, r_hash, &*public_key_hash, &mut h, space);
        let secret = hash(Purpose::Session, &[&**r_hash, ciphertext.as_bytes()]);
        (ciphertext, SharedSecret(secret))
    }
}
