//! The key encapsulation mechanism: keys, ciphertexts, encapsulate, decapsulate with implicit rejection (round-3
//! specification, section 4).

use core::fmt;

use lanes::{Backend, Dispatch, Lanes};
use rand_core::TryCryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::encode::{
    decode_rounded, decode_rq, decode_small, encode_rounded, encode_rq, encode_small,
    is_canonical_small,
};
use crate::error::{Error, What};
use crate::hash::{Hash, Purpose, hash, session_hash};
use crate::params::{Array, HASH_BYTES, ParameterSet};
use crate::product::{Coefficients, Multiplier, wipe};
use crate::rq::{Round, TripleToSmall};
use crate::{batch, r3, short};

/// Bytes of a shared secret.
pub const SHARED_SECRET_BYTES: usize = HASH_BYTES;

/// An encoded public key: canonical, so an element of R/q.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey<P: ParameterSet>(P::PublicKeyBytes);

/// A secret key: f, 1/g, the public key, rho, and the public key's hash, encoded as in the NIST submission. On the heap, so
/// that moving it leaves no copy; erased on drop.
pub struct SecretKey<P: ParameterSet>(Box<P::SecretKeyBytes>);

/// A key pair for one use: [`KeyPair::decapsulate`] consumes it.
pub struct KeyPair<P: ParameterSet> {
    public: PublicKey<P>,
    secret: SecretKey<P>,
}

/// A ciphertext: Rounded and the confirmation hash. Any bytes of the right length; a wrong one is rejected implicitly.
#[derive(Clone, PartialEq, Eq)]
pub struct Ciphertext<P: ParameterSet>(P::CiphertextBytes);

/// A shared secret of [`SHARED_SECRET_BYTES`], erased on drop.
pub struct SharedSecret(Hash);

impl SharedSecret {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; SHARED_SECRET_BYTES] {
        &self.0
    }
}

/// What a key pair is made of.
#[derive(Clone)]
pub(crate) struct Secrets<P: ParameterSet> {
    pub(crate) f: Coefficients<P>,
    pub(crate) g: Coefficients<P>,
    pub(crate) rho: P::SmallBytes,
}

impl<P: ParameterSet> Secrets<P> {
    pub(crate) fn zero() -> Self {
        Secrets { f: Coefficients::zero(), g: Coefficients::zero(), rho: P::SmallBytes::filled(0) }
    }
}

impl<P: ParameterSet> Drop for Secrets<P> {
    fn drop(&mut self) {
        wipe(self.rho.as_mut());
    }
}

/// The pieces of a secret key's bytes.
struct Parts<'a> {
    f: &'a [u8],
    g_inverse: &'a [u8],
    public_key: &'a [u8],
    rho: &'a [u8],
    public_key_hash: &'a [u8],
}

fn parts<P: ParameterSet>(bytes: &[u8]) -> Parts<'_> {
    let (f, rest) = bytes.split_at(P::SMALL_BYTES);
    let (g_inverse, rest) = rest.split_at(P::SMALL_BYTES);
    let (public_key, rest) = rest.split_at(P::PUBLIC_KEY_BYTES);
    let (rho, public_key_hash) = rest.split_at(P::SMALL_BYTES);
    Parts { f, g_inverse, public_key, rho, public_key_hash }
}

/// Copies `bytes` into an array, or says what is wrong with their length.
fn array<P: ParameterSet, A: Array<u8>>(object: &'static str, bytes: &[u8]) -> Result<A, Error> {
    let mut array = A::filled(0);
    let expected = array.as_ref().len();
    if bytes.len() != expected {
        return Err(Error::Length { what: what::<P>(object), expected, actual: bytes.len() });
    }
    array.as_mut().copy_from_slice(bytes);
    Ok(array)
}

fn what<P: ParameterSet>(object: &'static str) -> What {
    What { parameter_set: P::NAME, object }
}

