//! X25519 (RFC 7748).

use lanes::{Backend, FieldDispatch, FieldParts};
use rand_core::TryCryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::error::Error;
use crate::field::{BYTES, Fe, equal_mask, invert_all};
use crate::montgomery::{Projective, ladder};
use crate::multiples::multiples_of_base;
use crate::{scalar, vector};

/// Bytes of a secret key.
pub const SECRET_KEY_BYTES: usize = BYTES;
/// Bytes of a public key.
pub const PUBLIC_KEY_BYTES: usize = BYTES;
/// Bytes of a shared secret.
pub const SHARED_SECRET_BYTES: usize = BYTES;

/// A secret key: 32 random bytes, kept as they are and clamped where they are used.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SecretKey([u8; SECRET_KEY_BYTES]);

impl SecretKey {
    /// Takes bytes; all are keys.
    pub fn from_bytes(bytes: &[u8; SECRET_KEY_BYTES]) -> Self {
        SecretKey(*bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; SECRET_KEY_BYTES] {
        &self.0
    }
}

/// A public key. All 32 bytes are taken, as RFC 7748 demands: the highest bit is ignored, and what is no canonical number is
/// reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(pub [u8; PUBLIC_KEY_BYTES]);

/// A fresh key pair.
#[derive(Clone)]
pub struct KeyPair {
    /// The public half.
    pub public: PublicKey,
    /// The secret half.
    pub secret: SecretKey,
}

/// A shared secret.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct SharedSecret([u8; SHARED_SECRET_BYTES]);

impl SharedSecret {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; SHARED_SECRET_BYTES] {
        &self.0
    }

    /// The secret, unless it is zero; which of them is, is public.
    fn contributory(self) -> Result<Self, Error> {
        let mut bits = 0;
        for byte in self.0 {
            bits |= u64::from(byte);
        }
        let contributory = equal_mask(bits, 0) == 0;
        #[cfg(all(feature = "memcheck", target_arch = "x86_64"))]
        let contributory = lanes::memcheck::public(contributory);
        if contributory { Ok(self) } else { Err(Error::SmallOrder) }
    }
}

/// `count` key pairs, together cheaper than one by one. Each takes 32 bytes from `random`, in turn.
///
/// # Errors
/// The random source failed.
pub fn generate_batch<R: TryCryptoRng + ?Sized>(
    backend: Backend,
    random: &mut R,
    count: usize,
) -> Result<Vec<KeyPair>, Error> {
    let mut secrets = Vec::with_capacity(count);
    for _ in 0..count {
        let mut secret = SecretKey([0; SECRET_KEY_BYTES]);
        random.try_fill_bytes(&mut secret.0).map_err(|_| Error::RandomSource)?;
        secrets.push(secret);
    }
    let publics = public_keys(backend, &secrets);
    let pairs = secrets.into_iter().zip(publics);
    Ok(pairs.map(|(secret, public)| KeyPair { public, secret }).collect())
}

/// The public key of a secret one.
pub fn public_key(backend: Backend, secret: &SecretKey) -> PublicKey {
    public_keys(backend, core::slice::from_ref(secret))[0]
}

/// The public keys of secret ones, together cheaper than one by one.
pub fn public_keys(backend: Backend, secrets: &[SecretKey]) -> Vec<PublicKey> {
    let mut digits = Zeroizing::new(Vec::with_capacity(secrets.len()));
    for secret in secrets {
        let scalar = Zeroizing::new(scalar::clamp(&secret.0));
        digits.push(*scalar::recode(&Zeroizing::new(scalar::read(&scalar))));
    }
    let mut points = multiples_of_base(backend, &digits);
    // u = (1 + y) / (1 - y) = (Z + Y) / (Z - Y).
    let mut divisors: Vec<Fe> = points.iter().map(|point| point.z.sub(point.y)).collect();
    invert_all(&mut divisors);
    let keys = points.iter().zip(&divisors);
    let keys =
        keys.map(|(point, inverse)| PublicKey(point.z.add(point.y).mul(*inverse).to_bytes()));
    let keys = keys.collect();
    points.zeroize();
    divisors.zeroize();
    keys
}

/// The secret that the owners of two key pairs share.
///
/// # Errors
/// The public key has small order: the result would not depend on the secret key (RFC 7748, section 6.1).
pub fn shared_secret(
    backend: Backend,
    secret: &SecretKey,
    public: &PublicKey,
) -> Result<SharedSecret, Error> {
    let results =
        multiply_all(backend, core::slice::from_ref(secret), core::slice::from_ref(public));
    let [result] = <[SharedSecret; 1]>::try_from(results).map_err(|_| Error::SmallOrder)?;
    result.contributory()
}

/// The secrets that each key of `secrets` makes with the key of `publics` in the same place, together cheaper than one by one.
///
/// # Panics
/// There are more of one kind than of the other.
pub fn shared_secrets(
    backend: Backend,
    secrets: &[SecretKey],
    publics: &[PublicKey],
) -> Vec<Result<SharedSecret, Error>> {
    assert_eq!(secrets.len(), publics.len(), "as many secret keys as public ones");
    multiply_all(backend, secrets, publics).into_iter().map(SharedSecret::contributory).collect()
}

/// Each multiple of each u-coordinate; zero where the point has small order.
fn multiply_all(
    backend: Backend,
    secrets: &[SecretKey],
    publics: &[PublicKey],
) -> Vec<SharedSecret> {
    let mut points = ladders(backend, secrets, publics);
    let mut divisors: Vec<Fe> = points.iter().map(|point| point.z).collect();
    invert_all(&mut divisors);
    let results = points.iter().zip(&divisors);
    let results = results.map(|(point, inverse)| SharedSecret(point.x.mul(*inverse).to_bytes()));
    let results = results.collect();
    points.zeroize();
    divisors.zeroize();
    results
}

fn ladders(backend: Backend, secrets: &[SecretKey], publics: &[PublicKey]) -> Vec<Projective> {
    backend.run_field(Ladders { secrets, publics })
}

struct Ladders<'a> {
    secrets: &'a [SecretKey],
    publics: &'a [PublicKey],
}

impl<'a> Ladders<'a> {
    fn pairs(&self) -> impl Iterator<Item = (&'a [u8; BYTES], &'a [u8; BYTES])> {
        self.secrets.iter().zip(self.publics).map(|(secret, public)| (&secret.0, &public.0))
    }
}

impl FieldDispatch for Ladders<'_> {
    type Output = Vec<Projective>;

    fn on<L: FieldParts>(self, lanes: L) -> Vec<Projective> {
        let mut points = Vec::with_capacity(self.secrets.len());
        // Eight at once, or four where lanes are halves, take longer than two by themselves, and less than three.
        if self.secrets.len() < 3 {
            points.extend(self.pairs().map(|(secret, u)| vector::ladder(lanes, secret, u)));
        } else {
            vector::ladders(lanes, self.pairs(), &mut points);
        }
        points
    }

    fn without(self) -> Vec<Projective> {
        self.pairs().map(|(secret, u)| ladder(secret, u)).collect()
    }
}
