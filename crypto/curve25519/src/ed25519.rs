//! Ed25519 (RFC 8032), with its variants Ed25519ctx and Ed25519ph ([`Instance`]).
//!
//! # What is a valid signature
//! [`verify`] gives OpenSSL's verdict for every input. S must be below L. The point A of the public
//! key may have any order, its y may be p or more, and a sign bit beside x = 0 is ignored; a key
//! that is no point verifies nothing. R is not decoded: the encoding of S B - k A must be its bytes
//! (no cofactor), so a non-canonical R is never valid. k is the hash of R and A as they were sent.
//!
//! [`verify_strict`] refuses, besides, keys and R of small order, with which one signature can be
//! valid for several messages.

use lanes::Backend;
use rand_core::TryCryptoRng;
use secret::Secret;
use sha2::{Digest, Sha512};
use zerocopy::FromZeros;
use zeroize::Zeroizing;

use crate::edwards::Point;
use crate::error::Error;
use crate::field::{BYTES, Fe, invert_all};
pub use crate::instance::{Instance, MAX_CONTEXT_BYTES, PREHASH_BYTES, prehash};
use crate::multiples;
use crate::scalar::{self, Recoded, Words};

/// Bytes of the seed that a signing key is made of.
pub const SEED_BYTES: usize = BYTES;
/// Bytes of a public key.
pub const PUBLIC_KEY_BYTES: usize = BYTES;
/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 2 * BYTES;

const DIGEST_BYTES: usize = 64;

/// A signing key: the seed and its expansion, in protected memory and erased on drop, and the
/// public key.
pub struct SigningKey {
    secret: Secret<Expanded>,
    public: VerifyingKey,
}

/// A seed and its expansion (RFC 8032, section 5.1.5).
#[derive(FromZeros)]
struct Expanded {
    seed: [u8; SEED_BYTES],
    /// Clamped, not reduced.
    scalar: Words,
    /// The prefix of nonces' preimages.
    prefix: [u8; BYTES],
}

/// A public key, as it was sent. Whether it is a point shows when it verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyingKey(pub [u8; PUBLIC_KEY_BYTES]);

impl SigningKey {
    /// The key of a seed.
    pub fn from_seed(backend: Backend, seed: &[u8; SEED_BYTES]) -> Self {
        let mut secret = Secret::<Expanded>::zeroed();
        secret.seed.copy_from_slice(seed);
        secret.expand();
        let public = multiple_of_base(backend, &secret.scalar);
        SigningKey { secret, public }
    }

    /// The seed.
    pub fn seed(&self) -> &[u8; SEED_BYTES] {
        &self.secret.seed
    }

    /// The public key.
    pub fn verifying_key(&self) -> &VerifyingKey {
        &self.public
    }
}

impl Clone for SigningKey {
    fn clone(&self) -> Self {
        let mut secret = Secret::<Expanded>::zeroed();
        secret.seed.copy_from_slice(&self.secret.seed);
        secret.scalar.copy_from_slice(&self.secret.scalar);
        secret.prefix.copy_from_slice(&self.secret.prefix);
        SigningKey { secret, public: self.public }
    }
}

impl Expanded {
    /// Completes a seed.
    fn expand(&mut self) {
        let mut digest = Zeroizing::new([0; DIGEST_BYTES]);
        hash(&[&self.seed], &mut digest);
        let (low, high) = digest.split_at(BYTES);
        let clamped = Zeroizing::new(scalar::clamp(low.first_chunk().unwrap()));
        self.scalar = scalar::read(&clamped);
        self.prefix.copy_from_slice(high);
    }
}

/// `count` keys, together cheaper than one by one. Each takes 32 bytes from `random`, in turn.
///
/// # Errors
/// The random source failed.
pub fn generate_batch<R: TryCryptoRng + ?Sized>(
    backend: Backend,
    random: &mut R,
    count: usize,
) -> Result<Vec<SigningKey>, Error> {
    let mut keys = Vec::<SigningKey>::with_capacity(count);
    let mut scalars = Secret::<[Words]>::slice(count);
    for scalar in &mut *scalars {
        let mut secret = Secret::<Expanded>::zeroed();
        random.try_fill_bytes(&mut secret.seed).map_err(|_| Error::RandomSource)?;
        secret.expand();
        scalar.copy_from_slice(&secret.scalar);
        keys.push(SigningKey { secret, public: VerifyingKey([0; PUBLIC_KEY_BYTES]) });
    }
    for (key, public) in keys.iter_mut().zip(multiples_of_base(backend, &scalars)) {
        key.public = public;
    }
    Ok(keys)
}

/// Signs a message. The same message gives the same signature.
pub fn sign(backend: Backend, key: &SigningKey, message: &[u8]) -> [u8; SIGNATURE_BYTES] {
    sign_as(backend, key, &Instance::pure(), message)
}