impl<P: ParameterSet> PublicKey<P> {
    /// Reads an encoded public key.
    ///
    /// # Errors
    /// The length is not [`ParameterSet::PUBLIC_KEY_BYTES`], or the encoding is not canonical: some other bytes decode to the
    /// same element of R/q.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let key = PublicKey::<P>(array::<P, _>("public key", bytes)?);
        let mut element = Coefficients::<P>::zero();
        decode_rq(&mut element, bytes);
        let mut again = P::PublicKeyBytes::filled(0);
        encode_rq(&element, again.as_mut());
        if again != key.0 {
            return Err(Error::NotCanonical { what: what::<P>("public key") });
        }
        Ok(key)
    }

    /// Its encoding.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_ref()
    }

    /// Makes a shared secret and the ciphertext that tells the key's owner about it; draws 4p bytes in one call.
    ///
    /// # Errors
    /// The random source failed.
    pub fn encapsulate<R: TryCryptoRng + ?Sized>(
        &self,
        backend: Backend,
        random: &mut R,
    ) -> Result<(Ciphertext<P>, SharedSecret), Error> {
        let mut r = Coefficients::zero();
        short::short(&mut r, random)?;
        Ok(backend.run(Encapsulate { key: self, r: &r }))
    }

    /// [`PublicKey::encapsulate`] with the random bytes given.
    pub fn encapsulate_derand(
        &self,
        backend: Backend,
        random: &P::SampleBytes,
    ) -> (Ciphertext<P>, SharedSecret) {
        let mut r = Coefficients::zero();
        short::short_derand(&mut r, random);
        backend.run(Encapsulate { key: self, r: &r })
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

    /// `count` key pairs for little more than the price of a few: the same keys as `count` single ones drawn one after another
    /// from the same stream.
    ///
    /// # Errors
    /// The random source failed.
    pub fn generate_batch<R: TryCryptoRng + ?Sized>(
        backend: Backend,
        count: usize,
        random: &mut R,
    ) -> Result<Vec<Self>, Error> {
        backend.run(Generate { count, random, parameter_set: core::marker::PhantomData })
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

    pub(crate) fn assemble(
        secrets: &Secrets<P>,
        g_inverse: &Coefficients<P>,
        h: &Coefficients<P>,
    ) -> Self {
        let mut public = P::PublicKeyBytes::filled(0);
        encode_rq(h, public.as_mut());
        let mut bytes = Box::new(P::SecretKeyBytes::filled(0));
        let (f_bytes, rest) = (*bytes).as_mut().split_at_mut(P::SMALL_BYTES);
        let (g_inverse_bytes, rest) = rest.split_at_mut(P::SMALL_BYTES);
        let (public_bytes, rest) = rest.split_at_mut(P::PUBLIC_KEY_BYTES);
        let (rho_bytes, hash_bytes) = rest.split_at_mut(P::SMALL_BYTES);
        encode_small(&secrets.f, f_bytes);
        encode_small(g_inverse, g_inverse_bytes);
        public_bytes.copy_from_slice(public.as_ref());
        rho_bytes.copy_from_slice(secrets.rho.as_ref());
        hash_bytes.copy_from_slice(&*hash(Purpose::PublicKey, &[public.as_ref()]));
        KeyPair { public: PublicKey(public), secret: SecretKey(bytes) }
    }
}

impl<P: ParameterSet> SecretKey<P> {
    /// Reads an encoded secret key.
    ///
    /// # Errors
    /// The length is not [`ParameterSet::SECRET_KEY_BYTES`]; a part is not canonically encoded; f has not weight w; or the hash is
    /// not the public key's. [`SecretKey::check`] goes further.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut key = SecretKey::<P>(Box::new(P::SecretKeyBytes::filled(0)));
        let expected = P::SECRET_KEY_BYTES;
        let what = what::<P>("secret key");
        if bytes.len() != expected {
            return Err(Error::Length { what, expected, actual: bytes.len() });
        }
        (*key.0).as_mut().copy_from_slice(bytes);

        let parts = parts::<P>(bytes);
        let canonical = is_canonical_small::<P>(parts.f)
            && is_canonical_small::<P>(parts.g_inverse)
            && PublicKey::<P>::from_bytes(parts.public_key).is_ok();
        if !canonical {
            return Err(Error::NotCanonical { what });
        }
        let mut f = Coefficients::<P>::zero();
        decode_small(&mut f, parts.f);
        let weighs = weight_mismatch(&f) == 0;
        let hashes = *hash(Purpose::PublicKey, &[parts.public_key]) == *parts.public_key_hash;
        if !(weighs && hashes) {
            return Err(Error::Inconsistent { what });
        }
        Ok(key)
    }

    /// Its encoding: handle with care.
    pub fn as_bytes(&self) -> &[u8] {
        (*self.0).as_ref()
    }

    /// The public half.
    pub fn public_key(&self) -> PublicKey<P> {
        let mut public = P::PublicKeyBytes::filled(0);
        public.as_mut().copy_from_slice(parts::<P>(self.as_bytes()).public_key);
        PublicKey(public)
    }

    /// The shared secret of `ciphertext`, or, in the same time, one that nobody else can know if the ciphertext was not made by
    /// [`PublicKey::encapsulate`] for this key.
    pub fn decapsulate(&self, backend: Backend, ciphertext: &Ciphertext<P>) -> SharedSecret {
        backend.run(Decapsulate { key: self, ciphertext })
    }

    /// Whether f, 1/g and the public key belong together: 3 f h is small, and is g.
    ///
    /// # Errors
    /// They do not.
    pub fn check(&self, backend: Backend) -> Result<(), Error> {
        backend.run(Check(self))
    }
}

