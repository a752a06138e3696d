//! Encapsulation, and its preparation before the peer's key is known.

use core::marker::PhantomData;

use kem_common::{Array, Error, SharedSecret, Source};
use lanes::{Backend, Dispatch, Hardware};
use secret::Secret;
use zerocopy::FromZeros;
use zeroize::Zeroizing;

use crate::encode::{DecodeRq, DecodeSmall, EncodeRounded, EncodeSmall};
use crate::hash::{Hash, PartialHash, Purpose, advance_two, finish, hash, hash_all};
use crate::keys::{Ciphertext, PublicKey};
use crate::params::{HASH_BYTES, ParameterSet};
use crate::product::{Coefficients, Transform, Workspace};
use crate::rq::Round;
use crate::sha512::BLOCK_BYTES;
use crate::short::{self, SamplingSpace};

/// The part of one encapsulation that does not depend on the public key: r, its hash and its
/// transform. It is for one use: [`PreparedEncapsulation::encapsulate`] consumes it. In protected
/// memory; erased on drop.
///
/// ```
/// use sntrup::{Backend, KeyPair, PreparedEncapsulation, PublicKey, Sntrup761};
/// # let mut random = reference::drbg::Drbg::new(&[8; 48]);
/// let backend = Backend::best();
/// let prepared = PreparedEncapsulation::<Sntrup761>::generate(backend, &mut random)?;
///
/// // Later, when the peer's key has arrived:
/// let key = KeyPair::<Sntrup761>::generate(backend, &mut random)?;
/// let public = PublicKey::<Sntrup761>::from_bytes(key.public_key().as_bytes())?;
/// let (ciphertext, ours) = prepared.encapsulate(&public);
/// assert_eq!(key.decapsulate(backend, &ciphertext).as_bytes(), ours.as_bytes());
/// # Ok::<(), sntrup::Error>(())
/// ```
pub struct PreparedEncapsulation<P: ParameterSet> {
    pub(crate) backend: Backend,
    pub(crate) r: Secret<Prepared<P>>,
}

#[derive(FromZeros)]
pub(crate) struct Prepared<P: ParameterSet> {
    /// The encoding of r.
    bytes: P::SmallBytes,
    transform: Transform<P>,
    hash: Hash,
}

impl<P: ParameterSet> PreparedEncapsulation<P> {
    /// Bytes that [`PreparedEncapsulation::write`] writes.
    pub const BYTES: usize = P::SMALL_BYTES + HASH_BYTES;

    /// Writes [`Self::BYTES`] bytes: the secret r and its hash. The transform is not written: it is
    /// computed again faster than it could be fetched.
    ///
    /// # Panics
    /// `out` has another length.
    pub fn write(&self, out: &mut [u8]) {
        let (bytes, hash) = out.split_at_mut(P::SMALL_BYTES);
        bytes.copy_from_slice(self.r.bytes.as_ref());
        hash.copy_from_slice(&self.r.hash);
    }

    /// Whether the secret lies in protected memory. It does unless the system provided none.
    pub fn is_protected(&self) -> bool {
        self.r.is_protected()
    }
}

// Operations on lanes are not inlined: the memory of one is then off the stack while another runs.

pub(crate) struct Prepare<'a, P: ParameterSet> {
    pub(crate) backend: Backend,
    pub(crate) random: &'a P::SampleBytes,
}

impl<P: ParameterSet> Dispatch for Prepare<'_, P> {
    type Output = PreparedEncapsulation<P>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let mut r = prepare::<P, L>(lanes, self.random, &mut Workspace::new());
        let Prepared { bytes, hash: to, .. } = &mut *r;
        hash(lanes, Purpose::Small, &[bytes.as_ref()], to);
        PreparedEncapsulation { backend: self.backend, r }
    }
}

/// Restores a preparation from the bytes of [`PreparedEncapsulation::write`].
pub(crate) struct PrepareAgain<'a, P: ParameterSet> {
    pub(crate) backend: Backend,
    pub(crate) bytes: &'a [u8],
    pub(crate) parameter_set: PhantomData<P>,
}

