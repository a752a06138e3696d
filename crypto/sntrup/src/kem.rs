//! The key encapsulation mechanism: keys, ciphertexts, encapsulate, decapsulate with implicit
//! rejection (round-3 specification, section 4).

use core::fmt;

use lanes::{Backend, Dispatch, Hardware, HashLanes};
use rand_core::TryCryptoRng;
use secret::Secret;

use crate::batch::{self, BatchMemory};
use crate::decapsulate::{self, ExpandedKey};
use crate::encapsulate::{Encapsulate, Randomness, with_sample};
use crate::encode::{DecodeRq, DecodeSmall, EncodeRq, is_canonical_small};
use crate::error::{Error, Object};
use crate::hash::{Hash, Purpose, hash, hash_all};
use crate::operations::Source;
use crate::params::{Array, HASH_BYTES, ParameterSet};
use crate::product::{Coefficients, Multiplier};
use crate::public::public;
use crate::r3;
use crate::rq::TripleToSmall;

/// Bytes of a shared secret.
pub const SHARED_SECRET_BYTES: usize = HASH_BYTES;

/// An encoded public key: canonical, so an element of R/q.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey<P: ParameterSet>(P::PublicKeyBytes);

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

/// A shared secret of [`SHARED_SECRET_BYTES`]. In protected memory; erased on drop.
pub struct SharedSecret(pub(crate) Secret<Hash>);

impl SharedSecret {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; SHARED_SECRET_BYTES] {
        &self.0
    }
}

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

impl<P: ParameterSet> SecretKey<P> {
    pub(crate) fn parts(&self) -> Parts<&[u8]> {
        parts::<P>(self.as_bytes())
    }
}

/// Copies `bytes` into an array, or says what is wrong with their length.
fn array<P: ParameterSet, A: Array<u8>>(kind: &'static str, bytes: &[u8]) -> Result<A, Error> {
    let mut array = A::filled(0);
    let expected = array.as_ref().len();
    if bytes.len() != expected {
        return Err(Error::Length { object: object::<P>(kind), expected, actual: bytes.len() });
    }
    array.as_mut().copy_from_slice(bytes);
    Ok(array)
}

pub(crate) fn object<P: ParameterSet>(kind: &'static str) -> Object {
    Object { parameter_set: P::NAME, kind }
}

impl<P: ParameterSet> PublicKey<P> {
    /// Reads an encoded public key.
    ///
    /// # Errors
    /// The length is not [`ParameterSet::PUBLIC_KEY_BYTES`], or the encoding is not canonical: some
    /// other bytes decode to the same element of R/q.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::from_bytes_on(Backend::best(), bytes)
    }

    /// [`PublicKey::from_bytes`], checked on a given backend.
    ///
    /// # Errors
    /// As [`PublicKey::from_bytes`].
    pub fn from_bytes_on(backend: Backend, bytes: &[u8]) -> Result<Self, Error> {
        let key = PublicKey::<P>(array::<P, _>("public key", bytes)?);
        if P::recode(backend, Recode(&key)) != key {
            return Err(Error::NotCanonical { object: object::<P>("public key") });
        }
        Ok(key)
    }

    /// Its encoding.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_ref()
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
        Ok(Ciphertext(array::<P, _>("ciphertext", bytes)?))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl<P: ParameterSet> KeyPair<P> {
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

    /// The public half.
    pub fn public_key(&self) -> &PublicKey<P> {
        &self.public
    }

    /// Both halves, for a key that is to be used more than once.
    pub fn into_parts(self) -> (PublicKey<P>, SecretKey<P>) {
        (self.public, self.secret)
    }

    /// The shared secret of `ciphertext`; the key pair is used up and erased.
    pub fn decapsulate(self, backend: Backend, ciphertext: &Ciphertext<P>) -> SharedSecret {
        self.secret.decapsulate(backend, ciphertext)
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
    /// Reads an encoded secret key.
    ///
    /// # Errors
    /// The length is not [`ParameterSet::SECRET_KEY_BYTES`]; a part is not canonically encoded; f
    /// has not weight w; or the hash is not the public key's. [`SecretKey::check`] goes further.
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
        let parts = parts::<P>(bytes);
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

    /// The shared secret of `ciphertext`. If [`PublicKey::encapsulate`] did not make it for this
    /// key, the result, in the same time, is a secret that nobody else knows (implicit rejection).
    pub fn decapsulate(&self, backend: Backend, ciphertext: &Ciphertext<P>) -> SharedSecret {
        decapsulate::once(backend, self, ciphertext)
    }

    /// Prepares for many decapsulations.
    pub fn expand(&self, backend: Backend) -> ExpandedKey<P> {
        ExpandedKey::new(backend, self.clone())
    }

    /// Whether f, 1/g and the public key belong together: 3 f h is small, and is g.
    ///
    /// # Errors
    /// They do not.
    pub fn check(&self, backend: Backend) -> Result<(), Error> {
        P::check(backend, Check(self))
    }
}

impl<P: ParameterSet> Clone for SecretKey<P> {
    fn clone(&self) -> Self {
        Self::copied(self.as_bytes())
    }
}

impl<P: ParameterSet> zeroize::ZeroizeOnDrop for SecretKey<P> {}

/// Zero if a small polynomial has weight w, else not.
pub(crate) fn weight_mismatch<P: ParameterSet>(a: &Coefficients<P>) -> i16 {
    a.as_slice().iter().fold(0, |weight, &x| weight + (x & 1)) - P::W as i16
}

/// All ones if `difference` is not zero, else zero. The compiler may not see that there are two
/// values only: it would make a branch of what they choose.
pub(crate) fn mask(difference: i16) -> i16 {
    core::hint::black_box((difference | difference.wrapping_neg()) >> 15)
}

// Operations on lanes are not inlined: the memory of one is then off the stack while another runs.

pub(crate) struct Generate<'a, P: ParameterSet> {
    count: usize,
    random: &'a mut Source<'a>,
    memory: &'a mut BatchMemory<P>,
}