impl<P: ParameterSet> Clone for SecretKey<P> {
    fn clone(&self) -> Self {
        SecretKey(self.0.clone())
    }
}

impl<P: ParameterSet> Drop for SecretKey<P> {
    fn drop(&mut self) {
        wipe((*self.0).as_mut());
    }
}

impl<P: ParameterSet> zeroize::ZeroizeOnDrop for SecretKey<P> {}

/// Zero if a small polynomial has weight w, else not.
fn weight_mismatch<P: ParameterSet>(a: &Coefficients<P>) -> i16 {
    a.as_slice().iter().fold(0, |weight, &x| weight + (x & 1)) - P::W as i16
}

/// All ones if `difference` is not zero, else zero.
fn mask(difference: i16) -> i16 {
    (difference | difference.wrapping_neg()) >> 15
}

// Operations on lanes are not inlined: the memory of one is then off the stack while another runs.

struct Generate<'a, P, R: ?Sized> {
    count: usize,
    random: &'a mut R,
    parameter_set: core::marker::PhantomData<P>,
}

impl<P: ParameterSet, R: TryCryptoRng + ?Sized> Dispatch for Generate<'_, P, R> {
    type Output = Result<Vec<KeyPair<P>>, Error>;

    #[inline(never)]
    fn on<L: Lanes<Word = i16>>(self, lanes: L) -> Self::Output {
        batch::key_pairs(lanes, self.count, self.random)
    }
}

/// The ciphertext of r under the public key in `h`, which is used up, and the hash of r.
fn hide<P: ParameterSet, L: Lanes<Word = i16>>(
    lanes: L,
    r: &Coefficients<P>,
    h: &mut Coefficients<P>,
    public_key_hash: &[u8],
    multiplier: &mut Multiplier<P, L>,
) -> (Ciphertext<P>, Hash) {
    multiplier.multiply_by(lanes, h, r);
    lanes.run(Round::<P, L>(h));

    let mut small = Zeroizing::new(SmallBytes::<P>(P::SmallBytes::filled(0)));
    encode_small(r, small.0.as_mut());
    let r_hash = hash(Purpose::Small, &[small.0.as_ref()]);
    let confirmation = hash(Purpose::Confirmation, &[&*r_hash, public_key_hash]);

    let mut bytes = P::CiphertextBytes::filled(0);
    let (rounded, last) = bytes.as_mut().split_at_mut(P::ROUNDED_BYTES);
    encode_rounded(h, rounded);
    last.copy_from_slice(&*confirmation);
    (Ciphertext(bytes), r_hash)
}

/// An encoded secret Small.
struct SmallBytes<P: ParameterSet>(P::SmallBytes);

impl<P: ParameterSet> Zeroize for SmallBytes<P> {
    fn zeroize(&mut self) {
        wipe(self.0.as_mut());
    }
}

struct Encapsulate<'a, P: ParameterSet> {
    key: &'a PublicKey<P>,
    r: &'a Coefficients<P>,
}