impl<P: ParameterSet> Dispatch for PrepareAgain<'_, P> {
    type Output = PreparedEncapsulation<P>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let (bytes, hash) = self.bytes.split_at(P::SMALL_BYTES);
        let (mut r, mut prepared) = (Coefficients::zero(), Secret::<Prepared<P>>::zeroed());
        prepared.bytes.as_mut().copy_from_slice(bytes);
        prepared.hash.copy_from_slice(hash);
        lanes.run(DecodeSmall(&mut r, bytes));
        prepared.transform.set(lanes, &r, &mut Workspace::new());
        PreparedEncapsulation { backend: self.backend, r: prepared }
    }
}

/// Samples r and prepares all but its hash.
fn prepare<P: ParameterSet, L: Hardware>(
    lanes: L,
    random: &P::SampleBytes,
    space: &mut Workspace<P>,
) -> Secret<Prepared<P>> {
    let (mut r, mut prepared) = (Coefficients::zero(), Secret::<Prepared<P>>::zeroed());
    short::short_derand(lanes, &mut r, random, &mut SamplingSpace::new());
    lanes.run(EncodeSmall(&r, prepared.bytes.as_mut()));
    prepared.transform.set(lanes, &r, space);
    prepared
}

/// Encapsulations whose hashes are computed together: a multiple of the numbers of lanes.
const HASHED_TOGETHER: usize = 16;

pub(crate) struct PrepareBatch<'a, P: ParameterSet> {
    pub(crate) backend: Backend,
    pub(crate) count: usize,
    pub(crate) random: &'a mut Source<'a>,
    pub(crate) parameter_set: PhantomData<P>,
}

impl<P: ParameterSet> Dispatch for PrepareBatch<'_, P> {
    type Output = Result<Vec<PreparedEncapsulation<P>>, Error>;

    #[inline(never)]
    fn on<L: Hardware>(mut self, lanes: L) -> Self::Output {
        let mut all = Vec::<PreparedEncapsulation<P>>::with_capacity(self.count);
        let mut result = Ok(());
        while result.is_ok() && all.len() < self.count {
            let size = HASHED_TOGETHER.min(self.count - all.len());
            result = self.group(lanes, size, &mut all);
        }
        result.map(|()| all)
    }
}

impl<P: ParameterSet> PrepareBatch<'_, P> {
    /// Adds `size` encapsulations.
    fn group<L: Hardware>(
        &mut self,
        lanes: L,
        size: usize,
        all: &mut Vec<PreparedEncapsulation<P>>,
    ) -> Result<(), Error> {
        let first = all.len();
        let mut random = Secret::<P::SampleBytes>::zeroed();
        let space = &mut Workspace::new();
        for _ in 0..size {
            (self.random)((*random).as_mut())?;
            let r = prepare::<P, L>(lanes, &random, space);
            all.push(PreparedEncapsulation { backend: self.backend, r });
        }
        let encodings: Vec<&[u8]> = all[first..].iter().map(|made| made.r.bytes.as_ref()).collect();
        let mut hashes = Secret::<[Hash]>::slice(size);
        hash_all(lanes, Purpose::Small, &encodings, &mut hashes);
        for (prepared, hash) in all[first..].iter_mut().zip(&*hashes) {
            prepared.r.hash.copy_from_slice(hash);
        }
        Ok(())
    }
}

/// Writes the rounded product r h, given as a transform, which is used up, to `bytes`.
pub(crate) fn encode_product<P: ParameterSet, L: Hardware>(
    lanes: L,
    product: &mut Transform<P>,
    rounded: &mut Coefficients<P>,
    space: &mut Workspace<P>,
    bytes: &mut [u8],
) {
    product.invert(lanes, rounded, space);
    lanes.run(Round::<P, L>(rounded));
    lanes.run(EncodeRounded(rounded, bytes));
}