/// Signs a message, or its hash, as one of the variants.
pub fn sign_as(
    backend: Backend,
    key: &SigningKey,
    instance: &Instance,
    message: &[u8],
) -> [u8; SIGNATURE_BYTES] {
    let domain = instance.domain();
    let mut digest = Zeroizing::new([0; DIGEST_BYTES]);
    hash(&[domain, &key.secret.prefix, message], &mut digest);
    let nonce = Zeroizing::new(scalar::reduce(&digest));
    let VerifyingKey(r) = multiple_of_base(backend, &nonce);
    hash(&[domain, &r, &key.public.0, message], &mut digest);
    let challenge = scalar::reduce(&digest);
    let s = scalar::mul_add(&key.secret.scalar, &challenge, &nonce);
    let mut signature = [0; SIGNATURE_BYTES];
    signature[..BYTES].copy_from_slice(&r);
    signature[BYTES..].copy_from_slice(&scalar::write(&s));
    signature
}

/// Verifies a signature. It takes the time that the public inputs make it take.
///
/// # Errors
/// The signature is not valid, or the key is no point.
pub fn verify(
    backend: Backend,
    key: &VerifyingKey,
    signature: &[u8; SIGNATURE_BYTES],
    message: &[u8],
) -> Result<(), Error> {
    verify_as(backend, key, &Instance::pure(), signature, message)
}

/// [`verify`] for one of the variants, with a message or its hash.
///
/// # Errors
/// As [`verify`].
pub fn verify_as(
    backend: Backend,
    key: &VerifyingKey,
    instance: &Instance,
    signature: &[u8; SIGNATURE_BYTES],
    message: &[u8],
) -> Result<(), Error> {
    let a = Point::decode_vartime(&key.0).ok_or(Error::PublicKey)?;
    verify_with(backend, key, &a, instance, signature, message)
}

/// [`verify`], and neither the key nor R may have small order.
///
/// # Errors
/// As [`verify`]; or the key or R has small order.
pub fn verify_strict(
    backend: Backend,
    key: &VerifyingKey,
    signature: &[u8; SIGNATURE_BYTES],
    message: &[u8],
) -> Result<(), Error> {
    let a = Point::decode_vartime(&key.0).ok_or(Error::PublicKey)?;
    if a.has_small_order_vartime() {
        return Err(Error::PublicKey);
    }
    let (r, _) = halves(signature);
    match Point::decode_vartime(r) {
        Some(point) if !point.has_small_order_vartime() => {}
        _ => return Err(Error::Signature),
    }
    verify_with(backend, key, &a, &Instance::pure(), signature, message)
}

fn halves(signature: &[u8; SIGNATURE_BYTES]) -> (&[u8; BYTES], &[u8; BYTES]) {
    let (r, s) = signature.split_at(BYTES);
    (r.first_chunk().unwrap(), s.first_chunk().unwrap())
}

fn verify_with(
    backend: Backend,
    key: &VerifyingKey,
    a: &Point,
    instance: &Instance,
    signature: &[u8; SIGNATURE_BYTES],
    message: &[u8],
) -> Result<(), Error> {
    let (r, s) = halves(signature);
    let s = scalar::read(s);
    if !scalar::is_reduced_vartime(&s) {
        return Err(Error::Signature);
    }
    let mut digest = [0; DIGEST_BYTES];
    hash(&[instance.domain(), r, &key.0, message], &mut digest);
    let challenge = scalar::reduce(&digest);
    let point = multiples::double_multiple_vartime(backend, &challenge, &a.negated(), &s);
    let expected = point.encode(point.z.invert());
    if expected == *r { Ok(()) } else { Err(Error::Signature) }
}

/// Writes SHA-512 of the concatenation of `parts`.
fn hash(parts: &[&[u8]], to: &mut [u8; DIGEST_BYTES]) {
    let mut state = Sha512::new();
    for part in parts {
        state.update(part);
    }
    // Not by `finalize`, which would move the state and leave a copy.
    state.finalize_into_reset(to.into());
}

fn multiple_of_base(backend: Backend, scalar: &Words) -> VerifyingKey {
    multiples_of_base(backend, core::slice::from_ref(scalar))[0]
}

/// The encoded multiples of the base point: the public keys of scalars.
fn multiples_of_base(backend: Backend, scalars: &[Words]) -> Vec<VerifyingKey> {
    let mut digits = Secret::<[Recoded]>::slice(scalars.len());
    for (digits, scalar) in digits.iter_mut().zip(scalars) {
        *digits = *scalar::recode(scalar);
    }
    let points = multiples::multiples_of_base(backend, &digits);
    let mut divisors = Secret::<[Fe]>::slice(points.len());
    for (divisor, point) in divisors.iter_mut().zip(&*points) {
        *divisor = point.z;
    }
    invert_all(&mut divisors);
    let key = |(point, inverse): (&Point, &Fe)| VerifyingKey(point.encode(*inverse));
    points.iter().zip(&*divisors).map(key).collect()
}
