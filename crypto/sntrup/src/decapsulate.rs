//! Decapsulation with implicit rejection, from a key's bytes or from its transforms.

use kem_common::{Array, SharedSecret, wipe};
use lanes::{Backend, Dispatch, Hardware};
use secret::Secret;
use zerocopy::FromZeros;
use zeroize::Zeroizing;

use crate::encapsulate::encode_product;
use crate::encode::{DecodeRounded, DecodeRq, DecodeSmall, EncodeSmall};
use crate::hash::{Hash, Purpose, hash, hash_all, session_hash};
use crate::keys::{Ciphertext, SecretKey};
use crate::params::{HASH_BYTES, ParameterSet};
use crate::product::{Coefficients, Transform, Workspace};
use crate::r3;
use crate::rq::TripleToSmall;

/// A secret key with its transforms, for many decapsulations on one backend. In protected memory;
/// erased on drop.
///
/// ```
/// use sntrup::{Backend, Ciphertext, KeyPair, Sntrup761};
/// # let mut random = reference::drbg::Drbg::new(&[9; 48]);
/// let backend = Backend::best();
/// let (public, secret) = KeyPair::<Sntrup761>::generate(backend, &mut random)?.into_parts();
/// let expanded = secret.expand(backend);
/// let (ciphertext, ours) = public.encapsulate(backend, &mut random)?;
/// assert_eq!(expanded.decapsulate(&ciphertext).as_bytes(), ours.as_bytes());
///
/// // A changed ciphertext gives another secret, not an error.
/// let mut bytes = ciphertext.as_bytes().to_vec();
/// bytes[0] ^= 1;
/// let changed = Ciphertext::<Sntrup761>::from_bytes(&bytes)?;
/// assert_ne!(expanded.decapsulate(&changed).as_bytes(), ours.as_bytes());
/// # Ok::<(), sntrup::Error>(())
/// ```
pub struct ExpandedKey<P: ParameterSet> {
    pub(crate) backend: Backend,
    pub(crate) key: SecretKey<P>,
    pub(crate) expansion: Secret<Expansion<P>>,
}

#[derive(FromZeros)]
pub(crate) struct Expansion<P: ParameterSet> {
    f: Transform<P>,
    g_inverse: Transform<P>,
    h: Transform<P>,
    rho_hash: Hash,
}

/// Factors of the products in a decapsulation, in this order.
#[derive(Clone, Copy)]
enum Factor {
    F,
    GInverse,
    H,
}

/// A source of the factors of a decapsulation.
trait Factors<P: ParameterSet> {
    /// Multiplies `product` by a factor; `other`, `a` and `space` are used on the way.
    fn multiply<L: Hardware>(
        &self,
        lanes: L,
        factor: Factor,
        product: &mut Transform<P>,
        other: &mut Transform<P>,
        a: &mut Coefficients<P>,
        space: &mut Workspace<P>,
    );

    /// Writes the hashes of r, given as its encoding, and of rho.
    fn hashes<L: Hardware>(&self, lanes: L, r: &[u8], to: &mut [Hash; 2]);
}

pub(crate) struct FromBytes<'a, P: ParameterSet>(pub(crate) &'a SecretKey<P>);

impl<P: ParameterSet> Factors<P> for FromBytes<'_, P> {
    fn multiply<L: Hardware>(
        &self,
        lanes: L,
        factor: Factor,
        product: &mut Transform<P>,
        other: &mut Transform<P>,
        a: &mut Coefficients<P>,
        space: &mut Workspace<P>,
    ) {
        transform(lanes, self.0, factor, other, a, space);
        product.multiply_by(lanes, other, space);
    }

    fn hashes<L: Hardware>(&self, lanes: L, r: &[u8], to: &mut [Hash; 2]) {
        hash_all(lanes, Purpose::Small, &[r, self.0.parts().rho], to);
    }
}

/// Makes `to` the transform of a factor; `a` is used on the way.
fn transform<P: ParameterSet, L: Hardware>(
    lanes: L,
    key: &SecretKey<P>,
    factor: Factor,
    to: &mut Transform<P>,
    a: &mut Coefficients<P>,
    space: &mut Workspace<P>,
) {
    let parts = key.parts();
    match factor {
        Factor::F => lanes.run(DecodeSmall(a, parts.f)),
        Factor::GInverse => lanes.run(DecodeSmall(a, parts.g_inverse)),
        Factor::H => lanes.run(DecodeRq(a, parts.public_key)),
    }
    to.set(lanes, a, space);
}

pub(crate) struct FromExpansion<'a, P: ParameterSet>(pub(crate) &'a Expansion<P>);