impl<P: ParameterSet> Dispatch for Encapsulate<'_, P> {
    type Output = (Ciphertext<P>, SharedSecret);

    #[inline(never)]
    fn on<L: Lanes<Word = i16>>(self, lanes: L) -> Self::Output {
        let public_key_hash = hash(Purpose::PublicKey, &[self.key.as_bytes()]);
        let mut h = Coefficients::zero();
        decode_rq(&mut h, self.key.as_bytes());
        let (ciphertext, r_hash) =
            hide(lanes, self.r, &mut h, &*public_key_hash, &mut Multiplier::new());
        let secret = hash(Purpose::Session, &[&*r_hash, ciphertext.as_bytes()]);
        (ciphertext, SharedSecret(secret))
    }
}

struct Decapsulate<'a, P: ParameterSet> {
    key: &'a SecretKey<P>,
    ciphertext: &'a Ciphertext<P>,
}

impl<P: ParameterSet> Dispatch for Decapsulate<'_, P> {
    type Output = SharedSecret;

    #[inline(never)]
    fn on<L: Lanes<Word = i16>>(self, lanes: L) -> Self::Output {
        let parts = parts::<P>(self.key.as_bytes());
        let multiplier = &mut Multiplier::<P, L>::new();

        // r = (3 f c mod q) / g mod 3
        let (mut r, mut factor) = (Coefficients::zero(), Coefficients::zero());
        decode_rounded(&mut r, &self.ciphertext.as_bytes()[..P::ROUNDED_BYTES]);
        decode_small(&mut factor, parts.f);
        multiplier.multiply_by(lanes, &mut r, &factor);
        lanes.run(TripleToSmall::<P, L>(&mut r));
        decode_small(&mut factor, parts.g_inverse);
        multiplier.multiply_by(lanes, &mut r, &factor);
        lanes.run(r3::Reduce::<P, L>(&mut r));

        // A wrong weight is replaced by a fixed Short, so that the comparison below rejects it.
        let wrong = mask(weight_mismatch(&r));
        for (i, x) in r.as_mut_slice().iter_mut().enumerate() {
            let fixed = i16::from(i < P::W);
            *x ^= wrong & (*x ^ fixed);
        }

        let h = &mut factor;
        decode_rq(h, parts.public_key);
        let (again, r_hash) = hide(lanes, &r, h, parts.public_key_hash, multiplier);
        let difference = again
            .as_bytes()
            .iter()
            .zip(self.ciphertext.as_bytes())
            .fold(0, |bits, (a, b)| bits | (a ^ b));
        let rejected = mask(difference.into()) as u8;

        let mut preimage = Zeroizing::new([0; HASH_BYTES]);
        let rho_hash = hash(Purpose::Small, &[parts.rho]);
        for (i, x) in preimage.iter_mut().enumerate() {
            *x = r_hash[i] ^ (rejected & (r_hash[i] ^ rho_hash[i]));
        }
        SharedSecret(session_hash(rejected, &[&*preimage, self.ciphertext.as_bytes()]))
    }
}

struct Check<'a, P: ParameterSet>(&'a SecretKey<P>);

impl<P: ParameterSet> Dispatch for Check<'_, P> {
    type Output = Result<(), Error>;

    #[inline(never)]
    fn on<L: Lanes<Word = i16>>(self, lanes: L) -> Self::Output {
        let parts = parts::<P>(self.0.as_bytes());
        let multiplier = &mut Multiplier::<P, L>::new();
        let (mut product, mut factor) = (Coefficients::zero(), Coefficients::zero());
        decode_rq(&mut product, parts.public_key);
        decode_small(&mut factor, parts.f);
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
        decode_small(&mut factor, parts.g_inverse);
        multiplier.multiply_by(lanes, &mut product, &factor);
        lanes.run(r3::Reduce::<P, L>(&mut product));
        product.as_mut_slice()[0] -= 1;
        let is_one = product.as_slice().iter().fold(0, |bits, &x| bits | x) == 0;
        if third_is_small && is_one {
            Ok(())
        } else {
            Err(Error::Inconsistent { what: what::<P>("secret key") })
        }
    }
}
