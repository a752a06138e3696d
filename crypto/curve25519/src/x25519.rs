//! X25519 (RFC 7748).

use lanes::{Backend, FieldDispatch, FieldParts};
use rand_core::TryCryptoRng;
use secret::Secret;
use zeroize::Zeroizing;

use crate::edwards::Point;
use crate::error::Error;
use crate::field::{BYTES, Fe, equal_mask, invert_all};
use crate::montgomery::{Projective, ladder};
use crate::multiples::multiples_of_base;
use crate::scalar::{self, Recoded};
use crate::vector;

/// Bytes of a secret key.
pub const SECRET_KEY_BYTES: usize = BYTES;
/// Bytes of a public key.
pub const PUBLIC_KEY_BYTES: usize = BYTES;
/// Bytes of a shared secret.
pub const SHARED_SECRET_BYTES: usize = BYTES;

/// A secret key: 32 random bytes, kept as they are and clamped where they are used. In protected
/// memory; erased on drop.
pub struct SecretKey(Secret<[u8; SECRET_KEY_BYTES]>);

impl SecretKey {
    /// Takes bytes; all are keys.
    pub fn from_bytes(bytes: &[u8; SECRET_KEY_BYTES]) -> Self {
        SecretKey(Secret::<[u8; SECRET_KEY_BYTES]>::copy_of(bytes))
    }

    /// Whether it lies in protected memory, as it does unless there was none.
    pub fn is_protected(&self) -> bool {
        self.0.is_protected()
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; SECRET_KEY_BYTES] {
        &self.0
    }
}

impl Clone for SecretKey {
    fn clone(&self) -> Self {
        Self::from_bytes(&self.0)
    }
}

/// A public key. All 32 bytes are taken, as RFC 7748 demands: the highest bit is ignored, and what
/// is no canonical number is reduced.
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

/// A shared secret. In protected memory; erased on drop.
pub struct SharedSecret(Secret<[u8; SHARED_SECRET_BYTES]>);

impl SharedSecret {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; SHARED_SECRET_BYTES] {
        &self.0
    }

    /// The secret, unless it is zero; which of them is, is public.
    fn contributory(self) -> Result<Self, Error> {
        let mut bits = 0;
        for &byte in &*self.0 {
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
    let mut secrets = Vec::<SecretKey>::with_capacity(count);
    for _ in 0..count {
        let mut secret = SecretKey(Secret::zeroed());
        random.try_fill_bytes(&mut *secret.0).map_err(|_| Error::RandomSource)?;
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
    let mut digits = Secret::<[Recoded]>::slice(secrets.len());
    for (digits, secret) in digits.iter_mut().zip(secrets) {
        let scalar = Zeroizing::new(scalar::clamp(&secret.0));
        *digits = *scalar::recode(&Zeroizing::new(scalar::read(&scalar)));
    }
    let points = multiples_of_base(backend, &digits);
    // u = (1 + y) / (1 - y) = (Z + Y) / (Z - Y).
    let mut divisors = Secret::<[Fe]>::slice(points.len());
    for (divisor, point) in divisors.iter_mut().zip(&*points) {
        *divisor = point.z.sub(point.y);
    }
    invert_all(&mut divisors);
    let key =
        |(point, inverse): (&Point, &Fe)| PublicKey(point.z.add(point.y).mul(*inverse).to_bytes());
    points.iter().zip(&*divisors).map(key).collect()
}

/// The secret that the owners of two key pairs share.
///
/// # Errors
/// The public key has small order: the result would not depend on the secret key (RFC 7748, section
/// 6.1).
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

/// The secrets that each key of `secrets` makes with the key of `publics` in the same place,
/// together cheaper than one by one.
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
    let mut points = Secret::<[Projective]>::slice(secrets.len());
    backend.run_field(Ladders { secrets, publics, points: &mut points });
    let mut divisors = Secret::<[Fe]>::slice(points.len());
    for (divisor, point) in divisors.iter_mut().zip(&*points) {
        *divisor = point.z;
    }
    invert_all(&mut divisors);
    let result = |(point, inverse): (&Projective, &Fe)| {
        let mut secret = SharedSecret(Secret::zeroed());
        point.x.mul(*inverse).write(&mut secret.0);
        secret
    };
    points.iter().zip(&*divisors).map(result).collect()
}

struct Ladders<'a> {
    secrets: &'a [SecretKey],
    publics: &'a [PublicKey],
    points: &'a mut [Projective],
}

impl<'a> Ladders<'a> {
    fn pairs(&self) -> impl Iterator<Item = (&'a [u8; BYTES], &'a [u8; BYTES])> + use<'a> {
        self.secrets.iter().zip(self.publics).map(|(secret, public)| (&*secret.0, &public.0))
    }
}

impl FieldDispatch for Ladders<'_> {
    type Output = ();

    fn on<L: FieldParts>(self, lanes: L) {
        let pairs = self.pairs();
        // Eight at once, or four where lanes are halves, take longer than two by themselves, and
        // less than three.
        if self.secrets.len() < 3 {
            for (point, (secret, u)) in self.points.iter_mut().zip(pairs) {
                *point = vector::ladder(lanes, secret, u);
            }
        } else {
            vector::ladders(lanes, pairs, self.points);
        }
    }

    fn without(self) {
        let pairs = self.pairs();
        for (point, (secret, u)) in self.points.iter_mut().zip(pairs) {
            *point = ladder(secret, u);
        }
    }
}
