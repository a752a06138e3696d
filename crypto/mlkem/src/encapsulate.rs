//! Encryption and encapsulation (FIPS 203, algorithms 14 and 17).

use core::marker::PhantomData;

use kem_common::{Array, Error, SharedSecret};
use lanes::{Backend, Dispatch, Hardware, Kernel};
use secret::Secret;
use zerocopy::FromZeros;

use crate::chain::{derive, hash_with_matrix};
use crate::code::{are_below_q, decode, decode_compressed, encode_compressed, sample_binomial};
use crate::keccak::{Message512, SHA3_SUFFIX, pad, padded_bytes};
use crate::keys::{Ciphertext, EncapsulationKey, object};
use crate::matrix::{Matrix, Order};
use crate::noise::Noise;
use crate::ntt::{inverse_ntt, ntt};
use crate::params::{ETA2, MAX_K, N, POLY_BYTES, ParameterSet, SEED};
use crate::poly::{Poly, add, reduce};
use crate::product::{Factor, Scale, prepare, row};
use crate::sponge::SpongeSpace;

/// Bytes of the longest message that is hashed, an encapsulation key or z and a ciphertext, in
/// whole blocks.
pub(crate) const MAX_MESSAGE_BYTES: usize = padded_bytes(SEED + N / 8 * (11 * MAX_K + 5));

/// Memory for polynomials. Secret.
#[derive(FromZeros)]
#[repr(C)]
pub(crate) struct Arithmetic<P: ParameterSet> {
    pub(crate) factors: P::Vector<Factor<i16>>,
    pub(crate) a: Poly<i16>,
    pub(crate) b: Poly<i16>,
}

/// K-PKE.Encrypt with the matrix in columns, t decoded, and the bytes of the noise.
pub(crate) struct Encrypt<'a, P: ParameterSet> {
    pub(crate) matrix: &'a P::Matrix<Poly<i16>>,
    pub(crate) t: &'a P::Vector<Poly<i16>>,
    pub(crate) noise: &'a Noise,
    pub(crate) message: &'a [u8; SEED],
    pub(crate) ciphertext: &'a mut [u8],
    pub(crate) space: &'a mut Arithmetic<P>,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for Encrypt<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Arithmetic { factors, a, b } = self.space;
        let noise = &self.noise.0;
        for (bytes, factor) in noise.iter().zip(factors.as_mut()) {
            sample_binomial(lanes, bytes, P::ETA1, a);
            ntt(lanes, a);
            prepare(lanes, a, Scale::ForInverse, factor);
        }
        let (u, v) = self.ciphertext.split_at_mut(N / 8 * P::DU * P::K);
        let columns = self.matrix.as_ref().chunks_exact(P::K);
        let parts = u.chunks_exact_mut(N / 8 * P::DU);
        for ((column, bytes), to) in columns.zip(&noise[P::K..]).zip(parts) {
            row(lanes, column, factors.as_ref(), a);
            inverse_ntt(lanes, a);
            sample_binomial(lanes, bytes, ETA2, b);
            add(lanes, a, b);
            encode_compressed(lanes, a, P::DU, to);
        }
        row(lanes, self.t.as_ref(), factors.as_ref(), a);
        inverse_ntt(lanes, a);
        // The message would overflow words that are not reduced.
        reduce(lanes, a);
        sample_binomial(lanes, &noise[2 * P::K], ETA2, b);
        add(lanes, a, b);
        decode_compressed(lanes, self.message, 1, b);
        add(lanes, a, b);
        encode_compressed(lanes, a, P::DV, v);
    }
}

/// Decodes the polynomials of an encapsulation key, or of s.
pub(crate) struct DecodeVector<'a, P: ParameterSet> {
    pub(crate) bytes: &'a [u8],
    pub(crate) to: &'a mut P::Vector<Poly<i16>>,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for DecodeVector<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        for (bytes, poly) in self.bytes.chunks_exact(POLY_BYTES).zip(self.to.as_mut()) {
            decode(lanes, bytes, poly);
        }
    }
}

/// Returns true if all coefficients of an encapsulation key are below q (FIPS 203, section 7.2).
pub(crate) struct CheckModulus<'a, P: ParameterSet>(pub(crate) &'a EncapsulationKey<P>);

impl<P: ParameterSet> Dispatch for CheckModulus<'_, P> {
    type Output = bool;

    fn on<L: Hardware>(self, lanes: L) -> bool {
        lanes.run(AreBelowQ(&self.0.as_bytes()[..POLY_BYTES * P::K]))
    }
}

/// Returns true if all coefficients of polynomials are below q. The length of the slice must not be
/// known to the compiler: it would replace masked loads by `vpexpandq` from memory, of which the
/// check of the object code does not know how far it reads.
struct AreBelowQ<'a>(&'a [u8]);