impl<P: ParameterSet> Dispatch for Generate<'_, P> {
    type Output = Result<Vec<KeyPair<P>>, Error>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        batch::key_pairs(lanes, self.count, self.random, self.memory)
    }
}

/// A public key, decoded and encoded again.
pub(crate) struct Recode<'a, P: ParameterSet>(&'a PublicKey<P>);

impl<P: ParameterSet> Dispatch for Recode<'_, P> {
    type Output = PublicKey<P>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> PublicKey<P> {
        let mut element = Coefficients::<P>::zero();
        lanes.run(DecodeRq(&mut element, self.0.as_bytes()));
        let mut again = P::PublicKeyBytes::filled(0);
        lanes.run(EncodeRq(&element, again.as_mut()));
        PublicKey(again)
    }
}

/// A key's [`weight_mismatch`] of f, and the hash of its public key.
pub(crate) struct Inspect<'a, P: ParameterSet>(&'a SecretKey<P>);

impl<P: ParameterSet> Dispatch for Inspect<'_, P> {
    type Output = (i16, Hash);

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let parts = self.0.parts();
        let mut f = Coefficients::<P>::zero();
        lanes.run(DecodeSmall(&mut f, parts.f));
        let mut public_key_hash = Hash::default();
        hash(lanes, Purpose::PublicKey, &[parts.public_key], &mut public_key_hash);
        (weight_mismatch(&f), public_key_hash)
    }
}

pub(crate) struct Check<'a, P: ParameterSet>(&'a SecretKey<P>);

impl<P: ParameterSet> Dispatch for Check<'_, P> {
    type Output = Result<(), Error>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let parts = parts::<P>(self.0.as_bytes());
        let multiplier = &mut Multiplier::<P>::new();
        let (mut product, mut factor) = (Coefficients::zero(), Coefficients::zero());
        lanes.run(DecodeRq(&mut product, parts.public_key));
        lanes.run(DecodeSmall(&mut factor, parts.f));
        multiplier.multiply_by(lanes, &mut product, &factor);
        let third_is_small = {
            // 3 x is small if and only if x is 0 or plus or minus a third.
            let q = i32::from(P::Q);
            product.as_slice().iter().fold(0, |bad, &x| {
                let triple = (3 * i32::from(x)).rem_euclid(q);
                bad | i32::from(triple > 1 && triple < q - 1)
            }) == 0
        };
        lanes.run(TripleToSmall::<P, L>(&mut product));
        lanes.run(DecodeSmall(&mut factor, parts.g_inverse));
        multiplier.multiply_by(lanes, &mut product, &factor);
        lanes.run(r3::Reduce::<P, L>(&mut product));
        product.as_mut_slice()[0] -= 1;
        let is_one = product.as_slice().iter().fold(0, |bits, &x| bits | x) == 0;
        if public(third_is_small & is_one) {
            Ok(())
        } else {
            Err(Error::Inconsistent { object: object::<P>("secret key") })
        }
    }
}