/// The source of the polynomial r of an encapsulation.
pub(crate) enum Randomness<'a, P: ParameterSet> {
    Prepared(Secret<Prepared<P>>),
    Random(&'a P::SampleBytes),
}

pub(crate) struct Encapsulate<'a, P: ParameterSet> {
    pub(crate) key: &'a PublicKey<P>,
    pub(crate) r: Randomness<'a, P>,
}

impl<P: ParameterSet> Dispatch for Encapsulate<'_, P> {
    type Output = (Ciphertext<P>, SharedSecret);

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let key = self.key.as_bytes();
        let space = &mut Workspace::new();
        let mut key_hash = PartialHash::new();
        let r = match self.r {
            Randomness::Prepared(r) => r,
            Randomness::Random(random) => hashed_with(lanes, random, &mut key_hash, key, space),
        };
        complete(lanes, key, &r, &mut key_hash, space)
    }
}

/// The encapsulation for `key`, of whose hash the first blocks may be there. Not inlined, as above.
#[inline(never)]
fn complete<P: ParameterSet, L: Hardware>(
    lanes: L,
    key: &[u8],
    r: &Prepared<P>,
    key_hash: &mut PartialHash,
    space: &mut Workspace<P>,
) -> (Ciphertext<P>, SharedSecret) {
    let mut h = Coefficients::zero();
    lanes.run(DecodeRq(&mut h, key));
    let mut product = Transform::zero();
    product.set(lanes, &h, space);
    product.multiply_by(lanes, &r.transform, space);
    let mut ciphertext = P::CiphertextBytes::filled(0);
    let rounded = &mut ciphertext.as_mut()[..P::ROUNDED_BYTES];
    encode_product(lanes, &mut product, &mut h, space, rounded);

    // The confirmation depends on the key's hash, and comes last in what the session key is the
    // hash of.
    let mut session = PartialHash::new();
    let known = (1 + HASH_BYTES + P::ROUNDED_BYTES) / BLOCK_BYTES;
    let blocks = known.min(key_hash.remaining(Purpose::PublicKey, &[key]));
    advance_two(
        lanes,
        blocks,
        (key_hash, Purpose::PublicKey, &[key]),
        (&mut session, Purpose::Session, &[&r.hash, ciphertext.as_ref()]),
    );
    let mut of_key = Hash::default();
    finish(lanes, key_hash, Purpose::PublicKey, &[key], &mut of_key);
    let mut confirmation = Zeroizing::new(Hash::default());
    hash(lanes, Purpose::Confirmation, &[&r.hash, &of_key], &mut confirmation);
    ciphertext.as_mut()[P::ROUNDED_BYTES..].copy_from_slice(&*confirmation);
    let mut secret = Secret::zeroed();
    let parts = [&r.hash, ciphertext.as_ref()];
    finish(lanes, &mut session, Purpose::Session, &parts, &mut secret);
    (Ciphertext(ciphertext), SharedSecret::new(secret))
}

/// r of an encapsulation for `key`, of whose hash the first blocks are computed along with that of
/// r. Not inlined, as above.
#[inline(never)]
fn hashed_with<P: ParameterSet, L: Hardware>(
    lanes: L,
    random: &P::SampleBytes,
    key_hash: &mut PartialHash,
    key: &[u8],
    space: &mut Workspace<P>,
) -> Secret<Prepared<P>> {
    let mut r = prepare::<P, L>(lanes, random, space);
    let Prepared { bytes, hash, .. } = &mut *r;
    let (mut r_hash, parts) = (PartialHash::new(), [bytes.as_ref()]);
    let blocks = r_hash.remaining(Purpose::Small, &parts);
    let of_r = (&mut r_hash, Purpose::Small, &parts[..]);
    advance_two(lanes, blocks, of_r, (key_hash, Purpose::PublicKey, &[key]));
    finish(lanes, &mut r_hash, Purpose::Small, &parts, hash);
    r
}
