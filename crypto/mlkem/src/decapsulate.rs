//! Decryption and decapsulation with implicit rejection (FIPS 203, algorithms 15 and 18), from a
//! key's bytes or from an expanded key.

use kem_common::{Array, SharedSecret};
use lanes::{Backend, Dispatch, Hardware, Kernel, scalar};
use secret::Secret;
use zerocopy::FromZeros;

use crate::chain::{derive, hash_blocks, hash_with_matrix, hash_with_noise};
use crate::code::{decode_compressed, encode_compressed};
use crate::encapsulate::{Arithmetic, DecodeVector, Encrypt, MAX_MESSAGE_BYTES};
use crate::keccak::{Message512, SHA3_SUFFIX, SHAKE_SUFFIX, pad};
use crate::keys::{Ciphertext, DecapsulationKey};
use crate::matrix::{Matrix, Order};
use crate::noise::Noise;
use crate::ntt::{inverse_ntt, ntt};
use crate::params::{N, ParameterSet, SEED};
use crate::poly::{Poly, reduce, subtract_from};
use crate::product::{Scale, prepare, row};
use crate::sponge::SpongeSpace;

/// A decapsulation key with its matrix and its decoded polynomials, for many decapsulations on one
/// backend. In protected memory; erased on drop.
///
/// ```
/// use mlkem::{Backend, Ciphertext, KeyPair, MlKem768};
/// # let mut random = reference::drbg::Drbg::new(&[9; 48]);
/// let backend = Backend::best();
/// let (public, secret) = KeyPair::<MlKem768>::generate(backend, &mut random)?.into_parts();
/// let expanded = secret.expand(backend);
/// let (ciphertext, ours) = public.encapsulate(backend, &mut random)?;
/// assert_eq!(expanded.decapsulate(&ciphertext).as_bytes(), ours.as_bytes());
///
/// // A changed ciphertext gives another secret, not an error.
/// let mut bytes = ciphertext.as_bytes().to_vec();
/// bytes[0] ^= 1;
/// let changed = Ciphertext::<MlKem768>::from_bytes(&bytes)?;
/// assert_ne!(expanded.decapsulate(&changed).as_bytes(), ours.as_bytes());
/// # Ok::<(), mlkem::Error>(())
/// ```
pub struct ExpandedKey<P: ParameterSet> {
    pub(crate) backend: Backend,
    pub(crate) key: DecapsulationKey<P>,
    pub(crate) expansion: Secret<Expansion<P>>,
}

/// Polynomials of a decapsulation key.
#[derive(FromZeros)]
#[repr(C)]
pub(crate) struct Expansion<P: ParameterSet> {
    s: P::Vector<Poly<i16>>,
    t: P::Vector<Poly<i16>>,
    /// By columns.
    matrix: P::Matrix<Poly<i16>>,
}

/// Expands a key.
pub(crate) struct Expand<'a, P: ParameterSet>(pub(crate) &'a DecapsulationKey<P>);

impl<P: ParameterSet> Dispatch for Expand<'_, P> {
    type Output = Secret<Expansion<P>>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let mut expansion = Secret::<Expansion<P>>::zeroed();
        let Expansion { s, t, matrix } = &mut *expansion;
        let parts = self.0.parts();
        lanes.run(DecodeVector::<P> { bytes: parts.s, to: s });
        lanes.run(DecodeVector::<P> { bytes: parts.encapsulation_key, to: t });
        let seed = parts.encapsulation_key.last_chunk().unwrap();
        let mut columns = Matrix { seed, order: Order::Columns, polys: matrix.as_mut(), done: 0 };
        columns.sample_rest::<P, _>(lanes, &mut Secret::zeroed());
        expansion
    }
}

/// The hash of a key's own encapsulation key (FIPS 203, section 7.3).
pub(crate) struct HashKey<'a, P: ParameterSet>(pub(crate) &'a DecapsulationKey<P>);

impl<P: ParameterSet> Dispatch for HashKey<'_, P> {
    type Output = [u8; SEED];

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let mut message = [0; MAX_MESSAGE_BYTES];
        let blocks = pad(&mut message, &[self.0.parts().encapsulation_key], SHA3_SUFFIX);
        let mut hash = [0; SEED];
        hash_blocks(lanes, blocks, &mut hash, &mut Secret::zeroed());
        hash
    }
}

/// K-PKE.Decrypt with s decoded.
struct Decrypt<'a, P: ParameterSet> {
    s: &'a P::Vector<Poly<i16>>,
    ciphertext: &'a [u8],
    message: &'a mut [u8; SEED],
    space: &'a mut Arithmetic<P>,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for Decrypt<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Arithmetic { factors, a, b } = self.space;
        let (u, v) = self.ciphertext.split_at(N / 8 * P::DU * P::K);
        for (bytes, factor) in u.chunks_exact(N / 8 * P::DU).zip(factors.as_mut()) {
            decode_compressed(lanes, bytes, P::DU, a);
            ntt(lanes, a);
            prepare(lanes, a, Scale::ForInverse, factor);
        }
        row(lanes, self.s.as_ref(), factors.as_ref(), a);
        inverse_ntt(lanes, a);
        // The difference would overflow words that are not reduced.
        reduce(lanes, a);
        decode_compressed(lanes, v, P::DV, b);
        subtract_from(lanes, a, b);
        encode_compressed(lanes, a, 1, self.message);
    }
}