impl<L: Hardware> Kernel<L> for AreBelowQ<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, lanes: L) -> bool {
        let mut words = [0; 32];
        lanes.store(&mut words, are_below_q(lanes, self.0));
        words[..L::WORDS].iter().fold(-1, |all, word| all & word) == -1
    }
}

/// The random bytes of one encapsulation, drawn before the peer's key is known: all else depends on
/// the key. It is for one use: [`PreparedEncapsulation::encapsulate`] consumes it. In protected
/// memory; erased on drop.
///
/// ```
/// use mlkem::{Backend, KeyPair, MlKem768, PreparedEncapsulation};
/// # let mut random = reference::drbg::Drbg::new(&[8; 48]);
/// let backend = Backend::best();
/// let prepared = PreparedEncapsulation::<MlKem768>::generate(backend, &mut random)?;
///
/// // Later, when the peer's key has arrived:
/// let key = KeyPair::<MlKem768>::generate(backend, &mut random)?;
/// let (ciphertext, ours) = prepared.encapsulate(key.encapsulation_key());
/// assert_eq!(key.decapsulate(backend, &ciphertext).as_bytes(), ours.as_bytes());
/// # Ok::<(), mlkem::Error>(())
/// ```
pub struct PreparedEncapsulation<P: ParameterSet> {
    pub(crate) backend: Backend,
    pub(crate) message: Secret<[u8; SEED]>,
    pub(crate) parameter_set: PhantomData<P>,
}

impl<P: ParameterSet> PreparedEncapsulation<P> {
    /// Bytes that [`PreparedEncapsulation::write`] writes.
    pub const BYTES: usize = SEED;

    /// Writes [`Self::BYTES`] bytes, which are secret.
    ///
    /// # Panics
    /// `out` has another length.
    pub fn write(&self, out: &mut [u8]) {
        out.copy_from_slice(&*self.message);
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
        let mut message = Secret::<[u8; SEED]>::zeroed();
        message.copy_from_slice(bytes);
        Ok(PreparedEncapsulation { backend, message, parameter_set: PhantomData })
    }

    /// True if the secret lies in protected memory. It does unless the system provided none.
    pub fn is_protected(&self) -> bool {
        self.message.is_protected()
    }
}

/// ML-KEM.Encaps_internal.
pub(crate) struct Encapsulate<'a, P: ParameterSet> {
    pub(crate) key: &'a EncapsulationKey<P>,
    pub(crate) message: &'a [u8; SEED],
}

/// The memory of an encapsulation.
#[derive(FromZeros)]
#[repr(C)]
struct Space<P: ParameterSet> {
    sponges: SpongeSpace,
    noise: Noise,
    arithmetic: Arithmetic<P>,
    /// The shared secret and the seed of the noise.
    derived: [u8; 2 * SEED],
}

// Operations on lanes are not inlined: the memory of one is then off the stack while another runs.
impl<P: ParameterSet> Dispatch for Encapsulate<'_, P> {
    type Output = (Ciphertext<P>, SharedSecret);

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let mut space = Secret::<Space<P>>::zeroed();
        let Space { sponges, noise, arithmetic, derived } = &mut *space;
        let mut matrix = P::Matrix::filled(Poly::zero());
        let mut t = P::Vector::filled(Poly::zero());
        let (bytes, seed) = (self.key.as_bytes(), self.key.matrix_seed());
        lanes.run(DecodeVector::<P> { bytes, to: &mut t });

        let (mut message, mut hash) = ([0; MAX_MESSAGE_BYTES], [0; SEED]);
        let blocks = pad(&mut message, &[bytes], SHA3_SUFFIX);
        let mut columns = Matrix { seed, order: Order::Columns, polys: matrix.as_mut(), done: 0 };
        hash_with_matrix::<P, _>(lanes, blocks, &mut hash, &mut columns, sponges);
        let message = Message512 { secret: self.message, public: &hash };
        derive(lanes, message, derived, sponges);
        let (secret, seed) = derived.split_first_chunk::<SEED>().unwrap();
        noise.fill::<P, _>(lanes, seed.first_chunk().unwrap(), 2 * P::K + 1, sponges);

        let mut ciphertext = P::CiphertextBytes::filled(0);
        lanes.run(Encrypt {
            matrix: &matrix,
            t: &t,
            noise,
            message: self.message,
            ciphertext: ciphertext.as_mut(),
            space: arithmetic,
        });
        let mut shared = Secret::<[u8; SEED]>::zeroed();
        shared.copy_from_slice(secret);
        (Ciphertext(ciphertext), SharedSecret::new(shared))
    }
}