impl<P: ParameterSet> Factors<P> for FromExpansion<'_, P> {
    fn multiply<L: Hardware>(
        &self,
        lanes: L,
        factor: Factor,
        product: &mut Transform<P>,
        _: &mut Transform<P>,
        _: &mut Coefficients<P>,
        space: &mut Workspace<P>,
    ) {
        let other = match factor {
            Factor::F => &self.0.f,
            Factor::GInverse => &self.0.g_inverse,
            Factor::H => &self.0.h,
        };
        product.multiply_by(lanes, other, space);
    }

    fn hashes<L: Hardware>(&self, lanes: L, r: &[u8], [of_r, of_rho]: &mut [Hash; 2]) {
        hash(lanes, Purpose::Small, &[r], of_r);
        *of_rho = self.0.rho_hash;
    }
}

/// All ones if `difference` is not zero, else zero. The compiler may not see that there are two
/// values only: it would make a branch of what they choose.
fn mask(difference: i16) -> i16 {
    core::hint::black_box((difference | difference.wrapping_neg()) >> 15)
}

// Operations on lanes are not inlined: the memory of one is then off the stack while another runs.

pub(crate) struct Expand<'a, P: ParameterSet>(pub(crate) &'a SecretKey<P>);

impl<P: ParameterSet> Dispatch for Expand<'_, P> {
    type Output = Secret<Expansion<P>>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let key = self.0;
        let mut expansion = Secret::<Expansion<P>>::zeroed();
        hash(lanes, Purpose::Small, &[key.parts().rho], &mut expansion.rho_hash);
        let (a, space) = (&mut Coefficients::zero(), &mut Workspace::new());
        transform(lanes, key, Factor::F, &mut expansion.f, a, space);
        transform(lanes, key, Factor::GInverse, &mut expansion.g_inverse, a, space);
        transform(lanes, key, Factor::H, &mut expansion.h, a, space);
        expansion
    }
}

pub(crate) struct Decapsulate<'a, P: ParameterSet, F> {
    pub(crate) key: &'a SecretKey<P>,
    pub(crate) ciphertext: &'a Ciphertext<P>,
    pub(crate) factors: F,
}

impl<P: ParameterSet, F: Factors<P>> Dispatch for Decapsulate<'_, P, F> {
    type Output = SharedSecret;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let Decapsulate { key, ciphertext, factors } = self;
        let (mut r, mut product, mut other) =
            (Coefficients::zero(), Transform::zero(), Transform::zero());
        let space = &mut Workspace::new();

        // r = (3 f c mod q) / g mod 3
        lanes.run(DecodeRounded(&mut r, &ciphertext.as_bytes()[..P::ROUNDED_BYTES]));
        product.set(lanes, &r, space);
        factors.multiply(lanes, Factor::F, &mut product, &mut other, &mut r, space);
        product.invert(lanes, &mut r, space);
        lanes.run(TripleToSmall::<P, L>(&mut r));
        product.set(lanes, &r, space);
        factors.multiply(lanes, Factor::GInverse, &mut product, &mut other, &mut r, space);
        product.invert(lanes, &mut r, space);
        lanes.run(r3::Reduce::<P, L>(&mut r));

        // A wrong weight is replaced by a fixed Short, so that the comparison below rejects it.
        let wrong = mask(r3::weight_mismatch(&r));
        lanes.run(r3::ReplaceByFixed(&mut r, wrong));

        let mut r_bytes = P::SmallBytes::filled(0);
        lanes.run(EncodeSmall(&r, r_bytes.as_mut()));
        let mut hashes = Zeroizing::new([Hash::default(); 2]);
        factors.hashes(lanes, r_bytes.as_ref(), &mut hashes);
        let [r_hash, rho_hash] = &*hashes;
        wipe(r_bytes.as_mut());
        product.set(lanes, &r, space);
        factors.multiply(lanes, Factor::H, &mut product, &mut other, &mut r, space);
        let public_key_hash = key.parts().public_key_hash;
        let mut again = P::CiphertextBytes::filled(0);
        let (rounded, confirmation) = again.as_mut().split_at_mut(P::ROUNDED_BYTES);
        encode_product(lanes, &mut product, &mut r, space, rounded);
        let mut confirmed = Zeroizing::new(Hash::default());
        hash(lanes, Purpose::Confirmation, &[r_hash, public_key_hash], &mut confirmed);
        confirmation.copy_from_slice(&*confirmed);
        let difference =
            again.as_ref().iter().zip(ciphertext.as_bytes()).fold(0, |bits, (a, b)| bits | (a ^ b));
        let rejected = mask(difference.into()) as u8;

        let mut preimage = Zeroizing::new([0; HASH_BYTES]);
        for (i, x) in preimage.iter_mut().enumerate() {
            *x = r_hash[i] ^ (rejected & (r_hash[i] ^ rho_hash[i]));
        }
        let mut secret = Secret::zeroed();
        session_hash(lanes, rejected, &[&*preimage, ciphertext.as_bytes()], &mut secret);
        SharedSecret::new(secret)
    }
}