/// Writes `shared`, or `rejected` if the ciphertexts differ.
struct Select<'a> {
    ciphertexts: [&'a [u8]; 2],
    shared: &'a [u8],
    rejected: &'a [u8; SEED],
    to: &'a mut [u8; SEED],
}

impl<L: Hardware> Kernel<L> for Select<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: L) {
        let [a, b] = self.ciphertexts;
        // Ciphertexts have a multiple of 32 bytes.
        let mut differences = [0; 4];
        for (a, b) in a.chunks_exact(32).zip(b.chunks_exact(32)) {
            for i in 0..4 {
                let [a, b] =
                    [a, b].map(|bytes| u64::from_le_bytes(*bytes[8 * i..].first_chunk().unwrap()));
                differences[i] |= a ^ b;
            }
        }
        let difference = scalar(differences.iter().fold(0, |all, bits| all | bits));
        // The sign of x | -x says whether x is zero.
        let mask = scalar(0u64.wrapping_sub((difference | difference.wrapping_neg()) >> 63)) as u8;
        for i in 0..SEED {
            self.to[i] = self.shared[i] ^ (mask & (self.shared[i] ^ self.rejected[i]));
        }
    }
}

/// ML-KEM.Decaps_internal.
pub(crate) struct Decapsulate<'a, P: ParameterSet> {
    pub(crate) key: &'a DecapsulationKey<P>,
    pub(crate) expansion: Option<&'a Expansion<P>>,
    pub(crate) ciphertext: &'a Ciphertext<P>,
}

/// The memory of a decapsulation.
#[derive(FromZeros)]
#[repr(C)]
struct Space<P: ParameterSet> {
    sponges: SpongeSpace,
    noise: Noise,
    arithmetic: Arithmetic<P>,
    s: P::Vector<Poly<i16>>,
    /// z and the ciphertext, in whole blocks.
    rejection: [u8; MAX_MESSAGE_BYTES],
    ciphertext: P::CiphertextBytes,
    message: [u8; SEED],
    /// The shared secret and the seed of the noise.
    derived: [u8; 2 * SEED],
    rejected: [u8; SEED],
}

impl<P: ParameterSet> Dispatch for Decapsulate<'_, P> {
    type Output = SharedSecret;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> SharedSecret {
        let mut space = Secret::<Space<P>>::zeroed();
        let Space {
            sponges,
            noise,
            arithmetic,
            s,
            rejection,
            ciphertext,
            message,
            derived,
            rejected,
        } = &mut *space;
        let (parts, received) = (self.key.parts(), self.ciphertext.as_bytes());
        let s = match self.expansion {
            Some(expansion) => &expansion.s,
            None => {
                lanes.run(DecodeVector::<P> { bytes: parts.s, to: s });
                s
            }
        };
        lanes.run(Decrypt::<P> { s, ciphertext: received, message, space: arithmetic });

        let blocks = pad(rejection, &[parts.z, received], SHAKE_SUFFIX);
        let inputs = Message512 { secret: message, public: parts.hash };
        let mut encrypt = |matrix: &P::Matrix<Poly<i16>>, t: &P::Vector<Poly<i16>>, noise: &_| {
            let ciphertext = ciphertext.as_mut();
            lanes.run(Encrypt { matrix, t, noise, message, ciphertext, space: arithmetic });
        };
        if let Some(Expansion { t, matrix, .. }) = self.expansion {
            hash_with_noise::<P, _>(lanes, blocks, rejected, inputs, derived, noise, sponges);
            encrypt(matrix, t, noise);
        } else {
            let mut matrix = P::Matrix::filled(Poly::zero());
            let mut t = P::Vector::filled(Poly::zero());
            lanes.run(DecodeVector::<P> { bytes: parts.encapsulation_key, to: &mut t });
            let seed = parts.encapsulation_key.last_chunk().unwrap();
            let polys = matrix.as_mut();
            let mut columns = Matrix { seed, order: Order::Columns, polys, done: 0 };
            hash_with_matrix::<P, _>(lanes, blocks, rejected, &mut columns, sponges);
            derive(lanes, inputs, derived, sponges);
            noise.fill::<P, _>(lanes, derived.last_chunk().unwrap(), 2 * P::K + 1, sponges);
            encrypt(&matrix, &t, noise);
        }

        let mut secret = Secret::<[u8; SEED]>::zeroed();
        lanes.run(Select {
            ciphertexts: [received, ciphertext.as_ref()],
            shared: &derived[..SEED],
            rejected,
            to: &mut secret,
        });
        SharedSecret::new(secret)
    }
}
